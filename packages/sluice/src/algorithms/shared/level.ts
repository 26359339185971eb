/**
 * A level that drains at a steady rate: what a token bucket has spent, what a leaky bucket holds.
 * State: [level in units, the whole microsecond it was measured at]. The level is kept relative to that time, because an
 * absolute moment with a fraction of a microsecond does not fit a double. Twin: level.lua.
 */
import type { Adjustment, Numbers, Spent, Step } from '../../model/algorithm.ts';
import { allow, becoming, deny, TIME_TOLERANCE, UNCHANGED, UNIT_TOLERANCE } from '../../model/algorithm.ts';
import { MICROS_PER_SECOND } from '../../model/duration.ts';

/** One attempt against a level of at most `capacity` that drains `rate` units a second. */
export function drainingStep(
  state: Numbers | undefined,
  now: number,
  cost: number,
  capacity: number,
  rate: number,
): Step {
  const tolerance = toleranceOf(rate);
  const level = state === undefined ? 0 : Math.min(state[0]!, capacity);
  const storedAt = state === undefined ? now : state[1]!;
  const reanchored = storedAt - now > (capacity / rate) * MICROS_PER_SECOND;
  const since = reanchored ? now : storedAt;
  const at = Math.max(now, since);
  const left = drained(level, at - since, rate, tolerance);

  if (cost > 0 && left <= capacity - cost + tolerance) {
    const after = Math.min(capacity, left + cost);
    const reset = at - now + drainTime(after, tolerance, rate);
    return becoming(allow(wholeRoom(capacity, after, tolerance), reset), after, at);
  }
  const room = wholeRoom(capacity, left, tolerance);
  const reset = left === 0 ? 0 : since - now + drainTime(level, tolerance, rate);
  if (cost === 0) return allow(room, reset);
  const fits = capacity - cost + tolerance;
  const retry = cost > capacity ? Number.POSITIVE_INFINITY : since - now + drainTime(level, fits, rate);
  const denied = deny(room, retry, reset);
  return reanchored ? becoming(denied, level, now) : denied;
}

function toleranceOf(rate: number): number {
  return Math.min(UNIT_TOLERANCE, (TIME_TOLERANCE * rate) / MICROS_PER_SECOND);
}

/** What is left of the level, and at what time: the stored one when that is later than now. */
function leftOf(state: Numbers | undefined, now: number, capacity: number, rate: number): [left: number, at: number] {
  if (state === undefined) return [0, now];
  const since = state[1]! - now > (capacity / rate) * MICROS_PER_SECOND ? now : state[1]!;
  const at = Math.max(now, since);
  return [drained(Math.min(state[0]!, capacity), at - since, rate, toleranceOf(rate)), at];
}

export function raisedLevel(
  state: Numbers | undefined,
  now: number,
  cost: number,
  capacity: number,
  rate: number,
): Adjustment {
  const [left, at] = leftOf(state, now, capacity, rate);
  const spent = Math.min(cost, capacity - left);
  return spent <= 0 ? UNCHANGED : { units: spent, next: [left + spent, at] };
}

/**
 * What a spend has added drains with everything else. What is surely still there of it can be given back: its units less all that
 * has drained since, as if nothing had lain below them. That stays right whatever else is given back meanwhile.
 */
export function loweredLevel(
  state: Numbers | undefined,
  now: number,
  cost: number,
  spent: Spent | undefined,
  capacity: number,
  rate: number,
): Adjustment {
  const [left, at] = leftOf(state, now, capacity, rate);
  const back = spent === undefined ? Math.min(cost, left) : Math.min(cost, left, stillThere(spent, at, rate));
  return back <= 0 ? UNCHANGED : { units: back, next: [left - back, at] };
}

function stillThere({ at: spentAt, cost }: Spent, at: number, rate: number): number {
  return cost - ((at - spentAt) * rate) / MICROS_PER_SECOND;
}

function drained(level: number, elapsed: number, rate: number, tolerance: number): number {
  const left = level - (elapsed * rate) / MICROS_PER_SECOND;
  return left <= tolerance ? 0 : left;
}

/** Whole units that fit on top of `level`: the largest n with level <= capacity - n + tolerance. */
function wholeRoom(capacity: number, level: number, tolerance: number): number {
  const room = Math.floor(capacity - level + tolerance);
  if (level > capacity - room + tolerance) return Math.max(0, room - 1);
  return level <= capacity - (room + 1) + tolerance ? room + 1 : room;
}

/** The first whole microsecond at which `level` has drained to `target`: estimated, then made exact. */
function drainTime(level: number, target: number, rate: number): number {
  if (level <= target) return 0;
  let elapsed = Math.ceil(((level - target) * MICROS_PER_SECOND) / rate);
  while (elapsed > 0 && level - ((elapsed - 1) * rate) / MICROS_PER_SECOND <= target) elapsed -= 1;
  while (level - (elapsed * rate) / MICROS_PER_SECOND > target) elapsed += 1;
  return elapsed;
}
