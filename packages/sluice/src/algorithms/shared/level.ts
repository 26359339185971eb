/**
 * A level that drains at a steady rate: what a token bucket has spent, what a leaky bucket holds.
 * State: [level in units, the whole microsecond it was measured at]. The level is kept relative to that time, because an
 * absolute moment with a fraction of a microsecond does not fit a double. Twin: level.lua.
 */
import type { Numbers, Step } from '../../model/algorithm.ts';
import { deny, look, spend, TIME_TOLERANCE, UNIT_TOLERANCE } from '../../model/algorithm.ts';
import { MICROS_PER_SECOND } from '../../model/duration.ts';

/** One attempt against a level of at most `capacity` that drains `rate` units a second. */
export function drainingStep(
  state: Numbers | undefined,
  now: number,
  cost: number,
  capacity: number,
  rate: number,
): Step<Numbers> {
  const tolerance = Math.min(UNIT_TOLERANCE, (TIME_TOLERANCE * rate) / MICROS_PER_SECOND);
  const [stored = 0, storedAt = now] = state ?? [];
  const level = Math.min(stored, capacity);
  const reanchored = storedAt - now > (capacity / rate) * MICROS_PER_SECOND;
  const since = reanchored ? now : storedAt;
  const at = Math.max(now, since);
  const left = drained(level, at - since, rate, tolerance);

  if (cost > 0 && left <= capacity - cost + tolerance) {
    const after = Math.min(capacity, left + cost);
    const reset = at - now + drainTime(after, tolerance, rate);
    return spend(wholeRoom(capacity, after, tolerance), reset, [after, at]);
  }
  const room = wholeRoom(capacity, left, tolerance);
  const reset = left === 0 ? 0 : since - now + drainTime(level, tolerance, rate);
  if (cost === 0) return look(room, reset);
  const fits = capacity - cost + tolerance;
  const retry = cost > capacity ? Number.POSITIVE_INFINITY : since - now + drainTime(level, fits, rate);
  return deny(room, retry, reset, reanchored ? [level, now] : undefined);
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
