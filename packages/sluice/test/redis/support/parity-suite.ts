/** The twins compared through every client of one shape. One file for each shape calls this, so that they can run side by side. */
import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import type { RunScript } from '../../../src/redis/run-script.ts';
import { compareTwins } from '../../support/parity.ts';
import { testSeed } from '../../support/random.ts';
import { compareLargeLogs } from './large-logs.ts';
import { SERVER_KINDS, type Shape, serversOf, TOPOLOGIES } from './topologies.ts';

interface RememberedSeed {
  readonly seed: number;
  readonly steps: number;
  readonly why: string;
}

const REMEMBERED: readonly RememberedSeed[] = JSON.parse(
  readFileSync(new URL('../parity-seeds.json', import.meta.url), 'utf8'),
).seeds;

const STEPS = 200_000;

export function paritySuite(shape: Shape): void {
  const firstSeed = testSeed();
  console.log(`parity, ${shape}: SLUICE_SEED=${firstSeed}`);

  describe.each(SERVER_KINDS)('%s', (kind) => {
    const servers = serversOf(kind);
    afterAll(() => servers.stop());
    const topologies = TOPOLOGIES.filter((topology) => topology.shape === shape && topology.kind === kind);

    // Each client has a seed of its own, so that together they see more policies and traces.
    it.each(topologies.map((topology) => [topology.title, topology] as const))('%s', async (_, topology) => {
      const connection = await topology.connect(servers);
      const run = withKeysOfItsOwn(connection.run);
      for (const { seed, steps } of REMEMBERED) await expectAgreement(run, seed, steps);
      await expectAgreement(run, firstSeed + TOPOLOGIES.indexOf(topology), STEPS);
      await expectAgreementOnLargeLogs(run, firstSeed + TOPOLOGIES.indexOf(topology));
      await connection.close();
    });
  });
}

async function expectAgreement(run: RunScript, seed: number, steps: number): Promise<void> {
  const report = await compareTwins(run, seed, steps);
  const toRemember = JSON.stringify({ seed, steps: report.steps + 1, why: '...' });
  expect(report.difference, `to remember it, add to parity-seeds.json: ${toRemember}`).toBeUndefined();
  expect(report.steps).toBe(steps);
}

const LARGE_LOG_TRACES = 12;

async function expectAgreementOnLargeLogs(run: RunScript, seed: number): Promise<void> {
  const { difference } = await compareLargeLogs(run, seed, LARGE_LOG_TRACES);
  expect(difference, `large logs, seed ${seed}`).toBeUndefined();
}

let runs = 0;

/** The same seed names the same keys, and several clients share a server: none may find what another has left. */
function withKeysOfItsOwn(run: RunScript): RunScript {
  runs += 1;
  const prefix = `run${runs}:`;
  return (script, keys, args) =>
    run(
      script,
      keys.map((key) => prefix + key),
      args,
    );
}
