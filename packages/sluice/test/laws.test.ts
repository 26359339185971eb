/**
 * The laws, for every algorithm, on 10,000 random histories each. The seed is printed; SLUICE_SEED repeats a run. A failure is
 * written to laws.remembered.json, which is replayed first in every run: commit it with the fix.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkPolicy } from '../src/index.ts';
import { histories, policies } from './support/arbitraries.ts';
import { checkLaws, type Moment } from './support/laws.ts';
import { KINDS, type Kind, testSeed } from './support/random.ts';

/** A failure as data, so that it stays what it was however histories are made later. */
interface Remembered {
  readonly policy: Readonly<Record<string, unknown>>;
  readonly history: readonly Moment[];
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
  for (const { policy, history } of remembered) {
    test(`once failed: ${JSON.stringify(policy)}`, () => checkLaws(checkPolicy(policy), history));
  }

  test.each(KINDS)('%s', (kind) => {
    const result = fc.check(lawsOf(kind), { seed, numRuns: HISTORIES });
    if (result.failed && result.counterexample !== null && process.env.CI === undefined) {
      const [[policy, history]] = result.counterexample;
      const failure = { policy, history };
      writeFileSync(file, `${JSON.stringify([...remembered, failure], null, 2)}\n`);
    }
    expect(result.failed, `${result.errorInstance}\n${fc.defaultReportMessage(result)}`).toBe(false);
    expect(result.numRuns).toBe(HISTORIES);
  });
});
