/** The picture: one lane an algorithm, time from left to right, one mark a request. */

import { acts, moments } from './traffic.mjs';

const LABEL_WIDTH = 16;
const EDGE = '┊';
const LATER = '»';

/**
 * A second is a whole number of columns, so that edges are drawn where they are; and the closest two requests are further
 * apart than this, so that each request has a column of its own.
 */
const COLUMN_MS = 62.5;

export function drawLanes(runs, width, paint) {
  const axis = axisFor(runs, width - LABEL_WIDTH);
  return [
    titleRow(axis, paint),
    tickRow(axis, paint),
    ...runs.flatMap((run) => laneRows(run, axis, paint)),
    '',
    legend(axis, paint),
  ];
}

/** As long as it takes to show everything, with an empty column at either end, or as there is room. */
function axisFor(runs, room) {
  const first = Math.floor(moments[0] / COLUMN_MS) - 1;
  const columnOf = (ms) => Math.floor(ms / COLUMN_MS) - first;
  const last = Math.max(
    ...runs.flatMap(({ answers }) => answers.map(({ at, proceedsAt }) => millis(proceedsAt ?? at))),
  );
  const needed = columnOf(last) + 2;
  return { columnOf, columns: Math.min(room, needed), isCut: room < needed };
}

function titleRow({ columns, columnOf }, paint) {
  const row = blank(columns);
  acts.forEach(({ title, moments: [start] }, index) => {
    write(row, columnOf(start), `${index + 1} ${title}`);
  });
  return `${label('')}${paint.bold(row.join('').trimEnd())}`;
}

function tickRow(axis, paint) {
  const row = blank(axis.columns);
  for (const { second, column } of wholeSeconds(axis)) write(row, column, `${second} s`);
  return paint.dim(`${label('simulated time')}${row.join('').trimEnd()}`);
}

function laneRows({ algorithm, answers }, axis, paint) {
  const row = emptyLane(axis, paint);
  for (const { at, outcome } of answers) row[axis.columnOf(millis(at))] = paint.mark(outcome);
  const lane = `${paint.bold(label(algorithm.label))}${row.join('')}`;
  return answers.some(({ outcome }) => outcome === 'delayed') ? [lane, releaseRow(answers, axis, paint)] : [lane];
}

/** Where the queue lets each request go: delays are only half of the story without the moments they lead to. */
function releaseRow(answers, axis, paint) {
  const row = emptyLane(axis, paint);
  for (const { proceedsAt } of answers) {
    if (proceedsAt === null) continue;
    const column = axis.columnOf(millis(proceedsAt));
    if (column < axis.columns) row[column] = paint.mark('released');
    else row[axis.columns - 1] = paint.as('released', LATER);
  }
  return `${paint.dim(label('  lets go at'))}${row.join('')}`;
}

function emptyLane(axis, paint) {
  const row = new Array(axis.columns).fill(paint.dim('·'));
  for (const { column } of wholeSeconds(axis)) row[column] = paint.dim(EDGE);
  return row;
}

function wholeSeconds({ columns, columnOf }) {
  const seconds = [];
  for (let second = Math.ceil(moments[0] / 1000); columnOf(second * 1000) < columns; second += 1) {
    seconds.push({ second, column: columnOf(second * 1000) });
  }
  return seconds;
}

function legend({ isCut }, paint) {
  const marks = [
    `${paint.mark('allowed')} allowed`,
    `${paint.mark('denied')} denied`,
    `${paint.mark('delayed')} has to wait`,
    `${paint.mark('released')} let go${isCut ? ` (${paint.as('released', LATER)} later)` : ''}`,
    `${paint.dim(EDGE)} full second`,
  ];
  return `  ${marks.join('   ')}`;
}

/** Exact to the microsecond, so that no last digit moves a mark into the column before its own. */
function millis(seconds) {
  return Math.round(seconds * 1e6) / 1e3;
}

function label(text) {
  return text.padEnd(LABEL_WIDTH);
}

function blank(columns) {
  return new Array(columns).fill(' ');
}

/** Over the end of the row nothing is written. */
function write(row, column, text) {
  [...text].forEach((character, index) => {
    if (column + index < row.length) row[column + index] = character;
  });
}
