/** `sluice/valkey-glide`: the store over @valkey/valkey-glide (2 and later): a GlideClient or a GlideClusterClient. */
import type { SluiceError } from '../model/errors.ts';
import type { Store } from '../model/store.ts';
import { connectionOf, senderOf, type ValkeyGlideClient } from '../redis/clients/valkey-glide.ts';
import { checkServer as checkServerOver } from '../redis/server-check.ts';
import { type RedisOptions, redisStoreWith } from './redis-store.ts';

export { runScriptWith, type ValkeyGlideClient } from '../redis/clients/valkey-glide.ts';
export type { RedisBreakerOptions, RedisOptions, RedisStateChange, WaitForReplicas } from './redis-store.ts';

/**
 * A store on Redis or Valkey over a client of @valkey/valkey-glide. Exact for all processes that share the server; when the server is away,
 * this process answers from its own memory, with a warning. GLIDE gives a command up by itself after its `requestTimeout`, 250 ms by default.
 *
 * @example
 * const client = await GlideClient.createClient({ addresses: [{ host: 'localhost', port: 6379 }] });
 * const limiter = createLimiter({ policy: tokenBucket({ capacity: 100, refillRate: 10 }), store: redisStore(client) });
 */
export function redisStore(client: ValkeyGlideClient, options: RedisOptions = {}): Store {
  return redisStoreWith(connectionOf(client), options);
}

/** What makes this server unfit to keep limits; nothing if it is fit. To be asked once, at the start. */
export async function checkServer(client: ValkeyGlideClient): Promise<SluiceError[]> {
  return checkServerOver(senderOf(client));
}
