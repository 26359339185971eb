/**
 * A newcomer's minute: `npm run check:fast`. Style, types, and every test that needs no server, no browser and no build: cases, laws, memory
 * contracts, house rules. The three run at the same time; what failed is printed whole.
 */
import { join } from 'node:path';
import { runQuietly, seconds } from './steps.mjs';

/** Parts of paths, as vitest takes them. None of these asks for a server: a test of this list sees to that. */
export const FAST_TESTS = [
  'sluice/src/algorithms',
  'sluice/src/architecture',
  'sluice/test/cases',
  'sluice/test/laws',
  'sluice/test/memory-bounds',
  'sluice/test/memory-store',
  'sluice/test/policy-changes',
  'sluice/test/policy-mistakes',
  'sluice/test/refunds',
  'sluice/test/store/',
  'sluice/test/types',
];

const bin = (name, file) => join('node_modules', name, file);

async function checkFast() {
  const start = performance.now();
  const steps = [
    ['Style', [bin('@biomejs/biome', 'bin/biome'), 'check', '.']],
    ['Types', [bin('typescript', 'bin/tsc'), '-p', 'tsconfig.json']],
    ['Tests', [bin('vitest', 'vitest.mjs'), 'run', ...FAST_TESTS]],
  ];
  const done = [];
  // Types and style first, side by side: they are what fails most often. The tests then have all cores.
  done.push(
    ...(await Promise.all(steps.slice(0, 2).map(([title, args]) => runQuietly(title, process.execPath, args)))),
  );
  done.push(await runQuietly(steps[2][0], process.execPath, steps[2][1]));
  const failed = steps.filter((_, index) => !done[index]).map(([title]) => title.toLowerCase());
  console.log(failed.length === 0 ? `All well, in ${seconds(start)}.` : `Failed: ${failed.join(', ')}.`);
  return failed.length === 0;
}

if (process.argv[1]?.endsWith('check-fast.mjs')) process.exitCode = (await checkFast()) ? 0 : 1;
