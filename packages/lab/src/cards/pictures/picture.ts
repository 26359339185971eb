/** What a picture gets: where to draw, what to draw. A picture draws one state as what it is, and keeps nothing. */
import type { Palette } from '../../canvas/palette.ts';
import type { CardState } from '../../engine/card-state.ts';
import type { Trace } from '../../engine/trace.ts';
import type { CardId } from '../catalog.ts';

export interface Scene {
  readonly context: CanvasRenderingContext2D;
  readonly width: number;
  readonly height: number;
  readonly palette: Palette;
  readonly state: CardState;
  readonly trace: Trace;
  readonly id: CardId;
  readonly client: number;
  /** Nothing moves but what time moves. */
  readonly still: boolean;
}

export type Picture = (scene: Scene) => void;

/** Below this there is room for the picture, but not for all of its words. */
export const NARROW = 220;

export const SMALL_TEXT = '500 11px Inter, ui-sans-serif, system-ui, sans-serif';

export function write(
  { context }: Scene,
  text: string,
  x: number,
  y: number,
  color: string,
  align: CanvasTextAlign = 'left',
): void {
  context.font = SMALL_TEXT;
  context.fillStyle = color;
  context.textAlign = align;
  context.textBaseline = 'middle';
  context.fillText(text, x, y);
}

/** The line no count may cross, with its number. */
export function limitLine(scene: Scene, left: number, right: number, y: number): void {
  const { context, palette } = scene;
  context.strokeStyle = palette.faint;
  context.lineWidth = 1;
  context.setLineDash([3, 3]);
  context.beginPath();
  context.moveTo(left, Math.round(y) + 0.5);
  context.lineTo(right, Math.round(y) + 0.5);
  context.stroke();
  context.setLineDash([]);
}

/** How long ago the client's last denial was, in milliseconds; Infinity when its last attempt was allowed. */
export function sinceDenied({ trace, id, client, state }: Scene): number {
  const last = trace.lastOf(client, trace.lastAt(state.now));
  if (last < 0 || trace.outcome(id, last) !== 'denied') return Number.POSITIVE_INFINITY;
  return state.now - trace.at[trace.slot(last)]!;
}
