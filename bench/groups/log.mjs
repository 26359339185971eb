/** The sliding window log in memory, whose state is as long as its limit: short logs, logs that are half full, and full ones. */
import { MEMORY_BASELINE, NOTHING, sluiceNames } from '../contenders/memory.mjs';
import { cpuRatio, measureCell, PROCESSES, rowNamed } from '../measure/memory-cell.mjs';
import { count, keysText, micros, ratio } from '../report/format.mjs';
import { atLeast, atMost } from '../report/reach.mjs';

const LOG = sluiceNames(['sliding-log'])[0];
const KEYS = 10_000;
const LIMIT = 100;
/** So many attempts in each turn that a log of 100 has room for all turns together. */
const AMOUNT = 80_000;
const WARM = 80_000;
const SIZES = { quick: { rounds: 3, sliceMs: 30 }, full: { rounds: 5, sliceMs: 60 } };
const CELLS = [
  { about: 'short logs: recovered before they come again', cell: { state: 'short' } },
  {
    about: 'short logs: one entry each, then a few',
    cell: { state: 'long', logLimit: LIMIT },
    each: 1,
    amount: AMOUNT,
  },
  {
    about: 'half full: 40 entries each to begin with',
    cell: { state: 'long', logLimit: LIMIT },
    each: 40,
    amount: AMOUNT,
  },
  { about: 'full: denied', cell: { state: 'long', outcome: 'denied' } },
];

export const group = {
  title: 'The sliding window log in memory',
  about: 'the sliding window log with a limit of 100 beside rate-limiter-flexible, and its bytes a key',
  place: 20,
  async run({ quick, progress }) {
    const size = quick ? SIZES.quick : SIZES.full;
    const cells = [];
    for (const { about, cell, each, amount } of CELLS) {
      progress.group(`log, ${about}`);
      const names = [LOG, MEMORY_BASELINE, NOTHING];
      const whole = { keys: KEYS, outcome: 'allowed', ...cell };
      const warmAmount = amount === undefined ? undefined : WARM;
      cells.push({
        about,
        each,
        ...(await measureCell({ cell: whole, names, size, progress, each, amount, warmAmount })),
      });
    }
    return { tables: [tableOf(cells)], behind: cells.flatMap(behindOf), reach: reachOf(cells), cells };
  },
};

const times = (cell, process) => cpuRatio(rowNamed(cell, LOG), rowNamed(cell, MEMORY_BASELINE), process);

function tableOf(cells) {
  return {
    title: `${keysText(KEYS)}, a limit of ${LIMIT} in a day, awaited`,
    columns: [
      '',
      '',
      ...PROCESSES.flatMap((name) => [`${name}: checks/s`, 'CPU us', 'times less CPU than the peer']),
      'heap bytes/key',
    ],
    rows: cells.flatMap((cell) =>
      cell.rows.map((row) => [
        cell.about,
        row.name,
        ...PROCESSES.flatMap((process) => [
          count(row[process].perSecond.median),
          micros(row[process].cpuMicros.median),
          ratio(cpuRatio(row, rowNamed(cell, MEMORY_BASELINE), process)),
        ]),
        cell.state === 'long' && row.name !== NOTHING ? row.bytes.toFixed(0) : '',
      ]),
    ),
    notes: [
      `The peer keeps one number for a key, the log each admission of the last ${LIMIT}. Bytes are measured after the first attempts, before the turns.`,
    ],
  };
}

function behindOf(cell) {
  const worst = Math.min(...PROCESSES.map((process) => times(cell, process)));
  const why = 'it keeps one number for a key and forgets when they came; the log remembers each admission';
  return worst >= 0.97
    ? []
    : [
        {
          who: 'rate-limiter-flexible',
          where: `in memory, beside the sliding window log, ${cell.about}`,
          ratio: worst,
          why,
        },
      ];
}

function reachOf(cells) {
  const allowed = cells.filter(({ outcome }) => outcome === 'allowed');
  const short = cells.find(({ each }) => each === 1);
  return [
    atLeast(
      `log, mixed: times less CPU than ${MEMORY_BASELINE}`,
      1.5,
      allowed.map((cell) => [cell.about, times(cell, 'mixed')]),
    ),
    atMost('log: bytes a key, one entry each', 200, [['', rowNamed(short, LOG).bytes]]),
  ];
}
