/** A limit as so many places that can be counted, and the clock of a window. */
import { disc, ring } from '../../canvas/shapes.ts';
import type { Box, Scene } from './scene.ts';

/** More places than this are a bar: nobody counts them. */
export const MOST_SLOTS = 60;

export interface Slot {
  readonly x: number;
  readonly y: number;
  readonly radius: number;
}

/** So many places in a box, in rows from the left or in its middle, as large as they can be. */
export function slotsIn(
  { left, right, top, bottom }: Box,
  count: number,
  largest: number,
  align: 'left' | 'center' = 'left',
): Slot[] {
  const [width, height] = [right - left, bottom - top];
  let [columns, pitch] = [count, 0];
  for (let rows = 1; rows <= count; rows += 1) {
    const inRow = Math.ceil(count / rows);
    const size = Math.min(width / inRow, height / rows);
    if (size > pitch) [columns, pitch] = [inRow, size];
  }
  pitch = Math.min(pitch, largest);
  const rows = Math.ceil(count / columns);
  const offset = (top + bottom) / 2 - ((rows - 1) * pitch) / 2;
  const start = align === 'left' ? left : (left + right - columns * pitch) / 2;
  return Array.from({ length: count }, (_, index) => ({
    x: start + pitch / 2 + (index % columns) * pitch,
    y: offset + Math.floor(index / columns) * pitch,
    radius: pitch * 0.38,
  }));
}

/** How large a place may be: in a row as its height allows, so that few places do not become huge. */
export function largestSlot({ isLarge, height }: Scene): number {
  return isLarge ? 40 : Math.max(18, Math.min(26, height / 3.4));
}

export function emptySlot({ context, palette }: Scene, { x, y, radius }: Slot): void {
  context.strokeStyle = palette['line-strong'];
  context.lineWidth = 1.2;
  ring(context, x, y, radius - 0.6);
}

export function fullSlot({ context }: Scene, { x, y, radius }: Slot, color: string): void {
  context.fillStyle = color;
  disc(context, x, y, radius);
}

/** A bar instead of places: how much of it is used, in one or two parts. */
export function usedBar(
  scene: Scene,
  box: Box,
  parts: readonly { readonly share: number; readonly color: string }[],
): void {
  const { context, palette } = scene;
  const [width, height] = [box.right - box.left, Math.min(26, box.bottom - box.top)];
  const top = (box.top + box.bottom - height) / 2;
  context.fillStyle = palette.sunken;
  context.fillRect(box.left, top, width, height);
  let x = box.left;
  for (const { share, color } of parts) {
    const part = Math.min(width * share, box.right - x);
    context.fillStyle = color;
    context.fillRect(x, top, part, height);
    x += part;
  }
  context.strokeStyle = palette['line-strong'];
  context.lineWidth = 1;
  context.strokeRect(box.left + 0.5, top + 0.5, width - 1, height - 1);
}

/** How much of a window is over: a hand that goes round once. */
export function clock({ context, palette }: Scene, x: number, y: number, radius: number, share: number): void {
  const angle = -Math.PI / 2 + share * Math.PI * 2;
  context.fillStyle = palette.sunken;
  disc(context, x, y, radius);
  context.fillStyle = palette.ghost;
  context.beginPath();
  context.moveTo(x, y);
  context.arc(x, y, radius, -Math.PI / 2, angle);
  context.closePath();
  context.fill();
  context.strokeStyle = palette['line-strong'];
  context.lineWidth = 1.2;
  ring(context, x, y, radius);
  context.strokeStyle = palette.ink;
  context.lineWidth = 1.8;
  context.lineCap = 'round';
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + Math.cos(angle) * (radius - 2), y + Math.sin(angle) * (radius - 2));
  context.stroke();
}
