/**
 * Sliding window counter: two counts on the clock, and the previous one fades linearly as the current window passes. An
 * estimate of the sliding window in constant space: right when traffic within a window is even, and never more than
 * 2 x limit in any time of one window. State: [window start, current, previous]. Twin: sliding-window-counter.lua.
 */
import type { Algorithm, Numbers } from '../../model/algorithm.ts';
import { allow, becoming, deny, NEVER, TIME_TOLERANCE, UNCHANGED, UNIT_TOLERANCE } from '../../model/algorithm.ts';
import { toMicros } from '../../model/duration.ts';
import type { SlidingWindowCounterPolicy } from '../../model/policy.ts';

export const slidingWindowCounterAlgorithm: Algorithm<SlidingWindowCounterPolicy> = {
  width: 3,
  transition(state, now, cost, { limit, window }) {
    const size = toMicros(window);
    const opens = now - (now % size);
    const since = state === undefined ? NEVER : state[0]!;
    const reanchored = since - now > 2 * size;
    let [start, current, previous] = [opens, 0, 0];
    if (reanchored) {
      // After a large step back: everything that was counted, in the window of now, and never more than the limit.
      current = Math.min(limit, state![1]! + state![2]!);
    } else if (since >= opens) {
      // A window that starts later than now is used as it is: time going backwards fades nothing.
      start = since > now ? since - (since % size) : opens;
      current = state![1]!;
      previous = state![2]!;
    } else if (since >= opens - size) {
      previous = state![1]!;
    }
    const elapsed = Math.max(0, now - start);
    const room = Math.max(0, limit - current - faded(previous, elapsed, size));

    if (cost > 0 && cost <= room) {
      const counted = current + cost;
      const reset = resetAfter(start, counted, previous, size, now);
      return becoming(allow(room - cost, reset), start, counted, previous);
    }
    const reset = resetAfter(start, current, previous, size, now);
    if (cost === 0) return allow(room, reset);
    const retry = cost > limit ? Number.POSITIVE_INFINITY : crossing(start, current, previous, cost, limit, size) - now;
    const denied = deny(room, retry, reset);
    return reanchored ? becoming(denied, start, current, previous) : denied;
  },
  penalize(state, now, cost, policy) {
    const { start, current, previous } = windowsOf(state, now, policy);
    const faded = fadedAt(previous, now - start, toMicros(policy.window));
    const spent = Math.min(cost, Math.max(0, policy.limit - current - faded));
    return spent === 0 ? UNCHANGED : { units: spent, next: [start, current + spent, previous] };
  },
  /** From the count that was charged: that of the window of the spend, as long as anything of it still counts. */
  refund(state, now, cost, spent, policy) {
    const size = toMicros(policy.window);
    const { start, current, previous } = windowsOf(state, now, policy);
    const charged = spent === undefined ? start : spent.at - (spent.at % size);
    const previousCounts = charged === start - size && fadedAt(previous, now - start, size) > 0;
    const back = Math.min(cost, charged === start ? current : previousCounts ? previous : 0);
    if (back === 0) return UNCHANGED;
    const [kept, before] = charged === start ? [current - back, previous] : [current, previous - back];
    return { units: back, next: [start, kept, before] };
  },
};

function fadedAt(previous: number, elapsed: number, size: number): number {
  return previous === 0 ? 0 : faded(previous, Math.max(0, elapsed), size);
}

/** The windows that count now, as the transition sees them. */
function windowsOf(
  state: Numbers | undefined,
  now: number,
  { limit, window }: SlidingWindowCounterPolicy,
): { start: number; current: number; previous: number } {
  const size = toMicros(window);
  const opens = now - (now % size);
  if (state === undefined) return { start: opens, current: 0, previous: 0 };
  const [since, current, previous] = [state[0]!, state[1]!, state[2]!];
  if (since - now > 2 * size) return { start: opens, current: Math.min(limit, current + previous), previous: 0 };
  if (since >= opens) return { start: since > now ? since - (since % size) : opens, current, previous };
  return { start: opens, current: 0, previous: since >= opens - size ? current : 0 };
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
