/**
 * Sliding window log: remember when every unit was admitted; a unit stops counting one window later. State: log.ts. Twin:
 * sliding-window-log.lua.
 */
import { type Duration, toMicros } from '../../model/duration.ts';
import { readHistory } from '../../model/history.ts';
import { define, type NameOption, type Policy } from '../../model/policy.ts';
import type { Algorithm, RuleParts } from '../../model/rule.ts';
import type { Numbers, Step } from '../../model/step.ts';
import { always, partOfUnits } from '../shared/bucket.ts';
import { lua as history } from '../shared/history.lua.generated.ts';
import {
  append,
  canMark,
  entriesAfter,
  firstLive,
  firstWithin,
  indexAt,
  leaves,
  lengthOf,
  mark,
  newest,
  timeAt,
  truncate,
  unitsFrom,
} from './log.ts';
import { lua } from './sliding-window-log.lua.generated.ts';

/** A policy made by `slidingWindowLog({ ... })`. */
export interface SlidingWindowLogPolicy extends Policy {
  readonly algorithm: 'sliding-window-log';
  /** Units in any window. */
  readonly limit: number;
  /** Milliseconds. */
  readonly window: number;
}

/** What `slidingWindowLog` takes. */
export interface SlidingWindowLogOptions extends NameOption {
  /** Units in any window: a whole number from 1 to 10,000,000. The log keeps an entry for each admission, so it is also its memory. */
  readonly limit: number;
  /** How long a window is: milliseconds, or text such as `'1m'`. */
  readonly window: Duration;
}

/** What a step does to the log, as its first number. */
const APPEND = 0;
const TRUNCATE = 1;
const MARK = 2;

/** Where leasing would take more than this part of the rate, it is left alone. */
const MOST_OF_RATE = 0.02;

export const SLIDING_WINDOW_LOG: Algorithm<SlidingWindowLogPolicy> = {
  name: 'sliding-window-log',
  about: 'Remembers the time of every admission: the only exact sliding window, at the cost of memory for each.',
  fields: {
    limit: { kind: 'count', max: 10_000_000, about: 'Units in any window.' },
    window: { kind: 'duration', about: 'How long a window is.' },
  },
  rule({ limit, window }) {
    const size = toMicros(window);
    const changes = changesOf(limit, size);
    return {
      limit,
      recovery: size,
      width: 0,
      ...changes,
      write(state, { next }) {
        const [kind, first, second, third] = [next[0]!, next[1]!, next[2]!, next[3]!];
        if (kind === APPEND) return append(state, first, second, third, limit);
        return kind === TRUNCATE ? truncate(state!, first, second) : mark(state!, first, second, third);
      },
      history: readHistory,
      entries: (state, now, after, most) => entriesAfter(state, Math.max(after, latest(state, now) - size), most),
      bound: (from, to) => limit * Math.floor((to - from) / size + 1),
      share: (part) => ({ limit: partOfUnits(limit, part) }),
      /** A unit may be spent `ttl` after it was counted, so it stays counted for window + ttl. */
      lease: (ttl) =>
        ttl > MOST_OF_RATE * size
          ? undefined
          : { fields: { window: (size + ttl) / 1e3 }, interval: 0, usableFor: always },
      redis: { code: 'l', args: [String(limit), String(size), ''], lua, history },
    };
  },
};

function changesOf(limit: number, size: number): Pick<RuleParts, 'transition' | 'penalize' | 'refund'> {
  /** All units that counted when the clock was last right, as if admitted now. */
  const gather = (log: Numbers, now: number, cost: number, step: Step): void => {
    const used = unitsFrom(log, firstLive(log, newest(log) - size));
    const room = Math.max(0, limit - used);
    if (cost === 0) step.allow(room, used === 0 ? 0 : size);
    else if (cost <= room) step.allow(room - cost, size);
    else step.deny(room, cost > limit ? Number.POSITIVE_INFINITY : size, used === 0 ? 0 : size);
    if (cost > 0) step.becomes(APPEND, lengthOf(log), now, cost <= room ? used + cost : used);
  };

  const transition: RuleParts['transition'] = (log, now, cost, step) => {
    if (log === undefined || lengthOf(log) === 0) {
      if (cost === 0) step.allow(limit, 0);
      else if (cost > limit) step.deny(limit, Number.POSITIVE_INFINITY, 0);
      else {
        step.allow(limit - cost, size);
        step.becomes(APPEND, 0, now, cost);
      }
      return;
    }
    const last = newest(log);
    if (last - now > size) return gather(log, now, cost, step);
    const at = Math.max(now, last);
    const first = firstLive(log, at - size);
    const used = unitsFrom(log, first);
    const room = Math.max(0, limit - used);
    if (cost > 0 && cost <= room) {
      step.allow(room - cost, at + size - now);
      step.becomes(APPEND, first, at, cost);
      return;
    }
    const reset = used === 0 ? 0 : last + size - now;
    if (cost === 0) return step.allow(room, reset);
    step.deny(room, cost > limit ? Number.POSITIVE_INFINITY : leaves(log, first, limit - cost) + size - now, reset);
  };

  return {
    transition,
    /** What there is room for, recorded as any admission. */
    penalize(log, now, cost, step) {
      transition(log, now, 0, step);
      const spent = Math.min(cost, step.remaining);
      if (spent === 0) return step.leaves();
      transition(log, now, spent, step);
      step.units = spent;
    },
    /** Out of the entry that was admitted then, or out of the newest ones. */
    refund(log, now, cost, spent, step) {
      step.leaves();
      if (log === undefined || lengthOf(log) === 0 || newest(log) - now > size) return;
      const moment = latest(log, now) - size;
      const first = firstLive(log, moment);
      if (spent === undefined) return takeNewest(log, first, cost, step);
      const index = indexAt(log, spent.until - size, first);
      if (index >= 0) takeFrom(log, index, cost, moment, step);
    },
  };
}

function latest(log: Numbers, now: number): number {
  return Math.max(now, newest(log));
}

function takeNewest(log: Numbers, first: number, cost: number, step: Step): void {
  const back = Math.min(cost, unitsFrom(log, first));
  if (back === 0) return;
  const kept = firstWithin(log, first, back);
  step.units = back;
  step.becomes(TRUNCATE, kept, back - unitsFrom(log, kept));
}

function takeFrom(log: Numbers, index: number, cost: number, moment: number, step: Step): void {
  const there = unitsFrom(log, index) - unitsFrom(log, index + 1);
  const back = Math.min(cost, there);
  const isLast = index === lengthOf(log) - 1;
  if (back === 0 || (!isLast && !canMark(log, timeAt(log, index), moment))) return;
  step.units = back;
  if (!isLast) step.becomes(MARK, timeAt(log, index), back, moment);
  else if (back === there) step.becomes(TRUNCATE, index, 0);
  else step.becomes(TRUNCATE, index + 1, back);
}

/**
 * Sliding window log: exactly `limit` in any window, and `history` tells when. Choose it when it must be exact or audited; it keeps an entry for each
 * admission.
 *
 * @example
 * const policy = slidingWindowLog({ limit: 5, window: '15m' });
 */
export const slidingWindowLog = (options: SlidingWindowLogOptions): SlidingWindowLogPolicy =>
  define(SLIDING_WINDOW_LOG, options);
