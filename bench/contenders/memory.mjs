/**
 * Everything that limits within the process. `open` returns `check` (one attempt for a key: a promise, except where the name
 * says synchronous) and `churn`, the same for a limit whose window is a second, so that there is something to sweep. A peer is
 * imported when it is opened, so that a process has only one of them.
 */
import { createLimiter, memoryStore } from 'sluice';
import { ALGORITHMS, DAY_MS, DAY_SECONDS, policyOf } from './policies.mjs';

export const MEMORY_BASELINE = 'RateLimiterMemory';
const CHURN_MS = 1000;

const sluiceContender = (algorithm) => ({
  name: `Sluice ${algorithm}`,
  kind: 'sluice',
  algorithm,
  open({ limit, maxKeys, cost = 1 }) {
    const store = memoryStore({ maxKeys });
    const limiter = createLimiter({ policy: policyOf(algorithm, { limit }), store });
    const churn = createLimiter({ policy: policyOf(algorithm, { limit, windowMs: CHURN_MS, name: 'churn' }), store });
    const check = cost === 1 ? (key) => limiter.attempt(key) : (key) => limiter.attempt(key, { cost });
    return { check, churn: (key) => churn.attempt(key) };
  },
});

/** What a caller gets who asks the store itself and does not wait: the answer at once, without a promise. */
const sluiceSynchronous = (algorithm) => ({
  name: `Sluice ${algorithm}, store.ask (synchronous)`,
  kind: 'sluice',
  synchronous: true,
  open({ limit, maxKeys }) {
    const store = memoryStore({ maxKeys });
    const policy = policyOf(algorithm, { limit });
    const churn = policyOf(algorithm, { limit, windowMs: CHURN_MS, name: 'churn' });
    return {
      check: (key) => store.ask({ verb: 'attempt', key, policy, cost: 1, and: [], dryRun: false }),
      churn: (key) => store.ask({ verb: 'attempt', key, policy: churn, cost: 1, and: [], dryRun: false }),
    };
  },
});

const flexible = {
  name: MEMORY_BASELINE,
  kind: 'peer',
  async open({ limit }) {
    const { RateLimiterMemory, RateLimiterRes } = await import('rate-limiter-flexible');
    // Its "no" is a rejection with an answer in it, which is no failure.
    const answerOf = (rejection) => {
      if (rejection instanceof RateLimiterRes) return rejection;
      throw rejection;
    };
    const limiter = new RateLimiterMemory({ points: limit, duration: DAY_SECONDS });
    const churn = new RateLimiterMemory({ points: limit, duration: CHURN_MS / 1000, keyPrefix: 'churn' });
    return {
      check: (key) => limiter.consume(key).catch(answerOf),
      churn: (key) => churn.consume(key).catch(answerOf),
    };
  },
};

/** The middleware compares the count with the limit; the store only counts, so it knows no denials. */
const withStore = (packageName) => ({
  name: `${packageName} MemoryStore`,
  kind: 'peer',
  outcomes: ['allowed'],
  async open() {
    const { MemoryStore: Store } = await import(packageName);
    const [store, churn] = [new Store(), new Store()];
    store.init({ windowMs: DAY_MS });
    churn.init({ windowMs: CHURN_MS });
    return { check: async (key) => store.increment(key), churn: async (key) => churn.increment(key) };
  },
});

const nest = {
  name: '@nestjs/throttler storage',
  kind: 'peer',
  // It keeps a time for each hit and copies them all at each hit: a limit that is never reached makes one key ever slower.
  minKeys: 10_000,
  async open({ limit }) {
    await import('reflect-metadata');
    const { ThrottlerStorageService } = await import('@nestjs/throttler');
    const storage = new ThrottlerStorageService();
    return {
      check: (key) => storage.increment(key, DAY_MS, limit, 0, 'default'),
      churn: (key) => storage.increment(`churn:${key}`, CHURN_MS, limit, 0, 'default'),
    };
  },
};

/** One object for each key, since it knows no keys: as its readers do it, with a Map. Queues instead of denying. */
const limiterPackage = {
  name: 'limiter, one for each key',
  kind: 'peer',
  outcomes: ['allowed'],
  maxKeys: 1_000_000,
  async open({ limit }) {
    const { RateLimiter } = await import('limiter');
    const limiters = new Map();
    const of = (key) => {
      const known = limiters.get(key);
      if (known !== undefined) return known;
      const limiter = new RateLimiter({ tokensPerInterval: limit, interval: DAY_MS });
      limiters.set(key, limiter);
      return limiter;
    };
    return { check: (key) => of(key).removeTokens(1) };
  },
};

/**
 * A job queue with a reservoir for each key: some kilobytes each, so only up to ten thousand. Queues instead of denying. Each job
 * waits for a timer, so one at a time it does some hundred a second: it is given 64 at once, which the name says.
 */
const bottleneck = {
  name: 'bottleneck group (64 at once)',
  atOnce: true,
  kind: 'peer',
  outcomes: ['allowed'],
  maxKeys: 10_000,
  async open({ limit }) {
    const { default: Bottleneck } = await import('bottleneck');
    const group = new Bottleneck.Group({
      reservoir: limit * 100,
      reservoirRefreshAmount: limit * 100,
      reservoirRefreshInterval: DAY_MS,
    });
    const nothing = async () => undefined;
    return { check: (key) => group.key(key).schedule(nothing) };
  },
};

/** What the loop, the key's text and a promise cost by themselves. */
const floor = {
  name: 'nothing (awaited)',
  kind: 'floor',
  open() {
    const nothing = async (key) => key.length;
    return { check: nothing, churn: nothing };
  },
};

export const memoryContenders = [
  ...ALGORITHMS.map(sluiceContender),
  sluiceSynchronous('gcra'),
  flexible,
  withStore('express-rate-limit'),
  withStore('hono-rate-limiter'),
  nest,
  limiterPackage,
  bottleneck,
  floor,
];

export const memoryContender = (name) => memoryContenders.find((contender) => contender.name === name);
