/** Never more permits than the limit that their holders may rely on, whatever gets lost. `SLUICE_STEPS=1000000 npx vitest run simulation/permits` is the long run. */
import { expect, test } from 'vitest';
import { testSeed } from '../support/random.ts';
import { simulatePermits } from './permits.ts';

const STEPS = Number(process.env.SLUICE_STEPS ?? 40_000);
/** Steps of one simulated world. */
const EACH = 5000;

test.each([{ overSwaps: false }, { overSwaps: true }])(
  '0 above the limit: $overSwaps',
  { timeout: 600_000 },
  async (options) => {
    const seed = testSeed();
    const sum = { steps: 0, crashes: 0, lost: 0, late: 0, full: 0 };
    for (let run = 0; sum.steps < STEPS; run += 1) {
      const seen = await simulatePermits(seed + run, EACH, options);
      expect(seen.above, `SLUICE_SEED=${seed + run}: ${JSON.stringify(seen)}`).toBe(0);
      for (const name of ['steps', 'crashes', 'lost', 'late'] as const) sum[name] += seen[name];
      if (seen.most === seen.limit) sum.full += 1;
    }
    console.log(`permits, SLUICE_SEED=${seed}: ${JSON.stringify(sum)}`);
    expect(sum.full, 'the limit must have been reached, or the test is blind').toBeGreaterThan(0);
  },
);

test('a holder that counts its time from the answer is found', async () => {
  let above = 0;
  for (let seed = 1; seed <= 10; seed += 1) above += (await simulatePermits(seed, EACH, { trustsReplies: true })).above;
  expect(above).toBeGreaterThan(0);
});
