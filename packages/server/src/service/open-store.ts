/** Where the state is kept: in this process, or on Redis with everything around it that keeps the service answering without. */
import { type Duration, memoryStore, type Store } from 'sluice';
import { checkServer, redisStore } from 'sluice/ioredis';
import { circuitBreaker, deadline, denyCache, fallback, layered, telemetry } from 'sluice/layers';
import { inOneTable } from './inline-policies.ts';
import { errorText, type Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import { addressText, parseRedisAddress } from './redis-address.ts';
import {
  CONNECT_TIMEOUT_MS,
  connectClient,
  type RedisClient,
  type RedisConnection,
  redisClient,
} from './redis-client.ts';

export interface OpenStore {
  readonly store: Store;
  /** The same states for callers who do not wait long, as Envoy: whoever answers in the place of Redis is in time for them. Default: store. */
  readonly hurried?: Store | undefined;
  /** For people. */
  readonly description: string;
  /** Whether somebody else answers when the store does not. */
  readonly failsClosed: boolean;
  isUp(): Promise<boolean>;
  close(): Promise<void>;
}

export type Fallback = 'local' | 'allow' | 'deny';

export interface StoreOptions extends Omit<RedisConnection, 'redis'> {
  readonly redis?: string | undefined;
  readonly prefix?: string | undefined;
  /** Redis holds a hash of each key instead of the key. */
  readonly hashKeys?: boolean | undefined;
  /** How long Redis may take. Default: 250 ms, and 15 ms where the caller is in a hurry. */
  readonly deadline?: Duration | undefined;
  /** Who answers when Redis does not. Default: this process, from its own memory. */
  readonly fallback?: Fallback | undefined;
  /** Of the memory store. */
  readonly maxKeys?: number | undefined;
}

export async function openStore(options: StoreOptions, metrics: Metrics, log: Log): Promise<OpenStore> {
  const { redis } = options;
  return redis === undefined ? openMemory(options) : openRedis({ ...options, redis }, metrics, log);
}

function openMemory({ maxKeys }: StoreOptions): OpenStore {
  const store = inOneTable(memoryStore(maxKeys === undefined ? {} : { maxKeys }));
  return {
    store,
    description: 'in the memory of this process',
    failsClosed: false,
    isUp: async () => true,
    close: async () => {},
  };
}

/** Well within what gateways wait. Shorter ones mistake a busy machine for a dead Redis, and then limits are not exact. */
const DEADLINE = '250ms';
/** Envoy waits for 20 ms unless it is told otherwise. */
const HURRIED_DEADLINE = '15ms';
/** Whoever waits less than this is in a hurry. */
export const HURRIED_BELOW_MS = 300;

async function openRedis(options: StoreOptions & RedisConnection, metrics: Metrics, log: Log): Promise<OpenStore> {
  const client = redisClient(options);
  const { deadline: given, fallback: to = 'local', prefix, hashKeys } = options;
  const bare = redisStore(client, { raw: true, prefix, hashKeys });
  // One for both, or a limit would hold twice while Redis is away.
  const instead = to === 'local' ? inOneTable(memoryStore()) : to;
  const storeWithin = (timeout: Duration): Store =>
    layered(
      bare,
      deadline({ timeout }),
      telemetry({ at: 'store', onError: () => metrics.storeFailed() }),
      circuitBreaker(),
      fallback({
        to: instead,
        onFallback: ({ error }) => log.warn('the store does not answer', { fallback: to, error: errorText(error) }),
        onRecovered: ({ answered }) => log.info('the store answers again', { answered }),
      }),
      denyCache(),
    );
  const store = storeWithin(given ?? DEADLINE);
  const hurried = given === undefined ? storeWithin(HURRIED_DEADLINE) : store;
  await connect(client, log);
  return {
    store,
    hurried,
    description: `on Redis at ${addressText(parseRedisAddress(options.redis))}`,
    failsClosed: to === 'deny',
    isUp: () => answers(client),
    close: async () => client.disconnect(),
  };
}

/** Starts also when Redis is not there: it is looked for as long as the service runs. */
async function connect(client: RedisClient, log: Log): Promise<void> {
  try {
    await within(CONNECT_TIMEOUT_MS, connectClient(client));
    for (const warning of await within(CONNECT_TIMEOUT_MS, checkServer(client))) {
      log.warn(warning.message, { code: warning.code });
    }
  } catch (error) {
    log.warn('Redis does not answer yet', { error: errorText(error) });
  }
}

const PING_TIMEOUT_MS = 500;

async function answers(client: RedisClient): Promise<boolean> {
  return within(PING_TIMEOUT_MS, client.ping()).then(
    () => true,
    () => false,
  );
}

export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
