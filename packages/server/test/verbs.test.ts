/** The API over a real socket: what each verb does, one at a time and several at once. */
import { memoryStore } from 'sluice';
import { fallback, layered } from 'sluice/layers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { configOf, type RunningService, startService } from './support.ts';

let running: RunningService;
beforeEach(async () => {
  running = await startService();
});
afterEach(() => running.stop());

const inline = { algorithm: 'fixed-window', limit: 2, window: '1m', align: 'first' };

/** Verb, body, and what is in the answer. Each row goes on where the one before it ended. */
const STORIES: Readonly<Record<string, readonly (readonly [path: string, body: object, expected: object])[]>> = {
  'an attempt spends': [
    [
      '/v1/attempt',
      { policy: 'api', key: 'a' },
      { allowed: true, remaining: 9, limit: 10, policy: 'api', source: 'store' },
    ],
    ['/v1/attempt', { policy: 'api', key: 'a', cost: 9 }, { allowed: true, remaining: 0, resetAfter: 10 }],
    ['/v1/attempt', { policy: 'api', key: 'a', cost: 3 }, { allowed: false, retryAfter: 3, resetAt: 1010 }],
    ['/v1/attempt', { policy: 'api', key: 'b' }, { allowed: true, remaining: 9 }],
  ],
  'a cost that never fits is denied with no time to come back': [
    ['/v1/attempt', { policy: 'api', key: 'a', cost: 11 }, { allowed: false, retryAfter: null, remaining: 10 }],
  ],
  'a look spends nothing': [
    ['/v1/peek', { policy: 'api', key: 'a', cost: 10 }, { allowed: true, remaining: 10 }],
    ['/v1/peek', { policy: 'api', key: 'a', cost: 10 }, { allowed: true, remaining: 10 }],
  ],
  'several policies: all or nothing': [
    [
      '/v1/attempt',
      { policies: ['api', inline], key: 'a', cost: 2 },
      { allowed: true, policy: 'fixed-window', remaining: 0 },
    ],
    [
      '/v1/attempt',
      { policies: ['api', inline], key: 'a' },
      { allowed: false, policy: 'fixed-window', retryAfter: 60 },
    ],
    ['/v1/peek', { policy: 'api', key: 'a' }, { remaining: 8 }],
  ],
  'a policy that comes along': [
    ['/v1/attempt', { policy: inline, key: 'a' }, { allowed: true, remaining: 1 }],
    [
      '/v1/attempt',
      { policy: { ...inline, name: 'other' }, key: 'a' },
      { allowed: true, remaining: 1, policy: 'other' },
    ],
  ],
  'limits by plan, on one state': [
    ['/v1/attempt', { policy: 'api', key: 'a', plan: 'pro', cost: 95 }, { allowed: true, limit: 100, remaining: 5 }],
    ['/v1/peek', { policy: 'api', key: 'a' }, { limit: 10, remaining: 0 }],
  ],
  'an override for a key': [['/v1/attempt', { policy: 'api', key: 'vip' }, { limit: 1000, remaining: 999 }]],
  'a policy in the shadow never denies': [
    ['/v1/attempt', { policy: 'trial', key: 'a' }, { allowed: true, remaining: 0, source: 'store' }],
    ['/v1/attempt', { policy: 'trial', key: 'a' }, { allowed: true, remaining: 0, source: 'shadow' }],
  ],
  'a refund': [
    ['/v1/attempt', { policy: 'api', key: 'a', cost: 4 }, { remaining: 6 }],
    ['/v1/refund', { policy: 'api', key: 'a', cost: 3 }, { changed: 3, remaining: 9 }],
    ['/v1/refund', { policy: 'api', key: 'a', cost: 3 }, { changed: 1, remaining: 10 }],
  ],
  'a reset': [
    ['/v1/attempt', { policy: 'api', key: 'a', cost: 10 }, { remaining: 0 }],
    ['/v1/reset', { policy: 'api', key: 'a' }, { reset: true }],
    ['/v1/peek', { policy: 'api', key: 'a' }, { remaining: 10 }],
  ],
  'a block and its end': [
    ['/v1/block', { policy: 'api', key: 'a', duration: '10m' }, { allowed: false, retryAfter: 600 }],
    ['/v1/attempt', { policy: 'api', key: 'a' }, { allowed: false, retryAfter: 600 }],
    ['/v1/unblock', { policy: 'api', key: 'a' }, { allowed: true }],
    ['/v1/attempt', { policy: 'api', key: 'a' }, { allowed: true, remaining: 9 }],
  ],
  'a shaping policy says how long to wait': [
    ['/v1/attempt', { policy: 'shaped', key: 'a' }, { allowed: true, delay: null }],
    ['/v1/attempt', { policy: 'shaped', key: 'a' }, { allowed: true, delay: 0.05 }],
  ],
};

test.each(Object.entries(STORIES))('%s', async (_, rows) => {
  for (const [path, body, expected] of rows) {
    expect(await running.post(path, body)).toMatchObject({ status: 200, body: expected });
  }
});

describe.each([
  ['this process', memoryStore()],
  ['yes', 'allow'],
  ['no', 'deny'],
] as const)('while the store is away and %s answers instead', (_, to) => {
  const away = () => Promise.reject(new Error('away'));
  const store = layered({ ask: away }, fallback({ to }));
  const opened = { store, description: 'away', failsClosed: false, isUp: async () => false, close: async () => {} };

  test.each([
    ['/v1/block', { duration: '10m' }],
    ['/v1/unblock', {}],
    ['/v1/reset', {}],
  ])('%s is not said to be done', async (path, more) => {
    const service = await startService({ store: opened });
    const answer = await service.post(path, { policy: 'api', key: 'a', ...more });
    expect(answer).toMatchObject({ status: 503, body: { error: 'store_unavailable' } });
    await service.stop();
  });
});

test('a refund with the result in hand is exact', async () => {
  const { body: of } = await running.post('/v1/attempt', { policy: 'daily', key: 'a', cost: 5 });
  running.clock.advance(86_400_000);
  await running.post('/v1/attempt', { policy: 'daily', key: 'a', cost: 5 });
  const late = await running.post('/v1/refund', { policy: 'daily', key: 'a', cost: 5, of });
  expect(late.body).toMatchObject({ changed: 0, remaining: 15 });
});

test('a cost for each policy by its name, through reserve and settle too', async () => {
  const subject = { key: 'a', policies: ['api', 'daily'] };
  const left = async () =>
    (await running.post('/v1/peek', { ...subject, cost: 0 })).body.decisions.map(
      (told: { remaining: number }) => told.remaining,
    );
  expect((await running.post('/v1/attempt', { ...subject, cost: { api: 1, daily: 5 } })).body.allowed).toBe(true);
  expect(await left()).toEqual([9, 15]);
  const { body } = await running.post('/v1/reserve', { ...subject, cost: { api: 1, daily: 9 } });
  expect(body.cost).toEqual({ api: 1, daily: 9 });
  const settled = await running.post('/v1/settle', { hold: body.hold, actual: { api: 1, daily: 3 } });
  expect(settled.body).toMatchObject({ changed: 6, missing: 0 });
  expect(await left()).toEqual([8, 12]);
  await running.post('/v1/penalize', { ...subject, cost: { api: 0, daily: 2 } });
  await running.post('/v1/refund', { ...subject, cost: { api: 1, daily: 0 } });
  expect(await left()).toEqual([9, 10]);
});

test('a retry with the same id is not charged again', async () => {
  const ask = { policy: 'api', key: 'a', cost: 4, id: 'req-1', ttl: 60 };
  expect((await running.post('/v1/attempt', ask)).body).toMatchObject({ allowed: true, repeated: false, remaining: 6 });
  expect((await running.post('/v1/attempt', ask)).body).toMatchObject({ allowed: true, repeated: true, remaining: 6 });
  expect((await running.post('/v1/peek', ask)).body).toMatchObject({ repeated: true });
});

test('as much as there is', async () => {
  const ask = { policies: ['api', 'daily'], key: 'a', cost: { most: 100, least: 2 } };
  expect((await running.post('/v1/attempt', ask)).body).toMatchObject({ allowed: true, granted: 10, remaining: 0 });
  expect((await running.post('/v1/attempt', ask)).body).toMatchObject({ allowed: false, granted: 0, retryAfter: 2 });
});

test('several at once: each has its own answer, in order', async () => {
  const { status, body } = await running.post('/v1/attempt', [
    { policy: 'api', key: 'a', cost: 10 },
    { policy: 'api', key: 'a' },
    { policy: 'api', key: 'b', cost: -1 },
    { policy: 'nope', key: 'b' },
    7,
    { policy: 'api', key: 'c' },
  ]);
  expect(status).toBe(200);
  expect(body).toMatchObject([
    { allowed: true, remaining: 0 },
    { allowed: false },
    { error: 'invalid_field', path: '[2].cost' },
    { error: 'unknown_policy', path: '[3].policy' },
    { error: 'invalid_field', path: '[4]' },
    { allowed: true, remaining: 9 },
  ]);
});

describe('holds', () => {
  const reserve = (more: object = {}) => running.post('/v1/reserve', { policy: 'api', key: 'a', cost: 8, ...more });

  test('settled with less, the rest comes back', async () => {
    const { body } = await reserve();
    expect(body).toMatchObject({ allowed: true, remaining: 2, cost: 8, hold: expect.any(String) });
    const settled = await running.post('/v1/settle', { hold: body.hold, actual: 5 });
    expect(settled.body).toMatchObject({ changed: 3, missing: 0, expired: false, remaining: 5 });
  });

  test('are settled once, at any server with the same store', async () => {
    const other = await startService({ store: running.store });
    const { body } = await reserve();
    const settled = await other.post('/v1/settle', { hold: body.hold, actual: 0 });
    expect(settled).toMatchObject({ status: 200, body: { changed: 8, remaining: 10 } });
    for (const { post } of [running, other]) {
      const again = await post('/v1/settle', { hold: body.hold, actual: 0 });
      expect(again).toMatchObject({ status: 409, body: { error: 'SLUICE_HOLD_SETTLED' } });
    }
    expect((await other.post('/v1/peek', { policy: 'api', key: 'a' })).body.remaining).toBe(10);
    await other.stop();
  });

  test('after their ttl nothing is given back, and the answer says so', async () => {
    const { body } = await reserve({ policy: 'daily', ttl: 5 });
    running.clock.advance(5000);
    const late = await running.post('/v1/settle', { hold: body.hold, actual: 0 });
    expect(late).toMatchObject({ status: 200, body: { expired: true, changed: 0, remaining: 12 } });
  });

  test('nobody gains by altering one', async () => {
    const inline = { algorithm: 'token-bucket', name: 'mine', capacity: 100, refillRate: 1 };
    await running.post('/v1/attempt', { policy: 'api', key: 'a', cost: 9 });
    const { body } = await running.post('/v1/reserve', { policy: inline, key: 'a', cost: 9 });
    const [token, asked] = JSON.parse(Buffer.from(body.hold, 'base64url').toString());
    const parts = JSON.parse(Buffer.from(token, 'base64url').toString());
    const settle = (change: (parts: unknown[]) => void, more: object) => {
      const copy = structuredClone(parts);
      change(copy);
      const text = JSON.stringify([Buffer.from(JSON.stringify(copy)).toString('base64url'), { ...asked, ...more }]);
      return running.post('/v1/settle', { hold: Buffer.from(text).toString('base64url'), actual: 0 });
    };
    const rename = (copy: unknown[]) => {
      (copy[5] as unknown[][])[0]![0] = 'api';
    };
    expect((await settle(rename, { policy: 'api' })).status).toBe(409);
    const enlarge = (copy: unknown[]) => {
      (copy[5] as unknown[][])[0]![2] = 90;
    };
    expect((await settle(enlarge, {})).status).toBe(409);
    const move = (copy: unknown[]) => {
      copy[1] = 'b';
    };
    expect((await settle(move, {})).status).toBe(409);
    expect((await running.post('/v1/peek', { policy: 'api', key: 'a' })).body.remaining).toBe(1);
    expect((await settle(() => {}, {})).body).toMatchObject({ changed: 9 });
  });

  test('more than was reserved goes into debt, as far as is said and no further than the limit', async () => {
    const { body } = await reserve();
    const wrong = await running.post('/v1/settle', { hold: body.hold, actual: 20, maxDebt: 11 });
    expect(wrong).toMatchObject({ status: 400, body: { path: 'maxDebt' } });
    const settled = await running.post('/v1/settle', { hold: body.hold, actual: 20, maxDebt: 5 });
    expect(settled.body).toMatchObject({ changed: 7, missing: 5, remaining: 0 });
    expect((await running.post('/v1/attempt', { policy: 'api', key: 'a' })).body.retryAfter).toBe(6);
  });

  test('denied holds nothing', async () => {
    await reserve();
    expect((await reserve()).body).toMatchObject({ allowed: false, hold: null });
  });

  test('of cost 0 hold nothing, and say what is left', async () => {
    const looks = Array(256).fill({ policy: 'api', key: 'a', cost: 0, ttl: 3600 });
    const { body } = await running.post('/v1/reserve', looks);
    expect(new Set(body.map(({ hold }: { hold: unknown }) => hold))).toEqual(new Set([null]));
    expect(body[255]).toMatchObject({ allowed: true, remaining: 10, cost: 0 });
  });
});

test('a new config holds at once, and the state stays', async () => {
  await running.post('/v1/attempt', { policy: 'api', key: 'a', cost: 4 });
  running.service.limits.replace(
    configOf('policies: { api: { algorithm: token-bucket, capacity: 50, refillRate: 1/s } }'),
  );
  expect((await running.post('/v1/peek', { policy: 'api', key: 'a' })).body).toMatchObject({
    limit: 50,
    remaining: 46,
  });
  expect((await running.post('/v1/peek', { policy: 'daily', key: 'a' })).status).toBe(400);
});
