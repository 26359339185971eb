/** Several keys in one attempt: all of them spend, or none does. */
import { describe, expect, test } from 'vitest';
import { createLimiter, fixedWindow, manualClock, memoryStore, tokenBucket } from '../../src/index.ts';
import { recordingStore } from './support.ts';

const perUser = tokenBucket({ name: 'per-user', capacity: 10, refillRate: 1 });
const global = tokenBucket({ name: 'global', capacity: 25, refillRate: 5 });
const daily = fixedWindow({ name: 'daily', limit: 100, window: '1d' });

function withMemory() {
  const clock = manualClock(0);
  return { clock, limiter: createLimiter({ policy: perUser, store: memoryStore({ clock }) }) };
}

const together = (user: string, cost: number) => [
  { key: user, cost },
  { key: 'everyone', cost, policy: global },
];

describe('in the memory store', () => {
  test('a user and everyone', async () => {
    const { limiter } = withMemory();
    expect(await limiter.attempt(together('user:1', 10))).toMatchObject({ allowed: true, key: 'user:1', remaining: 0 });
    expect(await limiter.attempt(together('user:2', 10))).toMatchObject({ allowed: true, key: 'user:2', remaining: 0 });
    expect(await limiter.attempt(together('user:3', 10))).toMatchObject({
      allowed: false,
      key: 'everyone',
      policy: 'global',
      remaining: 5,
      retryAfter: 1,
      decisions: [
        { key: 'user:3', policy: 'per-user', allowed: true, remaining: 10, resetAfter: 0 },
        { key: 'everyone', policy: 'global', allowed: false, remaining: 5, resetAfter: 4 },
      ],
    });
    expect((await limiter.peek('user:3')).remaining).toBe(10);
    expect(await limiter.attempt(together('user:1', 1))).toMatchObject({
      allowed: false,
      key: 'user:1',
      retryAfter: 1,
    });
    const left = await limiter.peek(together('user:1', 1));
    expect(left.decisions.map(({ key, remaining }) => [key, remaining])).toEqual([
      ['user:1', 0],
      ['everyone', 5],
    ]);
  });

  test('peek spends nothing, however often', async () => {
    const { limiter } = withMemory();
    for (let time = 0; time < 3; time += 1) {
      const { decisions } = await limiter.peek(together('user:1', 10));
      expect(decisions.map(({ remaining }) => remaining)).toEqual([10, 25]);
    }
  });

  test('each key with a cost of its own, under one policy or several', async () => {
    const { limiter } = withMemory();
    const result = await limiter.attempt([
      { key: 'user:1', cost: 5 },
      { key: 'user:2' },
      { key: 'everyone', cost: 7, policies: [global, daily] },
    ]);
    expect(result.decisions.map(({ key, policy, remaining }) => [key, policy, remaining])).toEqual([
      ['user:1', 'per-user', 5],
      ['user:2', 'per-user', 9],
      ['everyone', 'global', 18],
      ['everyone', 'daily', 93],
    ]);
  });

  test('what was spent can be given back key by key', async () => {
    const { limiter } = withMemory();
    const everyone = createLimiter({ policy: global });
    const of = await limiter.attempt(together('user:1', 4));
    expect(await limiter.refund('user:1', { cost: 4, of })).toMatchObject({ changed: 4, remaining: 10 });
    await expect(everyone.refund('user:1', { of })).rejects.toMatchObject({
      code: 'SLUICE_INVALID_OPTION',
      path: 'refund.of',
    });
  });
});

test('the store is asked once, in the order of the entries', async () => {
  const store = recordingStore();
  const limiter = createLimiter<string>({ policy: (plan) => (plan === 'paid' ? daily : perUser), store });
  await limiter.attempt(
    [
      { key: 'user:1', cost: 2 },
      { key: 'everyone', policies: [global, perUser] },
    ],
    { context: 'paid' },
  );
  expect(store.decided).toEqual([
    [
      { key: 'user:1', policy: daily, cost: 2 },
      { key: 'everyone', policy: global, cost: 1 },
      { key: 'everyone', policy: perUser, cost: 1 },
    ],
  ]);
});

test('an attempt on one key says no key', async () => {
  const { limiter } = withMemory();
  const result = await limiter.attempt('user:1');
  expect('key' in result || result.decisions.some((decision) => 'key' in decision)).toBe(false);
});
