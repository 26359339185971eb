/**
 * Everything that limits within the process, called as its README shows. `open` returns `check`, one attempt for a key: what the package
 * itself returns, with no promise around it, and a rejection where that is its "no". A peer is imported when it is opened, so that a
 * process of its own has only that one.
 *
 * States are `long` when they live through the whole run, and `short` when they have recovered before their key comes again, which is what
 * most keys of an API do: a unit is back after a microsecond, a window over after a millisecond.
 */
import { sluice } from '../library.mjs';
import { ALGORITHMS, DAY_MS, O1_ALGORITHMS, policyOf } from './policies.mjs';

const { createLimiter, memoryStore } = await sluice();

export const MEMORY_BASELINE = 'RateLimiterMemory';
export const NOTHING = 'nothing (awaited)';
const CHURN_MS = 1000;
const SHORT = { limit: 1_000_000, windowMs: 1000 };
const SHORT_WINDOW_MS = 1;
const WINDOWED = new Set(['fixed-window', 'sliding-counter', 'sliding-log']);

/** So high that traffic on so many keys never reaches it, and so low that what was spent is not back before the run ends. */
const longLimit = (keys) => (keys === 1 ? 1_000_000_000 : keys <= 1000 ? 100_000 : 10_000);

export function limitOf({ keys, state, outcome, logLimit }, algorithm) {
  if (logLimit !== undefined && algorithm === 'sliding-log') return { limit: logLimit, windowMs: DAY_MS };
  if (outcome === 'denied') return { limit: 1, windowMs: DAY_MS };
  // A log of one key would hold every attempt of the run.
  if (state === 'long' && algorithm === 'sliding-log') return { limit: 10_000, windowMs: DAY_MS };
  if (state === 'long') return { limit: longLimit(keys), windowMs: DAY_MS };
  return WINDOWED.has(algorithm) ? { ...SHORT, windowMs: SHORT_WINDOW_MS } : SHORT;
}

/** Room for the keys that come and go, since the peers have no bound at all. */
const storeFor = (keys) => memoryStore({ maxKeys: Math.max(1_000_000, keys) * 4 });

const sluiceContender = (algorithm) => ({
  name: `Sluice ${algorithm}`,
  algorithm,
  open(cell) {
    const store = storeFor(cell.keys);
    const limiter = createLimiter({ policy: policyOf(algorithm, limitOf(cell, algorithm)), store });
    const churn = createLimiter({
      policy: policyOf(algorithm, { limit: 10_000, windowMs: CHURN_MS, name: 'churn' }),
      store,
    });
    return { check: (key) => limiter.attempt(key), churn: (key) => churn.attempt(key) };
  },
});

/** Without a promise, as the middlewares ask. */
const sluiceAtOnce = (algorithm) => ({
  name: `Sluice ${algorithm}, atOnce`,
  algorithm,
  synchronous: true,
  open(cell) {
    const limiter = createLimiter({
      policy: policyOf(algorithm, limitOf(cell, algorithm)),
      store: storeFor(cell.keys),
    });
    return { check: (key) => limiter.attempt.atOnce(key) };
  },
});

/** With the window of the cell only where that is what is to be seen: it sets a timer for each window, so a long one is its faster case. */
const flexible = (name, seconds) => ({
  name,
  async open({ keys, outcome }) {
    const { RateLimiterMemory } = (await import('rate-limiter-flexible')).default;
    const points = outcome === 'denied' ? 1 : longLimit(keys);
    const limiter = new RateLimiterMemory({ points, duration: seconds });
    const churn = new RateLimiterMemory({ points, duration: CHURN_MS / 1000, keyPrefix: 'churn' });
    return { check: (key) => limiter.consume(key), churn: (key) => churn.consume(key) };
  },
});

/** The middleware compares the count with the limit; the store only counts, so it knows no denials. */
const withStore = (packageName) => ({
  name: `${packageName} MemoryStore`,
  async open() {
    const { MemoryStore: Store } = await import(packageName);
    const [store, churn] = [new Store(), new Store()];
    store.init({ windowMs: DAY_MS });
    churn.init({ windowMs: CHURN_MS });
    return { check: (key) => store.increment(key), churn: (key) => churn.increment(key) };
  },
});

const nest = {
  name: '@nestjs/throttler storage',
  async open({ keys }) {
    await import('reflect-metadata');
    const { ThrottlerStorageService } = await import('@nestjs/throttler');
    const storage = new ThrottlerStorageService();
    const increment = (key, ttl) => storage.increment(key, ttl, longLimit(keys), 0, 'default');
    return { check: (key) => increment(key, DAY_MS), churn: (key) => increment(`churn:${key}`, CHURN_MS) };
  },
};

/** One object for each key, since it knows no keys: as its readers do it, with a Map. Queues instead of denying. */
const limiterPackage = {
  name: 'limiter, one for each key',
  async open({ keys }) {
    const { RateLimiter } = await import('limiter');
    const limiters = new Map();
    const of = (key) => {
      const known = limiters.get(key);
      if (known !== undefined) return known;
      const limiter = new RateLimiter({ tokensPerInterval: longLimit(keys), interval: DAY_MS });
      limiters.set(key, limiter);
      return limiter;
    };
    return { check: (key) => of(key).removeTokens(1) };
  },
};

/** What the loop, the key's text and a promise cost by themselves. */
const floor = {
  name: NOTHING,
  open() {
    const nothing = (key) => Promise.resolve(key);
    return { check: nothing, churn: nothing };
  },
};

const synchronousFloor = {
  name: 'nothing (a function that returns its key)',
  synchronous: true,
  open: () => ({ check: (key) => key }),
};

export const EXPRESS_STORE = 'express-rate-limit MemoryStore';
export const SHORT_PEER = `${MEMORY_BASELINE}, a window of 1 ms`;
export const sluiceNames = (algorithms) => algorithms.map((algorithm) => `Sluice ${algorithm}`);
export const atOnceNames = [...O1_ALGORITHMS.map((algorithm) => `Sluice ${algorithm}, atOnce`), synchronousFloor.name];
export const OTHER_STORES = [EXPRESS_STORE, 'hono-rate-limiter MemoryStore', nest.name, limiterPackage.name];
/** All algorithms and several peers, so that nothing is compiled for one of them alone. */
export const EVERYONE = [...sluiceNames(ALGORITHMS), MEMORY_BASELINE, EXPRESS_STORE, NOTHING];

const contenders = [
  ...ALGORITHMS.map(sluiceContender),
  ...O1_ALGORITHMS.map(sluiceAtOnce),
  flexible(MEMORY_BASELINE, DAY_MS / 1000),
  flexible(SHORT_PEER, SHORT_WINDOW_MS / 1000),
  withStore('express-rate-limit'),
  withStore('hono-rate-limiter'),
  nest,
  limiterPackage,
  floor,
  synchronousFloor,
];

export const memoryContender = (name) => contenders.find((contender) => contender.name === name);
