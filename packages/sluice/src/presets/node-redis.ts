/** `sluice/node-redis`: the store over the `redis` package (node-redis 5 and later): a client, a pool, a cluster or a sentinel. */
import type { SluiceError } from '../model/errors.ts';
import type { Store } from '../model/store.ts';
import { connectionOf, type NodeRedisClient, senderOf } from '../redis/clients/node-redis.ts';
import { checkServer as checkServerOver } from '../redis/server-check.ts';
import { type RedisOptions, redisStoreWith } from './redis-store.ts';

export { type NodeRedisClient, runScriptWith } from '../redis/clients/node-redis.ts';
export type { RedisBreakerOptions, RedisOptions, RedisStateChange, WaitForReplicas } from './redis-store.ts';

/**
 * A store on Redis or Valkey over a client of the `redis` package. Exact for all processes that share the server; when the server is away,
 * this process answers from its own memory, with a warning.
 *
 * @example
 * const client = createClient({ url: process.env.REDIS_URL });
 * client.on('error', (error) => console.error('redis:', error.message));
 * await client.connect();
 * const limiter = createLimiter({ policy: tokenBucket({ capacity: 100, refillRate: 10 }), store: redisStore(client) });
 */
export function redisStore(client: NodeRedisClient, options: RedisOptions = {}): Store {
  return redisStoreWith(connectionOf(client), options);
}

/** What makes this server unfit to keep limits; nothing if it is fit. To be asked once, at the start. */
export async function checkServer(client: NodeRedisClient): Promise<SluiceError[]> {
  return checkServerOver(senderOf(client));
}
