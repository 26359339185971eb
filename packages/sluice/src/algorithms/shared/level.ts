/**
 * A level that drains at a steady rate: what a token bucket has spent, what a leaky bucket holds.
 * State: [level in units, the whole microsecond it was measured at]. The level is kept relative to that time, because an
 * absolute moment with a fraction of a microsecond does not fit a double. Twin: level.lua.
 *
 * What is spent is kept in units, so it means the same for every capacity and rate: a plan can change without minting or losing units.
 */
import { MAX_MICROS, MICROS_PER_SECOND } from '../../model/duration.ts';
import type { RuleParts } from '../../model/rule.ts';
import { type Numbers, type Step, TIME_TOLERANCE, UNIT_TOLERANCE } from '../../model/step.ts';
import { bucketBound, drainingLease, partOfUnits, unitByUnit } from './bucket.ts';
import { lua as lone } from './level.lone.lua.generated.ts';
import { lua } from './level.lua.generated.ts';

/** A rule over a level of at most `capacity` that drains `rate` units a second. `rateField` is how the policy calls that. */
export function levelRule(capacity: number, rate: number, rateField: string, code: string): RuleParts {
  const recovery = (capacity / rate) * MICROS_PER_SECOND;
  const tolerance = Math.min(UNIT_TOLERANCE, (TIME_TOLERANCE * rate) / MICROS_PER_SECOND);

  const { levelOf, sinceOf, leftOf } = readings(rate, recovery, tolerance);

  return {
    limit: capacity,
    recovery,
    width: 2,
    transition(state, now, cost, step) {
      const since = sinceOf(state, now);
      const at = Math.max(now, since);
      const left = leftOf(state, now);
      if (cost > 0 && left <= capacity - cost + tolerance) {
        const after = Math.min(capacity, left + cost);
        step.allow(wholeRoom(capacity, tolerance, after), at - now + drainTime(rate, after, tolerance));
        step.becomes(after, at);
        return;
      }
      const level = levelOf(state);
      const room = wholeRoom(capacity, tolerance, left);
      const reset = left === 0 ? 0 : since - now + drainTime(rate, level, tolerance);
      if (cost === 0) return step.allow(room, reset);
      const fits = capacity - cost + tolerance;
      step.deny(room, cost > capacity ? Number.POSITIVE_INFINITY : since - now + drainTime(rate, level, fits), reset);
      if (state !== undefined && since !== state[1]) step.becomes(level, now);
    },
    penalize(state, now, cost, step) {
      const left = leftOf(state, now);
      move(step, left, Math.max(0, Math.min(cost, capacity - left)), Math.max(now, sinceOf(state, now)));
    },
    /**
     * What a spend has added drains with everything else. What is surely still there of it can be given back: its units less all that
     * has drained since, as if nothing had lain below them. That stays right whatever else is given back meanwhile.
     */
    refund(state, now, cost, spent, step) {
      const left = leftOf(state, now);
      const at = Math.max(now, sinceOf(state, now));
      const there = spent === undefined ? left : spent.cost - ((at - spent.at) * rate) / MICROS_PER_SECOND;
      move(step, left, -Math.max(0, Math.min(cost, left, there)), at);
    },
    bound: bucketBound(capacity, MICROS_PER_SECOND / rate),
    nextUnit: (spent, resetAfter) => unitByUnit(spent, resetAfter, MICROS_PER_SECOND / rate),
    share: (part) => ({ capacity: partOfUnits(capacity, part), [rateField]: rate * part }),
    lease: drainingLease(capacity, MICROS_PER_SECOND / rate),
    redis: { code, args: [String(capacity), String(rate), ''], lua, lone },
  };
}

/** What a state means now. */
function readings(rate: number, recovery: number, tolerance: number) {
  /** What drains in a century: more, spent under other numbers, counts as so much. */
  const most = rate * (MAX_MICROS / MICROS_PER_SECOND);

  /** What was spent by then. It may be above a capacity that was lowered: it drains all the same. */
  const levelOf = (state: Numbers | undefined): number => (state === undefined ? 0 : Math.min(most, state[0]!));

  /** Since when a level drains: the stored time is used when it is later than now, unless that is too late to be true. */
  const sinceOf = (state: Numbers | undefined, now: number): number =>
    state === undefined || state[1]! - now > recovery ? now : state[1]!;

  /** What is left of it at the time that counts. */
  const leftOf = (state: Numbers | undefined, now: number): number => {
    const since = sinceOf(state, now);
    const left = levelOf(state) - ((Math.max(now, since) - since) * rate) / MICROS_PER_SECOND;
    return left <= tolerance ? 0 : left;
  };
  return { levelOf, sinceOf, leftOf };
}

/** Adds so many units, or takes them away. */
function move(step: Step, left: number, units: number, at: number): void {
  step.leaves();
  if (units === 0) return;
  step.units = Math.abs(units);
  step.becomes(left + units, at);
}

/** Whole units that fit on top of a level: the largest n with level <= capacity - n + tolerance. */
function wholeRoom(capacity: number, tolerance: number, level: number): number {
  let room = Math.floor(capacity - level + tolerance);
  if (level > capacity - room + tolerance) room -= 1;
  else if (level <= capacity - (room + 1) + tolerance) room += 1;
  return Math.max(0, room);
}

/** The first whole microsecond at which a level has drained to `target`: estimated, then made exact. */
function drainTime(rate: number, level: number, target: number): number {
  if (level <= target) return 0;
  let elapsed = Math.ceil(((level - target) * MICROS_PER_SECOND) / rate);
  while (elapsed > 0 && level - ((elapsed - 1) * rate) / MICROS_PER_SECOND <= target) elapsed -= 1;
  while (level - (elapsed * rate) / MICROS_PER_SECOND > target) elapsed += 1;
  return elapsed;
}
