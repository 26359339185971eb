/** A simulation that cannot fail proves nothing: each of these mistakes must be noticed. */
import { afterAll, expect, test } from 'vitest';
import { MUTANTS, removeMutants, subjectWith } from './mutants.ts';
import { simulate } from './world.ts';

const SEEDS = 200;
const STEPS = 8000;

afterAll(removeMutants);

test.each(MUTANTS.map((mutant) => [mutant.mistake, mutant] as const))('notices that %s', async (_, mutant) => {
  const subject = await subjectWith(mutant);
  const { stack, kind } = mutant;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { faults } = await simulate(seed, { steps: STEPS, ...subject, stack, kind });
    if (faults.length > 0) return;
  }
  expect.fail(`${SEEDS} seeds have not shown it`);
});

test('and notices nothing where there is no mistake', async () => {
  const subject = await subjectWith();
  for (const { stack, kind } of MUTANTS) {
    for (const seed of [1, 2]) {
      const { faults } = await simulate(seed, { steps: STEPS, ...subject, stack, kind });
      expect(faults, `${stack}, ${kind}, seed ${seed}`).toEqual([]);
    }
  }
});
