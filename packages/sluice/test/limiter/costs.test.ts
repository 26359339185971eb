/** Several costs by policy name: requests and tokens in one attempt, the same through every verb and on every store. */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../../tools/servers/index.ts';
import { rateLimitedFetch } from '../../src/http/index.ts';
import {
  type Cost,
  createLimiter,
  fixedWindow,
  type Limiter,
  manualClock,
  memoryStore,
  type Store,
  tokenBucket,
} from '../../src/index.ts';
import { redisStore } from '../../src/presets/ioredis.ts';
import { storeOver } from '../../src/store/store-over.ts';
import { mapPort } from '../support/map-port.ts';
import { virtualTimers } from './support.ts';

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

const START = 1_763_280_000_000;
const POLICIES = [
  fixedWindow({ name: 'rpm', limit: 3, window: '1m' }),
  tokenBucket({ name: 'tpm', capacity: 2000, refillRate: 10 }),
];
const STORES: readonly (readonly [string, (clock: ReturnType<typeof manualClock>) => Store])[] = [
  ['memory', (clock) => memoryStore({ clock })],
  ['storeOver', (clock) => storeOver(mapPort(), { clock })],
  ['Redis', (clock) => redisStore(client, { clock, raw: true, prefix: `costs-${Math.trunc(performance.now())}` })],
];

describe.each(STORES)('on %s', (_, storeAt) => {
  const limiterOf = (): Limiter => {
    const clock = manualClock(START);
    return createLimiter({ policies: POLICIES, store: storeAt(clock), timers: virtualTimers(clock) });
  };
  const left = async (limiter: Limiter): Promise<Record<string, number>> => {
    const { decisions } = await limiter.peek('openai', { cost: 0 });
    return Object.fromEntries(decisions.map(({ policy, remaining }) => [policy, remaining]));
  };

  test('an attempt spends from each policy what is said for it, all or nothing', async () => {
    const limiter = limiterOf();
    expect(await limiter.attempt('openai', { cost: { rpm: 1, tpm: 900 } })).toMatchObject({ allowed: true });
    expect(await limiter.attempt('openai', { cost: { tpm: 900, rpm: 1 } })).toMatchObject({ allowed: true });
    expect(await left(limiter)).toEqual({ rpm: 1, tpm: 200 });
    expect(await limiter.attempt('openai', { cost: { rpm: 1, tpm: 900 } })).toMatchObject({
      allowed: false,
      policy: 'tpm',
      retryAfter: 70,
    });
    expect(await left(limiter)).toEqual({ rpm: 1, tpm: 200 });
  });

  test('peek says the same and spends nothing', async () => {
    const limiter = limiterOf();
    expect((await limiter.peek('openai', { cost: { rpm: 4, tpm: 0 } })).allowed).toBe(false);
    expect((await limiter.peek('openai', { cost: { rpm: 3, tpm: 2000 } })).allowed).toBe(true);
    expect(await left(limiter)).toEqual({ rpm: 3, tpm: 2000 });
  });

  test('refund and penalize', async () => {
    const limiter = limiterOf();
    const of = await limiter.attempt('openai', { cost: { rpm: 2, tpm: 900 } });
    expect((await limiter.refund('openai', { cost: { rpm: 0, tpm: 400 }, of })).changed).toBe(0);
    expect(await left(limiter)).toEqual({ rpm: 1, tpm: 1500 });
    await limiter.penalize('openai', { cost: { rpm: 1, tpm: 100 } });
    expect(await left(limiter)).toEqual({ rpm: 0, tpm: 1400 });
  });

  test('a hold is settled for each of them', async () => {
    const limiter = limiterOf();
    const hold = await limiter.reserve('openai', { cost: { rpm: 1, tpm: 900 } });
    expect(hold.cost).toEqual({ rpm: 1, tpm: 900 });
    expect(await hold.commit({ rpm: 1, tpm: 512 })).toMatchObject({ changed: 388, missing: 0 });
    expect(await left(limiter)).toEqual({ rpm: 2, tpm: 1488 });
    const more = await limiter.reserve('openai', { cost: { rpm: 1, tpm: 900 } });
    expect(await more.commit({ rpm: 0, tpm: 1600 })).toMatchObject({ changed: 1, missing: 112 });
    expect(await left(limiter)).toEqual({ rpm: 2, tpm: 0 });
  });

  test('acquire waits for both', async () => {
    const clock = manualClock(START);
    const timers = virtualTimers(clock);
    const limiter = createLimiter({ policies: POLICIES, store: storeAt(clock), timers });
    await limiter.attempt('openai', { cost: { rpm: 1, tpm: 1500 } });
    const turn = limiter.acquire('openai', { cost: { rpm: 1, tpm: 900 } });
    for (let looked = 0; limiter.waiting('openai') > 0 && looked < 500; looked += 1) {
      await new Promise((resolve) => setTimeout(resolve, 2));
      await timers.run();
    }
    expect(await turn).toMatchObject({ allowed: true });
    expect(clock.now() - START).toBe(40_000);
    await expect(limiter.acquire('openai', { cost: { rpm: 1, tpm: 2001 } })).rejects.toMatchObject({
      code: 'SLUICE_NEVER_FITS',
      message: expect.stringContaining('expected at most 2000, the limit of policy tpm, got 2001'),
    });
  });

  test('each entry of an attempt on several keys', async () => {
    const limiter = limiterOf();
    const entries = [
      { key: 'openai', cost: { rpm: 1, tpm: 900 } },
      { key: 'everyone', cost: { rpm: 2, tpm: 5 } },
    ];
    expect(await limiter.attempt(entries)).toMatchObject({ allowed: true });
    expect(await left(limiter)).toEqual({ rpm: 2, tpm: 1100 });
  });
});

test.each<readonly [Cost, string, string]>([
  [{ rpm: 1 }, 'cost.tpm', 'cost: policy "tpm" is not named. Name every policy'],
  [{ rpm: 1, tpm: 1, tmp: 1 }, 'cost.tmp', 'cost: unknown policy `tmp`. Did you mean `tpm`?'],
  [{ rpm: 1, tpm: -1 }, 'cost.tpm', 'cost.tpm: expected a whole number from 0 to 9007199254740991, got -1'],
  [{ rpm: 1, tpm: 1.5 }, 'cost.tpm', 'got 1.5'],
  [Object.create({ rpm: 1, tpm: 1 }), 'cost', 'expected a whole number'],
])('%j is refused', async (cost, path, message) => {
  const limiter = createLimiter({ policies: POLICIES });
  for (const verb of ['attempt', 'peek', 'refund', 'penalize', 'reserve', 'acquire'] as const) {
    await expect(limiter[verb]('openai', { cost })).rejects.toMatchObject({
      code: 'SLUICE_INVALID_COST',
      path,
      message: expect.stringContaining(message),
    });
  }
});

test('a commit that names no policy leaves the hold open', async () => {
  const limiter = createLimiter({ policies: POLICIES });
  const hold = await limiter.reserve('openai', { cost: { rpm: 1, tpm: 10 } });
  await expect(hold.commit({ tpm: 5 })).rejects.toMatchObject({
    code: 'SLUICE_INVALID_COST',
    path: 'commit(actual).rpm',
  });
  expect(await hold.commit({ rpm: 1, tpm: 5 })).toMatchObject({ changed: 5 });
});

test('a fetch spends what its request costs', async () => {
  const clock = manualClock(START);
  const limiter = createLimiter({ policies: POLICIES, store: memoryStore({ clock }) });
  const slept: number[] = [];
  const sleep = async (ms: number): Promise<void> => {
    slept.push(ms);
    clock.advance(ms);
  };
  const send = rateLimitedFetch(async () => new Response('ok'), {
    limiter,
    key: 'openai',
    clock,
    sleep,
    deadline: '5m',
    cost: (url, init) => ({ rpm: 1, tpm: url.endsWith('/chat') ? String(init?.body).length : 0 }),
  });
  await send('https://api.example.com/chat', { method: 'POST', body: 'x'.repeat(1500) });
  await send('https://api.example.com/models');
  expect((await limiter.peek('openai', { cost: 0 })).decisions.map(({ remaining }) => remaining)).toEqual([1, 500]);
  await send('https://api.example.com/chat', { method: 'POST', body: 'x'.repeat(900) });
  expect(slept).toEqual([40_000]);
  expect(() => rateLimitedFetch(fetch, { cost: -1 })).toThrow('rateLimitedFetch.cost: expected a whole number');
});
