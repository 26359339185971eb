/** The store beneath express-rate-limit, behind its own middleware and over real sockets. */
import { createServer } from 'node:http';
import express from 'express';
import { type Options, rateLimit, type Store } from 'express-rate-limit';
import { afterEach, describe, expect, test } from 'vitest';
import { sluiceStore } from '../../src/frameworks/express-rate-limit.ts';
import { createLimiter, gcra, manualClock, memoryStore, slidingWindowLog, tokenBucket } from '../../src/index.ts';
import type { Running } from './contract.ts';
import { listening } from './servers.ts';

const NOW = 1_700_000_000_000;
let running: Running | undefined;
afterEach(() => running?.stop());

async function serve(options: Partial<Options>): Promise<(status?: number) => Promise<(string | number | null)[]>> {
  const app = express();
  app.use(rateLimit({ windowMs: 60_000, keyGenerator: () => 'ada', standardHeaders: 'draft-6', ...options }));
  app.use((request, response) => void response.status(Number(request.get('x-answer') ?? 200)).end());
  running = await listening(createServer(app).listen(0, '127.0.0.1'));
  const { port } = running;
  return async (status = 200) => {
    const { headers, ...response } = await asked(port, status);
    return [response.status, headers.get('ratelimit-limit'), headers.get('ratelimit-remaining')];
  };
}

async function asked(port: number, status: number): Promise<{ status: number; headers: Headers }> {
  const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { 'x-answer': `${status}` } });
  return { status: response.status, headers: response.headers };
}

test('counts by its limit and window', async () => {
  const clock = manualClock(NOW);
  const ask = await serve({ limit: 2, store: sluiceStore({ store: memoryStore({ clock }) }) });
  expect([await ask(), await ask(), await ask()]).toEqual([
    [200, '2', '1'],
    [200, '2', '0'],
    [429, '2', '0'],
  ]);
  clock.advance(60_000);
  expect(await ask()).toEqual([200, '2', '1']);
});

test('a limiter decides, also when the middleware would let more pass', async () => {
  const limiter = createLimiter({ policy: gcra({ limit: 60, period: '1m', capacity: 1 }) });
  for (const limit of [100, () => 100]) {
    const ask = await serve({ limit, store: sluiceStore({ limiter, prefix: `${typeof limit}:` }) });
    expect([(await ask())[0], (await ask())[0]]).toEqual([200, 429]);
    await running?.stop();
  }
});

describe('requests that are taken back', () => {
  const limits = { limit: 2, store: undefined };
  const storeOf = (): Store => sluiceStore({ policy: ({ limit, window }) => slidingWindowLog({ limit, window }) });

  test('those that succeed', async () => {
    const ask = await serve({ ...limits, store: storeOf(), skipSuccessfulRequests: true });
    const statuses = [];
    for (const status of [200, 200, 200, 401, 401, 200]) statuses.push((await ask(status))[0]);
    expect(statuses).toEqual([200, 200, 200, 401, 401, 429]);
  });

  test('those that fail, but not those that were refused and spent nothing', async () => {
    const ask = await serve({ ...limits, store: storeOf(), skipFailedRequests: true });
    const statuses = [];
    for (const status of [500, 200, 500, 200, 200, 200, 200]) statuses.push((await ask(status))[0]);
    expect(statuses).toEqual([500, 200, 500, 200, 429, 429, 429]);
  });
});

/** A refused request has spent nothing: whoever takes it for a success, or a failure, must not free a unit by it. */
describe('refused requests free nothing, whatever the middleware takes them for', () => {
  const isNo401: Options['requestWasSuccessful'] = (_request, response) => response.statusCode !== 401;
  test.each<[taken: string, options: Partial<Options>, statuses: string]>([
    ['a success', { skipSuccessfulRequests: true, requestWasSuccessful: isNo401 }, '401 401 429 429 429 429'],
    [
      'a success, as it finds out later',
      { skipSuccessfulRequests: true, requestWasSuccessful: async (...exchange) => isNo401(...exchange) },
      '401 401 429 429 429 429',
    ],
    ['a success by its status', { skipSuccessfulRequests: true, statusCode: 299 }, '401 401 299 299 299 299'],
    ['a failure', { skipSuccessfulRequests: true }, '401 401 429 429 429 429'],
    ['neither', { skipFailedRequests: true, requestWasSuccessful: isNo401 }, '401 401 401 401 200 200'],
    [
      'what cannot be told beforehand',
      { skipSuccessfulRequests: true, requestWasSuccessful: (request) => request.get('x-answer') === '200' },
      '401 401 429 429 429 429',
    ],
  ])('%s', async (_, options, statuses) => {
    // Its own store counts refused requests and takes them back: the statuses are to be the same.
    for (const store of [{}, { store: sluiceStore() }]) {
      const ask = await serve({ limit: 2, validate: false, ...options, ...store });
      const seen = [];
      for (const status of [401, 401, 401, 401, 200, 200]) {
        seen.push((await ask(status))[0]);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      await running?.stop();
      expect(seen.join(' ')).toBe(statuses);
    }
  });
});

test('a look, a reset and a prefix', async () => {
  const clock = manualClock(NOW);
  const limiter = createLimiter({
    policy: tokenBucket({ capacity: 5, refillRate: 1 }),
    store: memoryStore({ clock }),
  });
  const store = sluiceStore({ limiter, prefix: 'login:' });
  expect(await store.increment('ada')).toEqual({ totalHits: 1, resetTime: new Date(NOW + 1000) });
  expect(await store.get?.('ada')).toEqual({ totalHits: 1, resetTime: new Date(NOW + 1000) });
  expect(await limiter.peek('login:ada')).toMatchObject({ remaining: 4 });
  for (let more = 0; more < 4; more++) await store.increment('ada');
  expect(await store.increment('ada')).toEqual({ totalHits: 6, resetTime: new Date(NOW + 1000) });
  await store.resetKey('ada');
  expect([await store.get?.('ada'), await store.get?.('bob')]).toEqual([undefined, undefined]);
  expect([store.prefix, store.localKeys, sluiceStore().localKeys]).toEqual(['login:', false, true]);
});

describe('a store of its own, by what express-rate-limit asks of one', () => {
  const started = (options: object = { windowMs: 60_000 }): Store => {
    const store = sluiceStore();
    store.init?.(options as Options);
    return store;
  };
  const hits = async (store: Store, ...keys: string[]): Promise<number[]> => {
    const counts = [];
    for (const key of keys) counts.push((await store.increment(key)).totalHits);
    return counts;
  };

  test('counts, without a limit to count to', async () => {
    const store = started();
    expect(await hits(store, 'a', 'a', 'b', 'a')).toEqual([1, 2, 1, 3]);
    await store.decrement('a');
    expect(await hits(store, 'a')).toEqual([3]);
    await store.decrement('new');
    expect(await hits(store, 'new')).toEqual([1]);
  });

  test('forgets one key, or all', async () => {
    const store = started({ windowMs: 60_000, limit: 5 });
    await hits(store, 'a', 'a', 'b');
    await store.resetKey('a');
    expect(await hits(store, 'a', 'b')).toEqual([1, 2]);
    await store.resetAll?.();
    expect(await hits(store, 'a', 'b')).toEqual([1, 1]);
  });

  test('has no way to forget what others share', () => {
    expect(sluiceStore({ store: memoryStore() }).resetAll).toBeUndefined();
    expect(() => sluiceStore().resetAll?.()).not.toThrow();
  });

  test.each<[what: string, limit: Options['limit'], statuses: number[]]>([
    ['a limit by the request', (request) => (request.get('x-answer') === '201' ? 2 : 1), [200, 201, 429, 429]],
    ['a limit of 0', 0, [429, 429, 429, 429]],
  ])('leaves it to the middleware: %s', async (_, limit, statuses) => {
    const ask = await serve({ limit, store: sluiceStore(), validate: { limit: false } });
    const seen = [];
    for (const status of [200, 201, 201, 200]) seen.push((await ask(status))[0]);
    expect(seen).toEqual(statuses);
  });
});

describe('what is wrong is said', () => {
  const limiter = createLimiter({ policy: tokenBucket({ capacity: 5, refillRate: 1 }) });
  test.each([
    [{ redis: 1 }, 'sluiceStore.redis'],
    [{ limiter: {} }, 'sluiceStore.limiter'],
    [{ limiter, store: memoryStore() }, 'sluiceStore'],
    [{ store: {} }, 'sluiceStore.store'],
    [{ policy: 'gcra' }, 'sluiceStore.policy'],
    [{ prefix: 5 }, 'sluiceStore.prefix'],
  ])('%j', (options, path) => {
    expect(() => sluiceStore(options as never)).toThrow(expect.objectContaining({ path }));
  });

  test('a limit that only the middleware knows, for a policy that needs one', () => {
    const store = sluiceStore({ policy: slidingWindowLog });
    expect(() => store.init?.({ limit: () => 5, windowMs: 1000 } as unknown as Options)).toThrow('rateLimit.limit');
  });

  test('a store that nobody has started', async () => {
    await expect(sluiceStore().increment('ada')).rejects.toMatchObject({ path: 'sluiceStore' });
  });
});
