/** Who exceeds a policy is blocked, longer each time: in memory, on Redis and over swaps, told by one clock. */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../../tools/servers/index.ts';
import { blockFor, sharedExceptions } from '../../src/exceptions/index.ts';
import {
  createLimiter,
  fixedWindow,
  type ManualClock,
  manualClock,
  memoryStore,
  type Store,
  tokenBucket,
  unlimited,
} from '../../src/index.ts';
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
const STORES: readonly (readonly [name: string, make: (clock: ManualClock) => Store])[] = [
  ['memory', (clock) => memoryStore({ clock })],
  ['Redis', (clock) => redisStore(client, { prefix: `box-${++prefixes}`, clock, raw: true })],
  ['storeOver', (clock) => storeOver(mapPort(), { clock })],
];
const START = 1_800_000_000_000;
const login = fixedWindow({ name: 'login', limit: 3, window: '1m' });
const MINUTE = 60_000;

describe.each(STORES)('on %s', (_, make) => {
  const setUp = (...args: Parameters<typeof blockFor<typeof login>>) => {
    const clock = manualClock(START);
    return { clock, limiter: createLimiter({ policy: blockFor(...args), store: make(clock) }) };
  };

  test('the attempt that exceeds is told of the block, and so is everybody until it ends', async () => {
    const { clock, limiter } = setUp(login, '10m');
    for (const remaining of [2, 1, 0]) expect(await limiter.attempt('a')).toMatchObject({ allowed: true, remaining });
    expect(await limiter.attempt('a')).toMatchObject({
      allowed: false,
      retryAfter: 600,
      remaining: 0,
      policy: 'login',
    });
    clock.advance(5 * MINUTE);
    // The window has passed long ago.
    expect(await limiter.attempt('a')).toMatchObject({ allowed: false, retryAfter: 300 });
    expect(await limiter.peek('a')).toMatchObject({ allowed: false, retryAfter: 300 });
    expect((await limiter.attempt('b')).allowed).toBe(true);
    clock.advance(5 * MINUTE - 1);
    expect(await limiter.attempt('a')).toMatchObject({ allowed: false, retryAfter: 0.001 });
    clock.advance(1);
    expect(await limiter.attempt('a')).toMatchObject({ allowed: true, remaining: 2 });
  });

  test('blocks double up to the longest, and offences are forgotten', async () => {
    const { clock, limiter } = setUp(login, { first: '1m', most: '5m', forget: '1h' });
    const offend = async (): Promise<number> => {
      for (;;) {
        const { allowed, retryAfter } = await limiter.attempt('a');
        if (!allowed) return retryAfter!;
      }
    };
    const blocks: number[] = [];
    for (let count = 0; count < 5; count += 1) {
      const seconds = await offend();
      blocks.push(seconds);
      clock.advance(seconds * 1000);
    }
    expect(blocks).toEqual([60, 120, 240, 300, 300]);
    clock.advance(60 * MINUTE - 1);
    const again = await offend();
    expect(again).toBe(300);
    clock.advance(again * 1000 + 60 * MINUTE);
    expect(await offend()).toBe(60);
  });

  test('many at the same moment are one offence', async () => {
    const { limiter } = setUp(login, { first: '1m', most: '1d' });
    const results = await Promise.all(Array.from({ length: 40 }, () => limiter.attempt('a')));
    expect(results.filter(({ allowed }) => allowed).length).toBe(3);
    expect(await limiter.attempt('a')).toMatchObject({ allowed: false, retryAfter: 60 });
  });

  test('looks, costs that never fit and other keys are no offences', async () => {
    const { limiter } = setUp(login, '10m');
    await limiter.attempt('a', { cost: 3 });
    expect(await limiter.peek('a')).toMatchObject({ allowed: false });
    expect(await limiter.attempt('a', { cost: 4 })).toMatchObject({
      allowed: false,
      retryAfter: Number.POSITIVE_INFINITY,
    });
    expect((await limiter.attempt('a', { cost: 0 })).allowed).toBe(true);
    expect((await limiter.attempt('a')).retryAfter).toBe(600);
    expect((await limiter.attempt('a', { cost: 0 })).allowed).toBe(false);
  });

  test('reset and unblock end it, and forget the offences', async () => {
    const { limiter } = setUp(login, { first: '1m', most: '1h' });
    await limiter.penalize('a', { cost: 3 });
    expect((await limiter.attempt('a')).retryAfter).toBe(60);
    await limiter.unblock('a');
    expect((await limiter.attempt('a')).retryAfter).toBe(60);
    await limiter.reset('a');
    expect(await limiter.attempt('a')).toMatchObject({ allowed: true, remaining: 2 });
    expect((await limiter.refund('a')).changed).toBe(1);
  });

  test('beside other policies it is all or nothing, and each blocks for itself', async () => {
    const clock = manualClock(START);
    const daily = blockFor(fixedWindow({ name: 'daily', limit: 100, window: '1d' }), '1w');
    const limiter = createLimiter({ policies: [blockFor(login, '10m'), daily], store: make(clock) });
    await limiter.attempt('a', { cost: 3 });
    const denied = await limiter.attempt('a');
    expect(denied).toMatchObject({ allowed: false, policy: 'login', retryAfter: 600 });
    expect(denied.decisions.map(({ policy, allowed }) => [policy, allowed])).toEqual([
      ['login', false],
      ['daily', true],
    ]);
    expect(denied.decisions[1]!.remaining).toBe(97);
    clock.advance(10 * MINUTE);
    expect((await limiter.attempt('a')).allowed).toBe(true);
  });

  test('an exception comes first, and numbers may be overridden', async () => {
    const clock = manualClock(START);
    const exceptions = sharedExceptions({ clock });
    const limiter = createLimiter({ policy: blockFor(login, '10m'), store: make(clock), exceptions });
    await exceptions.override('big', { limit: 10 });
    await limiter.attempt('big', { cost: 10 });
    expect(await limiter.attempt('big')).toMatchObject({ allowed: false, retryAfter: 600, limit: 10 });
    await exceptions.exempt('big');
    expect((await limiter.attempt('big')).allowed).toBe(true);
  });
});

test('Redis: an attempt is one command, and only the offence is a second', async () => {
  const limiter = createLimiter({
    policy: blockFor(login, '10m'),
    store: redisStore(client, { prefix: 'box-counted', deadline: '1m', silence: '1m' }),
  });
  const scripts = async (): Promise<number> => {
    const text = await client.info('commandstats');
    return [...text.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
  };
  await limiter.attempt('warm', { cost: 3 });
  await limiter.attempt('warm');
  const before = await scripts();
  await limiter.attempt('a', { cost: 3 });
  expect((await scripts()) - before).toBe(1);
  await limiter.attempt('a');
  expect((await scripts()) - before).toBe(3);
});

test.each([
  [() => blockFor(login, 'soon' as never), 'blockFor: expected a positive number of milliseconds'],
  [() => blockFor(login, { first: '1h', most: '1m' }), 'blockFor.most: expected at least as long as first'],
  [() => blockFor(login, { frist: '1h' } as never), 'blockFor: unknown option `frist`'],
  [() => blockFor({} as never, '1m'), 'blockFor(policy): expected a policy'],
  [() => blockFor(unlimited(), '1m'), 'blockFor(policy): expected a policy that counts'],
  [() => blockFor(blockFor(login, '1m'), '1m'), 'blockFor(policy): expected a policy that counts'],
])('a wrong one is an error: %#', (make, message) => {
  expect(make).toThrow(message);
});

test('policies without a name have boxes of their own', async () => {
  const store = memoryStore();
  const [one, other] = [1, 2].map((capacity) =>
    createLimiter({ policy: blockFor(tokenBucket({ capacity, refillRate: '1/d' }), '1h'), store }),
  );
  await one!.attempt('a');
  expect((await one!.attempt('a')).retryAfter).toBeGreaterThan(3000);
  expect((await other!.attempt('a')).allowed).toBe(true);
});
