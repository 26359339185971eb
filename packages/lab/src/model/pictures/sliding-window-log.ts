/** Sliding window log: a place for each unit of the limit. Each one that is taken has a ring of its own that runs out, and is free again then. */
import { disc, ring } from '../../canvas/shapes.ts';
import { countdown, durationWords } from '../../words/words.ts';
import { eachGranted } from '../state.ts';
import { drawRequests, stageOf } from './gate.ts';
import { type Box, type Picture, type Scene, write } from './scene.ts';
import { emptySlot, largestSlot, MOST_SLOTS, type Slot, slotsIn } from './slots.ts';

export const slidingWindowLogPicture: Picture = (scene) => {
  const { palette, state, isLarge, height } = scene;
  const { gate, box } = stageOf(scene, 22);
  const ages = agesOf(scene);
  let enter = { x: box.left + 6, y: (box.top + box.bottom) / 2 };
  if (state.limit > MOST_SLOTS) band(scene, box, ages);
  else {
    const slots = slotsIn(box, state.limit, largestSlot(scene));
    slots.forEach((slot, index) => {
      if (index < ages.length) runningOut(scene, slot, 1 - ages[index]!);
      else emptySlot(scene, slot);
    });
    enter = slots[Math.max(0, Math.min(slots.length, ages.length) - 1)] ?? enter;
  }
  if (isLarge) {
    write(
      scene,
      `${ages.length} in the last ${durationWords(state.window!.size)}`,
      box.left,
      height - 12,
      palette.soft,
    );
    const next = ages.length === 0 ? '' : `the oldest leaves in ${countdown((1 - ages[0]!) * state.window!.size)}`;
    write(scene, next, box.right, height - 12, palette.soft, 'right');
  }
  drawRequests(scene, gate, box, enter);
};

/** Of each unit in the window, oldest first: how much of its time is over, from 0 to 1. */
function agesOf({ trace, state, client }: Scene): number[] {
  const ages: number[] = [];
  const { size } = state.window!;
  eachGranted(trace, state.row.id, client, trace.lastAt(state.now), state.now - size, (at, cost) => {
    for (let unit = 0; unit < cost && ages.length < state.limit; unit += 1) ages.push((state.now - at) / size);
  });
  return ages.reverse();
}

function runningOut({ context, palette }: Scene, { x, y, radius }: Slot, left: number): void {
  context.fillStyle = palette.allowed;
  disc(context, x, y, radius * 0.55);
  context.strokeStyle = palette.ghost;
  context.lineWidth = 1.6;
  ring(context, x, y, radius - 0.8);
  context.strokeStyle = palette.allowed;
  context.lineWidth = 1.8;
  context.lineCap = 'butt';
  context.beginPath();
  context.arc(x, y, radius - 0.8, -Math.PI / 2, -Math.PI / 2 + left * Math.PI * 2);
  context.stroke();
}

/** Too many for places: each at its time in the window, which leave it at the left; the more at one place, the darker. */
function band({ context, palette }: Scene, { left, right, top, bottom }: Box, ages: readonly number[]): void {
  const width = Math.max(1, Math.floor(right - left));
  const columns = new Uint16Array(width + 1);
  let most = 1;
  for (const age of ages) {
    const column = Math.min(width, Math.max(0, Math.floor((1 - age) * width)));
    columns[column]! += 1;
    most = Math.max(most, columns[column]!);
  }
  context.fillStyle = palette.sunken;
  context.fillRect(left, top, right - left, bottom - top);
  context.fillStyle = palette.allowed;
  for (const [column, count] of columns.entries()) {
    if (count === 0) continue;
    context.globalAlpha = 0.3 + 0.7 * (count / most);
    context.fillRect(left + column, top + 3, 1, bottom - top - 6);
  }
  context.globalAlpha = 1;
  context.strokeStyle = palette.ink;
  context.lineWidth = 1.5;
  context.strokeRect(left, top, right - left, bottom - top);
}
