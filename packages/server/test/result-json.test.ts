/** Results in JSON are what JSON.stringify would have made of them, letter for letter. */
import fc from 'fast-check';
import { checkPolicy, createLimiter, manualClock, memoryStore, type RateLimitResult } from 'sluice';
import { layered, shadow } from 'sluice/layers';
import { describe, expect, test } from 'vitest';
import { resultsJson, seconds } from '../src/service/result-json.ts';

const POLICIES = [
  { algorithm: 'fixed-window', limit: 3, window: '1m' },
  { algorithm: 'sliding-window-log', limit: 3, window: '1m' },
  { algorithm: 'sliding-window-counter', limit: 3, window: '1m' },
  { algorithm: 'token-bucket', capacity: 3, refillRate: '7/m' },
  { algorithm: 'leaky-bucket', capacity: 3, leakRate: 1 / 3, mode: 'policing' },
  { algorithm: 'leaky-bucket', capacity: 3, leakRate: 1 / 3, mode: 'shaping' },
  { algorithm: 'gcra', limit: 7, period: '1m', capacity: 3, name: 'says "hello"\\' },
].map((policy) => checkPolicy(policy));

const COSTS = [1, 2, 1, 0, 4, 1];

async function story(name: string | undefined, policies: typeof POLICIES): Promise<readonly RateLimitResult[]> {
  const clock = manualClock(1_794_841_807_269.123);
  const inner = memoryStore({ clock });
  const store = name === undefined ? inner : layered(inner, shadow({ policies: [name] }));
  const limiter = createLimiter({ policies, store });
  const results: RateLimitResult[] = [];
  for (const cost of COSTS) {
    results.push(await limiter.attempt('a', { cost }));
    clock.advance(1234.567);
  }
  return results;
}

describe('a result', () => {
  test.each(POLICIES.map((policy) => [policy.name, policy] as const))('of %s', async (_, policy) => {
    for (const shadowed of [undefined, policy.name]) {
      const results = await story(shadowed, [policy]);
      for (const result of results) expect(resultsJson(result)).toBe(JSON.stringify(result));
      expect(resultsJson(results)).toBe(JSON.stringify(results));
    }
  });

  test('of several policies, of several keys, and what is no result', async () => {
    const several = await story(undefined, [POLICIES[0]!, POLICIES[3]!]);
    const limiter = createLimiter({ policy: POLICIES[0]! });
    const entries = await limiter.attempt([{ key: 'a' }]);
    const answers = [...several, entries, { error: 'invalid_field', message: '[3].key: expected a string' }];
    expect(resultsJson(answers)).toBe(JSON.stringify(answers));
  });
});

describe('seconds', () => {
  const asJson = (value: number): void => {
    expect(seconds(value)).toBe(JSON.stringify(value));
  };

  test.each([0, -0, 1e-6, 1.5e-6, 1e-7, 0.1, 0.000_01, 0.001, 0.123_456, 0.999_999, 1, 10, 999.99, 2 ** 32 - 1e-6])(
    '%d',
    asJson,
  );
  test.each([2 ** 32, 2 ** 32 + 1e-6, 2 ** 40 + 0.5, 1e21, 1e300, -1, -0.5, 1 / 3, Infinity, NaN])('%d', asJson);

  test('any microsecond', () => {
    const most = 2 ** 32 * 1e6 - 1;
    fc.assert(
      fc.property(fc.integer({ min: 0, max: most }), (micros) => asJson(micros / 1e6)),
      { numRuns: 20_000 },
    );
  });

  test('any microsecond of these years', () => {
    const [from, to] = [1.7e15, 2.5e15];
    fc.assert(
      fc.property(fc.integer({ min: from, max: to }), (micros) => asJson(micros / 1e6)),
      { numRuns: 20_000 },
    );
  });

  test('any number', () => {
    fc.assert(
      fc.property(fc.double(), (value) => asJson(value)),
      { numRuns: 20_000 },
    );
  });
});
