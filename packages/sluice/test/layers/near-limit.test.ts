/** The hook at a share of the limit: called by the attempt that crosses it, once until the key has reset. */
import { describe, expect, test } from 'vitest';
import { createLimiter, fixedWindow, manualClock, memoryStore, type Policy, tokenBucket } from '../../src/index.ts';
import { layered, type NearLimit, nearLimit } from '../../src/layers/index.ts';

const START = 1_700_000_000_000;

function setUp(policy: Policy | readonly Policy[], options: { share?: number; maxKeys?: number } = {}) {
  const clock = manualClock(START);
  const seen: NearLimit[] = [];
  const store = layered(
    memoryStore({ clock }),
    nearLimit({ ...options, clock, onNearLimit: (event) => seen.push(event) }),
  );
  return { clock, seen, limiter: createLimiter({ policies: [policy].flat(), store }) };
}

const window = fixedWindow({ name: 'daily', limit: 10, window: '1d' });

test('it is called by the attempt that reaches the share, and by no other', async () => {
  const { limiter, seen } = setUp(window);
  for (let count = 1; count <= 12; count += 1) {
    await limiter.attempt('a');
    expect(seen.length).toBe(count < 8 ? 0 : 1);
  }
  expect(seen[0]).toMatchObject({ key: 'a', policy: window, decision: { remaining: 2, limit: 10 } });
  expect(seen[0]!.used).toBeCloseTo(0.8);
});

test('a cost that jumps over the share crosses it too', async () => {
  const { limiter, seen } = setUp(window);
  await limiter.attempt('a', { cost: 10 });
  expect(seen.map(({ used }) => used)).toEqual([1]);
});

test('again after a reset, for each key and policy by itself', async () => {
  const { clock, limiter, seen } = setUp([window, fixedWindow({ name: 'hourly', limit: 5, window: '1h' })]);
  const names = () => seen.map(({ key, policy }) => `${key} ${policy.name}`);
  await limiter.attempt('a', { cost: 5 });
  await limiter.attempt('b', { cost: 5 });
  expect(names()).toEqual(['a hourly', 'b hourly']);
  clock.advance(3_600_000);
  await limiter.attempt('a', { cost: 5 });
  expect(names()).toEqual(['a hourly', 'b hourly', 'a daily', 'a hourly']);
});

test('a bucket that hovers around the line is reported once', async () => {
  const { clock, limiter, seen } = setUp(tokenBucket({ capacity: 10, refillRate: 1 }));
  await limiter.attempt('a', { cost: 7 });
  for (let second = 0; second < 100; second += 1) {
    await limiter.attempt('a');
    clock.advance(1000);
  }
  expect(seen.length).toBeGreaterThanOrEqual(1);
  // Each report holds until everything would have come back: 8 s.
  expect(seen.length).toBeLessThanOrEqual(13);
});

describe('nothing is reported', () => {
  test('for what is denied, looked at or given back', async () => {
    const { limiter, seen } = setUp(window);
    await limiter.peek('a', { cost: 9 });
    await limiter.attempt('a', { cost: 11 });
    await limiter.attempt('a', { cost: 0 });
    await limiter.penalize('a', { cost: 9 });
    await limiter.refund('a', { cost: 9 });
    expect(seen).toEqual([]);
  });

  test('and a hook that throws fails no attempt', async () => {
    const layer = nearLimit({
      onNearLimit: () => {
        throw new Error('mine');
      },
    });
    const limiter = createLimiter({ policy: window, store: layered(memoryStore(), layer) });
    expect((await limiter.attempt('a', { cost: 9 })).allowed).toBe(true);
  });
});

test('what it remembers is bounded', async () => {
  const { limiter, seen, clock } = setUp(tokenBucket({ capacity: 10, refillRate: 1 }), { maxKeys: 2 });
  const cross = async (key: string): Promise<void> => {
    await limiter.reset(key);
    await limiter.attempt(key, { cost: 8 });
  };
  for (const key of ['a', 'b', 'c', 'b', 'c']) await cross(key);
  expect(seen.map(({ key }) => key)).toEqual(['a', 'b', 'c']);
  // The oldest was forgotten.
  await cross('a');
  expect(seen.map(({ key }) => key)).toEqual(['a', 'b', 'c', 'a']);
  clock.advance(8000);
  await cross('c');
  expect(seen.length).toBe(5);
});

test.each([
  [{ share: 0 }, 'nearLimit.share: expected a number above 0 and at most 1, such as 0.8, got 0.'],
  [{ share: 80 }, 'nearLimit.share: expected a number above 0'],
  [{ onNearLimit: undefined }, 'nearLimit.onNearLimit: expected a function'],
  [{ onNearLimit: 5 }, 'nearLimit.onNearLimit: expected a function'],
  [{ maxKeys: 0 }, 'nearLimit.maxKeys: expected a whole number of at least 1'],
  [{ at: 0.8 }, 'nearLimit: unknown option `at`'],
])('a wrong option is an error: %j', (options, message) => {
  expect(() => nearLimit({ onNearLimit: () => {}, ...options } as never)).toThrow(message);
});
