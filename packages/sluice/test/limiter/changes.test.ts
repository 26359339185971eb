/** refund, penalize, block and unblock: what the store is told, and what comes of it. */
import { describe, expect, test } from 'vitest';
import {
  createLimiter,
  fixedWindow,
  gcra,
  type Limiter,
  leakyBucket,
  type ManualClock,
  manualClock,
  memoryStore,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../../src/index.ts';
import { exactMicros } from '../../src/model/result.ts';
import { recordingStore } from './support.ts';

const bucket = tokenBucket({ capacity: 10, refillRate: 1 });
const window = fixedWindow({ limit: 20, window: '1m' });

describe('each verb is one call to the store, with one change for each policy', () => {
  const key = 'user:42';
  const rows: readonly [title: string, call: (limiter: Limiter) => Promise<unknown>, change: object][] = [
    ['refund', (limiter) => limiter.refund(key), { verb: 'refund', cost: 1, spent: undefined }],
    ['refund of a cost', (limiter) => limiter.refund(key, { cost: 5 }), { verb: 'refund', cost: 5, spent: undefined }],
    ['penalize', (limiter) => limiter.penalize(key), { verb: 'penalize', cost: 1 }],
    ['penalize with a cost', (limiter) => limiter.penalize(key, { cost: 20 }), { verb: 'penalize', cost: 20 }],
    ['block', (limiter) => limiter.block(key, '10m'), { verb: 'block', duration: 600_000_000 }],
    ['block of a microsecond', (limiter) => limiter.block(key, 0.001), { verb: 'block', duration: 1 }],
    ['unblock', (limiter) => limiter.unblock(key), { verb: 'unblock' }],
  ];

  test.each(rows)('%s', async (_, call, change) => {
    const store = recordingStore();
    await call(createLimiter({ policies: [bucket, window], store }));
    expect(store.decided).toEqual([]);
    expect(store.changed).toEqual([
      [
        { key, policy: bucket, ...change },
        { key, policy: window, ...change },
      ],
    ]);
  });

  test('the policies are those of the context', async () => {
    const store = recordingStore();
    const limiter = createLimiter<string>({ policy: (plan) => (plan === 'paid' ? window : bucket), store });
    const context = 'paid';
    await limiter.refund(key, { context });
    await limiter.penalize(key, { context });
    await limiter.block(key, '1s', { context });
    await limiter.unblock(key, { context });
    expect(store.changed.flat().map(({ policy }) => policy)).toEqual([window, window, window, window]);
  });
});

describe('what was changed', () => {
  const answering = (...units: number[]) => {
    const store = recordingStore({ change: () => ({ changed: units.shift() }) });
    return createLimiter({ policies: [bucket, window], store });
  };

  test('is what all policies have done: the smallest', async () => {
    expect((await answering(3, 5).refund('user:42', { cost: 5 })).changed).toBe(3);
    expect((await answering(20, 0.5).penalize('user:42', { cost: 20 })).changed).toBe(0.5);
  });

  test('is a whole number when it is a billionth off one', async () => {
    expect((await answering(4.9999999999, 5).refund('user:42', { cost: 5 })).changed).toBe(5);
    expect((await answering(4.99, 5).refund('user:42', { cost: 5 })).changed).toBe(4.99);
  });

  test('comes with what a look sees afterwards', async () => {
    const store = recordingStore({ now: 100e6, change: () => ({ remaining: 7, resetAfter: 3e6, changed: 2 }) });
    const decision = { policy: 'token-bucket', allowed: true, limit: 10, remaining: 7, retryAfter: null };
    const moments = { resetAfter: 3, resetAt: 103, delay: null };
    expect(await createLimiter({ policy: bucket, store }).refund('user:42', { cost: 2 })).toEqual({
      ...decision,
      ...moments,
      decisions: [{ ...decision, ...moments, changed: 2 }],
      source: 'store',
      changed: 2,
    });
  });
});

describe('the spend that is given back is recovered to the microsecond', () => {
  test('from each decision of the result', async () => {
    const store = recordingStore({
      decide: ({ policy }) => ({ resetAfter: policy === bucket ? 3_703_701 : 11_111_103 }),
    });
    const limiter = createLimiter({ policies: [bucket, window], store });
    const of = await limiter.attempt('user:42', { cost: 5 });
    await limiter.refund('user:42', { cost: 5, of });
    const at = 1_763_280_000_123_456;
    expect(store.changed).toEqual([
      [
        { key: 'user:42', policy: bucket, verb: 'refund', cost: 5, spent: { at, until: at + 3_703_701, cost: 5 } },
        { key: 'user:42', policy: window, verb: 'refund', cost: 5, spent: { at, until: at + 11_111_103, cost: 5 } },
      ],
    ]);
  });

  test('also from a result that went through JSON', async () => {
    const store = recordingStore();
    const limiter = createLimiter({ policy: bucket, store });
    const of = JSON.parse(JSON.stringify(await limiter.attempt('user:42')));
    await limiter.refund('user:42', { of });
    expect(store.changed[0]![0]).toMatchObject({ spent: { at: 1_763_280_000_123_456, until: 1_763_280_005_123_456 } });
  });

  test('from the decisions of its own key, when the attempt was on several', async () => {
    const store = recordingStore({ decide: ({ cost }) => ({ resetAfter: cost * 1e6 }) });
    const limiter = createLimiter({ policy: bucket, store });
    const of = await limiter.attempt([
      { key: 'user:42', cost: 5 },
      { key: 'everyone', cost: 7, policies: [window, bucket] },
    ]);
    await limiter.refund('everyone', { cost: 7, of });
    expect(store.changed[0]).toMatchObject([{ spent: { at: 1_763_280_000_123_456, until: 1_763_280_007_123_456 } }]);
  });

  test.each([1, 999_999, 1_763_280_000_123_456, 4_336_010_093_471_000, 2 ** 52 - 1, 2 ** 53 - 2 ** 49])(
    'around %d microseconds',
    (micros) => {
      for (let step = 0; step < 2000; step += 1) expect(exactMicros((micros + step) / 1e6)).toBe(micros + step);
    },
  );

  test.each(['fallback', 'fail-closed', 'shadow'])(
    'what was spent in the %s is not the store’s to give back',
    async (source) => {
      const store = recordingStore();
      const limiter = createLimiter({ policy: bucket, store });
      const of = { ...(await limiter.attempt('user:42')), source };
      expect((await limiter.refund('user:42', { of })).changed).toBe(0);
      expect(store.changed).toEqual([]);
    },
  );
});

const START = 1_763_280_000_000;

function atStart(...policies: Policy[]): { limiter: Limiter; clock: ManualClock } {
  const clock = manualClock(START);
  return { limiter: createLimiter({ policies, store: memoryStore({ clock }) }), clock };
}

describe('in the memory store', () => {
  const POLICIES: readonly Policy[] = [
    fixedWindow({ limit: 10, window: '10s' }),
    slidingWindowLog({ limit: 10, window: '10s' }),
    slidingWindowCounter({ limit: 10, window: '10s' }),
    bucket,
    leakyBucket({ capacity: 10, leakRate: 1 }),
    leakyBucket({ capacity: 10, leakRate: 1, mode: 'shaping', name: 'shaping' }),
    gcra({ limit: 10, period: '10s' }),
  ];

  test.each(POLICIES.map((policy) => [policy.name, policy] as const))(
    '%s: all that was spent a moment ago',
    async (_, policy) => {
      const { limiter } = atStart(policy);
      const of = await limiter.attempt('user:42', { cost: 7 });
      expect(await limiter.refund('user:42', { cost: 5, of })).toMatchObject({ changed: 5, remaining: 8 });
      expect(await limiter.penalize('user:42', { cost: 3 })).toMatchObject({ changed: 3, remaining: 5 });
      expect(await limiter.penalize('user:42', { cost: 20 })).toMatchObject({ changed: 5, remaining: 0 });
      expect((await limiter.attempt('user:42')).allowed).toBe(false);
    },
  );

  test.each(POLICIES.map((policy) => [policy.name, policy] as const))('%s: a block, and its end', async (_, policy) => {
    const { limiter, clock } = atStart(policy);
    await limiter.attempt('user:42', { cost: 4 });
    expect(await limiter.block('user:42', '10m')).toMatchObject({ allowed: false, remaining: 0, retryAfter: 600 });
    expect(await limiter.attempt('user:42')).toMatchObject({ allowed: false, retryAfter: 600 });
    expect(await limiter.unblock('user:42')).toMatchObject({ allowed: true, remaining: 6 });
    await limiter.block('user:42', '10m');
    await limiter.block('user:42', '1s');
    expect((await limiter.peek('user:42')).retryAfter).toBe(1);
    await limiter.reset('user:42');
    expect((await limiter.peek('user:42')).remaining).toBe(10);
    await limiter.block('user:42', '10m');
    clock.advance(600_000);
    expect(await limiter.attempt('user:42')).toMatchObject({ allowed: true, remaining: 9 });
  });

  test('a refund is never more than is still missing because of the spend', async () => {
    const { limiter, clock } = atStart(bucket);
    const of = await limiter.attempt('user:42', { cost: 5 });
    clock.advance(5000);
    await limiter.attempt('user:42', { cost: 10 });
    expect(await limiter.refund('user:42', { cost: 5, of })).toMatchObject({ changed: 0, remaining: 0 });
  });

  test('several policies: each gives back what it may, and the smallest is told', async () => {
    const { limiter, clock } = atStart(bucket, slidingWindowLog({ limit: 20, window: '1m' }));
    const of = await limiter.attempt('user:42', { cost: 5 });
    clock.advance(2000);
    const { changed, decisions } = await limiter.refund('user:42', { cost: 5, of });
    expect(changed).toBe(3);
    expect(decisions.map(({ remaining }) => remaining)).toEqual([10, 20]);
  });
});
