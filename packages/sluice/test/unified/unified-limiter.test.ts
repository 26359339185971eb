/** The unified door: the worked numbers of tutorials, in memory and on Redis, by every name and spelling, and what it refuses. */
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../../tools/servers/index.ts';
import { type Clock, createLimiter, manualClock, memoryStore, type Store, tokenBucket } from '../../src/index.ts';
import { redisStore } from '../../src/presets/node-redis.ts';
import {
  type UnifiedAlgorithm,
  type UnifiedRequest,
  type UnifiedResult,
  unifiedLimiter,
} from '../../src/unified/index.ts';

let server: RunningServer;
let client: ReturnType<typeof createClient>;
beforeAll(async () => {
  server = await startServer({ kind: 'redis' });
  client = createClient({ url: server.url });
  await client.connect();
});
afterAll(async () => {
  await client?.close();
  await server?.stop();
});

let stores = 0;
const STORES: Readonly<Record<string, (clock: Clock) => Store>> = {
  memory: (clock) => memoryStore({ clock }),
  redis: (clock) => redisStore(client, { clock, raw: true, prefix: `unified-${stores++}` }),
};

/** A whole minute. */
const START = 1_700_000_040_000;
const ALGORITHMS: readonly UnifiedAlgorithm[] = [
  ...(['fixed_window', 'sliding_window_log', 'sliding_window_counter', 'token_bucket', 'leaky_bucket'] as const),
  ...(['leaky_bucket_shaping', 'gcra'] as const),
];

describe.each(Object.entries(STORES))('%s', (_name, makeStore) => {
  const start = () => {
    const clock = manualClock(START);
    const limiter = unifiedLimiter({ store: makeStore(clock) });
    const ask = (request: Omit<UnifiedRequest, 'key'> & { key?: string }) =>
      limiter.checkAndConsume({ key: 'user:42', ...request });
    const times = async (count: number, request: Parameters<typeof ask>[0]): Promise<number> => {
      let allowed = 0;
      for (let time = 0; time < count; time++) allowed += (await ask(request)).allowed ? 1 : 0;
      return allowed;
    };
    return { clock, ask, times };
  };

  test.each(ALGORITHMS)('%s: 10 of 12 at the same moment', async (algorithm) => {
    const { ask, times } = start();
    expect(await times(12, { algorithm, limit: 10, windowSeconds: 60 })).toBe(10);
    expect(await ask({ algorithm, limit: 10, windowSeconds: 60 })).toMatchObject({ allowed: false, remaining: 0 });
  });

  test('several algorithms on one key do not know of each other', async () => {
    const { times } = start();
    for (const algorithm of ALGORITHMS) expect(await times(12, { algorithm, limit: 10 })).toBe(10);
    for (const algorithm of ALGORITHMS) expect(await times(1, { algorithm, limit: 10 })).toBe(0);
  });

  test('nor do two limits of one algorithm with different numbers', async () => {
    const { times } = start();
    const login = { algorithm: 'fixed_window', limit: 5, windowSeconds: 900 } as const;
    expect(await times(40, { algorithm: 'fixed_window', limit: 100 })).toBe(40);
    expect(await times(40, login)).toBe(5);
    expect(await times(40, { ...login, key: 'user:43' })).toBe(5);
  });

  test('fixed window: what comes back, in whole seconds', async () => {
    const { clock, ask } = start();
    clock.advance(15_300);
    const request = { algorithm: 'fixed_window', limit: 1, windowSeconds: 60 } as const;
    const common = { limit: 1, remaining: 0, resetAt: START / 1e3 + 60, delaySeconds: 0 };
    const about = { algorithm: 'fixed_window', key: 'user:42' } as const;
    expect(await ask(request)).toEqual({ ...common, ...about, allowed: true, retryAfterSeconds: 0 });
    expect(await ask(request)).toEqual({ ...common, ...about, allowed: false, retryAfterSeconds: 45 });
    clock.set(START + 60_000);
    expect(await ask(request)).toMatchObject({ allowed: true });
  });

  test('fixed window: twice the limit around the edge of a window', async () => {
    const { clock, times } = start();
    clock.advance(59_000);
    expect(await times(12, { algorithm: 'fixed_window', limit: 10 })).toBe(10);
    clock.advance(1000);
    expect(await times(12, { algorithm: 'fixed_window', limit: 10 })).toBe(10);
  });

  test('sliding window log: none around the edge, and one when the oldest leaves', async () => {
    const { clock, ask, times } = start();
    const request = { algorithm: 'sliding_window_log', limit: 10 } as const;
    clock.advance(59_000);
    expect(await times(12, request)).toBe(10);
    clock.advance(1000);
    expect(await ask(request)).toMatchObject({ allowed: false, retryAfterSeconds: 59 });
    clock.advance(59_000);
    expect(await times(12, request)).toBe(10);
  });

  // 3 + floor(8 x 0.75) = 9; 18 + floor(42 x 0.75) = 49; 50 + floor(80 x 0.5) = 90.
  test.each([
    { limit: 10, previous: 8, current: 3, seconds: 15, left: 0 },
    { limit: 50, previous: 42, current: 18, seconds: 15, left: 0 },
    { limit: 100, previous: 80, current: 50, seconds: 30, left: 9 },
  ])(
    'sliding window counter of $limit: $previous before, $current now, $seconds s in',
    async ({ limit, previous, current, seconds, left }) => {
      const { clock, ask } = start();
      const request = { algorithm: 'sliding_window_counter', limit, windowSeconds: 60 } as const;
      expect(await ask({ ...request, cost: previous })).toMatchObject({ allowed: true });
      clock.advance(60_000 + seconds * 1e3);
      expect(await ask({ ...request, cost: current })).toMatchObject({ allowed: true });
      expect(await ask(request)).toMatchObject({ allowed: true, remaining: left });
    },
  );

  test('token bucket: bursts to its capacity, then the rate', async () => {
    const { clock, ask, times } = start();
    const request = { algorithm: 'token_bucket', capacity: 10, refillRate: 2 } as const;
    expect(await times(12, request)).toBe(10);
    expect(await ask(request)).toMatchObject({ retryAfterSeconds: 1, resetAt: START / 1e3 + 5, limit: 10 });
    clock.advance(2500);
    expect(await times(12, request)).toBe(5);
    expect(await ask({ ...request, cost: 4 })).toMatchObject({ allowed: false, retryAfterSeconds: 2 });
  });

  test('leaky bucket: 100 at 10 a second, 200 at the same moment', async () => {
    const { clock, times } = start();
    const request = { algorithm: 'leaky_bucket', capacity: 100, drainRate: 10 } as const;
    expect(await times(200, request)).toBe(100);
    clock.advance(1000);
    expect(await times(200, request)).toBe(10);
  });

  test('leaky bucket that shapes: each waits for the one before it', async () => {
    const { ask } = start();
    const request = { algorithm: 'leaky_bucket_shaping', capacity: 3, drainRate: 2 } as const;
    const delays = [];
    for (let time = 0; time < 4; time++) delays.push(await ask(request));
    expect(delays.map(({ allowed, delaySeconds }) => [allowed, delaySeconds])).toEqual([
      [true, 0],
      [true, 0.5],
      [true, 1],
      [false, 0],
    ]);
  });

  test('gcra: one a second, and a burst of three', async () => {
    const { clock, times } = start();
    const request = { algorithm: 'gcra', limit: 60, windowSeconds: 60, capacity: 3 } as const;
    expect(await times(5, request)).toBe(3);
    clock.advance(1000);
    expect(await times(5, request)).toBe(1);
  });

  test('what is left of a second is a whole one', async () => {
    const { ask } = start();
    const request = { algorithm: 'token_bucket', capacity: 2, refillRate: 4 } as const;
    expect(await ask(request)).toMatchObject({ allowed: true, resetAt: START / 1e3 + 1, retryAfterSeconds: 0 });
    await ask(request);
    expect(await ask(request)).toMatchObject({ allowed: false, resetAt: START / 1e3 + 1, retryAfterSeconds: 1 });
  });

  test('a cost that can never fit', async () => {
    const { ask } = start();
    expect(await ask({ algorithm: 'token_bucket', limit: 10, cost: 11 })).toMatchObject({
      allowed: false,
      remaining: 10,
      retryAfterSeconds: Number.POSITIVE_INFINITY,
    });
  });

  test('a cost of 0 looks', async () => {
    const { ask } = start();
    await ask({ algorithm: 'gcra', limit: 10, cost: 4 });
    for (let time = 0; time < 2; time++) {
      expect(await ask({ algorithm: 'gcra', limit: 10, cost: 0 })).toMatchObject({ allowed: true, remaining: 6 });
    }
  });
});

describe('names', () => {
  const answer = async (request: object): Promise<UnifiedResult> =>
    unifiedLimiter({ store: memoryStore({ clock: manualClock(START) }) }).checkAndConsume({
      key: 'a',
      ...request,
    } as UnifiedRequest);

  test.each<readonly [given: string, algorithm: string]>([
    ...ALGORITHMS.flatMap((name) => [[name, name] as const, [name.replaceAll('_', '-'), name] as const]),
    ['sliding_log', 'sliding_window_log'],
    ['sliding-log', 'sliding_window_log'],
    ['sliding_counter', 'sliding_window_counter'],
    ['sliding-counter', 'sliding_window_counter'],
    ['leaky_bucket_policing', 'leaky_bucket'],
    ['leaky-bucket-policing', 'leaky_bucket'],
  ])('%s is %s', async (given, algorithm) => {
    expect(await answer({ algorithm: given, limit: 5 })).toMatchObject({ algorithm, allowed: true, remaining: 4 });
  });

  test.each<[title: string, one: object, other: object]>([
    ['window_seconds', { limit: 5, windowSeconds: 7 }, { limit: 5, window_seconds: 7 }],
    ['the window of a minute', { limit: 5 }, { limit: 5, windowSeconds: 60 }],
    ['a cost of 1', { limit: 5 }, { limit: 5, cost: 1 }],
  ])('%s', async (_title, one, other) => {
    for (const algorithm of ALGORITHMS) {
      expect(await answer({ algorithm, ...one })).toEqual(await answer({ algorithm, ...other }));
    }
  });

  test.each<[title: string, algorithm: string, one: object, other: object]>([
    ['refill_rate', 'token_bucket', { limit: 5, refillRate: 3 }, { limit: 5, refill_rate: 3 }],
    ['drain_rate', 'leaky_bucket', { limit: 5, drainRate: 3 }, { limit: 5, drain_rate: 3 }],
    ['the rate of a bucket', 'token_bucket', { limit: 120 }, { limit: 120, refillRate: 2 }],
    ['the rate of a leaky bucket', 'leaky_bucket', { limit: 120 }, { limit: 120, drainRate: 2 }],
    ['the capacity', 'token_bucket', { limit: 120 }, { limit: 120, capacity: 120 }],
    ['the limit', 'token_bucket', { capacity: 120 }, { limit: 120 }],
    ['the capacity of gcra', 'gcra', { limit: 120 }, { limit: 120, capacity: 120 }],
    ['what is not used', 'fixed_window', { limit: 5 }, { limit: 5, capacity: 9, refillRate: 9, drainRate: 9 }],
    ['what is undefined', 'fixed_window', { limit: 5 }, { limit: 5, capacity: undefined, window_seconds: undefined }],
  ])('%s', async (_title, algorithm, one, other) => {
    expect(await answer({ algorithm, ...one })).toEqual(await answer({ algorithm, ...other }));
  });
});

describe('what is wrong is said in a sentence', () => {
  const valid = { key: 'a', algorithm: 'token_bucket', limit: 5 };
  const ALL =
    'The algorithms are fixed_window, sliding_window_log, sliding_window_counter, token_bucket, leaky_bucket, leaky_bucket_shaping, gcra.';
  test.each<[request: unknown, sentence: string]>([
    [
      undefined,
      "expected an object, as in checkAndConsume({ key: 'user:42', algorithm: 'token_bucket', limit: 100 }).",
    ],
    [['a'], "expected an object, as in checkAndConsume({ key: 'user:42', algorithm: 'token_bucket', limit: 100 })."],
    [{ ...valid, key: undefined }, "`key` must say who is limited, as in key: 'user:42', and it is missing."],
    [{ ...valid, key: '' }, "`key` must say who is limited, as in key: 'user:42', and it is empty."],
    [{ ...valid, key: 42 }, "`key` must say who is limited, as in key: 'user:42', and it is 42."],
    [{ ...valid, algorithm: undefined }, `there is no \`algorithm\`. ${ALL}`],
    [{ ...valid, algorithm: 'tocken_bucket' }, "unknown algorithm 'tocken_bucket'. Did you mean 'token_bucket'?"],
    [{ ...valid, algorithm: 'bucket' }, `unknown algorithm 'bucket'. ${ALL}`],
    [{ ...valid, algorithm: 5 }, `unknown algorithm of type number. ${ALL}`],
    [{ ...valid, algorithm: 'constructor' }, `unknown algorithm 'constructor'. ${ALL}`],
    [{ key: 'a', algorithm: 'fixed_window' }, 'fixed_window needs a `limit`, as in limit: 100.'],
    [{ ...valid, limit: 0 }, '`limit` must be a whole number of at least 1, and it is 0.'],
    [{ ...valid, limit: '5' }, '`limit` must be a whole number of at least 1, and it is a value of type string.'],
    [{ ...valid, capacity: 1.5 }, '`capacity` must be a whole number of at least 1, and it is 1.5.'],
    [{ ...valid, windowSeconds: 0 }, '`windowSeconds` must be a number above 0, and it is 0.'],
    [{ ...valid, window_seconds: '1m' }, '`windowSeconds` must be a number above 0, and it is a value of type string.'],
    [
      { ...valid, windowSeconds: 1e12 },
      '`windowSeconds` must be a number from 0.000001 to 3155760000, and it is 1000000000000.',
    ],
    [{ ...valid, refillRate: -1 }, '`refillRate` must be a number above 0, and it is -1.'],
    [{ ...valid, drainRate: Number.NaN }, '`drainRate` must be a number above 0, and it is NaN.'],
    [{ ...valid, cost: -1 }, '`cost` must be a whole number of at least 0, and it is -1.'],
    [{ ...valid, cost: null }, '`cost` must be a whole number of at least 0, and it is null.'],
    [{ ...valid, windowSeconds: 5, window_seconds: 5 }, 'give `windowSeconds` once, not in two spellings.'],
    [{ ...valid, windowSecond: 5 }, 'unknown field `windowSecond`. Did you mean `windowSeconds`?'],
    [{ ...valid, max: 5 }, 'unknown field `max`. Did you mean `limit`?'],
    [
      { ...valid, plan: 'free' },
      'unknown field `plan`. The fields are key, algorithm, limit, windowSeconds, capacity, refillRate, drainRate, cost.',
    ],
  ])('%j', async (request, sentence) => {
    await expect(unifiedLimiter().checkAndConsume(request as UnifiedRequest)).rejects.toMatchObject({
      name: 'SluiceError',
      sentence: `checkAndConsume: ${sentence}`,
    });
  });

  test('a bucket that would take more than a century', async () => {
    const slow = { ...valid, algorithm: 'leaky_bucket', drainRate: 1e-12 } as UnifiedRequest;
    await expect(unifiedLimiter().checkAndConsume(slow)).rejects.toThrow('`drainRate` must be a number from 1.58');
  });

  test('options of the limiter itself', () => {
    expect(() => unifiedLimiter({ stores: 1 } as never)).toThrow('unknown option `stores`. Did you mean `store`?');
    expect(() => unifiedLimiter({ store: {} as never })).toThrow(
      expect.objectContaining({ code: 'SLUICE_INVALID_STORE', path: 'unifiedLimiter.store' }),
    );
  });
});

test('extremes are refused or counted, and never anything else', async () => {
  const store = memoryStore({ clock: manualClock(START) });
  const limiter = unifiedLimiter({ store });
  for (const algorithm of ALGORITHMS) {
    const limit = algorithm === 'sliding_window_log' ? 10_000_000 : Number.MAX_SAFE_INTEGER;
    for (const windowSeconds of [1e-6, 0.1 + 0.2, 1.1, 3_155_760_000]) {
      expect(await limiter.checkAndConsume({ key: 'a', algorithm, limit, windowSeconds })).toMatchObject({
        allowed: true,
      });
    }
  }
});

test('ever new numbers do not fill the memory, and old ones still count', async () => {
  const clock = manualClock(START);
  const limiter = unifiedLimiter({ store: memoryStore({ clock }) });
  const first = { key: 'a', algorithm: 'fixed_window', limit: 2 } as const;
  await limiter.checkAndConsume(first);
  for (let limit = 3; limit < 2000; limit++) await limiter.checkAndConsume({ ...first, limit });
  expect(await limiter.checkAndConsume(first)).toMatchObject({ allowed: true, remaining: 0 });
});

test('a limiter beside it with other numbers has states of its own', async () => {
  const store = memoryStore({ clock: manualClock(START) });
  const beside = createLimiter({ policy: tokenBucket({ capacity: 5, refillRate: 2 }), store });
  await beside.attempt('a', { cost: 5 });
  const unified = unifiedLimiter({ store });
  const request = { key: 'a', algorithm: 'token_bucket', capacity: 5, refillRate: 1 } as const;
  expect(await unified.checkAndConsume(request)).toMatchObject({ allowed: true, remaining: 4 });
});
