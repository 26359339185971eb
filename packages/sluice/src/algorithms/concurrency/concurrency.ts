/** Concurrency: at most so many at a time. State: places.ts. What people do with a permit: permit.ts. Twin: concurrency.lua. */
import { type Duration, toMicros } from '../../model/duration.ts';
import { define, type NameOption, type Policy } from '../../model/policy.ts';
import type { Algorithm, RuleParts } from '../../model/rule.ts';
import type { Numbers, Step } from '../../model/step.ts';
import { partOfUnits } from '../shared/bucket.ts';
import { lua as lone } from './concurrency.lone.lua.generated.ts';
import { lua } from './concurrency.lua.generated.ts';
import { permitsFor } from './permit.ts';
import {
  endOf,
  freedAt,
  giveBack,
  giveBackNewest,
  heldAt,
  indexOf,
  latest,
  move,
  newestEnd,
  nextEnd,
  shifted,
  take,
  unitsOf,
} from './places.ts';
import { lua as releaseLone } from './release.lone.lua.generated.ts';
import { lua as release } from './release.lua.generated.ts';

/** A policy made by `concurrency({ ... })`. */
export interface ConcurrencyPolicy extends Policy {
  readonly algorithm: 'concurrency';
  /** Units held at a time. */
  readonly limit: number;
  /** Milliseconds. */
  readonly ttl: number;
}

/** What `concurrency` takes. */
export interface ConcurrencyOptions extends NameOption {
  /** How many may be held at a time: a whole number from 1 to 10,000,000. Each permit that is held is 20 bytes in Redis. */
  readonly limit: number;
  /** After what time a permit ends that nobody has given back or kept alive, as when its process died: milliseconds, or text such as `'30s'`. */
  readonly ttl: Duration;
}

/** What a step does to the permits, as its first number. */
const TAKE = 0;
const GIVE_BACK = 1;
const GIVE_BACK_NEWEST = 2;
const MOVE = 3;
/** The same after a large step back of the clock. */
const TAKE_SHIFTED = 4;

/** Microseconds that the clock may step back by without a thought, however short the ttl is. */
const SMALL_STEP = 1000;

/** As read of concurrency.lua: few permits, or the beginning of many. */
const loneRead = "local raw=call('GETRANGE',key,'0','2043')";

export const CONCURRENCY: Algorithm<ConcurrencyPolicy> = {
  name: 'concurrency',
  about: 'Limits how many run at a time: a place is free again when its permit is released, or when its time is over.',
  fields: {
    limit: { kind: 'count', max: 10_000_000, about: 'How many may be held at a time.' },
    ttl: { kind: 'duration', about: 'After what time a permit ends that nobody has released or kept alive.' },
  },
  rule({ limit, ttl }) {
    const lasts = toMicros(ttl);
    return {
      limit,
      recovery: lasts,
      width: 0,
      ...stepsOf(limit, lasts),
      write(state, { next }) {
        const [kind, first, second, third] = [next[0]!, next[1]!, next[2]!, next[3]!];
        switch (kind) {
          case TAKE:
            return take(state ?? [0, 0], first, second, lasts, third);
          case GIVE_BACK:
            return giveBack(state!, first, second);
          case GIVE_BACK_NEWEST:
            return giveBackNewest(state!, first);
          case MOVE:
            return move(state!, first, second, third);
          default:
            return takeShifted(state!, first, lasts, second);
        }
      },
      bound: (from, to) => limit * Math.floor((to - from) / lasts + 1),
      share: (part) => ({ limit: partOfUnits(limit, part) }),
      permits: permitsFor(lasts, (state, now, spent, step) => extend(state, now, spent.until, lasts, step)),
      redis: { code: 'n', args: [String(limit), String(lasts), ''], lua, lone, loneRead, release, releaseLone },
    };
  },
};

/** `cost` is 0 when nothing is taken. */
function takeShifted(places: Numbers, now: number, ttl: number, cost: number): number[] {
  const next = shifted(places, now);
  return cost === 0 ? next : take(next, heldAt(next, now).expired, now, ttl, cost);
}

function stepsOf(limit: number, ttl: number): Pick<RuleParts, 'transition' | 'penalize' | 'refund'> {
  const transition: RuleParts['transition'] = (state, now, cost, step) => {
    if (state === undefined) {
      if (cost === 0) step.allow(limit, 0);
      else if (cost > limit) step.deny(limit, Number.POSITIVE_INFINITY, 0);
      else {
        step.allow(limit - cost, ttl);
        step.becomes(TAKE, 0, now, cost);
      }
      return;
    }
    // After a larger step back of the clock the places would stay taken until it has caught up.
    const isAhead = latest(state) - now > Math.max(ttl, SMALL_STEP);
    const places = isAhead ? shifted(state, now) : state;
    const held = heldAt(places, now);
    const room = Math.max(0, limit - held.used);
    if (cost > 0 && cost <= room) {
      const end = nextEnd(places, now, ttl);
      step.allow(room - cost, end - now);
      if (isAhead) step.becomes(TAKE_SHIFTED, now, cost);
      else step.becomes(TAKE, held.expired, now, cost);
      return;
    }
    const reset = held.used === 0 ? 0 : newestEnd(places) - now;
    if (cost === 0) return step.allow(room, reset);
    step.deny(room, cost > limit ? Number.POSITIVE_INFINITY : freedAt(places, held, limit - cost) - now, reset);
    if (isAhead) step.becomes(TAKE_SHIFTED, now, 0);
  };

  return {
    transition,
    /** What there is room for, as a permit that nobody holds. */
    penalize(state, now, cost, step) {
      transition(state, now, 0, step);
      const spent = Math.min(cost, step.remaining);
      if (spent === 0) return step.leaves();
      transition(state, now, spent, step);
      step.units = spent;
    },
    /** That very permit, or the newest ones. */
    refund(state, now, cost, spent, step) {
      step.leaves();
      if (state === undefined || cost === 0) return;
      if (spent === undefined) {
        const back = Math.min(cost, heldAt(state, now).used);
        if (back === 0) return;
        step.units = back;
        return step.becomes(GIVE_BACK_NEWEST, back, 0);
      }
      const index = indexOf(state, spent.until, now);
      if (index < 0) return;
      step.units = Math.min(cost, unitsOf(state, index));
      step.becomes(GIVE_BACK, index, step.units);
    },
  };
}

/** From now on for a whole ttl. */
function extend(state: Numbers | undefined, now: number, id: number, ttl: number, step: Step): void {
  step.leaves();
  const index = state === undefined ? -1 : indexOf(state, id, now);
  if (index < 0) return;
  step.units = unitsOf(state!, index);
  const isNewest = endOf(state!, index) === newestEnd(state!);
  step.becomes(MOVE, index, isNewest ? Math.max(now + ttl, newestEnd(state!)) : nextEnd(state!, now, ttl), now);
}

/**
 * Concurrency: at most `limit` at a time, for each key. `limiter.enter(key)` takes a permit, and `limiter.run(key, work)` holds one while the work runs;
 * a process that dies gives its permits back with their `ttl`.
 *
 * @example
 * const policy = concurrency({ limit: 10, ttl: '30s' });
 */
export const concurrency = (options: ConcurrencyOptions): ConcurrencyPolicy => define(CONCURRENCY, options);
