/** The tour: the same 30 requests through every algorithm of Sluice, side by side in the terminal. `npm run tour` runs it. */

import { readFile } from 'node:fs/promises';
import { manualClock } from 'sluice';
import { algorithms } from './algorithms.mjs';
import { drawLanes } from './lanes.mjs';
import { drawSummaries, drawTable } from './numbers.mjs';
import { painter } from './paint.mjs';
import { runAll } from './run.mjs';
import { TourError, withStore } from './store.mjs';
import { acts, moments } from './traffic.mjs';

const NARROWEST = 80;

const HELP = `A tour of Sluice: the same ${moments.length} requests through every algorithm, side by side.
Time is simulated, so nobody waits.

  npm run tour                        installs, builds and runs the tour
  npm run tour -- --help              npm hands on what follows the two dashes
  node examples/tour/tour.mjs --json  once built: the tour alone, for a pipe

Options:
  --json      prints the results as data
  --help      prints this

Environment:
  REDIS_URL   takes the tour on that Redis instead of in memory, for example
              redis://localhost:6379, with keys of its own that it removes
  NO_COLOR    prints no colours
`;

const OPTIONS = ['--json', '--help'];

async function main(args) {
  const unknown = args.find((argument) => !OPTIONS.includes(argument));
  if (unknown !== undefined)
    return complain(`Unknown argument '${unknown}'. The tour knows ${OPTIONS.join(' and ')}.`, 2);
  if (args.includes('--help')) return say(HELP);
  const tour = await takeTour();
  return say(args.includes('--json') ? `${JSON.stringify(dataOf(tour), null, 2)}\n` : await pageOf(tour));
}

function takeTour() {
  const clock = manualClock(0);
  return withStore(process.env.REDIS_URL, clock, async ({ store, kind, place }) => ({
    kind,
    place,
    runs: await runAll(store, clock),
  }));
}

function dataOf({ kind, runs }) {
  return {
    store: kind,
    requests: moments.length,
    algorithms: runs.map(({ algorithm, answers, summary }) => ({
      name: algorithm.label,
      policy: algorithm.policy,
      summary,
      answers,
    })),
  };
}

async function pageOf({ kind, place, runs }) {
  const paint = painter(process.stdout.isTTY === true && process.stdout.hasColors());
  const width = Math.max(NARROWEST, process.stdout.columns ?? NARROWEST) - 1;
  const sections = [
    introduction(kind, place, paint),
    drawLanes(runs, width, paint),
    [...summariesTitle(paint), ...drawSummaries(runs, paint)],
    [...tableTitle(paint), ...drawTable(runs, paint)],
    await yourTurn(runs, paint),
  ];
  return `\n${sections.map((lines) => lines.join('\n')).join('\n\n')}\n\n`;
}

function introduction(kind, place, paint) {
  const hint = kind === 'memory' ? ' Set REDIS_URL to take the tour on Redis.' : '';
  return [
    paint.bold(`Sluice: ${moments.length} requests, ${algorithms.length} algorithms, one limit of 5 a second`),
    'Each lane is one algorithm, asked about the same requests at the same moments:',
    '',
    ...acts.map(({ story }, index) => `  ${paint.bold(index + 1)}  ${story}`),
    '',
    `The state is kept in ${place}.${hint}`,
  ];
}

function summariesTitle(paint) {
  return [paint.bold('What to look for'), '  The busiest second is the most that went through within any one second.'];
}

function tableTitle(paint) {
  return [
    paint.bold('Every answer'),
    `  ${paint.as('allowed', '● remaining')}   ${paint.as('denied', '× retryAfter')}   ` +
      `${paint.as('delayed', '◔ remaining +delay')}   in seconds, rounded up`,
  ];
}

/** The code shown is a file, so that a test can run it. */
async function yourTurn(runs, paint) {
  const code = await readFile(new URL('your-turn.ts', import.meta.url), 'utf8');
  return [
    paint.bold('Your turn'),
    ...indented(code.trimEnd().split('\n')).map((line) => paint.cyan(line)),
    '',
    'The policies of the tour, to put in place of that one:',
    ...indented(runs.map(({ algorithm }) => algorithm.code)).map((line) => paint.cyan(line)),
    '',
    'Read on in README.md. The tour itself is in examples/tour, and has a --help.',
  ];
}

function indented(lines) {
  return lines.map((line) => (line === '' ? '' : `  ${line}`));
}

function say(text) {
  process.stdout.write(text);
}

function complain(text, exitCode) {
  process.stderr.write(`${text}\n`);
  process.exitCode = exitCode;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof TourError)) throw error;
  complain(error.message, 1);
}
