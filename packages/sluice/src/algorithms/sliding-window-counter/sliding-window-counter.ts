/**
 * Sliding window counter: two counts on the clock, and the previous one fades linearly as the current window passes. An
 * estimate of the sliding window in constant space. State: [window start, current, previous]. Twin: sliding-window-counter.lua.
 */
import { type Duration, toMicros } from '../../model/duration.ts';
import { define, type NameOption, type Policy } from '../../model/policy.ts';
import type { Algorithm } from '../../model/rule.ts';
import { type Numbers, TIME_TOLERANCE, UNIT_TOLERANCE } from '../../model/step.ts';
import { partOfUnits, unitByUnit } from '../shared/bucket.ts';
import { windowBound, windowOn } from '../shared/windows.ts';
import { lua as lone } from './sliding-window-counter.lone.lua.generated.ts';
import { lua } from './sliding-window-counter.lua.generated.ts';

/** A policy made by `slidingWindowCounter({ ... })`. */
export interface SlidingWindowCounterPolicy extends Policy {
  readonly algorithm: 'sliding-window-counter';
  /** Units in about any window. */
  readonly limit: number;
  /** Milliseconds. */
  readonly window: number;
}

/** What `slidingWindowCounter` takes. */
export interface SlidingWindowCounterOptions extends NameOption {
  /** Units in about any window: a whole number of at least 1. */
  readonly limit: number;
  /** How long a window is: milliseconds, or text such as `'1m'`. */
  readonly window: Duration;
}

/** The windows that count, as `locate` has found them: one object for all, since making one costs more than the rest of a decision. */
const found = { start: Number.NaN, current: 0, previous: 0, reanchored: false };

function toleranceOf(size: number, count: number): number {
  return Math.min(UNIT_TOLERANCE, (TIME_TOLERANCE * count) / size);
}

/** What is left of a previous window's count after `elapsed` of the current one. */
function faded(size: number, count: number, elapsed: number): number {
  return count === 0 ? 0 : Math.floor((count * (size - elapsed)) / size + toleranceOf(size, count));
}

/** The first whole microsecond of a window at which at most `room` is left of `count`: estimated, then made exact. */
function fadeTime(size: number, count: number, room: number): number {
  if (faded(size, count, 0) <= room) return 0;
  let elapsed = Math.max(0, Math.ceil(size * (1 - (room + 1 - toleranceOf(size, count)) / count)));
  while (elapsed > 0 && faded(size, count, elapsed - 1) <= room) elapsed -= 1;
  while (faded(size, count, elapsed) > room) elapsed += 1;
  return elapsed;
}

function resetAfter(size: number, start: number, current: number, previous: number, now: number): number {
  if (current > 0) return start + size + fadeTime(size, current, 0) - now;
  return previous > 0 ? Math.max(0, start + fadeTime(size, previous, 0) - now) : 0;
}

/** What depends only on the policy. */
interface Counter {
  readonly limit: number;
  /** Microseconds. */
  readonly size: number;
  openedAt(moment: number): number;
}

/** Finds the windows that count now. */
function locate({ limit, size, openedAt }: Counter, state: Numbers | undefined, now: number): void {
  const opens = openedAt(now);
  found.start = opens;
  found.current = 0;
  found.previous = 0;
  found.reanchored = false;
  if (state === undefined) return;
  const since = state[0]!;
  const current = state[1]!;
  const previous = state[2]!;
  if (since - now > 2 * size) {
    // After a large step back: everything that was counted, in the window of now, and never more than the limit.
    found.current = Math.min(limit, current + previous);
    found.reanchored = true;
  } else if (since >= opens) {
    // A window that starts later than now is used as it is: time going backwards fades nothing.
    if (since > now) found.start = openedAt(since);
    found.current = current;
    found.previous = previous;
  } else if (since >= opens - size) found.previous = current;
}

/** The moment the cost fits: in this window while `previous` fades, or in the next one where `current` has become previous. */
function crossing({ limit, size }: Counter, cost: number): number {
  const { start, current, previous } = found;
  const spare = limit - cost - current;
  return spare >= 0 ? start + fadeTime(size, previous, spare) : start + size + fadeTime(size, current, limit - cost);
}

function roomOf({ limit, size }: Counter, now: number): number {
  const { start, current, previous } = found;
  return Math.max(0, limit - current - faded(size, previous, Math.max(0, now - start)));
}

export const SLIDING_WINDOW_COUNTER: Algorithm<SlidingWindowCounterPolicy> = {
  name: 'sliding-window-counter',
  about: 'Two counters on the clock, the previous one fading: close to a sliding window in constant space.',
  fields: {
    limit: { kind: 'count', about: 'Units in about any window.' },
    window: { kind: 'duration', about: 'How long a window is.' },
  },
  rule({ limit, window }) {
    const size = toMicros(window);
    const openedAt = windowOn(size);

    const counter: Counter = { limit, size, openedAt };

    return {
      limit,
      recovery: size,
      width: 3,
      transition(state, now, cost, step) {
        locate(counter, state, now);
        const { start, current, previous, reanchored } = found;
        const room = roomOf(counter, now);
        if (cost > 0 && cost <= room) {
          step.allow(room - cost, resetAfter(size, start, current + cost, previous, now));
          step.becomes(start, current + cost, previous);
          return;
        }
        const reset = resetAfter(size, start, current, previous, now);
        if (cost === 0) return step.allow(room, reset);
        step.deny(room, cost > limit ? Number.POSITIVE_INFINITY : crossing(counter, cost) - now, reset);
        if (reanchored) step.becomes(start, current, previous);
      },
      penalize(state, now, cost, step) {
        locate(counter, state, now);
        const spent = Math.min(cost, roomOf(counter, now));
        if (spent === 0) return step.leaves();
        step.units = spent;
        step.becomes(found.start, found.current + spent, found.previous);
      },
      /** From the count that was charged: that of the window of the spend, as long as anything of it still counts. */
      refund(state, now, cost, spent, step) {
        locate(counter, state, now);
        const { start, current, previous } = found;
        const charged = spent === undefined ? start : openedAt(spent.at);
        const previousCounts = charged === start - size && faded(size, previous, Math.max(0, now - start)) > 0;
        const back = Math.min(cost, charged === start ? current : previousCounts ? previous : 0);
        if (back === 0) return step.leaves();
        step.units = back;
        if (charged === start) step.becomes(start, current - back, previous);
        else step.becomes(start, current, previous - back);
      },
      bound: windowBound(limit, size),
      // Exact when all of it was spent in one window.
      nextUnit: (spent, resetAfter) => unitByUnit(spent, resetAfter, size / spent),
      share: (part) => ({ limit: partOfUnits(limit, part) }),
      // A lease ends with the window it was taken from: exact, and costs nothing.
      lease: () => ({ interval: 0, usableFor: (now) => openedAt(now) + size - now }),
      redis: { code: 'c', args: [String(limit), String(size), ''], lua, lone },
    };
  },
};

/**
 * Sliding window counter: the good default for "n per minute". Close to `limit` in any window, in three numbers a key; right when traffic within a
 * window is even, and never more than twice the limit in any time of one window.
 *
 * @example
 * const policy = slidingWindowCounter({ limit: 100, window: '1m' });
 */
export const slidingWindowCounter = (options: SlidingWindowCounterOptions): SlidingWindowCounterPolicy =>
  define(SLIDING_WINDOW_COUNTER, options);
