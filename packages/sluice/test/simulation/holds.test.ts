/** Nothing is minted, each hold is settled once, and every late or second settlement is told so. `npm run simulate -- --holds` runs a million steps. */
import { expect, test } from 'vitest';
import { testSeed } from '../support/random.ts';
import { simulateHolds } from './holds.ts';

test('holds that are settled anywhere, while everything goes wrong', async () => {
  const seed = testSeed();
  const seen = await simulateHolds(seed, 20_000);
  expect(seen.faults, `seed ${seed}`).toEqual([]);
  for (const count of [seen.settled, seen.late, seen.again, seen.failovers])
    expect(count, `seed ${seed}`).toBeGreaterThan(50);
});
