/** Plans: policies that are everything or nothing, policies that are looked up, and policies that clients do not read about. */

import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../../tools/servers/index.ts';
import { denial, headerWriter, rateLimitHeaders } from '../../src/http/index.ts';
import {
  checkPolicy,
  createLimiter,
  fixedWindow,
  type Limiter,
  manualClock,
  memoryStore,
  nothing,
  type Policy,
  type RateLimitResult,
  type Store,
  tokenBucket,
  unlimited,
} from '../../src/index.ts';
import { denyCache, fallback, leases } from '../../src/layers/index.ts';
import { redisStore } from '../../src/presets/ioredis.ts';
import { storeOver } from '../../src/store/index.ts';
import { mapPort } from '../support/map-port.ts';

let server: RunningServer;
let client: Redis;
beforeAll(async () => {
  server = await startServer({ kind: 'redis' });
  client = new Redis(server.url);
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

let prefixes = 0;
const STORES: readonly (readonly [name: string, make: () => Store])[] = [
  ['memory', () => memoryStore()],
  ['Redis', () => redisStore(client, { prefix: `plans-${++prefixes}`, deadline: '1m', silence: '1m' })],
  ['storeOver', () => storeOver(mapPort())],
];
const bucket = fixedWindow({ name: 'bucket', limit: 10, window: '1h', align: 'first' });

describe.each(STORES)('on %s', (_, make) => {
  test('unlimited allows everything, and its numbers are Infinity', async () => {
    const limiter = createLimiter({ policy: unlimited(), store: make() });
    for (const cost of [0, 1, 1e15]) {
      expect(await limiter.attempt('a', { cost })).toMatchObject({
        ...{ allowed: true, limit: Number.POSITIVE_INFINITY, remaining: Number.POSITIVE_INFINITY },
        ...{ retryAfter: null, resetAfter: 0, delay: null, policy: 'unlimited', source: 'policy' },
      });
    }
    expect((await limiter.refund('a', { cost: 3 })).changed).toBe(3);
    expect((await limiter.acquire('a', { cost: 1e9, timeout: '1s' })).allowed).toBe(true);
    await limiter.reset('a');
    const hold = await limiter.reserve('a', { cost: 5 });
    expect(await hold.commit(2)).toMatchObject({ changed: 3, missing: 0 });
  });

  test('nothing denies whatever costs something, for good', async () => {
    const limiter = createLimiter({ policy: nothing({ name: 'exports' }), store: make() });
    expect(await limiter.attempt('a')).toMatchObject({
      ...{ allowed: false, limit: 0, remaining: 0, retryAfter: Number.POSITIVE_INFINITY, policy: 'exports' },
    });
    expect(await limiter.attempt('a', { cost: 0 })).toMatchObject({ allowed: true, remaining: 0 });
    await expect(limiter.acquire('a')).rejects.toMatchObject({ code: 'SLUICE_NEVER_FITS' });
  });

  test.each([
    ['before', [unlimited(), bucket], 1],
    ['behind', [bucket, unlimited()], 0],
  ] as const)('unlimited %s another policy: that one binds, and is spent from', async (_, policies, at) => {
    const limiter = createLimiter({ policies, store: make() });
    const first = await limiter.attempt('a', { cost: 4 });
    expect(first).toMatchObject({ allowed: true, policy: 'bucket', limit: 10, remaining: 6, source: 'store' });
    expect(first.decisions.map(({ policy }) => policy)).toEqual(policies.map(({ name }) => name));
    expect(first.decisions[at]).toMatchObject({ remaining: 6 });
    expect(await limiter.attempt('a', { cost: 7 })).toMatchObject({ allowed: false, policy: 'bucket', remaining: 6 });
    expect(await limiter.refund('a', { cost: 4, of: first })).toMatchObject({ changed: 4 });
    expect(await limiter.peek('a')).toMatchObject({ policy: 'bucket', remaining: 10 });
  });

  test('nothing beside another policy: none is spent from, and its numbers are true', async () => {
    const limiter = createLimiter({ policies: [bucket, nothing()], store: make() });
    for (let again = 0; again < 3; again += 1) {
      const result = await limiter.attempt('a', { cost: 4 });
      expect(result).toMatchObject({ allowed: false, policy: 'nothing', retryAfter: Number.POSITIVE_INFINITY });
      expect(result.decisions[0]).toMatchObject({ allowed: true, remaining: 10, delay: null });
    }
    await limiter.block('a', '1m');
    expect((await limiter.attempt('a', { cost: 0 })).allowed).toBe(false);
  });

  test('a policy function may be asynchronous, for every verb', async () => {
    const plans = new Map<string, Policy>([
      ['free', bucket],
      ['enterprise', unlimited({ name: 'bucket' })],
      ['none', nothing({ name: 'bucket' })],
    ]);
    const looked: string[] = [];
    const limiter = createLimiter({
      policy: async (user: string) => {
        looked.push(user);
        await new Promise((resolve) => setImmediate(resolve));
        return plans.get(user)!;
      },
      store: make(),
    });
    const free = { context: 'free' };
    expect(await limiter.attempt('a', { ...free, cost: 3 })).toMatchObject({ remaining: 7 });
    expect(await limiter.peek('a', free)).toMatchObject({ remaining: 7 });
    expect(await limiter.penalize('a', free)).toMatchObject({ remaining: 6 });
    expect(await limiter.acquire('a', free)).toMatchObject({ remaining: 5 });
    expect(await limiter.attempt([{ key: 'a', cost: 2 }], free)).toMatchObject({ remaining: 3 });
    expect((await (await limiter.reserve('a', free)).cancel()).remaining).toBe(3);
    expect((await limiter.attempt('a', { context: 'enterprise' })).limit).toBe(Number.POSITIVE_INFINITY);
    expect((await limiter.attempt('a', { context: 'none' })).limit).toBe(0);
    expect((await limiter.attempt([{ key: 'b', policy: unlimited() }])).allowed).toBe(true);
    await limiter.reset('a', free);
    expect(await limiter.peek('a', free)).toMatchObject({ remaining: 10 });
    expect(looked.filter((user) => user === 'free').length).toBe(8);
  });

  test('what is hidden decides, and is marked', async () => {
    const hidden = fixedWindow({ name: 'abuse', limit: 3, window: '1h', align: 'first', visible: false });
    const limiter: Limiter = createLimiter({ policies: [bucket, hidden], store: make() });
    const write = headerWriter(limiter.policies!);
    const allowed = await limiter.attempt('a', { cost: 3 });
    expect(allowed).toMatchObject({ policy: 'abuse', remaining: 0 });
    expect(write(allowed)).toMatchObject({
      ...{ 'X-RateLimit-Limit': '10', 'X-RateLimit-Remaining': '7', RateLimit: '"bucket";r=7;t=3600' },
    });
    expect(rateLimitHeaders(allowed)).not.toHaveProperty('RateLimit-Policy', expect.stringContaining('abuse'));
    const denied = await limiter.attempt('a');
    expect(denied).toMatchObject({ allowed: false, policy: 'abuse' });
    const { headers, body } = denial(denied, { headers: write(denied) });
    expect(JSON.stringify({ headers, body })).not.toContain('abuse');
    expect(headers).toMatchObject({ 'Retry-After': '3600', 'X-RateLimit-Remaining': '7' });
    expect(JSON.parse(body)['violated-policies']).toEqual([]);
    expect(denied.decisions.map(({ visible }) => visible)).toEqual([undefined, false]);
  });
});

test('what is hidden stays so, whoever answers: the deny cache, a lease, a fallback', async () => {
  const clock = manualClock(1_763_280_000_000);
  const small = fixedWindow({ limit: 1, window: '1h', visible: false });
  const large = fixedWindow({ limit: 100_000, window: '1h', visible: false });
  const inner = memoryStore({ clock });
  const away = { ask: () => Promise.reject(new Error('away')) };
  const later: Store = { ask: async (question) => inner.ask(question) };
  const told: RateLimitResult[] = [];
  const attempt = async (store: Store, policy: Policy, times: number): Promise<void> => {
    const limiter = createLimiter({ policy, store });
    for (let time = 0; time < times; time += 1) {
      clock.advance(1);
      told.push(await limiter.attempt('a'));
    }
  };
  await attempt(denyCache({ clock })(later), small, 3);
  await attempt(leases({ ttl: 100, nodes: 1, clock })(later), large, 100);
  for (const to of ['allow', 'deny', inner] as const) await attempt(fallback({ to, warnings: false })(away), small, 1);
  expect([...new Set(told.map(({ source }) => source))].sort()).toEqual([
    ...['deny-cache', 'fail-closed', 'fallback', 'lease', 'store'],
  ]);
  for (const { decisions } of told) expect(decisions).toMatchObject([{ visible: false }]);
});

test('Redis is not asked about unlimited and nothing', async () => {
  const store = redisStore(client, { prefix: 'unasked' });
  const commands = async (): Promise<number> =>
    Number(/total_commands_processed:(\d+)/.exec(await client.info('stats'))![1]);
  const limiter = createLimiter({
    policy: (plan: 'all' | 'none') => (plan === 'all' ? unlimited() : nothing()),
    store,
  });
  const before = await commands();
  for (let index = 0; index < 100; index += 1) {
    expect((await limiter.attempt(`key:${index}`, { context: 'all' })).allowed).toBe(true);
    expect((await limiter.attempt(`key:${index}`, { context: 'none' })).allowed).toBe(false);
  }
  // One is the question itself.
  expect((await commands()) - before).toBe(1);
});

test('a block that could not be kept is an error', async () => {
  const limiter = createLimiter({ policy: unlimited() });
  await expect(limiter.block('a', '1m')).rejects.toThrow('block: this key is under unlimited(), which keeps no state');
  await expect(limiter.unblock('a')).resolves.toMatchObject({ allowed: true });
});

test('headers: none for what is unlimited, and a 429 that says what holds for nothing', async () => {
  const free = await createLimiter({ policy: unlimited() }).attempt('a');
  for (const form of ['both', 'draft-7', 'draft-6', ['draft-11', 'draft-6']] as const) {
    expect(rateLimitHeaders(free, { form })).toEqual({});
  }
  const limiter = createLimiter({ policy: nothing({ name: 'exports' }) });
  const result = await limiter.attempt('a');
  expect(headerWriter(limiter.policies!)(result)).toMatchObject({
    ...{ 'X-RateLimit-Limit': '0', 'RateLimit-Policy': '"exports";q=0;w=0', RateLimit: '"exports";r=0;t=0' },
  });
  const { headers, body } = denial(result);
  expect(headers).not.toHaveProperty('Retry-After');
  expect(JSON.parse(body)).toMatchObject({
    ...{ message: 'Too many requests. Nothing is allowed here.', 'violated-policies': ['exports'] },
  });
});

test('both are data, and data is a policy again', () => {
  for (const policy of [unlimited(), nothing({ name: 'x' }), unlimited({ visible: false })]) {
    const again = checkPolicy(JSON.parse(JSON.stringify(policy)));
    expect(again).toEqual(policy);
  }
  expect(() => unlimited({ limit: 5 } as object)).toThrow(
    'unlimited: unknown field `limit`. The fields are name, visible.',
  );
});

test('hidden or not, a policy keeps the same state', async () => {
  const store = memoryStore({ clock: manualClock(0) });
  const numbers = { capacity: 10, refillRate: 1 };
  await createLimiter({ policy: tokenBucket({ ...numbers, visible: false }), store }).attempt('a', { cost: 4 });
  expect((await createLimiter({ policy: tokenBucket(numbers), store }).peek('a')).remaining).toBe(6);
});
