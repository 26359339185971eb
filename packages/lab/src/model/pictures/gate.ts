/**
 * Requests as things that travel, the same way in every picture: a dot comes from the left to the gate; allowed it passes, denied it bounces off as a
 * cross, and to wait it goes to the end of the line.
 */
import { cross, disc } from '../../canvas/shapes.ts';
import type { Box, Flight, Scene } from './scene.ts';

/** More of one moment cannot be told apart. */
const MOST_AT_ONCE = 14;
const RADIUS = 3.2;

/** Where the gate is, and what is left for the state behind it. `below` is kept free for words where there is room for some. */
export function stageOf({ width, height, isLarge }: Scene, below = 0): { readonly gate: number; readonly box: Box } {
  const gate = isLarge ? 58 : 30;
  const bottom = height - (isLarge ? 6 + below : 3);
  return {
    gate,
    box: { left: gate + (isLarge ? 18 : 10), right: width - (isLarge ? 12 : 4), top: isLarge ? 10 : 3, bottom },
  };
}

/** `enter` is where what is allowed goes in. */
export function drawRequests(
  scene: Scene,
  gate: number,
  box: Box,
  enter: { readonly x: number; readonly y: number },
): void {
  const { context, palette, flights } = scene;
  const middle = (box.top + box.bottom) / 2;
  drawGate(scene, gate, box, flights.some(isBouncing));
  for (const flight of flights) {
    if (flight.index >= MOST_AT_ONCE) continue;
    const y = middle + spread(flight, box.bottom - box.top);
    drawOne(scene, flight, gate, y, enter);
  }
  context.globalAlpha = 1;
  context.fillStyle = palette.ink;
}

function isBouncing({ outcome, progress }: Flight): boolean {
  return outcome === 'denied' && progress >= 0 && progress < 0.6;
}

/** Those of one moment stand above one another. */
function spread({ index, of }: Flight, height: number): number {
  const shown = Math.min(of, MOST_AT_ONCE);
  const step = Math.min(2 * RADIUS + 1, (height - 2 * RADIUS) / Math.max(1, shown));
  return (index - (shown - 1) / 2) * step;
}

function drawOne(
  scene: Scene,
  { progress, outcome }: Flight,
  gate: number,
  y: number,
  enter: { readonly x: number; readonly y: number },
): void {
  const { context, palette, still } = scene;
  if (progress < 0 || outcome === undefined) {
    if (still) return;
    context.globalAlpha = 1 + progress * 0.7;
    context.fillStyle = palette.soft;
    disc(context, gate - 6 + progress * (gate - 8), y, RADIUS);
    return;
  }
  const gone = still ? 0 : 1 - (1 - progress) ** 2;
  context.globalAlpha = still ? 1 : 1 - progress ** 3;
  if (outcome === 'denied') {
    context.strokeStyle = palette.denied;
    context.lineWidth = 1.8;
    context.lineCap = 'round';
    cross(context, gate - 7 - gone * (gate - 14), y + gone * gone * 6, RADIUS);
    return;
  }
  context.fillStyle = palette[outcome];
  disc(context, gate + 4 + gone * (enter.x - gate - 4), y + gone * (enter.y - y), RADIUS);
}

/** Two posts with a way between them; shut while something bounces off. */
function drawGate(
  { context, palette, height, isLarge }: Scene,
  x: number,
  { top, bottom }: Box,
  isShut: boolean,
): void {
  const opening = Math.min(isLarge ? 34 : 18, (bottom - top) * 0.34);
  const middle = (top + bottom) / 2;
  context.globalAlpha = 1;
  context.fillStyle = isShut ? palette.denied : palette['line-strong'];
  context.fillRect(x - 1, Math.max(0, top), 2, middle - opening / 2 - top);
  context.fillRect(x - 1, middle + opening / 2, 2, Math.min(height, bottom) - middle - opening / 2);
  if (isShut) context.fillRect(x - 1, middle - opening / 2, 2, opening);
}
