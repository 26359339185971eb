/**
 * A moment up to which the future is already spoken for: GCRA's theoretical arrival time, a shaper's next free slot.
 * State: [whole microsecond, fraction of a microsecond beyond it]. They are apart because a double cannot hold both at
 * today's epoch. A policy with a name also keeps [interval, time of writing]: the moment alone does not say how many units it stood for
 * then, and at another rate it would be another amount. Twin: horizon.lua.
 */
import { MAX_MICROS } from '../../model/duration.ts';
import type { RuleParts } from '../../model/rule.ts';
import { type Numbers, type Step, TIME_TOLERANCE, UNIT_TOLERANCE } from '../../model/step.ts';
import { bucketBound, unitByUnit } from './bucket.ts';
import { lua as lone } from './horizon.lone.lua.generated.ts';
import { lua } from './horizon.lua.generated.ts';

export interface HorizonOptions {
  readonly capacity: number;
  /** Microseconds of the future that one unit takes. */
  readonly interval: number;
  /** Whether the caller waits until its units are due. Otherwise it comes ahead of its time. */
  readonly delays: boolean;
  readonly byName: boolean;
  readonly code: string;
}

/** The horizon that counts, as `locate` has found it: one object for all, since making one costs more than the rest of a decision. */
const horizon = {
  whole: Number.NaN,
  fraction: Number.NaN,
  /** Microseconds from now to it. */
  before: Number.NaN,
  reanchored: false,
};

/** What depends only on the policy. */
interface HorizonNumbers {
  readonly capacity: number;
  readonly interval: number;
  /** How far ahead everything reaches that can be booked, in microseconds. */
  readonly span: number;
  readonly tolerance: number;
  readonly byName: boolean;
}

export function horizonRule(options: HorizonOptions): Omit<RuleParts, 'share'> {
  const { capacity, interval, delays, byName, code } = options;
  const span = capacity * interval;
  const tolerance = Math.min(UNIT_TOLERANCE * interval, TIME_TOLERANCE);
  const numbers: HorizonNumbers = { capacity, interval, span, tolerance, byName };

  return {
    limit: capacity,
    recovery: span,
    width: byName ? 4 : 2,
    transition(state, now, cost, step) {
      locate(numbers, state, now);
      const { whole, fraction, before, reanchored } = horizon;
      const fits = (capacity - cost) * interval + tolerance;
      if (cost > 0 && before <= fits) {
        const beyond = fraction + cost * interval;
        const carry = Math.floor(beyond);
        const nextWhole = whole + carry;
        const nextFraction = beyond - carry;
        const reset = timeUntil(nextWhole - now, nextFraction, tolerance);
        const delay = delays ? timeUntil(whole - now, fraction, tolerance) : 0;
        step.allow(wholeRoom(numbers, nextWhole - now + nextFraction), reset, delay);
        step.becomes(nextWhole, nextFraction, interval, now);
        return;
      }
      const room = wholeRoom(numbers, before);
      const wait = timeUntil(whole - now, fraction, tolerance);
      if (cost === 0) return step.allow(room, wait, delays ? wait : 0);
      step.deny(room, cost > capacity ? Number.POSITIVE_INFINITY : timeUntil(whole - now, fraction, fits), wait);
      if (reanchored) step.becomes(whole, fraction, interval, now);
    },
    penalize(state, now, cost, step) {
      locate(numbers, state, now);
      move(step, interval, Math.max(0, Math.min(cost * interval, span - horizon.before)), now);
    },
    /**
     * As for a level, only what is surely still ahead of a spend can be given back. A shaper gives back only its last slot:
     * behind any other stand callers who go on waiting for theirs.
     */
    refund(state, now, cost, spent, step) {
      locate(numbers, state, now);
      let back = Math.min(cost * interval, horizon.before);
      if (spent !== undefined) {
        if (!delays) back = Math.min(back, spent.cost * interval - (now - spent.at));
        else if (now + timeUntil(horizon.whole - now, horizon.fraction, tolerance) !== spent.until) back = 0;
      }
      move(step, interval, -Math.max(0, back), now);
    },
    bound: bucketBound(capacity, interval),
    nextUnit: (spent, resetAfter) => unitByUnit(spent, resetAfter, interval),
    redis: {
      code,
      args: [String(capacity), String(interval), `${delays ? 'd' : ''}${byName ? 'n' : ''}`],
      lua,
      lone,
    },
  };
}

/** Finds the horizon that counts now. */
function locate(numbers: HorizonNumbers, state: Numbers | undefined, now: number): void {
  horizon.whole = now;
  horizon.fraction = 0;
  horizon.before = 0;
  horizon.reanchored = false;
  if (state === undefined) return;
  let whole = state[0]!;
  let fraction = state[1]!;
  let most = numbers.span;
  if (numbers.byName) {
    let ahead = whole - state[3]! + fraction;
    if (state[2] !== numbers.interval) {
      // Spent at another rate: as many units as they were then, and the time since counts at this one.
      ahead = Math.min((ahead / state[2]!) * numbers.interval, MAX_MICROS);
      whole = state[3]! + Math.floor(ahead);
      fraction = ahead - Math.floor(ahead);
    }
    // More than fits into a capacity that was lowered.
    if (ahead > most) most = ahead;
  }
  const before = whole - now + fraction;
  if (before <= numbers.tolerance) return;
  if (before > 2 * most) {
    whole = now + Math.floor(most);
    fraction = most - Math.floor(most);
    horizon.reanchored = true;
  }
  horizon.whole = whole;
  horizon.fraction = fraction;
  horizon.before = horizon.reanchored ? most : before;
}

/** Whole units that can still be booked: the largest n with distance <= (capacity - n) * interval + tolerance. */
function wholeRoom({ capacity, interval, tolerance }: HorizonNumbers, distance: number): number {
  if (distance <= tolerance) return capacity;
  const room = Math.max(0, Math.floor(capacity - (distance - tolerance) / interval));
  if (distance > (capacity - room) * interval + tolerance) return Math.max(0, room - 1);
  return distance <= (capacity - (room + 1)) * interval + tolerance ? room + 1 : room;
}

function move(step: Step, interval: number, by: number, now: number): void {
  const { whole, fraction } = horizon;
  const beyond = fraction + by;
  const carry = Math.floor(beyond);
  step.leaves();
  if (by === 0) return;
  step.units = Math.abs(by) / interval;
  step.becomes(whole + carry, beyond - carry, interval, now);
}

/** The first whole microsecond from now at which a moment so far away is at most `target` away: estimated, then made exact. */
function timeUntil(distance: number, fraction: number, target: number): number {
  if (distance + fraction <= target) return 0;
  if (fraction === 0 && target < 1) return distance;
  let elapsed = Math.ceil(distance + fraction - target);
  while (elapsed > 0 && distance - (elapsed - 1) + fraction <= target) elapsed -= 1;
  while (distance - elapsed + fraction > target) elapsed += 1;
  return elapsed;
}
