/** What the picture cannot show: how it adds up, and the numbers each single answer came with. */

import { LIMIT } from './algorithms.mjs';
import { MARKS } from './paint.mjs';
import { acts } from './traffic.mjs';

const LABEL_WIDTH = 18;
const TIME_WIDTH = 9;
const CELL_WIDTH = 9;

export function drawSummaries(runs, paint) {
  return runs.flatMap((run) => summaryRows(run, paint));
}

function summaryRows({ algorithm, summary }, paint) {
  const counts = ['allowed', 'denied', 'delayed'].map((outcome) => countOf(outcome, summary[outcome], paint));
  const most = `busiest second ${String(summary.mostInOneSecond).padStart(2)}`;
  const marked = summary.mostInOneSecond > LIMIT ? paint.yellow(most) : paint.green(most);
  return [
    `  ${paint.bold(algorithm.label.padEnd(LABEL_WIDTH - 2))}${counts.join('  ')}   ${marked}`,
    `${' '.repeat(LABEL_WIDTH)}${paint.dim(algorithm.lookFor)}`,
  ];
}

function countOf(outcome, count, paint) {
  const text = `${String(count).padStart(2)} ${outcome}`;
  return count === 0 ? paint.dim(text) : paint.as(outcome, text);
}

export function drawTable(runs, paint) {
  let row = 0;
  const rowsOf = (act, index) => [
    paint.dim(`  ${index + 1} ${act.title}`),
    ...act.moments.map(() => answerRow(runs, row++, paint)),
  ];
  return [headingRow(runs, paint), ...acts.flatMap(rowsOf)];
}

function headingRow(runs, paint) {
  const headings = runs.map(({ algorithm }) => algorithm.heading.padEnd(CELL_WIDTH));
  return paint.bold(`${'at'.padStart(TIME_WIDTH - 2)}  ${headings.join('')}`.trimEnd());
}

function answerRow(runs, row, paint) {
  const cells = runs.map(({ answers }) => {
    const text = cellOf(answers[row]);
    return paint.as(answers[row].outcome, text) + ' '.repeat(CELL_WIDTH - Math.min(CELL_WIDTH, text.length));
  });
  return `${inSeconds(runs[0].answers[row].at).padStart(TIME_WIDTH - 2)}  ${cells.join('').trimEnd()}`;
}

/** Denied leaves nothing remaining for a request that costs 1, so there retryAfter says all. */
function cellOf({ outcome, remaining, retryAfter, delay }) {
  const mark = MARKS[outcome];
  if (outcome === 'denied') return `${mark} ${inSeconds(retryAfter)}`;
  return outcome === 'delayed' ? `${mark} ${remaining} +${inSeconds(delay)}` : `${mark} ${remaining}`;
}

/** Rounded up, as every promise of Sluice is: whoever comes back then is not too early. Sluice itself counts microseconds. */
function inSeconds(seconds) {
  return `${(Math.ceil(Math.round(seconds * 1e6) / 1e3) / 1e3).toFixed(3)}s`;
}
