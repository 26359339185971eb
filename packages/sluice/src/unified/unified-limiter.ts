/**
 * One call for every algorithm. The algorithm and its numbers come with each call, as in the tutorials this interface is known from; the
 * state is in one store. It is the same arithmetic as `createLimiter`, in whole seconds.
 */

import type { RateLimitResult } from '../model/decision.ts';
import { checkOptionNames } from '../model/options.ts';
import type { Policy } from '../model/policy.ts';
import { checkStore, type Store } from '../model/store.ts';
import { createLimiter } from '../presets/create-limiter.ts';
import { type Numbers, policyOf, type UnifiedAlgorithm } from './algorithms.ts';
import { readRequest, type UnifiedRequest } from './request.ts';

/** What `unifiedLimiter` takes. */
export interface UnifiedLimiterOptions {
  /** Where the state is kept, as in `redisStore(client)`. Default: the memory of this process. */
  readonly store?: Store | undefined;
}

/** The answer, in whole numbers. */
export interface UnifiedResult {
  readonly allowed: boolean;
  /** Units that can be spent right now, after this attempt. */
  readonly remaining: number;
  /** The limit of a window, the capacity of a bucket and of GCRA. */
  readonly limit: number;
  /** When the key is fully reset: Unix time in whole seconds, rounded up. */
  readonly resetAt: number;
  /** Whole seconds until this same cost is allowed, rounded up. 0 when it is allowed, Infinity when it never can be. */
  readonly retryAfterSeconds: number;
  /** Seconds to wait before you act, with fractions: only shaping makes you wait. 0 otherwise. */
  readonly delaySeconds: number;
  /** By its full name, as in `sliding_window_log` for `sliding_log`. */
  readonly algorithm: UnifiedAlgorithm;
  readonly key: string;
}

/** A limiter with one function for every algorithm. */
export interface UnifiedLimiter {
  /** May this key spend this cost now? If so, it is spent. Never rejects for "no". */
  checkAndConsume(request: UnifiedRequest): Promise<UnifiedResult>;
}

/**
 * Every algorithm through one function. Each key has a state of its own for each algorithm and each set of numbers.
 *
 * @example
 * const limiter = unifiedLimiter({ store: redisStore(client) });
 * const { allowed, retryAfterSeconds } = await limiter.checkAndConsume({
 *   key: 'user:42', algorithm: 'sliding_window_counter', limit: 100, windowSeconds: 60,
 * });
 */
export function unifiedLimiter(options: UnifiedLimiterOptions = {}): UnifiedLimiter {
  checkOptionNames(options, ['store'], 'unifiedLimiter');
  const store = options.store === undefined ? undefined : checkStore(options.store, 'unifiedLimiter.store');
  const limiter = createLimiter<Policy>({ policy: (policy) => policy, store });
  const policyFor = policyMemory();
  return {
    async checkAndConsume(request) {
      const { key, algorithm, numbers, cost } = readRequest(request);
      const result = await limiter.attempt(key, { cost, context: policyFor(algorithm, numbers) });
      return unifiedResult(result, algorithm, key);
    },
  };
}

/** More than anyone has limits; a caller that makes up ever new numbers does not fill the memory. */
const MOST_POLICIES = 1000;

/** A policy is checked when it is made: the same numbers need that once. */
function policyMemory(): (algorithm: UnifiedAlgorithm, numbers: Numbers) => Policy {
  const made = new Map<string, Policy>();
  return (algorithm, numbers) => {
    const name = `${algorithm}:${Object.values(numbers).join(':')}`;
    const known = made.get(name);
    if (known !== undefined) return known;
    const policy = policyOf(algorithm, numbers);
    if (made.size >= MOST_POLICIES) made.delete(made.keys().next().value!);
    made.set(name, policy);
    return policy;
  };
}

function unifiedResult(result: RateLimitResult, algorithm: UnifiedAlgorithm, key: string): UnifiedResult {
  const { allowed, remaining, limit, resetAt, retryAfter, delay } = result;
  return {
    allowed,
    remaining,
    limit,
    resetAt: Math.ceil(resetAt),
    retryAfterSeconds: Math.ceil(retryAfter ?? 0),
    delaySeconds: delay ?? 0,
    algorithm,
    key,
  };
}
