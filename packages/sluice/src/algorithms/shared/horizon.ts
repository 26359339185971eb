/**
 * A moment up to which the future is already spoken for: GCRA's theoretical arrival time, a shaper's next free slot.
 * State: [whole microsecond, fraction of a microsecond beyond it]. They are apart because a double cannot hold both at
 * today's epoch. Twin: horizon.lua.
 */
import type { Numbers, Step } from '../../model/algorithm.ts';
import { deny, look, spend, TIME_TOLERANCE, UNIT_TOLERANCE } from '../../model/algorithm.ts';

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
): Step<Numbers> {
  const span = capacity * interval;
  const tolerance = Math.min(UNIT_TOLERANCE * interval, TIME_TOLERANCE);
  const distance = state === undefined ? 0 : ahead(state, now);
  const reanchored = distance > 2 * span;
  const passed = distance <= tolerance;
  const horizon = reanchored ? later([now, 0], span) : passed ? [now, 0] : state!;
  const before = reanchored ? span : passed ? 0 : distance;

  if (cost > 0 && before <= (capacity - cost) * interval + tolerance) {
    const next = later(horizon, cost * interval);
    const remaining = wholeRoom(ahead(next, now), capacity, interval, tolerance);
    const delay = delays ? timeUntil(horizon, now, tolerance) : 0;
    return spend(remaining, timeUntil(next, now, tolerance), next, delay);
  }
  const room = wholeRoom(before, capacity, interval, tolerance);
  const wait = timeUntil(horizon, now, tolerance);
  if (cost === 0) return look(room, wait, delays ? wait : 0);
  const fits = (capacity - cost) * interval + tolerance;
  const retry = cost > capacity ? Number.POSITIVE_INFINITY : timeUntil(horizon, now, fits);
  return deny(room, retry, wait, reanchored ? horizon : undefined);
}

/** Microseconds from now to the horizon; negative when it has passed. */
function ahead([whole = 0, fraction = 0]: Numbers, now: number): number {
  return whole - now + fraction;
}

function later([whole = 0, fraction = 0]: Numbers, by: number): Numbers {
  const beyond = fraction + by;
  const carry = Math.floor(beyond);
  return [whole + carry, beyond - carry];
}

/** Whole units that can still be booked: the largest n with distance <= (capacity - n) * interval + tolerance. */
function wholeRoom(distance: number, capacity: number, interval: number, tolerance: number): number {
  if (distance <= tolerance) return capacity;
  const room = Math.max(0, Math.floor(capacity - (distance - tolerance) / interval));
  if (distance > (capacity - room) * interval + tolerance) return Math.max(0, room - 1);
  return distance <= (capacity - (room + 1)) * interval + tolerance ? room + 1 : room;
}

/** The first whole microsecond from now at which the horizon is at most `target` away: estimated, then made exact. */
function timeUntil([whole = 0, fraction = 0]: Numbers, now: number, target: number): number {
  const distance = whole - now;
  if (distance + fraction <= target) return 0;
  let elapsed = Math.ceil(distance + fraction - target);
  while (elapsed > 0 && distance - (elapsed - 1) + fraction <= target) elapsed -= 1;
  while (distance - elapsed + fraction > target) elapsed += 1;
  return elapsed;
}
