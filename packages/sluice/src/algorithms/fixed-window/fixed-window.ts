/** Fixed window. State: [window start, count]. Twin: fixed-window.lua. */
import { type Duration, toMicros } from '../../model/duration.ts';
import { define, type NameOption, type Policy } from '../../model/policy.ts';
import type { Algorithm } from '../../model/rule.ts';
import type { Numbers } from '../../model/step.ts';
import { partOfUnits } from '../shared/bucket.ts';
import { lua as windows } from '../shared/windows.lua.generated.ts';
import { windowBound, windowOn } from '../shared/windows.ts';
import { lua as lone } from './fixed-window.lone.lua.generated.ts';
import { lua as windowAt } from './fixed-window.lua.generated.ts';

/** Which window counts, and what is spent in it. */
const LUA = /* @__PURE__ */ [windowAt, windows].join('\n');

/** A policy made by `fixedWindow({ ... })`. */
export interface FixedWindowPolicy extends Policy {
  readonly algorithm: 'fixed-window';
  /** Units in each window. */
  readonly limit: number;
  /** Milliseconds. */
  readonly window: number;
  /** Windows start at whole multiples of `window` since the epoch, or at a key's first attempt. */
  readonly align: 'epoch' | 'first';
}

/** What `fixedWindow` takes. */
export interface FixedWindowOptions extends NameOption {
  /** Units in each window: a whole number of at least 1. */
  readonly limit: number;
  /** How long a window is: milliseconds, or text such as `'1m'`. */
  readonly window: Duration;
  /** `'epoch'` (default): windows lie on the clock, the same for all keys. `'first'`: a window starts at a key's first attempt. */
  readonly align?: 'epoch' | 'first' | undefined;
}

/** The window that counts, as `locate` has found it: one object for all, since making one costs more than the rest of a decision. */
const found = { start: Number.NaN, count: 0, reanchored: false };

export const FIXED_WINDOW: Algorithm<FixedWindowPolicy> = {
  name: 'fixed-window',
  about:
    'Counts in windows of the clock and starts again with each: simple, but up to twice the limit passes around an edge.',
  fields: {
    limit: { kind: 'count', about: 'Units in each window.' },
    window: { kind: 'duration', about: 'How long a window is.' },
    align: {
      kind: 'choice',
      of: ['epoch', 'first'],
      about: "Windows lie on the clock, or start at a key's first attempt.",
    },
  },
  rule({ limit, window, align }) {
    const size = toMicros(window);
    const onClock = align === 'epoch';
    const locate = locating(size, onClock);
    return {
      limit,
      recovery: size,
      width: 2,
      transition(state, now, cost, step) {
        locate(state, now);
        const { start, count, reanchored } = found;
        const untilEnd = start + size - now;
        const room = Math.max(0, limit - count);
        if (cost > 0 && cost <= room) {
          step.allow(room - cost, untilEnd);
          step.becomes(start, count + cost);
          return;
        }
        const reset = count === 0 ? 0 : untilEnd;
        if (cost === 0) return step.allow(room, reset);
        step.deny(room, cost > limit ? Number.POSITIVE_INFINITY : untilEnd, reset);
        if (reanchored) step.becomes(start, count);
      },
      penalize(state, now, cost, step) {
        locate(state, now);
        const { start, count } = found;
        const spent = Math.min(cost, limit - count);
        if (spent <= 0) return step.leaves();
        step.units = spent;
        step.becomes(start, count + spent);
      },
      /** What was spent in another window is forgotten with it. */
      refund(state, now, cost, spent, step) {
        locate(state, now);
        const { start, count } = found;
        const back = spent !== undefined && spent.until !== start + size ? 0 : Math.min(cost, count);
        if (back === 0) return step.leaves();
        step.units = back;
        step.becomes(start, count - back);
      },
      bound: onClock ? windowBound(limit, size) : (from, to) => limit * (Math.floor((to - from) / size) + 2),
      share: (part) => ({ limit: partOfUnits(limit, part) }),
      // A lease ends with the window it was taken from: exact, and costs nothing.
      lease: () => ({ interval: 0, usableFor: (_now, resetAfter) => resetAfter }),
      redis: { code: 'f', args: [String(limit), String(size), align], lua: LUA, lone },
    };
  },
};

/** Finds the window that counts. One that starts later than now is used as it is: time going backwards opens no new one. */
function locating(size: number, onClock: boolean): (state: Numbers | undefined, now: number) => void {
  const openedAt = windowOn(size);
  return (state, now) => {
    found.start = onClock ? openedAt(now) : now;
    found.count = 0;
    found.reanchored = false;
    if (state === undefined) return;
    const since = state[0]!;
    if (onClock ? since < found.start : now - since >= size) return;
    found.count = state[1]!;
    if (since - now > size) found.reanchored = true;
    else if (!onClock) found.start = since;
    else if (since > now) found.start = openedAt(since);
  };
}

/**
 * Fixed window: at most `limit` in each window of the clock. The simplest, and right for quotas that follow the calendar of the clock; around the edge of a
 * window up to twice the limit passes in a short time.
 *
 * @example
 * const policy = fixedWindow({ limit: 10_000, window: '1d' });
 */
export const fixedWindow = (options: FixedWindowOptions): FixedWindowPolicy => define(FIXED_WINDOW, options);
