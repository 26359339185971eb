/** Generic cell rate algorithm. State and arithmetic: shared/horizon.ts, and its twin shared/horizon.lua. */
import { type Duration, toMicros } from '../../model/duration.ts';
import { define, type NameOption, type Policy } from '../../model/policy.ts';
import type { Algorithm } from '../../model/rule.ts';
import { drainingLease, partOfUnits } from '../shared/bucket.ts';
import { horizonRule } from '../shared/horizon.ts';

/** A policy made by `gcra({ ... })`. */
export interface GcraPolicy extends Policy {
  readonly algorithm: 'gcra';
  /** Units in each period. */
  readonly limit: number;
  /** Milliseconds. */
  readonly period: number;
  /** Units that may come at the same time. */
  readonly capacity: number;
}

/** What `gcra` takes. */
export interface GcraOptions extends NameOption {
  /** Units in each period: a whole number of at least 1. */
  readonly limit: number;
  /** How long a period is: milliseconds, or text such as `'1m'`. */
  readonly period: Duration;
  /** Units that may come at the same time. Default: the limit. */
  readonly capacity?: number | undefined;
}

export const GCRA: Algorithm<GcraPolicy> = {
  name: 'gcra',
  about: 'Each unit is due one interval after the one before it; an attempt may come early by at most the capacity.',
  fields: {
    limit: { kind: 'count', about: 'Units in each period.' },
    period: { kind: 'duration', about: 'How long a period is.' },
    capacity: { kind: 'count', same: 'limit', about: 'Units that may come at the same time.' },
  },
  rule({ limit, period, capacity }, { byName }) {
    const interval = toMicros(period) / limit;
    return {
      ...horizonRule({ capacity, interval, delays: false, byName, code: 'g' }),
      // A longer period keeps the rate exact where the limit is a small number.
      share: (part) => ({ capacity: partOfUnits(capacity, part), period: Math.ceil((period / part) * 1e3) / 1e3 }),
      lease: drainingLease(capacity, interval),
    };
  },
};

/**
 * GCRA, the generic cell rate algorithm: a token bucket in the smallest state. In any time t at most `capacity` + t x `limit` / `period` is allowed.
 *
 * @example
 * // 60 a minute, one each second, and up to 10 at the same time
 * const policy = gcra({ limit: 60, period: '1m', capacity: 10 });
 */
export const gcra = (options: GcraOptions): GcraPolicy => define(GCRA, options);
