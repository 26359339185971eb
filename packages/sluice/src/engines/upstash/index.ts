/** `sluice/upstash`: the Redis store over HTTP with @upstash/redis, for Upstash and Vercel, on any runtime that has `fetch`. */
import { Kind } from '../../model/errors.ts';
import { invalidOption } from '../../model/options.ts';
import type { Store } from '../../model/store.ts';
import { type RedisOptions, redisStoreWith } from '../../presets/redis-store.ts';
import { connectionOf, type UpstashClient } from '../../redis/clients/upstash.ts';

export type { BreakerOptions, EngineStateChange } from '../../presets/store-layers.ts';
export type { UpstashClient } from '../../redis/clients/upstash.ts';

/** What `upstashStore` takes besides its client: what `redisStore` takes, but for `wait`. */
export type UpstashOptions = Omit<RedisOptions, 'wait'>;

/** A request over the internet may well take a quarter of a second. */
const DEFAULT_SILENCE = '1s';

/**
 * A store on Upstash Redis over its REST API. Exact for all processes and functions that share the database: one script call for an attempt, and
 * attempts of one turn of the event loop share it. When Upstash is away, this process answers from its own memory, with a warning.
 *
 * @example
 * const limiter = createLimiter({ policy: tokenBucket({ capacity: 100, refillRate: 10 }), store: upstashStore(Redis.fromEnv()) });
 */
export function upstashStore(client: UpstashClient, options: UpstashOptions = {}): Store {
  if (typeof options === 'object' && options !== null && 'wait' in options) {
    throw invalidOption('upstashStore.wait', 'none: Upstash answers when it has replicated', Kind.of(options.wait));
  }
  return redisStoreWith(connectionOf(client), options, { name: 'upstashStore', silence: DEFAULT_SILENCE });
}
