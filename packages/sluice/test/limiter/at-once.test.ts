/** Attempts and peeks without a promise: the same answers, wherever the store gives them at once. */
import { describe, expect, test } from 'vitest';
import { createLimiter, fixedWindow, manualClock, memoryStore, type Store, tokenBucket } from '../../src/index.ts';

const bucket = tokenBucket({ capacity: 10, refillRate: 1 });
const daily = fixedWindow({ name: 'daily', limit: 6, window: '1d', align: 'first' });
const storeAt = () => memoryStore({ clock: manualClock(1_763_280_000_000) });

describe.each([
  ['one policy', { policy: bucket }],
  ['several policies', { policies: [bucket, daily] }],
  ['policies that a function chooses', { policies: () => [daily, bucket] }],
])('at once under %s', (_title, policies) => {
  test('is what the promise would hold', async () => {
    const [prompt, awaited] = [storeAt(), storeAt()].map((store) => createLimiter({ ...policies, store }));
    for (const options of [undefined, { cost: 3 }, { cost: 0 }, { cost: 4 }, { cost: 11 }, { cost: 1 }]) {
      expect(prompt!.peek.atOnce!('ada', options)).toEqual(await awaited!.peek('ada', options));
      expect(prompt!.attempt.atOnce!('ada', options)).toEqual(await awaited!.attempt('ada', options));
    }
  });
});

test('a mistake is thrown', () => {
  const limiter = createLimiter({ policy: bucket });
  expect(() => limiter.attempt.atOnce!(undefined as never)).toThrow('SLUICE_INVALID_KEY');
  expect(() => limiter.peek.atOnce!('ada', { cost: -1 })).toThrow('SLUICE_INVALID_COST');
});

test('a store that has to be waited for gives a promise', async () => {
  const store = storeAt();
  const slow: Store = { ask: async (question) => store.ask(question) };
  const answer = createLimiter({ policy: bucket, store: slow }).attempt.atOnce!('ada');
  expect(answer).toBeInstanceOf(Promise);
  expect(await answer).toMatchObject({ allowed: true, remaining: 9 });
});
