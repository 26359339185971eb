/** Fixed window: a place for each unit of the limit, which fill up; and the hand of the clock, which empties all of them when it is round. */
import { countdown } from '../../words/words.ts';
import { drawRequests, stageOf } from './gate.ts';
import { type Picture, write } from './scene.ts';
import { clock, emptySlot, fullSlot, largestSlot, MOST_SLOTS, slotsIn, usedBar } from './slots.ts';

export const fixedWindowPicture: Picture = (scene) => {
  const { palette, state, isLarge } = scene;
  const { gate, box } = stageOf(scene, 22);
  const radius = isLarge ? 34 : 14;
  const dial = { x: box.right - radius - 1, y: (box.top + box.bottom) / 2 };
  const places = { ...box, right: dial.x - radius - (isLarge ? 22 : 8) };
  const { start, size } = state.window!;
  clock(scene, dial.x, dial.y, radius, (state.now - start) / size);
  let enter = { x: places.left + 6, y: dial.y };
  if (state.limit > MOST_SLOTS) {
    usedBar(scene, places, [{ share: state.used / state.limit, color: palette.allowed }]);
  } else {
    const slots = slotsIn(places, state.limit, largestSlot(scene));
    slots.forEach((slot, index) => {
      if (index < state.used) fullSlot(scene, slot, palette.allowed);
      else emptySlot(scene, slot);
    });
    enter = slots[Math.max(0, Math.min(slots.length, state.used) - 1)] ?? enter;
  }
  if (isLarge) {
    write(scene, `${state.used} of ${state.limit} used`, places.left, scene.height - 12, palette.soft);
    const left = `starts again in ${countdown(start + size - state.now)}`;
    write(scene, left, box.right, scene.height - 12, palette.soft, 'right');
  }
  drawRequests(scene, gate, places, enter);
};
