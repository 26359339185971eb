/** Awaited checks in memory beside RateLimiterMemory: from one key to a million, states that recover and states that last. */
import { MEMORY_BASELINE, NOTHING, SHORT_PEER, sluiceNames } from '../contenders/memory.mjs';
import { O1_ALGORITHMS } from '../contenders/policies.mjs';
import { besideOf, cpuRatio, measureCell, PROCESSES, rowNamed } from '../measure/memory-cell.mjs';
import { interleave } from '../measure/rounds.mjs';
import { summarise } from '../measure/statistics.mjs';
import { count, keysText, micros, ratio, spread } from '../report/format.mjs';
import { atLeast, atMost } from '../report/reach.mjs';

const MILLION = 1_000_000;
const SIZES = {
  quick: { keys: [1, 10_000, 100_000], rounds: 3, sliceMs: 30, pauseMs: 500, pauses: 1 },
  full: { keys: [1, 1000, 10_000, 100_000, MILLION], rounds: 5, sliceMs: 40, pauseMs: 1000, pauses: 2 },
};
const OWN = sluiceNames(O1_ALGORITHMS);
const DEFAULT = 'Sluice sliding-counter';

export const group = {
  title: 'Checks in memory',
  about: 'awaited checks in memory beside rate-limiter-flexible, in processes of their own and in one with all',
  place: 10,
  async run({ quick, progress, against }) {
    const size = quick ? SIZES.quick : SIZES.full;
    const cells = [];
    const most = Math.max(...size.keys);
    for (const keys of size.keys) {
      for (const state of ['short', 'long']) {
        progress.group(`memory, ${keysText(keys)}, ${state}`);
        const names = [...OWN, MEMORY_BASELINE, ...(state === 'short' ? [SHORT_PEER] : []), NOTHING];
        const afterwards = keys === most && state === 'long' ? (own) => pausesOf(own, size, progress) : undefined;
        const cell = { keys, state, outcome: 'allowed' };
        cells.push(await measureCell({ cell, names, size, progress, afterwards, against }));
      }
    }
    progress.group('memory, 10,000 keys, denied');
    const denied = { keys: 10_000, state: 'long', outcome: 'denied' };
    cells.push(await measureCell({ cell: denied, names: [...OWN, MEMORY_BASELINE, NOTHING], size, progress, against }));
    return {
      tables: tablesOf(cells),
      headlines: headlinesOf(cells),
      behind: behindOf(cells),
      reach: reachOf(cells),
      beside: besideOf(cells),
      cells,
    };
  },
};

async function pausesOf(contenders, size, progress) {
  const records = await interleave({
    rounds: size.pauses,
    contenders: contenders.filter(({ name }) => name !== SHORT_PEER),
    run: ({ worker, name }) => worker.ask({ do: 'pause', name, durationMs: size.pauseMs }),
    onTurn: ({ name }) => progress.step(`pauses, ${name}`),
  });
  return { pauses: [...records].map(([{ name }, own]) => ({ name, ...summarise(own) })) };
}

/** The faster of the peer's two where it has two: that with a long window, and that with the window of the others. */
function peerIn(cell, process) {
  const rows = [MEMORY_BASELINE, SHORT_PEER].map((name) => rowNamed(cell, name)).filter((row) => row !== undefined);
  return rows.reduce((one, other) => (one[process].cpuMicros.median <= other[process].cpuMicros.median ? one : other));
}

const timesLess = (cell, row, process) => cpuRatio(row, peerIn(cell, process), process);

const title = ({ keys, state, outcome }) =>
  `${keysText(keys)}, ${outcome === 'denied' ? 'denied' : state === 'short' ? 'states that recover before they come again' : 'states that last'}`;

function tablesOf(cells) {
  const rates = cells.map((cell) => {
    const hasBytes = cell.keys >= 10_000 && cell.state === 'long';
    const hasOther = cell.rows.some((row) => row['other commit'] !== undefined);
    const columns = PROCESSES.flatMap((name) => [
      `${name}: checks/s`,
      'CPU us',
      'min-max',
      'times less CPU than the peer',
    ]);
    return {
      title: title(cell),
      columns: ['', ...columns, ...(hasBytes ? ['heap bytes/key'] : []), ...(hasOther ? ['other commit: CPU us'] : [])],
      rows: cell.rows.map((row) => [
        row.name,
        ...PROCESSES.flatMap((process) => [
          count(row[process].perSecond.median),
          micros(row[process].cpuMicros.median),
          spread(row[process].cpuMicros, micros),
          ratio(timesLess(cell, row, process)),
        ]),
        ...(hasBytes ? [row.name === NOTHING ? '' : row.bytes.toFixed(0)] : []),
        ...(hasOther ? [row['other commit'] === undefined ? '' : micros(row['other commit'].cpuMicros.median)] : []),
      ]),
    };
  });
  const notes = [
    `"own": each in a process of its own; "mixed": one process in which all algorithms and several peers are warm. The peer is ${MEMORY_BASELINE}; where states are short it is measured with a window of a day and with a short one, and compared by the faster of the two.`,
  ];
  return [
    { ...rates[0], notes },
    ...rates.slice(1),
    ...cells.flatMap(({ keys, pauses }) => (pauses ? [pauseTable(keys, pauses)] : [])),
  ];
}

function pauseTable(keys, pauses) {
  const ms = (value) => value.toFixed(1);
  return {
    title: `Longest pause at ${keysText(keys)}, while others come and live for a second`,
    columns: ['', 'own work, ms', 'min-max', 'wall clock, ms', 'longest GC, ms'],
    rows: pauses.map(({ name, longestOwnMs, longestWallMs, longestGcMs }) => [
      name,
      ...[ms(longestOwnMs.median), spread(longestOwnMs, ms), ms(longestWallMs.median), ms(longestGcMs.median)],
    ]),
    notes: [
      'A pause is a batch of 64 attempts. "Own work" is the lesser of its wall and CPU time, so that another process that takes the core does not count; the row "nothing" is the floor of this measure.',
    ],
  };
}

const cellOf = (cells, keys, state, outcome = 'allowed') =>
  cells.find((cell) => cell.keys === keys && cell.state === state && cell.outcome === outcome);

function headlinesOf(cells) {
  const most = Math.max(...cells.map(({ keys }) => keys));
  const at = (place, keys, state, means) => {
    const cell = cellOf(cells, keys, state);
    const [own, peer] = [rowNamed(cell, DEFAULT), peerIn(cell, 'mixed')];
    const us = (row) => `${micros(row.mixed.cpuMicros.median)} µs`;
    return {
      place,
      what: `CPU of a check in memory, ${keysText(keys)}${state === 'short' ? ' that recover in between' : ''}`,
      sluice: us(own),
      peer: us(peer),
      of: 'rate-limiter-flexible',
      ratio: cpuRatio(own, peer, 'mixed'),
      means,
      readme: state === 'short' || keys === most,
    };
  };
  const last = cellOf(cells, most, 'long');
  const [own, peer] = [rowNamed(last, DEFAULT), rowNamed(last, MEMORY_BASELINE)];
  return [
    at(1, 1, 'long', 'One client that asks again and again: the promise is most of it'),
    at(
      2,
      10_000,
      'short',
      'What an API with some traffic does all day: clients come, and have recovered when they come again',
    ),
    at(3, most, 'long', 'Many clients with limits for a day: the cache misses of large tables count most'),
    {
      place: 4,
      what: `Memory of a key, ${keysText(most)}`,
      sluice: `${own.bytes.toFixed(0)} bytes`,
      peer: `${peer.bytes.toFixed(0)} bytes`,
      of: 'rate-limiter-flexible',
      ratio: peer.bytes / own.bytes,
      means: 'How many clients fit into a process; also the work of the garbage collector',
      readme: true,
    },
  ];
}

/** Where the peer takes less CPU, in either process. */
function behindOf(cells) {
  return cells.flatMap((cell) => {
    const slower = OWN.map((name) => rowNamed(cell, name))
      .flatMap((row) =>
        PROCESSES.map((process) => ({
          name: `${row.name.replace('Sluice ', '')} (${process})`,
          value: timesLess(cell, row, process),
        })),
      )
      .filter(({ value }) => value < 0.97);
    if (slower.length === 0) return [];
    const worst = slower.reduce((one, other) => (one.value < other.value ? one : other));
    return [
      {
        who: 'rate-limiter-flexible',
        where: `in memory, ${title(cell)}, beside ${worst.name}`,
        ratio: worst.value,
        why: 'it counts in one object of a Map; a check here also works out when the limit is back, on a clock in microseconds',
      },
    ];
  });
}

function reachOf(cells) {
  const allowed = cells.filter(({ outcome }) => outcome === 'allowed');
  const ratios = (keys) =>
    allowed
      .filter((cell) => cell.keys === keys)
      .flatMap((cell) =>
        OWN.map((name) => [
          `${name.replace('Sluice ', '')} ${cell.state}`,
          timesLess(cell, rowNamed(cell, name), 'mixed'),
        ]),
      );
  const last = cellOf(cells, Math.max(...cells.map(({ keys }) => keys)), 'long');
  const peer = rowNamed(last, MEMORY_BASELINE);
  const own = OWN.map((name) => rowNamed(last, name));
  return [
    ...[
      [1, 1.3],
      [10_000, 1.8],
      [MILLION, 3],
    ].map(([keys, bound]) =>
      atLeast(`memory, mixed, ${keysText(keys)}: times less CPU than ${MEMORY_BASELINE}`, bound, ratios(keys)),
    ),
    atMost(
      `bytes a key at ${keysText(last.keys)}: part of ${MEMORY_BASELINE}'s`,
      0.167,
      own.map(({ name, bytes }) => [name, bytes / peer.bytes]),
    ),
    atMost(
      `longest pause at ${keysText(last.keys)}, ms`,
      10,
      (last.pauses ?? [])
        .filter(({ name }) => OWN.includes(name))
        .map(({ name, longestOwnMs }) => [name, longestOwnMs.median]),
    ),
  ];
}
