/**
 * Sliding window log: remember when every unit was admitted; a unit stops counting one window later. The only exact sliding
 * window: in any time of one window at most `limit` is admitted. It costs memory for each admission.
 *
 * One entry is one admission, whatever its cost, in a ring ordered by time. Each entry carries how many units were
 * admitted before it, so that "how many since?" is a subtraction and both questions (who has left? who must leave?) are a
 * galloping search: no check walks the log, and nothing is ever pruned one by one. Twin: sliding-window-log.lua.
 */
import type { Step } from '../../model/algorithm.ts';
import { deny, look, spend } from '../../model/algorithm.ts';
import { toMicros } from '../../model/duration.ts';
import type { SlidingWindowLogPolicy } from '../../model/policy.ts';

export interface Log {
  /** Ring buffers of one capacity: when each admission was, and units admitted before it. */
  times: Float64Array;
  before: Float64Array;
  /** Slot of the oldest entry. */
  head: number;
  length: number;
  /** Units admitted up to now, those that have left included. */
  total: number;
}

/** What an attempt does to the log: the oldest `drop` entries have left, and `cost` units were admitted at `at`. */
export interface LogChange {
  readonly drop: number;
  readonly at: number;
  readonly cost: number;
}

export function logTransition(
  stored: Log | undefined,
  now: number,
  cost: number,
  { limit, window }: SlidingWindowLogPolicy,
): Step<LogChange> {
  const size = toMicros(window);
  const reanchored = stored !== undefined && newest(stored) - now > size;
  const log = reanchored ? gathered(stored, now, size) : stored;
  const at = log === undefined || log.length === 0 ? now : Math.max(now, newest(log));
  const first = firstLive(log, at - size);
  const used = unitsFrom(log, first);
  const room = Math.max(0, limit - used);
  const reset = used === 0 ? 0 : newest(log!) + size - now;

  if (cost === 0) return look(room, reset);
  if (cost <= room) {
    const change = reanchored ? { drop: stored.length, at, cost: used + cost } : { drop: first, at, cost };
    return spend(room - cost, at + size - now, change);
  }
  const retry = cost > limit ? Number.POSITIVE_INFINITY : leaves(log!, first, limit - cost) + size - now;
  return deny(room, retry, reset, reanchored ? { drop: stored.length, at: now, cost: used } : undefined);
}

/** After a large step back: all units that counted when the clock was last right, as if admitted now. */
function gathered(log: Log, now: number, size: number): Log {
  const units = unitsFrom(log, firstLive(log, newest(log) - size));
  return { times: Float64Array.of(now), before: Float64Array.of(0), head: 0, length: 1, total: units };
}

/** Index of the oldest entry later than `moment`; a unit admitted at t is outside the window from t + window on. */
export function firstLive(log: Log | undefined, moment: number): number {
  return log === undefined ? 0 : firstIndex(0, log.length, (index) => timeAt(log, index) > moment);
}

export function unitsFrom(log: Log | undefined, index: number): number {
  return log === undefined || index >= log.length ? 0 : log.total - beforeAt(log, index);
}

/** When the entry was admitted that must leave, with all before it, so that at most `room` units are left. */
function leaves(log: Log, first: number, room: number): number {
  const enough = firstIndex(first + 1, log.length, (index) => unitsFrom(log, index) <= room);
  return timeAt(log, enough - 1);
}

export function timeAt(log: Log, index: number): number {
  return log.times[(log.head + index) % log.times.length]!;
}

function beforeAt(log: Log, index: number): number {
  return log.before[(log.head + index) % log.before.length]!;
}

function newest(log: Log): number {
  return timeAt(log, log.length - 1);
}

/** The first index from `from` on where `holds`; it must hold for all after it. Galloping: near answers are cheap. */
function firstIndex(from: number, length: number, holds: (index: number) => boolean): number {
  let low = from;
  let step = 1;
  while (low + step - 1 < length && !holds(low + step - 1)) {
    low += step;
    step *= 2;
  }
  let high = Math.min(length, low + step - 1);
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

const SMALLEST = 4;

/** Carries a change out, in place: this is the store's write, not the decision. */
export function record(log: Log | undefined, { drop, at, cost }: LogChange, limit: number): Log {
  const kept = log ?? { times: new Float64Array(0), before: new Float64Array(0), head: 0, length: 0, total: 0 };
  if (drop > 0) {
    kept.head = (kept.head + drop) % kept.times.length;
    kept.length -= drop;
  }
  if (kept.length === 0 || newest(kept) !== at) append(kept, at, limit);
  kept.total += cost;
  return kept;
}

function append(log: Log, at: number, limit: number): void {
  if (log.length === log.times.length) grow(log, Math.min(limit, Math.max(SMALLEST, log.length * 2)));
  const slot = (log.head + log.length) % log.times.length;
  log.times[slot] = at;
  log.before[slot] = log.total;
  log.length += 1;
}

/** A window never holds more than `limit` admissions, so the ring never needs to be larger. */
function grow(log: Log, capacity: number): void {
  log.times = unrolled(log.times, log.head, capacity);
  log.before = unrolled(log.before, log.head, capacity);
  log.head = 0;
}

function unrolled(ring: Float64Array, head: number, capacity: number): Float64Array {
  const grown = new Float64Array(capacity);
  grown.set(ring.subarray(head));
  grown.set(ring.subarray(0, head), ring.length - head);
  return grown;
}
