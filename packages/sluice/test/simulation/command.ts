/** `npm run simulate`: as the tests do it, for as long as one likes, or the table of what leases cost. */
import { parseArgs } from 'node:util';
import { KINDS } from '../support/random.ts';
import { simulateHolds } from './holds.ts';
import { remember } from './remembered.ts';
import { STACKS } from './stacks.ts';
import { LEASE_LENGTHS_MS, loadedPolicies, lossOf, underLoad } from './under-admission.ts';
import { simulate } from './world.ts';

const HELP = `npm run simulate -- [options]

  --steps N    adversarial steps in all, spread over all algorithms and stacks of layers; default 1000000
  --seed N     where to start; default: another one each time
  --holds      instead: holds that are settled anywhere, while replies are lost, servers killed and the store fails over
  --losses     instead: the table of what leases cost in docs/layers.md`;

const STEPS_EACH = 10_000;
/** What the policies of the table allow. */
const PER_SECOND = 5000;

export async function runCommand(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      steps: { type: 'string', default: '1000000' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
      holds: { type: 'boolean', default: false },
      losses: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) console.log(HELP);
  else if (values.losses) await printLosses();
  else if (values.holds) return runHolds(Number(values.seed), Number(values.steps));
  else return runSeeds(Number(values.seed), Number(values.steps));
  return true;
}

async function runSeeds(firstSeed: number, enough: number): Promise<boolean> {
  const combinations = KINDS.flatMap((kind) =>
    Object.keys(STACKS).map((stack) => ({ kind, stack, steps: STEPS_EACH })),
  );
  const seen = { steps: 0, runs: 0, admitted: 0, leased: 0, failures: 0 };
  while (seen.steps < enough) {
    const choice = combinations[seen.runs % combinations.length]!;
    const seed = firstSeed + seen.runs;
    const { steps, admitted, leased, faults } = await simulate(seed, choice);
    seen.runs += 1;
    seen.steps += steps;
    seen.admitted += admitted;
    seen.leased += leased;
    if (faults.length === 0) continue;
    seen.failures += 1;
    remember({ seed, ...choice });
    console.log(`seed ${seed}, ${choice.kind}, ${choice.stack}: ${faults.join('; ')}`);
  }
  console.log(`seeds from ${firstSeed}:`, seen);
  return seen.failures === 0;
}

async function runHolds(seed: number, steps: number): Promise<boolean> {
  const seen = await simulateHolds(seed, steps);
  console.log(`seed ${seed}:`, seen);
  return seen.faults.length === 0;
}

async function printLosses(): Promise<void> {
  console.log(`| Lease | ${LEASE_LENGTHS_MS.map((ms) => `${ms} ms`).join(' | ')} |`);
  console.log(`|---|${LEASE_LENGTHS_MS.map(() => '---').join('|')}|`);
  for (const [name, policy] of Object.entries(loadedPolicies(PER_SECOND))) {
    const bare = await underLoad(policy, PER_SECOND, 'nothing', 100);
    const cells: string[] = [];
    for (const ms of LEASE_LENGTHS_MS) {
      const loss = await lossOf(policy, PER_SECOND, ms, bare);
      cells.push(loss === undefined ? 'not leased' : `${percent(loss.lost)} (${percent(loss.leased)})`);
    }
    console.log(`| ${name} | ${cells.join(' | ')} |`);
  }
}

function percent(part: number): string {
  return `${(Math.max(0, part) * 100).toFixed(1)} %`;
}
