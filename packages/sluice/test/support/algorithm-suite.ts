/**
 * What every algorithm must keep, without any server: its case tables on its TypeScript twin, the laws, and the store contract in memory. The test
 * in the folder of an algorithm calls it, so `npx vitest run gcra` is all about one algorithm. Its Lua is compared in test/redis/.
 */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { memoryStore } from '../../src/index.ts';
import { ALGORITHMS } from '../../src/policies/all.generated.ts';
import { caseTables } from '../../src/testing/cases.generated.ts';
import { storeContract } from '../../src/testing/index.ts';
import { SAMPLES } from '../../src/testing/samples.generated.ts';
import { histories, policies } from './arbitraries.ts';
import { checkLaws } from './laws.ts';
import { testSeed } from './random.ts';

const NUMBERS = { limit: 10, window: 10_000, capacity: 10, rate: 1 };
/** A tenth of what laws.test.ts tries. */
const HISTORIES = 1000;

export function algorithmSuite(algorithm: string): void {
  const kinds = SAMPLES.filter(({ policy }) => policy(NUMBERS).algorithm === algorithm).map(({ kind }) => kind);
  const tables = caseTables.filter(({ policy }) => policy.algorithm === algorithm);
  const seed = testSeed();

  test('has fields with a sentence each, samples and cases', () => {
    const declared = ALGORITHMS.find(({ name }) => name === algorithm)!;
    for (const { about } of [declared, ...Object.values(declared.fields)]) expect(about).toMatch(/^[A-Z].*\.$/);
    expect(kinds.length).toBeGreaterThan(0);
    expect(tables.length).toBeGreaterThan(0);
  });

  test('its page names every field, in the words of the declaration', () => {
    const page = readFileSync(new URL(`../../src/algorithms/${algorithm}/${algorithm}.md`, import.meta.url), 'utf8');
    const { fields } = ALGORITHMS.find(({ name }) => name === algorithm)!;
    for (const [name, { about }] of Object.entries(fields)) expect(page).toContain(`| \`${name}\` | ${about}`);
  });

  test.each(kinds)(`%s keeps the laws, seed ${seed}`, (kind) => {
    const laws = fc.property(
      policies(kind).chain((policy) => fc.tuple(fc.constant(policy), histories(policy))),
      ([policy, history]) => checkLaws(policy, history),
    );
    fc.assert(laws, { seed, numRuns: HISTORIES });
  });

  describe('the contract in memory', () => {
    const ours = [...kinds.map((kind) => `${kind}:`), `case table, ${algorithm}:`];
    for (const { name, run } of storeContract(({ clock }) => memoryStore({ clock }))) {
      if (ours.some((start) => name.startsWith(start))) test(name, run);
    }
  });
}
