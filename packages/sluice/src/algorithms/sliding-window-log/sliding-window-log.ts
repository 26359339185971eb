/**
 * Sliding window log: remember when every unit was admitted; a unit stops counting one window later. The only exact sliding
 * window: in any time of one window at most `limit` is admitted. It costs memory for each admission.
 *
 * One entry is one admission, whatever its cost, in a ring ordered by time. Each entry carries how many units were
 * admitted before it, so that "how many since?" is a subtraction and both questions (who has left? who must leave?) are a
 * galloping search: no check walks the log, and nothing is ever pruned one by one. Twin: sliding-window-log.lua.
 */
import type { Adjustment, Numbers, Spent, Step } from '../../model/algorithm.ts';
import { allow, becoming, deny, UNCHANGED } from '../../model/algorithm.ts';
import { toMicros } from '../../model/duration.ts';
import type { SlidingWindowLogPolicy } from '../../model/policy.ts';

export interface Log {
  /** A ring of entries, two numbers each: when the admission was, and units admitted before it. */
  ring: number[];
  /** Entries there is room for. */
  capacity: number;
  /** Slot of the oldest entry. */
  head: number;
  length: number;
  /** Units admitted up to now, those that have left included. */
  total: number;
}

/**
 * What an attempt does to the log is told as three numbers, `[drop, at, cost]`: the oldest `drop` entries have left, and
 * `cost` units were admitted at `at`.
 */
export function logTransition(
  stored: Log | undefined,
  now: number,
  cost: number,
  { limit, window }: SlidingWindowLogPolicy,
): Step {
  const size = toMicros(window);
  const reanchored = stored !== undefined && newest(stored) - now > size;
  const log = reanchored ? gathered(stored, now, size) : stored;
  const at = log === undefined || log.length === 0 ? now : Math.max(now, newest(log));
  const first = firstLive(log, at - size);
  const used = unitsFrom(log, first);
  const room = Math.max(0, limit - used);
  const reset = used === 0 ? 0 : newest(log!) + size - now;

  if (cost === 0) return allow(room, reset);
  if (cost <= room) {
    const step = allow(room - cost, at + size - now);
    return reanchored ? becoming(step, stored.length, at, used + cost) : becoming(step, first, at, cost);
  }
  const retry = cost > limit ? Number.POSITIVE_INFINITY : leaves(log!, first, limit - cost) + size - now;
  const denied = deny(room, retry, reset);
  return reanchored ? becoming(denied, stored.length, now, used) : denied;
}

/** How much a penalty can spend: what there is room for. It is then recorded as any admission. */
export function penaltyOf(log: Log | undefined, now: number, cost: number, policy: SlidingWindowLogPolicy): number {
  return Math.min(cost, logTransition(log, now, 0, policy).remaining);
}

/** Takes units out of the entry that was admitted then, or out of the newest ones. */
export function refundedLog(
  log: Log | undefined,
  now: number,
  cost: number,
  spent: Spent | undefined,
  { window }: SlidingWindowLogPolicy,
): Adjustment<Log> {
  const size = toMicros(window);
  if (log === undefined || newest(log) - now > size) return UNCHANGED;
  const first = firstLive(log, Math.max(now, newest(log)) - size);
  let back = 0;
  const kept: [at: number, units: number][] = [];
  for (let index = log.length - 1; index >= first; index -= 1) {
    const at = timeAt(log, index);
    const units = unitsFrom(log, index) - unitsFrom(log, index + 1);
    const taken = spent === undefined || at === spent.until - size ? Math.min(units, cost - back) : 0;
    back += taken;
    if (units > taken) kept.push([at, units - taken]);
  }
  if (back === 0) return UNCHANGED;
  const empty: Log = { ring: [], capacity: 0, head: 0, length: 0, total: 0 };
  const rebuilt = kept.reduceRight((next, [at, units]) => record(next, [0, at, units], kept.length), empty);
  return { units: back, next: rebuilt };
}

/** After a large step back: all units that counted when the clock was last right, as if admitted now. */
function gathered(log: Log, now: number, size: number): Log {
  const units = unitsFrom(log, firstLive(log, newest(log) - size));
  return { ring: [now, 0], capacity: 1, head: 0, length: 1, total: units };
}

/** Index of the oldest entry later than `moment`; a unit admitted at t is outside the window from t + window on. */
export function firstLive(log: Log | undefined, moment: number): number {
  return log === undefined ? 0 : firstAbove(log, TIME, moment, 0);
}

export function unitsFrom(log: Log | undefined, index: number): number {
  return log === undefined || index >= log.length ? 0 : log.total - numberAt(log, index, BEFORE);
}

/** When the entry was admitted that must leave, with all before it, so that at most `room` units are left. */
function leaves(log: Log, first: number, room: number): number {
  return timeAt(log, firstAbove(log, BEFORE, log.total - room - 1, first + 1) - 1);
}

export function timeAt(log: Log, index: number): number {
  return numberAt(log, index, TIME);
}

function newest(log: Log): number {
  return timeAt(log, log.length - 1);
}

/** The two numbers of an entry. Both grow from entry to entry. */
const TIME = 0;
const BEFORE = 1;

function numberAt(log: Log, index: number, which: number): number {
  return log.ring[slotOf(log, index) * 2 + which]!;
}

function slotOf({ head, capacity }: Log, index: number): number {
  const slot = head + index;
  return slot < capacity ? slot : slot - capacity;
}

/** The first index from `from` on whose number is above `bound`, or the length. Galloping: near answers are cheap. */
function firstAbove(log: Log, which: number, bound: number, from: number): number {
  let low = from;
  let step = 1;
  while (low + step - 1 < log.length && numberAt(log, low + step - 1, which) <= bound) {
    low += step;
    step *= 2;
  }
  let high = Math.min(log.length, low + step - 1);
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (numberAt(log, middle, which) > bound) high = middle;
    else low = middle + 1;
  }
  return low;
}

const SMALLEST = 4;

/** Carries a change out, in place: this is the store's write, not the decision. */
export function record(log: Log | undefined, change: Numbers, limit: number): Log {
  const [drop, at, cost] = [change[0]!, change[1]!, change[2]!];
  const kept = log ?? { ring: [], capacity: 0, head: 0, length: 0, total: 0 };
  if (drop > 0) {
    kept.head = slotOf(kept, drop);
    kept.length -= drop;
  }
  if (kept.length === 0 || newest(kept) !== at) append(kept, at, limit);
  kept.total += cost;
  return kept;
}

function append(log: Log, at: number, limit: number): void {
  if (log.length === log.capacity) grow(log, Math.min(limit, Math.max(SMALLEST, log.length * 2)));
  const slot = slotOf(log, log.length);
  log.ring[slot * 2 + TIME] = at;
  log.ring[slot * 2 + BEFORE] = log.total;
  log.length += 1;
}

/** A window never holds more than `limit` admissions, so the ring never needs to be larger. It is unrolled into the new one. */
function grow(log: Log, capacity: number): void {
  const oldest = log.head * 2;
  const ring = log.ring.slice(oldest).concat(log.ring.slice(0, oldest));
  ring.length = capacity * 2;
  log.ring = ring;
  log.capacity = capacity;
  log.head = 0;
}
