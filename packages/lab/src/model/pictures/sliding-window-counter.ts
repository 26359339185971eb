/** Sliding window counter: places for this window's count, and beside it what of the last window's count has not faded yet. */
import { roundedBox } from '../../canvas/shapes.ts';
import { drawRequests, stageOf } from './gate.ts';
import { type Box, type Picture, type Scene, write } from './scene.ts';
import { clock, emptySlot, fullSlot, largestSlot, MOST_SLOTS, slotsIn, usedBar } from './slots.ts';

export const slidingWindowCounterPicture: Picture = (scene) => {
  const { state, isLarge } = scene;
  const { gate, box } = stageOf(scene, 0);
  if (isLarge) {
    largePicture(scene, gate, box);
    return;
  }
  const radius = 14;
  const dial = { x: box.right - radius - 1, y: (box.top + box.bottom) / 2 };
  const places = { ...box, right: dial.x - radius - 8 };
  const { start, size } = state.window!;
  clock(scene, dial.x, dial.y, radius, (state.now - start) / size);
  drawRequests(scene, gate, places, drawPlaces(scene, places, largestSlot(scene)));
};

/** This window's from the left, what is carried over behind them. */
function drawPlaces(scene: Scene, places: Box, largest: number): { readonly x: number; readonly y: number } {
  const { palette, state } = scene;
  const { current, carried } = state.window!;
  const middle = { x: places.left + 6, y: (places.top + places.bottom) / 2 };
  if (state.limit > MOST_SLOTS) {
    usedBar(scene, places, [
      { share: carried / state.limit, color: palette['allowed-wash'] },
      { share: current / state.limit, color: palette.allowed },
    ]);
    return middle;
  }
  const slots = slotsIn(places, state.limit, largest);
  slots.forEach((slot, index) => {
    if (index < carried) {
      fullSlot(scene, slot, palette['allowed-wash']);
      emptySlot(scene, slot);
    } else if (index < carried + current) fullSlot(scene, slot, palette.allowed);
    else emptySlot(scene, slot);
  });
  return slots[Math.max(0, Math.min(slots.length, carried + current) - 1)] ?? middle;
}

/** Two windows of the clock and a frame that slides over them: what it still covers of the last one counts. */
function largePicture(scene: Scene, gate: number, box: Box): void {
  const { context, palette, state, height, nowText } = scene;
  const { start, size, current, previous, carried } = state.window!;
  const [top, floor] = [box.top + 14, height - 30];
  const width = box.right - box.left;
  const nowX = box.left + width * 0.8;
  const perMs = (width * 0.4) / size;
  const xOf = (time: number): number => nowX + (time - state.now) * perMs;
  const heightOf = (count: number): number => Math.min(1, count / state.limit) * (floor - top);
  const [from, edge] = [xOf(start - size), xOf(start)];
  const frameLeft = xOf(state.now - size);
  context.fillStyle = palette.sunken;
  context.fillRect(from, top, Math.max(0, xOf(start + size) - from), floor - top);
  context.fillStyle = palette.ghost;
  context.fillRect(from + 2, floor - heightOf(previous), edge - from - 4, heightOf(previous));
  context.fillStyle = palette['allowed-wash'];
  context.fillRect(frameLeft, floor - heightOf(previous), Math.max(0, edge - 2 - frameLeft), heightOf(previous));
  context.fillStyle = palette.allowed;
  context.fillRect(edge + 2, floor - heightOf(current), Math.max(0, nowX - edge - 2), heightOf(current));
  context.strokeStyle = palette.ink;
  context.lineWidth = 2;
  roundedBox(context, frameLeft, top - 4, nowX - frameLeft, floor - top + 8, 5);
  context.stroke();
  write(scene, nowText, nowX, floor + 14, palette.soft, 'center');
  const share = Math.max(0, 1 - (state.now - start) / size);
  const sum =
    previous > 0
      ? `${share.toFixed(2)} of ${previous} + ${current} = ${carried + current}`
      : `${current} in this window`;
  write(scene, `${sum}, limit ${state.limit}`, box.left, height - 9, palette.soft);
  drawRequests(scene, gate, box, { x: edge + 6, y: floor - 8 });
}
