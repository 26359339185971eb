/** Token bucket. State and arithmetic: shared/level.ts, and its twin shared/level.lua. */
import type { Rate } from '../../model/duration.ts';
import { define, type NameOption, type Policy } from '../../model/policy.ts';
import type { Algorithm } from '../../model/rule.ts';
import { levelRule } from '../shared/level.ts';

/** A policy made by `tokenBucket({ ... })`. */
export interface TokenBucketPolicy extends Policy {
  readonly algorithm: 'token-bucket';
  /** Tokens in a full bucket. */
  readonly capacity: number;
  /** Tokens a second. */
  readonly refillRate: number;
}

/** What `tokenBucket` takes. */
export interface TokenBucketOptions extends NameOption {
  /** Tokens in a full bucket, and so the largest burst: a whole number of at least 1. */
  readonly capacity: number;
  /** How fast the bucket refills: tokens a second, or text such as `'600/m'`. */
  readonly refillRate: Rate;
}

/** What is spent and not yet refilled is kept, not what is left: nothing spent means the same as no state for every capacity. */
export const TOKEN_BUCKET: Algorithm<TokenBucketPolicy> = {
  name: 'token-bucket',
  about: 'A bucket of tokens that refills at a steady rate; an attempt takes its cost in tokens if they are there.',
  fields: {
    capacity: { kind: 'count', about: 'Tokens in a full bucket: the largest burst.' },
    refillRate: { kind: 'rate', about: 'Tokens that come back in a second.' },
  },
  rule: ({ capacity, refillRate }) => levelRule(capacity, refillRate, 'refillRate', 't'),
};

/**
 * Token bucket: bursts are welcome, the average is limited. An idle key saves up to `capacity` tokens and may spend them all at the same time. In
 * any time t at most `capacity` + `refillRate` x t is allowed.
 *
 * @example
 * // bursts of 100, and 10 a second on average
 * const policy = tokenBucket({ capacity: 100, refillRate: 10 });
 */
export const tokenBucket = (options: TokenBucketOptions): TokenBucketPolicy => define(TOKEN_BUCKET, options);
