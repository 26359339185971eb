/** The way without a promise, which the middlewares go; with --against, beside the same of another commit. */
import { atOnceNames, NOTHING } from '../contenders/memory.mjs';
import { besideOf, measureCell } from '../measure/memory-cell.mjs';
import { pairedRatio } from '../measure/statistics.mjs';
import { count, keysText, micros, ratio } from '../report/format.mjs';
import { atLeast } from '../report/reach.mjs';

const SIZES = {
  quick: { keys: [1, 10_000], rounds: 3, sliceMs: 30 },
  full: { keys: [1, 10_000, 100_000], rounds: 5, sliceMs: 50 },
};

export const group = {
  title: 'Without a promise',
  about: '`limiter.attempt.atOnce`, as middlewares ask; with --against, beside another commit',
  place: 30,
  async run({ quick, progress, against }) {
    const size = quick ? SIZES.quick : SIZES.full;
    const cells = [];
    for (const keys of size.keys) {
      for (const state of ['short', 'long']) {
        progress.group(`without a promise, ${keysText(keys)}, ${state}`);
        const cell = { keys, state, outcome: 'allowed' };
        cells.push(await measureCell({ cell, names: [...atOnceNames, NOTHING], size, progress, against }));
      }
    }
    return {
      tables: cells.map((cell) => tableOf(cell, against)),
      reach: against === undefined ? [] : [reachOf(cells, against)],
      beside: besideOf(cells),
      cells,
    };
  },
};

const times = (row) => pairedRatio(row['other commit'].cpuMicros, row.mixed.cpuMicros).median;

function tableOf(cell, against) {
  return {
    title: `${keysText(cell.keys)}, ${cell.state === 'short' ? 'states that recover before they come again' : 'states that last'}`,
    columns: [
      '',
      'own: checks/s',
      'CPU us',
      'mixed: checks/s',
      'CPU us',
      ...(against ? [`${against.commit}: CPU us`, 'times less CPU'] : []),
    ],
    rows: cell.rows.map((row) => [
      row.name,
      ...['own', 'mixed'].flatMap((process) => [
        count(row[process].perSecond.median),
        micros(row[process].cpuMicros.median),
      ]),
      ...(against === undefined
        ? []
        : row['other commit'] === undefined
          ? ['', '']
          : [micros(row['other commit'].cpuMicros.median), ratio(times(row))]),
    ]),
  };
}

function reachOf(cells, against) {
  const rows = cells.flatMap((cell) =>
    cell.rows.filter((row) => row['other commit']).map((row) => [`${row.name} ${cell.keys} ${cell.state}`, times(row)]),
  );
  return atLeast(`atOnce: times less CPU than at ${against.commit}`, 3, rows);
}
