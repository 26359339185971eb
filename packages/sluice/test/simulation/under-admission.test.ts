/** Leases of 100 ms cost at most 2 % of what could be admitted, with eight nodes and twice the load. */
import { expect, test } from 'vitest';
import { loadedPolicies, lossOf } from './under-admission.ts';

const PER_SECOND = 2500;

test.each(Object.entries(loadedPolicies(PER_SECOND)))('%s', async (_, policy) => {
  const loss = (await lossOf(policy, PER_SECOND, 100))!;
  expect(loss.leased).toBeGreaterThan(0);
  expect(loss.lost).toBeLessThanOrEqual(0.02);
});
