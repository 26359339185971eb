/** Attempts that are retried under the same id, and attempts that take as much as there is. The stores' part is in the store contract. */
import { describe, expect, test } from 'vitest';
import { createLimiter, fixedWindow, manualClock, memoryStore, type Store, tokenBucket } from '../../src/index.ts';
import { denyCache, fallback, layered } from '../../src/layers/index.ts';

const START = 1_763_280_000_000;
const bucket = tokenBucket({ name: 'bucket', capacity: 10, refillRate: 1 });
const daily = fixedWindow({ name: 'daily', limit: 25, window: '1d' });

describe('a retry', () => {
  test('of an attempt that was allowed is not charged again', async () => {
    const clock = manualClock(START);
    const limiter = createLimiter({
      policies: [bucket, daily],
      store: layered(memoryStore({ clock }), denyCache({ clock })),
    });
    const ask = (id: string, cost = 6) => limiter.attempt('user:42', { cost, id, ttl: '1m' });
    expect(await ask('a')).toMatchObject({ allowed: true, repeated: false, remaining: 4 });
    expect(await ask('a')).toMatchObject({ allowed: true, repeated: true, remaining: 4, retryAfter: null });
    expect(await ask('b')).toMatchObject({ allowed: false, repeated: false, retryAfter: 2 });
    clock.advance(2000);
    expect(await ask('b')).toMatchObject({ allowed: true, repeated: false, remaining: 0 });
    expect(await ask('a')).toMatchObject({ allowed: true, repeated: true });
    expect(await limiter.peek('user:42', { id: 'b' })).toMatchObject({ allowed: true, repeated: true });
    expect(await ask('b')).not.toHaveProperty('mark');
    clock.advance(60_000);
    expect(await ask('a')).toMatchObject({ repeated: false });
  });

  test('is known to the memory that answers in the place of the store', async () => {
    const away: Store = { ask: () => Promise.reject(new Error('away')) };
    const limiter = createLimiter({
      policy: bucket,
      store: layered(away, fallback({ to: memoryStore(), warnings: false })),
    });
    expect((await limiter.attempt('user:42', { id: 'a', cost: 6 })).repeated).toBe(false);
    expect(await limiter.attempt('user:42', { id: 'a', cost: 6 })).toMatchObject({
      repeated: true,
      source: 'fallback',
    });
  });

  test.each([
    [{ id: '' }, 'id'],
    [{ id: 5 }, 'id'],
    [{ id: 'x'.repeat(257) }, 'id'],
    [{ ttl: '1m' }, 'ttl'],
  ])('%j is refused', async (options, path) => {
    const limiter = createLimiter({ policy: bucket });
    await expect(limiter.attempt('user:42', options as object)).rejects.toMatchObject({
      code: 'SLUICE_INVALID_OPTION',
      path,
    });
  });
});

describe('as much as there is', () => {
  test('under all policies the same, and it says how much', async () => {
    const limiter = createLimiter({ policies: [bucket, daily], store: memoryStore({ clock: manualClock(START) }) });
    const ask = (most: number, least?: number) =>
      limiter.attempt('user:42', { cost: least === undefined ? { most } : { most, least } });
    expect(await ask(4)).toMatchObject({ allowed: true, granted: 4, remaining: 6 });
    expect(await limiter.peek('user:42', { cost: { most: 100 } })).toMatchObject({ allowed: true, granted: 6 });
    expect(await ask(100, 7)).toMatchObject({ allowed: false, granted: 0, retryAfter: 1 });
    expect(await ask(100, 2)).toMatchObject({ allowed: true, granted: 6, remaining: 0 });
    expect(await ask(100)).toMatchObject({ allowed: false, granted: 0 });
    expect(await limiter.peek('user:42', { cost: 0 })).not.toHaveProperty('granted');
  });

  test('where everything is allowed, the most', async () => {
    const away: Store = { ask: () => Promise.reject(new Error('away')) };
    const limiter = createLimiter({ policy: bucket, store: layered(away, fallback({ to: 'allow', warnings: false })) });
    expect(await limiter.attempt('user:42', { cost: { most: 7, least: 1 } })).toMatchObject({ granted: 7 });
  });

  test('together with an id, once', async () => {
    const limiter = createLimiter({ policy: bucket, store: memoryStore({ clock: manualClock(START) }) });
    const ask = () => limiter.attempt('user:42', { cost: { most: 7, least: 1 }, id: 'a' });
    expect(await ask()).toMatchObject({ granted: 7, repeated: false });
    expect(await ask()).toMatchObject({ repeated: true, remaining: 3 });
  });

  test.each([
    [{ most: 1, least: 2 }, 'cost.least'],
    [{ most: -1 }, 'cost.most'],
    [{ most: 5, lest: 1 }, 'cost.lest'],
  ])('%j is refused', async (cost, path) => {
    await expect(createLimiter({ policy: bucket }).attempt('user:42', { cost: cost as never })).rejects.toMatchObject({
      path,
    });
  });

  test('a policy may be called most', async () => {
    const limiter = createLimiter({ policy: fixedWindow({ name: 'most', limit: 5, window: '1m' }) });
    expect(await limiter.attempt('user:42', { cost: { most: 2 } })).toMatchObject({ allowed: true, remaining: 3 });
  });
});
