/** Where the state is kept: in this process, or on Redis with everything around it that keeps the service answering without. */
import { type Decision, type Duration, memoryStore, type Store } from 'sluice';
import { type ExceptionsPort, redisExceptions } from 'sluice/exceptions';
import { redisStore, runScriptWith } from 'sluice/ioredis';
import { deadline, denyCache, fallback, layered, telemetry } from 'sluice/layers';
import { type Answer, around, type MaybePromise, type Question } from 'sluice/store';
import { inOneTable } from './inline-policies.ts';
import { errorText, type Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import { addressText, parseRedisAddress } from './redis-address.ts';
import { type RedisConnection, redisClient } from './redis-client.ts';
import { RedisStart, type RedisStartOptions } from './redis-start.ts';

/** A store that is ready to be asked. */
export interface OpenStore {
  readonly store: Store;
  /** The same states for callers who do not wait long, as Envoy: whoever answers in the place of Redis is in time for them. Default: store. */
  readonly hurried?: Store | undefined;
  /** Where the exceptions are that all servers on this store share. Default: in this process. */
  readonly exceptions?: ExceptionsPort | undefined;
  /** For people. */
  readonly description: string;
  /** Whether somebody else answers when the store does not. */
  readonly failsClosed: boolean;
  /** Whether it has answered ever: until then the service is not of use. Default: it has. */
  hasAnswered?(): boolean;
  isUp(): Promise<boolean>;
  /** How many of its servers are given up for now. Default: none. */
  serversAway?(): number;
  /** What is wrong with it, in a sentence. Default: nothing is known. */
  problem?(): string | undefined;
  /** Another process has given back units of these keys: denials of them are not repeated any more. Default: there are none to repeat. */
  forgetDenials?(keys: readonly string[]): void;
  /** Rejects when no waiting mends what is wrong. Default: never. */
  readonly failed?: Promise<never> | undefined;
  close(): Promise<void>;
}

/** Whether answers mean something: the store has answered before, and it does now, or somebody answers in its place. */
export function isOfUse({ hasAnswered, failsClosed }: OpenStore, isUp: boolean): boolean {
  return hasAnswered?.() !== false && (isUp || !failsClosed);
}

export type Fallback = 'local' | 'allow' | 'deny';

/** What `openStore` takes. */
export interface StoreOptions extends Omit<RedisConnection, 'redis'> {
  readonly redis?: string | undefined;
  readonly prefix?: string | undefined;
  /** Redis holds a hash of each key instead of the key. */
  readonly hashKeys?: boolean | undefined;
  /** The longest that one answer of Redis may take. Default: 2 s as long as Redis answers at all, and 15 ms where the caller is in a hurry. */
  readonly deadline?: Duration | undefined;
  /** Who answers when Redis does not. Default: this process, from its own memory. */
  readonly fallback?: Fallback | undefined;
  /** Without an answer of Redis it is not opened. Default: it is opened, and waits for the answer. */
  readonly requireRedis?: boolean | undefined;
  /** Of the memory store. */
  readonly maxKeys?: number | undefined;
  /** The part of each limit that this process may allow while Redis is away, above 0 and at most 1. Default: 1. */
  readonly fallbackShare?: number | undefined;
  /** Called, and waited for, after units of these keys were given back, or the keys were reset or unblocked. */
  readonly onFreed?: ((keys: readonly string[]) => Promise<void>) | undefined;
}

/** Opens the store of a service: Redis when `redis` says where, else the memory of this process. */
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

/** Envoy waits for 20 ms unless it is told otherwise. */
const HURRIED_DEADLINE = '15ms';
/** Whoever waits less than this is in a hurry. */
export const HURRIED_BELOW_MS = 300;

async function openRedis(options: StoreOptions & RedisConnection, metrics: Metrics, log: Log): Promise<OpenStore> {
  const client = redisClient(options);
  // Said, so that all services and commands on this Redis are meant to share their states.
  const { deadline: given, fallback: to = 'local', prefix = 'sluice', hashKeys } = options;
  const away = new Set<string>();
  const own = redisStore(client, {
    ...{ prefix, hashKeys, deadline: given, fallback: false, denyCache: false },
    circuitBreaker: {
      onStateChange: ({ to, node }) => {
        if (to === 'open') away.add(node);
        else away.delete(node);
      },
    },
  });
  // One for both, or a limit would hold twice while Redis is away.
  const instead = to === 'local' ? inOneTable(memoryStore()) : to;
  const answering = [
    telemetry({ at: 'store', onError: () => metrics.storeFailed() }),
    fallback({
      to: instead,
      ...(to === 'local' ? { share: options.fallbackShare } : {}),
      warnings: false,
      isBack: () => away.size === 0,
      onFallback: ({ error }) => {
        metrics.fallbackBegan();
        log.warn('the store does not answer', { fallback: to, error: errorText(error) });
      },
      onRecovered: ({ answered }) => {
        metrics.fallbackEnded();
        log.info('the store answers again', { answered });
      },
    }),
  ];
  const usual = layered(own, ...answering);
  const inTime = given === undefined ? layered(own, deadline({ timeout: HURRIED_DEADLINE }), ...answering) : usual;
  const cached = cachedTogether(usual, inTime);
  const store = telling(cached.store, options.onFreed);
  const start = new RedisStart(client, startOptions(options), log);
  await start.begin().catch((error) => {
    client.disconnect();
    throw error;
  });
  return {
    store,
    hurried: cached.hurried === cached.store ? store : telling(cached.hurried, options.onFreed),
    forgetDenials: (keys) => cached.forgetDenials(keys),
    exceptions: redisExceptions(runScriptWith(client), { prefix, hashKeys }),
    description: `on Redis at ${addressText(parseRedisAddress(options.redis))}`,
    failsClosed: to === 'deny',
    hasAnswered: () => start.hasAnswered,
    isUp: () => start.isUp(PING_TIMEOUT_MS),
    serversAway: () => away.size,
    problem: () => start.problem,
    failed: start.failed,
    async close() {
      start.stop();
      client.disconnect();
    },
  };
}

const PING_TIMEOUT_MS = 500;
/** How long it is waited for a Redis that is required. */
const REQUIRED_WITHIN_MS = 5000;

function startOptions({ redis, prefix, hashKeys, requireRedis }: StoreOptions & RedisConnection): RedisStartOptions {
  return { redis, prefix, hashKeys, requiredWithinMs: requireRedis === true ? REQUIRED_WITHIN_MS : undefined };
}

/** Tells of what is given back through this store. Denials that other processes repeat would otherwise outlive it for a while. */
function telling(store: Store, onFreed: StoreOptions['onFreed']): Store {
  if (onFreed === undefined) return store;
  return around(store, (question) => {
    const keys = freedBy(question);
    if (keys.length === 0) return store.ask(question);
    return Promise.resolve(store.ask(question)).then(async (answer) => {
      if (!gaveNothing(question, answer)) await onFreed(keys);
      return answer;
    });
  });
}

/** What was used up to the last unit, settled: nobody has to know. */
function gaveNothing(question: Question, { decisions }: Answer): boolean {
  if (question.verb !== 'change' || question.changes.some(({ verb }) => verb === 'unblock')) return false;
  return decisions.every(({ changed }) => changed === 0);
}

function freedBy(question: Question): readonly string[] {
  if (question.verb === 'forget') return [question.key];
  if (question.verb !== 'change') return [];
  return question.changes.filter(({ verb }) => verb === 'refund' || verb === 'unblock').map(({ key }) => key);
}

/** The two ways, and how to make both forget the denials of keys. */
export interface CachedStores {
  readonly store: Store;
  readonly hurried: Store;
  forgetDenials(keys: readonly string[]): void;
}

/**
 * Two ways to the same states with one deny cache: what is given back, reset or unblocked by one way is to be seen at once by the other. The
 * cache calls the store below it before it returns, so a flag says which way is meant.
 */
export function cachedTogether(usual: Store, hurried: Store): CachedStores {
  let below = usual;
  const store = layered(
    around(usual, (question) => below.ask(question)),
    denyCache(),
  );
  const through = (way: Store, question: Question): MaybePromise<Answer> => {
    below = way;
    try {
      return store.ask(question);
    } finally {
      below = usual;
    }
  };
  return {
    store,
    hurried: hurried === usual ? store : around(store, (question) => through(hurried, question)),
    forgetDenials(keys) {
      for (const key of keys) through(NOTHING, { verb: 'forget', key, policies: [] });
    },
  };
}

/** Below a cache that is only to forget. */
const NOTHING: Store = { ask: () => NO_ANSWER };
/** Nobody reads it. */
const NO_ANSWER = { decisions: [] as readonly Decision[] } as Answer;
