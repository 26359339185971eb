/**
 * Leaky bucket. Policing: shared/level.ts and level.lua. Shaping: shared/horizon.ts and horizon.lua, where the caller waits for its slot.
 */
import { MICROS_PER_SECOND, type Rate } from '../../model/duration.ts';
import { define, type NameOption, type Policy } from '../../model/policy.ts';
import type { Algorithm, RuleParts } from '../../model/rule.ts';
import { partOfUnits } from '../shared/bucket.ts';
import { horizonRule } from '../shared/horizon.ts';
import { levelRule } from '../shared/level.ts';

/** A policy made by `leakyBucket({ ... })`. */
export interface LeakyBucketPolicy extends Policy {
  readonly algorithm: 'leaky-bucket';
  /** Units the bucket, or the queue, holds. */
  readonly capacity: number;
  /** Units a second. */
  readonly leakRate: number;
  /** Policing denies what does not fit; shaping books the next free slot and says how long to wait for it. */
  readonly mode: 'policing' | 'shaping';
}

/** What `leakyBucket` takes. */
export interface LeakyBucketOptions extends NameOption {
  /** Units the bucket holds; with shaping, how long the queue may be: a whole number of at least 1. */
  readonly capacity: number;
  /** How fast the bucket leaks: units a second, or text such as `'600/m'`. */
  readonly leakRate: Rate;
  /** `'policing'` (default) denies what does not fit. `'shaping'` says in `delay` how many seconds to wait before acting. */
  readonly mode?: 'policing' | 'shaping' | undefined;
}

export const LEAKY_BUCKET: Algorithm<LeakyBucketPolicy> = {
  name: 'leaky-bucket',
  about:
    'Attempts pour into a bucket that leaks at a steady rate; what would overflow is denied, or waits for its slot.',
  fields: {
    capacity: { kind: 'count', about: 'Units the bucket or the queue holds.' },
    leakRate: { kind: 'rate', about: 'Units that leak out in a second.' },
    mode: {
      kind: 'choice',
      of: ['policing', 'shaping'],
      about: 'Deny what does not fit, or let it wait for its slot.',
    },
  },
  rule: ({ capacity, leakRate, mode }, { byName }) =>
    mode === 'shaping' ? shapingRule(capacity, leakRate, byName) : levelRule(capacity, leakRate, 'leakRate', 'p'),
};

/** Each caller has a slot of its own, which nobody can hand out in advance: never leased. */
function shapingRule(capacity: number, leakRate: number, byName: boolean): RuleParts {
  const interval = MICROS_PER_SECOND / leakRate;
  return {
    ...horizonRule({ capacity, interval, delays: true, byName, code: 's' }),
    share: (part) => ({ capacity: partOfUnits(capacity, part), leakRate: leakRate * part }),
  };
}

/**
 * Leaky bucket. Policing is the token bucket counted from empty. Shaping lets attempts wait in a queue of at most `capacity`, so that the output is
 * smooth: one unit each 1 / `leakRate` seconds, however many send. In any time t at most `capacity` + `leakRate` x t is allowed.
 *
 * @example
 * // smooth calls to a fragile API: 10 a second, at most 20 waiting
 * const policy = leakyBucket({ capacity: 20, leakRate: 10, mode: 'shaping' });
 */
export const leakyBucket = (options: LeakyBucketOptions): LeakyBucketPolicy => define(LEAKY_BUCKET, options);
