/**
 * Sliding window counter: two counts on the clock, and the previous one fades linearly as the current window passes. An
 * estimate of the sliding window in constant space: right when traffic within a window is even, and never more than
 * 2 x limit in any time of one window. State: [window start, current, previous]. Twin: sliding-window-counter.lua.
 */
import type { Algorithm, Numbers } from '../../model/algorithm.ts';
import { deny, look, spend, TIME_TOLERANCE, UNIT_TOLERANCE } from '../../model/algorithm.ts';
import { toMicros } from '../../model/duration.ts';
import type { SlidingWindowCounterPolicy } from '../../model/policy.ts';

export const slidingWindowCounterAlgorithm: Algorithm<SlidingWindowCounterPolicy> = {
  width: 3,
  transition(state, now, cost, { limit, window }) {
    const size = toMicros(window);
    const reanchored = state !== undefined && state[0]! - now > 2 * size;
    const [start, current, previous] = reanchored ? gathered(state, now, size, limit) : windowAt(state, now, size);
    const elapsed = Math.max(0, now - start);
    const room = Math.max(0, limit - current - faded(previous, elapsed, size));

    if (cost > 0 && cost <= room) {
      const counted = current + cost;
      return spend(room - cost, resetAfter(start, counted, previous, size, now), [start, counted, previous]);
    }
    const reset = resetAfter(start, current, previous, size, now);
    if (cost === 0) return look(room, reset);
    const retry = cost > limit ? Number.POSITIVE_INFINITY : crossing(start, current, previous, cost, limit, size) - now;
    return deny(room, retry, reset, reanchored ? [start, current, previous] : undefined);
  },
};

type Cells = readonly [start: number, current: number, previous: number];

/** The two counts as of now. A window that starts later than now is used as it is: time going backwards fades nothing. */
function windowAt(state: Numbers | undefined, now: number, size: number): Cells {
  const opens = now - (now % size);
  if (state === undefined) return [opens, 0, 0];
  const [start = 0, current = 0, previous = 0] = state;
  if (start > now) return [start - (start % size), current, previous];
  if (start >= opens) return [opens, current, previous];
  return start >= opens - size ? [opens, 0, current] : [opens, 0, 0];
}

/** After a large step back: everything that was counted, in the window of now, and never more than the limit. */
function gathered([, current = 0, previous = 0]: Numbers, now: number, size: number, limit: number): Cells {
  return [now - (now % size), Math.min(limit, current + previous), 0];
}

/** What is left of a previous window's count after `elapsed` of the current one. */
function faded(count: number, elapsed: number, size: number): number {
  return Math.floor((count * (size - elapsed)) / size + toleranceOf(count, size));
}

function toleranceOf(count: number, size: number): number {
  return Math.min(UNIT_TOLERANCE, (TIME_TOLERANCE * count) / size);
}

/** The moment the cost fits: in this window while `previous` fades, or in the next one where `current` has become previous. */
function crossing(start: number, current: number, previous: number, cost: number, limit: number, size: number): number {
  const room = limit - cost - current;
  return room >= 0 ? start + fadeTime(previous, room, size) : start + size + fadeTime(current, limit - cost, size);
}

function resetAfter(start: number, current: number, previous: number, size: number, now: number): number {
  if (current > 0) return start + size + fadeTime(current, 0, size) - now;
  return previous > 0 ? Math.max(0, start + fadeTime(previous, 0, size) - now) : 0;
}

/** The first whole microsecond of a window at which at most `room` is left of `count`: estimated, then made exact. */
function fadeTime(count: number, room: number, size: number): number {
  if (faded(count, 0, size) <= room) return 0;
  let elapsed = Math.max(0, Math.ceil(size * (1 - (room + 1 - toleranceOf(count, size)) / count)));
  while (elapsed > 0 && faded(count, elapsed - 1, size) <= room) elapsed -= 1;
  while (faded(count, elapsed, size) > room) elapsed += 1;
  return elapsed;
}
