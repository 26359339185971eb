/** Holds that are settled anywhere, once: by token, late, twice, after lost replies; into debt; and reserve that waits. */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../../tools/servers/index.ts';
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
  type Store,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../../src/index.ts';
import { fallback, layered, leases, shadow } from '../../src/layers/index.ts';
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
const KEY = 'user:42 ☂';
const rpm = fixedWindow({ name: 'rpm', limit: 30, window: '1m' });
const tpm = tokenBucket({ name: 'tpm', capacity: 2000, refillRate: 10 });
const cost = { rpm: 1, tpm: 900 };

/** Two stores over the same states, as two servers have them. */
type Twin = (clock: ManualClock) => readonly [Store, Store];
let prefixes = 0;
const redisTwin: Twin = (clock) => {
  prefixes += 1;
  const options = { clock, raw: true, prefix: `settle-${prefixes}` };
  return [redisStore(client, options), redisStore(client, options)];
};
const STORES: readonly (readonly [string, Twin])[] = [
  [
    'memory',
    (clock) => {
      const store = memoryStore({ clock });
      return [store, store];
    },
  ],
  [
    'storeOver',
    (clock) => {
      const port = mapPort();
      return [storeOver(port, { clock }), storeOver(port, { clock })];
    },
  ],
  ['Redis', redisTwin],
  [
    'a policy in shadow',
    (clock) => {
      const [one, other] = redisTwin(clock);
      return [layered(one, shadow({ policies: ['rpm'] })), layered(other, shadow({ policies: ['rpm'] }))];
    },
  ],
];

const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 1));
};

const left = async (limiter: Limiter): Promise<number[]> =>
  (await limiter.peek(KEY, { cost: 0 })).decisions.map(({ remaining }) => remaining);

describe.each(STORES)('on %s', (_, twin) => {
  const pair = () => {
    const clock = manualClock(START);
    const [one, other] = twin(clock).map((store) =>
      createLimiter({ policies: [rpm, tpm], store, timers: virtualTimers(clock) }),
    );
    return { clock, one: one!, other: other! };
  };

  test('reserved by one, settled by another, once', async () => {
    const { one, other, clock } = pair();
    const hold = await one.reserve(KEY, { cost });
    const token = hold.token!;
    expect(token).toMatch(/^[\w-]+$/);
    clock.advance(1000);
    expect(await other.settle(token, { rpm: 1, tpm: 512 })).toMatchObject({ changed: 388, missing: 0, expired: false });
    expect(await left(other)).toEqual([29, 1498]);
    for (const limiter of [one, other]) {
      await expect(limiter.settle(token, 0)).rejects.toMatchObject({ code: 'SLUICE_HOLD_SETTLED' });
    }
    await expect(hold.commit({ rpm: 1, tpm: 100 })).rejects.toMatchObject({ code: 'SLUICE_HOLD_SETTLED' });
    expect(await left(one)).toEqual([29, 1498]);
  });

  test('settled here with what was reserved, it cannot be settled elsewhere', async () => {
    const { one, other } = pair();
    const hold = await one.reserve(KEY, { cost });
    const token = hold.token!;
    expect(await hold.commit()).toMatchObject({ changed: 0, expired: false });
    await expect(other.settle(token, 0)).rejects.toMatchObject({ code: 'SLUICE_HOLD_SETTLED' });
    expect(await left(one)).toEqual([29, 1100]);
  });

  test('late, nothing changes, and it says so', async () => {
    const { one, other, clock } = pair();
    const { token } = await one.reserve(KEY, { cost, ttl: '5s' });
    clock.advance(5000);
    expect(await other.settle(token!, 0)).toMatchObject({ changed: 0, missing: 0, expired: true });
    expect(await other.settle(token!, { rpm: 1, tpm: 1000 })).toMatchObject({
      changed: 0,
      missing: 100,
      expired: true,
    });
    expect(await left(other)).toEqual([29, 1150]);
  });

  test('more was used: into debt as far as is said', async () => {
    const { one, other, clock } = pair();
    const { token } = await one.reserve(KEY, { cost });
    expect(await other.settle(token!, { rpm: 1, tpm: 2700 }, { maxDebt: { rpm: 0, tpm: 500 } })).toMatchObject({
      changed: 1600,
      missing: 200,
      policy: 'tpm',
      limit: 2000,
      remaining: 0,
    });
    const look = await other.attempt(KEY, { cost: { rpm: 0, tpm: 1 } });
    expect([look.allowed, look.retryAfter, look.resetAfter]).toEqual([false, 50.1, 250]);
    clock.advance(50_100);
    expect((await other.attempt(KEY, { cost: { rpm: 0, tpm: 1 } })).allowed).toBe(true);
  });

  test('a token that was altered, or is for other policies, gives nothing back', async () => {
    const { one, other } = pair();
    const { token } = await one.reserve(KEY, { cost });
    const parts = JSON.parse(Buffer.from(token!, 'base64url').toString());
    /** With another value at this path. */
    const forge = (path: readonly number[], value: unknown): string => {
      const copy = structuredClone(parts);
      const within = path.slice(0, -1).reduce((part, index) => part[index], copy);
      within[path.at(-1)!] = value;
      return Buffer.from(JSON.stringify(copy)).toString('base64url');
    };
    const FORGED = [
      forge([1], 'another'),
      forge([2], 'id'),
      forge([3], parts[3] + 1e9),
      forge([4], parts[4] + 1),
      forge([5, 1, 2], 2000),
      forge([5, 1, 1], parts[5][1][1] + 60e6),
      forge([5], parts[5].toReversed?.() ?? [...parts[5]].reverse()),
      forge([5], parts[5].slice(0, 1)),
    ];
    for (const text of FORGED) {
      await expect(other.settle(text, 0)).rejects.toMatchObject({ code: 'SLUICE_HOLD_SETTLED' });
    }
    for (const text of ['', 'x', '%', 5 as never, forge([5], []), forge([0], 2), forge([5, 0, 2], -1)]) {
      await expect(other.settle(text, 0)).rejects.toMatchObject({
        code: 'SLUICE_INVALID_OPTION',
        path: 'settle(token)',
      });
    }
    expect(await left(other)).toEqual([29, 1100]);
    expect(await other.settle(token!, 0)).toMatchObject({ expired: false });
    expect(await left(other)).toEqual([30, 2000]);
  });

  test('reserve waits, and settles in one commit', async () => {
    const clock = manualClock(START);
    const timers = virtualTimers(clock);
    const limiter = createLimiter({ policies: [rpm, tpm], store: twin(clock)[0], timers });
    await limiter.attempt(KEY, { cost: { rpm: 1, tpm: 1500 } });
    const waits = limiter.reserve(KEY, { cost, timeout: '1m' });
    const gone = new AbortController();
    const aborted = expect(limiter.reserve(KEY, { cost, signal: gone.signal })).rejects.toMatchObject({
      code: 'SLUICE_ABORTED',
    });
    gone.abort();
    await aborted;
    // Its timeout, and the time until it asks again.
    await until(() => timers.pending === 2);
    await timers.run(START + 40_000);
    await until(() => limiter.waiting(KEY) === 0);
    const hold = await waits;
    expect([hold.allowed, clock.now() - START]).toEqual([true, 40_000]);
    expect(await hold.commit({ rpm: 1, tpm: 512 })).toMatchObject({ changed: 388, expired: false });
    expect(await left(limiter)).toEqual([28, 388]);
  });
});

const POLICIES: readonly Policy[] = [
  fixedWindow({ limit: 100, window: '10s' }),
  slidingWindowLog({ limit: 100, window: '10s' }),
  slidingWindowCounter({ limit: 100, window: '10s' }),
  tokenBucket({ capacity: 100, refillRate: '10/s' }),
  leakyBucket({ capacity: 100, leakRate: 10 }),
  leakyBucket({ name: 'shaping', capacity: 100, leakRate: 10, mode: 'shaping' }),
  gcra({ limit: 10, period: '1s', capacity: 100 }),
  gcra({ name: 'by name', limit: 10, period: '1s', capacity: 100 }),
];

describe.each(POLICIES)('debt under $name', (policy) => {
  test('is the same on every store, bounded, and comes back before anything is allowed', async () => {
    const stories = await Promise.all(
      STORES.slice(0, 3).map(async ([, twin]) => {
        const clock = manualClock(START);
        const limiter = createLimiter({ policy, store: twin(clock)[0] });
        await limiter.attempt(KEY, { cost: 60 });
        const { changed, remaining } = await limiter.penalize(KEY, { cost: 500, maxDebt: 50 });
        expect([changed, remaining]).toEqual([90, 0]);
        expect((await limiter.penalize(KEY, { cost: 5, maxDebt: 50 })).changed).toBe(0);
        expect((await limiter.penalize(KEY, { cost: 5 })).changed).toBe(0);
        const denied = await limiter.attempt(KEY, { cost: 1 });
        expect(denied.allowed).toBe(false);
        clock.advance(denied.retryAfter! * 1000 - 0.001);
        const still = await limiter.attempt(KEY, { cost: 1 });
        clock.advance(0.001);
        const then = await limiter.attempt(KEY, { cost: 1 });
        expect([still.allowed, then.allowed]).toEqual([false, true]);
        return [denied, still, then];
      }),
    );
    expect(stories[1]).toEqual(stories[0]);
    expect(stories[2]).toEqual(stories[0]);
  });
});

test('through leases, which leave one unit out', async () => {
  const clock = manualClock(START);
  const [one, other] = redisTwin(clock).map((store) =>
    createLimiter({ policies: [rpm, tpm], store: layered(store, leases({ clock })) }),
  );
  const { token } = await one!.reserve(KEY, { cost });
  expect(await other!.settle(token!, { rpm: 1, tpm: 512 })).toMatchObject({ changed: 388, missing: 0, expired: false });
  await expect(one!.settle(token!, 0)).rejects.toMatchObject({ code: 'SLUICE_HOLD_SETTLED' });
  expect(await left(one!)).toEqual([29, 1487]);
});

test('debt is 50 units at the rate of a bucket', async () => {
  const clock = manualClock(START);
  const limiter = createLimiter({
    policy: tokenBucket({ capacity: 100, refillRate: 10 }),
    store: memoryStore({ clock }),
  });
  await limiter.penalize(KEY, { cost: 150, maxDebt: 50 });
  expect((await limiter.attempt(KEY)).retryAfter).toBe(5.1);
  await expect(limiter.penalize(KEY, { maxDebt: -1 })).rejects.toMatchObject({ path: 'penalize.maxDebt' });
});

test('a settlement whose reply was lost is tried again: carried out once, and told so', async () => {
  const clock = manualClock(START);
  const inner = memoryStore({ clock });
  let fate: 'answered' | 'lost before' | 'lost after' = 'answered';
  const store: Store = {
    async ask(question) {
      if (question.verb !== 'change' || fate === 'answered') return inner.ask(question);
      const was = fate;
      fate = 'answered';
      if (was === 'lost after') inner.ask(question);
      throw new Error('connection reset');
    },
  };
  const limiter = createLimiter({ policies: [rpm, tpm], store, timers: virtualTimers(clock) });
  for (const lost of ['lost before', 'lost after'] as const) {
    await limiter.reset(KEY);
    const hold = await limiter.reserve(KEY, { cost });
    fate = lost;
    await expect(hold.commit({ rpm: 1, tpm: 512 })).rejects.toThrow('connection reset');
    const again = hold.commit({ rpm: 1, tpm: 512 });
    if (lost === 'lost before') expect(await again).toMatchObject({ changed: 388 });
    else await expect(again).rejects.toMatchObject({ code: 'SLUICE_HOLD_SETTLED' });
    expect(await left(limiter)).toEqual([29, 1488]);
  }
});

test('what a server has lost in a failover it does not give back', async () => {
  const clock = manualClock(START);
  const [lost, replica] = [memoryStore({ clock }), memoryStore({ clock })];
  let master: Store = lost;
  const limiter = createLimiter({ policies: [rpm, tpm], store: { ask: (question) => master.ask(question) } });
  const hold = await limiter.reserve(KEY, { cost });
  master = replica;
  await limiter.attempt(KEY, { cost: { rpm: 1, tpm: 1500 } });
  await expect(hold.commit(0)).rejects.toMatchObject({ code: 'SLUICE_HOLD_SETTLED' });
  expect(await left(limiter)).toEqual([29, 500]);
});

test('what a fallback has lent has no token', async () => {
  const away: Store = { ask: () => Promise.reject(new Error('away')) };
  const store = layered(away, fallback({ to: memoryStore(), warnings: false }));
  const hold = await createLimiter({ policies: [rpm, tpm], store }).reserve(KEY, { cost });
  expect([hold.allowed, hold.result.source, hold.token]).toEqual([true, 'fallback', undefined]);
  expect(await hold.commit(0)).toMatchObject({ changed: 0 });
});

test('the policies of a token are looked up, and others refused', async () => {
  const store = memoryStore();
  const { token } = await createLimiter({ policies: [rpm, tpm], store }).reserve(KEY, { cost });
  const other = createLimiter({ policy: tpm, store });
  await expect(other.settle(token!, 0)).rejects.toThrow(
    'a hold under policies of this limiter: tpm, got one under rpm',
  );
  const chosen = createLimiter({
    policies: ({ plan }: { plan: string }) => (plan === 'pro' ? [rpm, tpm] : [tpm]),
    store,
  });
  expect(await chosen.settle(token!, 0, { context: { plan: 'pro' } })).toMatchObject({ changed: 1 });
});
