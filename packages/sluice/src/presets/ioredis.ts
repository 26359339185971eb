/** `sluice/ioredis`: the store over ioredis (5 and later): a client, also one behind Sentinel, or a cluster. */
import type { SluiceError } from '../model/errors.ts';
import type { Store } from '../model/store.ts';
import { connectionOf, type IoredisClient, senderOf } from '../redis/clients/ioredis.ts';
import { checkServer as checkServerOver } from '../redis/server-check.ts';
import { type RedisOptions, redisStoreWith } from './redis-store.ts';

export { type IoredisClient, runScriptWith } from '../redis/clients/ioredis.ts';
export type { RedisBreakerOptions, RedisOptions, RedisStateChange, WaitForReplicas } from './redis-store.ts';

/**
 * A store on Redis or Valkey over an ioredis client. Exact for all processes that share the server; when the server is away, this process
 * answers from its own memory, with a warning.
 *
 * @example
 * const client = new Redis(process.env.REDIS_URL);
 * client.on('error', (error) => console.error('redis:', error.message));
 * const limiter = createLimiter({ policy: tokenBucket({ capacity: 100, refillRate: 10 }), store: redisStore(client) });
 */
export function redisStore(client: IoredisClient, options: RedisOptions = {}): Store {
  return redisStoreWith(connectionOf(client), options);
}

/** What makes this server unfit to keep limits; nothing if it is fit. To be asked once, at the start. */
export async function checkServer(client: IoredisClient): Promise<SluiceError[]> {
  return checkServerOver(senderOf(client));
}
