/** Where the state is kept: in this process, or on Redis with everything around it that keeps the service answering without. */
import { Redis } from 'ioredis';
import { type Duration, memoryStore, type Store } from 'sluice';
import { checkServer, redisStore } from 'sluice/ioredis';
import { circuitBreaker, deadline, denyCache, fallback, layered, telemetry } from 'sluice/layers';
import { errorText, type Log } from './log.ts';
import type { Metrics } from './metrics.ts';

export interface OpenStore {
  readonly store: Store;
  /** For people. */
  readonly description: string;
  /** Whether somebody else answers when the store does not. */
  readonly failsClosed: boolean;
  isUp(): Promise<boolean>;
  close(): Promise<void>;
}

export type Fallback = 'local' | 'allow' | 'deny';

export interface StoreOptions {
  readonly redis?: string | undefined;
  readonly prefix?: string | undefined;
  /** How long Redis may take. Default: 50 ms. */
  readonly deadline?: Duration | undefined;
  /** Who answers when Redis does not. Default: this process, from its own memory. */
  readonly fallback?: Fallback | undefined;
  /** Of the memory store. */
  readonly maxKeys?: number | undefined;
}

export async function openStore(options: StoreOptions, metrics: Metrics, log: Log): Promise<OpenStore> {
  return options.redis === undefined ? openMemory(options) : openRedis(options.redis, options, metrics, log);
}

function openMemory({ maxKeys }: StoreOptions): OpenStore {
  const store = memoryStore(maxKeys === undefined ? {} : { maxKeys });
  return {
    store,
    description: 'in the memory of this process',
    failsClosed: false,
    isUp: async () => true,
    close: async () => {},
  };
}

async function openRedis(url: string, options: StoreOptions, metrics: Metrics, log: Log): Promise<OpenStore> {
  const client = clientFor(url);
  const { deadline: timeout = '50ms', fallback: to = 'local', prefix } = options;
  const bare = redisStore(client, { raw: true, ...(prefix === undefined ? {} : { prefix }) });
  const store = layered(
    bare,
    deadline({ timeout }),
    telemetry({ at: 'store', onError: () => metrics.storeFailed() }),
    circuitBreaker(),
    fallback({
      to: to === 'local' ? memoryStore() : to,
      onFallback: ({ error }) => log.warn('the store does not answer', { fallback: to, error: errorText(error) }),
      onRecovered: ({ answered }) => log.info('the store answers again', { answered }),
    }),
    denyCache(),
  );
  await connect(client, log);
  return {
    store,
    description: `on Redis at ${withoutSecret(url)}`,
    failsClosed: to === 'deny',
    isUp: () => answers(client),
    close: async () => client.disconnect(),
  };
}

/** Options that fail fast: what waits for a connection is decided by the fallback meanwhile, and must not be spent later as well. */
const FAIL_FAST = { enableOfflineQueue: false, autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 } as const;
const CONNECT_TIMEOUT_MS = 2000;

function clientFor(url: string): Redis {
  const client = new Redis(url, {
    ...FAIL_FAST,
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    retryStrategy: (times) => Math.min(50 * times, 1000),
  });
  // Without a listener ioredis prints each lost connection; what matters of it the fallback tells.
  return client.on('error', () => {});
}

/** Starts also when Redis is not there: it is looked for as long as the service runs. */
async function connect(client: Redis, log: Log): Promise<void> {
  try {
    await within(CONNECT_TIMEOUT_MS, client.connect());
    for (const warning of await within(CONNECT_TIMEOUT_MS, checkServer(client))) {
      log.warn(warning.message, { code: warning.code });
    }
  } catch (error) {
    log.warn('Redis does not answer yet', { error: errorText(error) });
  }
}

const PING_TIMEOUT_MS = 500;

async function answers(client: Redis): Promise<boolean> {
  return within(PING_TIMEOUT_MS, client.ping()).then(
    () => true,
    () => false,
  );
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

export function withoutSecret(url: string): string {
  try {
    const { protocol, host, pathname } = new URL(url);
    return `${protocol}//${host}${pathname === '/' ? '' : pathname}`;
  } catch {
    return 'the given address';
  }
}
