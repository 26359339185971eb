/**
 * The laws, for every algorithm, on 10,000 random histories each. The seed is printed; SLUICE_SEED repeats a run. A failure is
 * written to laws.remembered.json, which is replayed first in every run: commit it with the fix.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { histories, policies } from './support/arbitraries.ts';
import { checkLaws } from './support/laws.ts';
import { KINDS, type Kind, testSeed } from './support/random.ts';

interface Remembered {
  readonly kind: Kind;
  readonly seed: number;
  readonly path: string;
}

const HISTORIES = 10_000;
const file = new URL('laws.remembered.json', import.meta.url);
const remembered = JSON.parse(readFileSync(file, 'utf8')) as Remembered[];
const seed = testSeed();

const lawsOf = (kind: Kind) =>
  fc.property(
    policies(kind).chain((policy) => fc.tuple(fc.constant(policy), histories(policy))),
    ([policy, history]) => checkLaws(policy, history),
  );

describe(`laws, seed ${seed}`, () => {
  for (const { kind, seed, path } of remembered) {
    test(`${kind}: once failed with seed ${seed}`, () => fc.assert(lawsOf(kind), { seed, path, numRuns: 1 }));
  }

  test.each(KINDS)('%s', (kind) => {
    const result = fc.check(lawsOf(kind), { seed, numRuns: HISTORIES });
    if (result.failed && result.counterexamplePath !== null && process.env.CI === undefined) {
      const failure = { kind, seed: result.seed, path: result.counterexamplePath };
      writeFileSync(file, `${JSON.stringify([...remembered, failure], null, 2)}\n`);
    }
    expect(result.failed, `${result.errorInstance}\n${fc.defaultReportMessage(result)}`).toBe(false);
    expect(result.numRuns).toBe(HISTORIES);
  });
});
