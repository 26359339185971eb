/**
 * A moment up to which the future is already spoken for: GCRA's theoretical arrival time, a shaper's next free slot.
 * State: [whole microsecond, fraction of a microsecond beyond it]. They are apart because a double cannot hold both at
 * today's epoch. Twin: horizon.lua.
 */
import type { Adjustment, Numbers, Spent, Step } from '../../model/algorithm.ts';
import { allow, becoming, deny, TIME_TOLERANCE, UNCHANGED, UNIT_TOLERANCE } from '../../model/algorithm.ts';

/**
 * One attempt where each unit takes `interval` microseconds of the future and at most `capacity` units may be ahead. With `delays` the
 * caller waits until its units are due; without, it comes ahead of its time.
 */
export function bookingStep(
  state: Numbers | undefined,
  now: number,
  cost: number,
  capacity: number,
  interval: number,
  delays: boolean,
): Step {
  const span = capacity * interval;
  const tolerance = toleranceOf(interval);
  const distance = state === undefined ? 0 : state[0]! - now + state[1]!;
  const reanchored = distance > 2 * span;
  const passed = distance <= tolerance;
  const kept = !reanchored && !passed;
  const whole = kept ? state![0]! : reanchored ? now + Math.floor(span) : now;
  const fraction = kept ? state![1]! : reanchored ? span - Math.floor(span) : 0;
  const before = reanchored ? span : passed ? 0 : distance;

  if (cost > 0 && before <= (capacity - cost) * interval + tolerance) {
    const beyond = fraction + cost * interval;
    const carry = Math.floor(beyond);
    const nextWhole = whole + carry;
    const nextFraction = beyond - carry;
    const remaining = wholeRoom(nextWhole - now + nextFraction, capacity, interval, tolerance);
    const delay = delays ? timeUntil(whole, fraction, now, tolerance) : 0;
    const reset = timeUntil(nextWhole, nextFraction, now, tolerance);
    return becoming(allow(remaining, reset, delay), nextWhole, nextFraction);
  }
  const room = wholeRoom(before, capacity, interval, tolerance);
  const wait = timeUntil(whole, fraction, now, tolerance);
  if (cost === 0) return allow(room, wait, delays ? wait : 0);
  const fits = (capacity - cost) * interval + tolerance;
  const retry = cost > capacity ? Number.POSITIVE_INFINITY : timeUntil(whole, fraction, now, fits);
  const denied = deny(room, retry, wait);
  return reanchored ? becoming(denied, whole, fraction) : denied;
}

function toleranceOf(interval: number): number {
  return Math.min(UNIT_TOLERANCE * interval, TIME_TOLERANCE);
}

interface Horizon {
  readonly whole: number;
  readonly fraction: number;
  /** Microseconds from now to it. */
  readonly before: number;
}

function horizonOf(state: Numbers | undefined, now: number, span: number, tolerance: number): Horizon {
  const before = state === undefined ? 0 : state[0]! - now + state[1]!;
  if (before <= tolerance) return { whole: now, fraction: 0, before: 0 };
  if (before <= 2 * span) return { whole: state![0]!, fraction: state![1]!, before };
  return { whole: now + Math.floor(span), fraction: span - Math.floor(span), before: span };
}

export function movedAway(
  state: Numbers | undefined,
  now: number,
  cost: number,
  capacity: number,
  interval: number,
): Adjustment {
  const span = capacity * interval;
  const horizon = horizonOf(state, now, span, toleranceOf(interval));
  return moved(horizon, Math.max(0, Math.min(cost * interval, span - horizon.before)), interval);
}

/**
 * As for a level, only what is surely still ahead of a spend can be given back. A shaper gives back only its last slot:
 * behind any other stand callers who go on waiting for theirs.
 */
export function movedBack(
  state: Numbers | undefined,
  now: number,
  cost: number,
  spent: Spent | undefined,
  capacity: number,
  interval: number,
  delays: boolean,
): Adjustment {
  const tolerance = toleranceOf(interval);
  const horizon = horizonOf(state, now, capacity * interval, tolerance);
  let back = Math.min(cost * interval, horizon.before);
  if (spent !== undefined) {
    if (!delays) back = Math.min(back, spent.cost * interval - (now - spent.at));
    else if (now + timeUntil(horizon.whole, horizon.fraction, now, tolerance) !== spent.until) back = 0;
  }
  return moved(horizon, -Math.max(0, back), interval);
}

function moved({ whole, fraction }: Horizon, by: number, interval: number): Adjustment {
  if (by === 0) return UNCHANGED;
  const beyond = fraction + by;
  const carry = Math.floor(beyond);
  return { units: Math.abs(by) / interval, next: [whole + carry, beyond - carry] };
}

/** Whole units that can still be booked: the largest n with distance <= (capacity - n) * interval + tolerance. */
function wholeRoom(distance: number, capacity: number, interval: number, tolerance: number): number {
  if (distance <= tolerance) return capacity;
  const room = Math.max(0, Math.floor(capacity - (distance - tolerance) / interval));
  if (distance > (capacity - room) * interval + tolerance) return Math.max(0, room - 1);
  return distance <= (capacity - (room + 1)) * interval + tolerance ? room + 1 : room;
}

/** The first whole microsecond from now at which the horizon is at most `target` away: estimated, then made exact. */
function timeUntil(whole: number, fraction: number, now: number, target: number): number {
  const distance = whole - now;
  if (distance + fraction <= target) return 0;
  let elapsed = Math.ceil(distance + fraction - target);
  while (elapsed > 0 && distance - (elapsed - 1) + fraction <= target) elapsed -= 1;
  while (distance - elapsed + fraction > target) elapsed += 1;
  return elapsed;
}
