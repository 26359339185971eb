/** An awaited attempt beside the counters that middlewares keep, which decide nothing by themselves. */
import { EXPRESS_STORE, NOTHING, OTHER_STORES, sluiceNames } from '../contenders/memory.mjs';
import { cpuRatio, measureCell, PROCESSES, rowNamed } from '../measure/memory-cell.mjs';
import { count, keysText, micros, ratio } from '../report/format.mjs';
import { atLeast } from '../report/reach.mjs';

const SIZES = {
  quick: { keys: [10_000], rounds: 3, sliceMs: 30 },
  full: { keys: [1, 10_000, 1_000_000], rounds: 5, sliceMs: 50 },
};
const OWN = sluiceNames(['fixed-window', 'sliding-counter', 'gcra']);

export const group = {
  title: 'Beside the stores of middlewares',
  about:
    'an awaited attempt beside the memory stores of express-rate-limit, hono-rate-limiter, @nestjs/throttler, limiter',
  place: 40,
  async run({ quick, progress }) {
    const size = quick ? SIZES.quick : SIZES.full;
    const cells = [];
    for (const keys of size.keys) {
      progress.group(`stores of middlewares, ${keysText(keys)}`);
      // Nest's keeps a time for each hit and copies them all at each hit: one key would be ever slower. The others queue, or take long to fill.
      const others = keys === 10_000 ? OTHER_STORES : [EXPRESS_STORE];
      const cell = { keys, state: 'long', outcome: 'allowed' };
      cells.push(await measureCell({ cell, names: [...OWN, ...others, NOTHING], size, progress }));
    }
    return {
      tables: cells.map(tableOf),
      headlines: [headlineOf(cells)],
      behind: cells.flatMap(behindOf),
      reach: [reachOf(cells)],
      cells,
    };
  },
};

function tableOf(cell) {
  const peer = rowNamed(cell, EXPRESS_STORE);
  return {
    title: keysText(cell.keys),
    columns: [
      '',
      ...PROCESSES.flatMap((name) => [`${name}: checks/s`, 'CPU us', 'times less CPU than express-rate-limit']),
      'heap bytes/key',
    ],
    rows: cell.rows.map((row) => [
      row.name,
      ...PROCESSES.flatMap((process) => [
        count(row[process].perSecond.median),
        micros(row[process].cpuMicros.median),
        ratio(cpuRatio(row, peer, process)),
      ]),
      row.name === NOTHING || cell.keys === 1 ? '' : row.bytes.toFixed(0),
    ]),
    notes: [
      'These stores count and decide nothing: the comparison with the limit is made by their middleware, which is measured further below.',
    ],
  };
}

function headlineOf(cells) {
  const cell = cells.find(({ keys }) => keys === 10_000);
  const [own, peer] = [rowNamed(cell, 'Sluice sliding-counter'), rowNamed(cell, EXPRESS_STORE)];
  return {
    place: 5,
    what: 'CPU of a check in memory beside a bare counter, 10,000 keys',
    sluice: `${micros(own.mixed.cpuMicros.median)} µs`,
    peer: `${micros(peer.mixed.cpuMicros.median)} µs`,
    of: "express-rate-limit's MemoryStore",
    ratio: cpuRatio(own, peer, 'mixed'),
    means: 'Its store counts and does not decide: the least that a check can be',
  };
}

function behindOf(cell) {
  const peer = rowNamed(cell, EXPRESS_STORE);
  const worst = Math.min(
    ...OWN.flatMap((name) => PROCESSES.map((process) => cpuRatio(rowNamed(cell, name), peer, process))),
  );
  if (worst >= 0.97) return [];
  const why = 'it adds one to a number in a Map and decides nothing; the decision is made by the middleware around it';
  return [{ who: "express-rate-limit's MemoryStore", where: keysText(cell.keys), ratio: worst, why }];
}

function reachOf(cells) {
  const many = cells.filter(({ keys }) => keys >= 10_000);
  const rows = many.flatMap((cell) =>
    OWN.map((name) => [`${name} ${cell.keys}`, cpuRatio(rowNamed(cell, name), rowNamed(cell, EXPRESS_STORE), 'mixed')]),
  );
  return atLeast("an awaited attempt: times less CPU than express-rate-limit's MemoryStore", 1, rows);
}
