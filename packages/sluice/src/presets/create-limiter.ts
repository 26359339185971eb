/** The limiter most programs make: over a store, or over a memory store of its own. */
import type { PolicyOptions } from '../limiter/core.ts';
import { type Limiter, type LimiterSettings, limiterOver } from '../limiter/limiter.ts';
import { memoryStore } from '../memory/memory-store.ts';
import { checkOptionNames } from '../model/options.ts';
import type { Store } from '../model/store.ts';

/** What `createLimiter` takes. */
export type CreateLimiterOptions<Context> = PolicyOptions<Context> &
  LimiterSettings & {
    /** Where the state is kept. Default: a memory store of its own. */
    readonly store?: Store | undefined;
  };

/**
 * A limiter: policies and a store. Without a store, the state is in the memory of this process.
 *
 * @example
 * const limiter = createLimiter({ policy: tokenBucket({ capacity: 100, refillRate: 10 }), store: redisStore(client) });
 * const { allowed, retryAfter } = await limiter.attempt('user:42');
 */
export function createLimiter<Context = unknown>(options: CreateLimiterOptions<Context>): Limiter<Context> {
  checkOptionNames(options, ['policy', 'policies', 'store', 'exceptions', 'queueLimit', 'timers'], 'createLimiter');
  return limiterOver({ ...options, store: options.store === undefined ? memoryStore() : options.store });
}
