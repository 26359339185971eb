/** `policyMistakes` tells everything at once, and never anything else than `checkPolicy` would. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkPolicy, policyMistakes, SluiceError } from '../src/index.ts';

/** A policy as data, and where its mistakes are. */
test.each<[value: unknown, paths: readonly string[]]>([
  [{ algorithm: 'gcra', limit: 5, period: '1m' }, []],
  [5, ['policy']],
  [{ algorithm: 'leaky' }, ['policy.algorithm']],
  [{ algorithm: 'gcra' }, ['policy.limit', 'policy.period']],
  [{ algorithm: 'gcra', limit: 0, period: '1m' }, ['policy.limit']],
  [{ algorithm: 'gcra', limit: 0, period: '1m', capacity: 0 }, ['policy.limit', 'policy.capacity']],
  [
    { algorithm: 'fixed-window', name: '', limit: -1, window: 'long', align: 'left', burst: 3, points: 1 },
    ['policy.burst', 'policy.points', 'policy.name', 'policy.limit', 'policy.window', 'policy.align'],
  ],
  [{ algorithm: 'token-bucket', capacity: 1e13, refillRate: 0.001 }, ['policy.refillRate']],
  [{ algorithm: 'token-bucket', capacity: 0, refillRate: 0 }, ['policy.capacity', 'policy.refillRate']],
])('%j', (value, paths) => {
  expect(policyMistakes(value).map(({ path }) => path)).toEqual(paths);
});

const field = fc.oneof(
  fc.constantFrom<unknown>(1, 10, 0, -1, 1.5, 1e13, 1e-3, '1m', '1/d', 'x', '', null, undefined, 'first', 'shaping'),
  fc.anything(),
);
const policy = fc.record(
  {
    algorithm: fc.constantFrom<unknown>(
      'fixed-window',
      'sliding-window-log',
      'token-bucket',
      'leaky-bucket',
      'gcra',
      5,
    ),
    ...{ name: field, limit: field, window: field, capacity: field, refillRate: field, leakRate: field },
    ...{ period: field, align: field, mode: field, other: field },
  },
  { requiredKeys: ['algorithm'] },
);

test('the first is what checkPolicy throws, and there is none where it does not', () => {
  fc.assert(
    fc.property(policy, (value) => {
      const [first] = policyMistakes(value, 'mine');
      let thrown: unknown;
      try {
        checkPolicy(value, 'mine');
      } catch (error) {
        thrown = error;
      }
      expect(first?.message).toBe((thrown as SluiceError | undefined)?.message);
      if (thrown !== undefined) expect(thrown).toBeInstanceOf(SluiceError);
    }),
    { numRuns: 2000 },
  );
});
