/** The API over a real socket: what each verb does, one at a time and several at once. */
import { request } from 'node:http';
import { createLimiter, fixedWindow, memoryStore } from 'sluice';
import { fallback, layered } from 'sluice/layers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Holds } from '../src/service/holds.ts';
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

/** From another address of this machine. */
function reserveFrom(port: number, localAddress: string, authorization: string, body: object) {
  return new Promise<{ status: number; body: { message?: string } }>((resolve, reject) => {
    const headers = { 'content-type': 'application/json', authorization };
    request({ port, localAddress, host: '127.0.0.1', method: 'POST', path: '/v1/reserve', headers }, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode!, body: JSON.parse(text) }));
    })
      .on('error', reject)
      .end(JSON.stringify(body));
  });
}

describe('holds', () => {
  const reserve = (more: object = {}) => running.post('/v1/reserve', { policy: 'api', key: 'a', cost: 8, ...more });

  test('settled with less, the rest comes back', async () => {
    const { body } = await reserve();
    expect(body).toMatchObject({ allowed: true, remaining: 2, cost: 8, hold: expect.any(String) });
    const settled = await running.post('/v1/settle', { hold: body.hold, actual: 5 });
    expect(settled.body).toMatchObject({ changed: 3, missing: 0, expired: false, remaining: 5 });
  });

  test('are counted as long as they can be settled', async () => {
    const limiter = createLimiter({ policy: fixedWindow({ limit: 9, window: '1d' }) });
    const holds = new Holds({ most: 9, mostPerCaller: 9 });
    for (const ttlMs of [1, 3_600_000]) await holds.add('ann', ttlMs, () => limiter.reserve('a'));
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(holds.size).toBe(1);
  });

  test('are settled once', async () => {
    const { body } = await reserve();
    await running.post('/v1/settle', { hold: body.hold, actual: 0 });
    const again = await running.post('/v1/settle', { hold: body.hold, actual: 0 });
    expect(again).toMatchObject({ status: 404, body: { error: 'unknown_hold', path: 'hold' } });
    expect(again.body.message).toMatch(/A hold lives in the server that made it: .*sessionAffinity/);
  });

  test('denied holds nothing', async () => {
    await reserve();
    expect((await reserve()).body).toMatchObject({ allowed: false, hold: null });
  });

  test('of cost 0 hold nothing, take no place, and say what is left', async () => {
    const small = await startService({ maxHolds: 1 });
    const looks = Array(256).fill({ policy: 'api', key: 'a', cost: 0, ttl: 3600 });
    const { body } = await small.post('/v1/reserve', looks);
    expect(new Set(body.map(({ hold }: { hold: unknown }) => hold))).toEqual(new Set([null]));
    expect(body[255]).toMatchObject({ allowed: true, remaining: 10, cost: 0 });
    expect((await small.get('/metrics')).text).toContain('sluice_holds 0\n');
    expect((await small.post('/v1/reserve', { policy: 'api', key: 'a' })).body.hold).toEqual(expect.any(String));
    await small.stop();
  });

  test('one caller cannot take the places of others: neither by address nor by the token', async () => {
    const small = await startService({ maxHolds: 5, maxHoldsPerCaller: 2, token: 'secret' });
    const daily = { policy: 'daily', key: 'a', ttl: 3600 };
    const from = (localAddress: string, authorization = '') =>
      reserveFrom(small.port, localAddress, authorization, daily);
    const statuses = async (count: number, ...caller: Parameters<typeof from>) =>
      (await Promise.all(Array.from({ length: count }, () => from(...caller)))).map(({ status }) => status).sort();
    expect(await statuses(4, '127.0.0.1')).toEqual([200, 200, 503, 503]);
    // Whoever makes up tokens is still the same address.
    expect(await statuses(2, '127.0.0.1', 'Bearer other')).toEqual([503, 503]);
    expect(await statuses(1, '127.0.0.2')).toEqual([200]);
    expect(await statuses(3, '127.0.0.1', 'Bearer secret')).toEqual([200, 200, 503]);
    const full = await from('127.0.0.3');
    expect([full.status, full.body.message]).toEqual([503, expect.stringMatching(/^There are 5 holds/)]);
    expect((await from('127.0.0.1')).body.message).toMatch(/^You have 2 holds that are not settled/);
    expect((await small.post('/v1/peek', { policy: 'daily', key: 'a' })).body.remaining).toBe(15);
    await small.stop();
  });

  test('give their place back when they are settled, denied or fail', async () => {
    const small = await startService({ maxHolds: 1 });
    const subject = { policy: 'api', key: 'a' };
    for (let time = 0; time < 3; time++) {
      const { body } = await small.post('/v1/reserve', subject);
      expect((await small.post('/v1/settle', { hold: body.hold, actual: 0 })).status).toBe(200);
      expect((await small.post('/v1/reserve', { ...subject, cost: 99 })).body.hold).toBeNull();
      expect((await small.post('/v1/reserve', { ...subject, cost: 2 ** 53 })).status).toBe(400);
    }
    await small.stop();
  });

  test('are bounded, and refused before anything is spent', async () => {
    const small = await startService({ maxHolds: 2 });
    const ask = () => small.post('/v1/reserve', { policy: 'api', key: 'a' });
    const statuses = await Promise.all([ask(), ask(), ask(), ask()]);
    expect(statuses.map(({ status }) => status).sort()).toEqual([200, 200, 503, 503]);
    expect((await small.post('/v1/peek', { policy: 'api', key: 'a' })).body.remaining).toBe(8);
    // Or whoever reserves and never settles fills the log, 256 lines at a time.
    await small.post('/v1/reserve', Array(256).fill({ policy: 'api', key: 'b' }));
    expect(small.logs).toEqual([]);
    await small.stop();
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
