/** `sluice/upstash`: the Redis store over HTTP with @upstash/redis, for Upstash and Vercel, on any runtime that has `fetch`. */
import { parseDuration } from '../../model/duration.ts';
import { Kind, SluiceError } from '../../model/errors.ts';
import { invalidOption } from '../../model/options.ts';
import { isWorker } from '../../model/runtime.ts';
import type { Store } from '../../model/store.ts';
import { type RedisOptions, redisStoreWith } from '../../presets/redis-store.ts';
import type { Connection } from '../../redis/clients/connection.ts';
import { connectionOf, type UpstashClient } from '../../redis/clients/upstash.ts';
import type { SendCommand } from '../../redis/run-script.ts';

export type { BreakerOptions, EngineStateChange } from '../../presets/store-layers.ts';
export type { UpstashClient } from '../../redis/clients/upstash.ts';

/** What `upstashStore` takes besides its client: what `redisStore` takes, but for `wait`. */
export type UpstashOptions = Omit<RedisOptions, 'wait'>;

/** A request over the internet may well take a quarter of a second. */
const DEFAULT_SILENCE = '1s';
const DEFAULT_DEADLINE = '2s';

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
  const connection = connectionOf(client);
  const preset = { name: 'upstashStore', silence: DEFAULT_SILENCE } as const;
  if (!isWorker() || typeof options !== 'object' || options === null) {
    return redisStoreWith(connection, options, preset);
  }
  const { deadline = DEFAULT_DEADLINE, raw } = options;
  const own = forWorker(connection, deadline === false ? undefined : parseDuration(deadline, 'upstashStore.deadline'));
  return redisStoreWith(own, raw ? options : { ...options, deadline: false, circuitBreaker: false }, preset);
}

/** Requests of a worker share neither replies nor timers: each sends for itself, and bounds its own wait. */
function forWorker(connection: Connection, deadlineMs: number | undefined): Connection {
  const { batches, send } = connection;
  const bounded: SendCommand = (words, key) => {
    if (deadlineMs === undefined) return send(words, key);
    return new Promise((resolve, reject) => {
      AbortSignal.timeout(deadlineMs).addEventListener('abort', () => reject(tooLate(deadlineMs)));
      send(words, key).then(resolve, reject);
    });
  };
  return { ...connection, send: bounded, batches: { ...batches, alone: true } };
}

function tooLate(deadlineMs: number): SluiceError {
  return new SluiceError({
    code: 'SLUICE_TIMEOUT',
    path: 'store',
    message: `Upstash did not answer within ${deadlineMs} ms. The attempt may have been counted anyway.`,
  });
}
