/** Attempts of one turn in one call: the same answers as one by one, and a failure stays with the attempt it belongs to. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLimiter, fixedWindow, gcra, type Store, slidingWindowLog, tokenBucket } from '../../src/index.ts';
import { ruleOf } from '../../src/model/policy.ts';
import { slotOf } from '../../src/redis/slot.ts';
import { callOf } from '../../src/redis/wire.ts';
import { KINDS, LATEST, randomCost, randomFrom, randomPolicy, randomStep, testSeed } from '../support/random.ts';
import { type Twin, typescriptTwin } from '../support/reference.ts';
import { type Connection, type Servers, serversOf, TOPOLOGIES } from './support/topologies.ts';

const seed = testSeed();
const servers: Servers = serversOf('redis');
afterAll(() => servers.stop());

const topology = (title: string) =>
  TOPOLOGIES.find((entry) => entry.kind === 'redis' && entry.title.startsWith(title))!;

describe(`one call for many attempts, seed ${seed}`, () => {
  let connection: Connection;
  beforeAll(async () => {
    connection = await topology('ioredis client').connect(servers);
  });
  afterAll(() => connection.close());

  test.each(KINDS)('%s: the same answers as one by one', async (kind) => {
    const random = randomFrom(seed);
    for (let round = 0; round < 20; round += 1) {
      const policy = randomPolicy(random, kind);
      const twins = new Map<string, Twin>();
      let now = 1_763_280_000_123_456;
      for (let call = 0; call < 12; call += 1) {
        now = Math.min(Math.max(0, now + randomStep(random, policy)), LATEST);
        const keys = Array.from(
          { length: random.whole(2, 40) },
          () => `{${seed}:${kind}:${round}}${random.whole(0, 6)}`,
        ).sort();
        const costs = keys.map(() => randomCost(random, ruleOf(policy).limit));
        const asks = keys.map((key, index) => ({
          group: '',
          rules: [ruleOf(policy)],
          keys: [key],
          costs: [costs[index]!],
        }));
        const { script, args, read } = callOf(asks, String(now));
        const reply = await connection.run(script, keys, args);
        const expected = keys.map((key, index) => {
          const twin = twins.get(key) ?? typescriptTwin();
          twins.set(key, twin);
          const { allowed, remaining, retryAfter, resetAfter, delay } = twin.attempt(now, costs[index]!, policy);
          return [{ allowed, remaining, retryAfter, resetAfter, delay }];
        });
        expect(read(reply)).toEqual({ now, each: expected });
      }
    }
  });
});

async function callsFor(work: () => Promise<unknown>): Promise<number> {
  const { command } = await servers.single();
  await command('CONFIG', 'RESETSTAT');
  await work();
  const stats = String(await command('INFO', 'commandstats'));
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
}

describe.each([
  // Where more wait than eight calls hold, calls get larger.
  ['ioredis client', 25],
  ['node-redis client', 32],
  ['valkey-glide client', 64],
])('%s', (title, most) => {
  let connection: Connection;
  let store: Store;
  beforeAll(async () => {
    connection = await topology(title).connect(servers);
    store = connection.store({ prefix: title });
    // The scripts are known to the server from here on.
    await Promise.all(
      ['a', 'b'].map((key) => createLimiter({ policy: gcra({ limit: 1, period: '1h' }), store }).attempt(key)),
    );
    await createLimiter({ policy: gcra({ limit: 1, period: '1h' }), store }).attempt('c');
  });
  afterAll(() => connection.close());

  test('200 attempts of one turn are as few calls as fit, and each has its own answer', async () => {
    const limiter = createLimiter({ policy: gcra({ limit: 5, period: '1h', name: 'many' }), store });
    let results: Awaited<ReturnType<typeof limiter.attempt>>[] = [];
    const calls = await callsFor(async () => {
      results = await Promise.all(
        Array.from({ length: 200 }, (_, index) => limiter.attempt(`key:${index}`, { cost: (index % 6) + 1 })),
      );
    });
    expect(calls).toBe(Math.ceil(200 / most));
    expect(results.map(({ allowed, remaining }) => [allowed, remaining])).toEqual(
      Array.from({ length: 200 }, (_, index) => (index % 6 === 5 ? [false, 5] : [true, 4 - (index % 6)])),
    );
  });

  test('a policy made anew for every attempt shares calls all the same', async () => {
    const limiter = createLimiter({ policy: () => gcra({ limit: 5, period: '1h', name: 'anew' }), store });
    const calls = await callsFor(() =>
      Promise.all(Array.from({ length: 16 }, (_, index) => limiter.attempt(`key:${index}`))),
    );
    expect(calls).toBe(1);
  });

  test('a lone attempt is one call', async () => {
    const limiter = createLimiter({ policy: gcra({ limit: 5, period: '1h', name: 'lone' }), store });
    expect(await callsFor(() => limiter.attempt('lone'))).toBe(1);
  });

  test('attempts on one key are answered in the order they came', async () => {
    for (const policy of [
      gcra({ limit: 10, period: '1h', name: 'order' }),
      slidingWindowLog({ limit: 10, window: '1h' }),
    ]) {
      const limiter = createLimiter({ policy, store });
      const results = await Promise.all(Array.from({ length: 12 }, () => limiter.attempt('hot')));
      expect(results.map(({ remaining }) => remaining)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0]);
      expect(results.map(({ allowed }) => allowed)).toEqual([...Array(10).fill(true), false, false]);
    }
  });

  test('policies of one turn do not mix', async () => {
    const limiters = [
      tokenBucket({ capacity: 3, refillRate: '1/h' }),
      fixedWindow({ limit: 7, window: '1d' }),
      gcra({ limit: 2, period: '1h' }),
    ].map((policy) => createLimiter({ policy, store }));
    const results = await Promise.all(Array.from({ length: 9 }, (_, index) => limiters[index % 3]!.attempt('mixed')));
    expect(results.map(({ remaining }) => remaining)).toEqual([2, 6, 1, 1, 5, 0, 0, 4, 0]);
    expect(results.map(({ allowed }) => allowed)).toEqual([true, true, true, true, true, true, true, true, false]);
  });

  test('a key that holds something else fails alone', async () => {
    const policy = gcra({ limit: 5, period: '1h', name: 'poison' });
    const { command } = await servers.single();
    await command('LPUSH', `${title}:{poisoned}2g:poison`, 'not a state');
    const limiter = createLimiter({ policy, store });
    const results = await Promise.allSettled(
      ['a', 'poisoned', 'b', 'poisoned', 'a'].map((key) => limiter.attempt(key)),
    );
    expect(
      results.map((result) => (result.status === 'fulfilled' ? result.value.remaining : result.reason.message)),
    ).toEqual([4, expect.stringContaining('WRONGTYPE'), 4, expect.stringContaining('WRONGTYPE'), 3]);
    const alone = [
      () => limiter.peek('poisoned'),
      () => limiter.attempt('poisoned', { id: 'once' }),
      () => limiter.attempt('poisoned', { cost: { most: 5, least: 1 } }),
      () => limiter.reserve('poisoned', { cost: 2 }),
    ];
    for (const attempt of alone) await expect(attempt()).rejects.toMatchObject({ code: 'SLUICE_STORE_REFUSES' });
  });

  test('a server that cannot write fails those that would, and answers the others', async () => {
    const limiter = createLimiter({ policy: gcra({ limit: 2, period: '1h', name: 'full' }), store });
    const { command } = await servers.single();
    await Promise.all(['x', 'y'].map((key) => limiter.attempt(key, { cost: 2 })));
    await command('CONFIG', 'SET', 'maxmemory', '1');
    const results = await Promise.allSettled(['x', 'new', 'y'].map((key) => limiter.attempt(key)));
    await command('CONFIG', 'SET', 'maxmemory', '0');
    expect(
      results.map((result) => (result.status === 'fulfilled' ? result.value.allowed : result.reason.message)),
    ).toEqual([false, expect.stringContaining('OOM'), false]);
    expect((await limiter.peek('new')).remaining).toBe(2);
  });
});

describe.each(['node-redis cluster', 'ioredis cluster', 'valkey-glide cluster'])('%s', (title) => {
  test('attempts of one turn go to the slots of their keys, and are exact', async () => {
    const connection = await topology(title).connect(servers);
    const limiter = createLimiter({
      policy: gcra({ limit: 3, period: '1h' }),
      store: connection.store({ prefix: title }),
    });
    const results = await Promise.all(Array.from({ length: 300 }, (_, index) => limiter.attempt(`key:${index % 60}`)));
    expect(results.filter(({ allowed }) => allowed).length).toBe(180);
    await connection.close();
  });

  test('slots are those of the cluster', async () => {
    const [node] = (await servers.cluster()).nodes;
    for (const key of ['', 'a', '{}', '{a}b', 'a{b}c', '{a', 'a}{b}', 'ä{🦆}x', '{{a}}', 'x'.repeat(1000)]) {
      expect(slotOf(key)).toBe(await node!.command('CLUSTER', 'KEYSLOT', key));
    }
  });
});
