/**
 * Every algorithm under every stack of layers, in a world where everything goes wrong: nobody is ever admitted too many. The seed is
 * printed; SLUICE_SEED repeats a run, and `npm run simulate -- --steps N` makes a longer one. A failure is written to
 * simulation.remembered.json, which is replayed first in every run: commit it with the fix.
 */
import { describe, expect, test } from 'vitest';
import { KINDS, testSeed } from '../support/random.ts';
import { remember, remembered } from './remembered.ts';
import { STACKS } from './stacks.ts';
import { simulate } from './world.ts';

const STEPS = 10_000;
const ENOUGH_STEPS = 1_000_000;
const seed = testSeed();

describe(`simulation, seed ${seed}`, () => {
  const seen = { steps: 0, leased: new Map<string, number>() };

  for (const failure of remembered) {
    test(`${failure.kind}, ${failure.stack}: once failed with seed ${failure.seed}`, async () => {
      expect((await simulate(failure.seed, failure)).faults).toEqual([]);
    });
  }

  test.each(KINDS)('%s: nobody admits too many', async (kind) => {
    for (const [index, stack] of Object.keys(STACKS).entries()) {
      const choice = { kind, stack, steps: STEPS };
      const report = await simulate(seed + index, choice);
      seen.steps += report.steps;
      seen.leased.set(kind, (seen.leased.get(kind) ?? 0) + report.leased);
      if (report.faults.length > 0) remember({ seed: seed + index, ...choice });
      expect(report.faults, `seed ${seed + index}, ${stack}`).toEqual([]);
    }
  });

  test('that was a million steps, and leases were in use wherever they are made', () => {
    expect(seen.steps).toBeGreaterThanOrEqual(ENOUGH_STEPS);
    const without = ['leaky-bucket shaping', 'concurrency'];
    for (const kind of KINDS) expect(seen.leased.get(kind)! > 0, kind).toBe(!without.includes(kind));
  });
});

test('the same seed is the same run', async () => {
  const run = () => simulate(7, { steps: 3000, stack: 'leases, deny cache', kind: 'token-bucket' });
  const first = await run();
  expect(first.admitted).toBeGreaterThan(0);
  expect(await run()).toEqual(first);
});
