/** A simulation that cannot fail proves nothing: each of these mistakes must be noticed. */
import { afterAll, expect, test } from 'vitest';
import { layersWith, MUTANTS, removeMutants } from './mutants.ts';
import { simulate } from './world.ts';

const SEEDS = 200;
const STEPS = 8000;

afterAll(removeMutants);

test.each(MUTANTS.map((mutant) => [mutant.mistake, mutant] as const))('notices that %s', async (_, mutant) => {
  const layers = await layersWith(mutant);
  const { stack, kind } = mutant;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { faults } = await simulate(seed, { steps: STEPS, layers, stack, kind });
    if (faults.length > 0) return;
  }
  expect.fail(`${SEEDS} seeds have not shown it`);
});
