/** The memory store: checks a second, bytes of heap a key, and the longest pause, each contender in a process of its own. */
import { fileURLToPath } from 'node:url';
import { MEMORY_BASELINE, memoryContenders } from '../contenders/memory.mjs';
import { HOT_KEY_LIMIT, MANY_KEYS_LIMIT } from '../contenders/policies.mjs';
import { startWorker } from '../measure/child.mjs';
import { interleave } from '../measure/rounds.mjs';
import { pairedRatio, summarise, summary } from '../measure/statistics.mjs';
import { count, keysText, micros, ratio, spread } from '../report/format.mjs';

const WORKER = fileURLToPath(new URL('../measure/memory-worker.mjs', import.meta.url));
const MILLION = 1_000_000;

const SIZES = {
  quick: {
    keyCounts: [1, 10_000, MILLION],
    denialKeyCounts: [10_000],
    rounds: 3,
    sliceMs: 80,
    pauseMs: 600,
    pauses: 1,
  },
  full: {
    keyCounts: [1, 10_000, MILLION],
    denialKeyCounts: [1, 10_000, MILLION],
    rounds: 5,
    sliceMs: 200,
    pauseMs: 2000,
    pauses: 3,
    hugeKeys: 10 * MILLION,
  },
};

/** A quick run has time for these only, and at a million keys for the first few. */
const QUICK = [
  'Sluice gcra',
  MEMORY_BASELINE,
  'nothing (awaited)',
  'Sluice gcra, store.ask (synchronous)',
  'Sluice fixed-window',
  'Sluice sliding-log',
  'express-rate-limit MemoryStore',
  '@nestjs/throttler storage',
];
const QUICK_AT_A_MILLION = QUICK.slice(0, 4);

export async function memoryScenario({ quick, progress }) {
  const size = quick ? SIZES.quick : SIZES.full;
  const cells = [];
  for (const keys of size.keyCounts) cells.push(await measureCell({ keys, outcome: 'allowed', size, quick, progress }));
  for (const keys of size.denialKeyCounts) {
    cells.push(await measureCell({ keys, outcome: 'denied', size, quick, progress }));
  }
  const huge = size.hugeKeys === undefined ? undefined : await measureHuge(size.hugeKeys, progress);
  return {
    id: 'memory',
    title: 'Memory store',
    cells,
    huge,
    tables: tables(cells, huge),
    charts: charts(cells),
  };
}

function takesPart(contender, keys, outcome, quick) {
  const { maxKeys = Number.POSITIVE_INFINITY, minKeys = 1, outcomes = ['allowed', 'denied'] } = contender;
  if (keys > maxKeys || keys < minKeys || !outcomes.includes(outcome)) return false;
  return !quick || (keys < MILLION ? QUICK : QUICK_AT_A_MILLION).includes(contender.name);
}

async function measureCell({ keys, outcome, size, quick, progress }) {
  progress.group(`memory, ${keysText(keys)}, ${outcome}`);
  const contenders = memoryContenders.filter((contender) => takesPart(contender, keys, outcome, quick));
  const limit = outcome === 'denied' ? 1 : keys === 1 ? HOT_KEY_LIMIT : MANY_KEYS_LIMIT;
  const workers = new Map();
  const bytes = new Map();
  try {
    for (const contender of contenders) {
      progress.step(`${contender.name} fills`);
      const worker = startWorker(WORKER);
      workers.set(contender, worker);
      // Room for the keys that come and go in the mixed load, since the peers have no bound at all.
      await worker.ask({ do: 'open', contender: contender.name, keys, limit, maxKeys: Math.max(MILLION, keys) * 4 });
      bytes.set(contender, (await worker.ask({ do: 'fill' })).bytesPerKey);
      await worker.ask({ do: 'run', durationMs: size.sliceMs });
    }
    const rates = await interleave({
      rounds: size.rounds,
      contenders,
      run: (contender) => workers.get(contender).ask({ do: 'run', durationMs: size.sliceMs }),
      onTurn: (contender, round) => progress.step(`round ${round + 1}, ${contender.name}`),
    });
    const pauses = await measurePauses({ contenders, workers, keys, outcome, limit, size, progress });
    const baseline = summarise(rates.get(contenders.find(({ name }) => name === MEMORY_BASELINE)));
    const rows = contenders.map((contender) => {
      const { perSecond, cpuMicros } = summarise(rates.get(contender));
      return {
        name: contender.name,
        kind: contender.kind,
        algorithm: contender.algorithm,
        perSecond,
        cpuMicros,
        ratio: pairedRatio(perSecond, baseline.perSecond),
        cpuRatio: pairedRatio(baseline.cpuMicros, cpuMicros),
        bytesPerKey: bytes.get(contender),
        ...(pauses?.has(contender) && { pauses: summarise(pauses.get(contender)) }),
      };
    });
    return { keys, outcome, rows };
  } finally {
    await Promise.all([...workers.values()].map((worker) => worker.stop()));
  }
}

async function measurePauses({ contenders, workers, keys, outcome, limit, size, progress }) {
  if (keys !== MILLION || outcome !== 'allowed') return undefined;
  const churning = contenders.filter(({ name, synchronous }) => !synchronous && !name.startsWith('limiter'));
  return interleave({
    rounds: size.pauses,
    contenders: churning,
    run: (contender) => workers.get(contender).ask({ do: 'pause', durationMs: size.pauseMs, limit }),
    onTurn: (contender) => progress.step(`pauses, ${contender.name}`),
  });
}

/** One after the other: the peer alone takes gigabytes. */
async function measureHuge(keys, progress) {
  progress.group(`memory, ${count(keys)} keys`);
  const rows = [];
  for (const name of ['Sluice gcra', MEMORY_BASELINE]) {
    const worker = startWorker(WORKER);
    try {
      progress.step(name);
      await worker.ask({ do: 'open', contender: name, keys, limit: MANY_KEYS_LIMIT, maxKeys: keys * 2 });
      const { bytesPerKey } = await worker.ask({ do: 'fill' });
      const rates = [];
      for (let i = 0; i < 3; i += 1) rates.push((await worker.ask({ do: 'run', durationMs: 500 })).perSecond);
      const pauses = summarise([await worker.ask({ do: 'pause', durationMs: 3000, limit: MANY_KEYS_LIMIT })]);
      rows.push({ name, bytesPerKey, perSecond: summary(rates), pauses });
    } finally {
      await worker.stop();
    }
  }
  return { keys, rows };
}

function tables(cells, huge) {
  const rates = cells.map(({ keys, outcome, rows }) => ({
    title: `${keysText(keys)}, ${outcome}`,
    columns: [
      'contender',
      'checks/s',
      'min-max',
      `vs ${MEMORY_BASELINE}`,
      'CPU us',
      'per CPU vs it',
      ...(keys >= 10_000 ? ['heap bytes/key'] : []),
    ],
    rows: rows.map((row) => [
      row.name,
      count(row.perSecond.median),
      spread(row.perSecond, count),
      ratio(row.ratio.median),
      micros(row.cpuMicros.median),
      ratio(row.cpuRatio.median),
      ...(keys >= 10_000 ? [row.kind === 'floor' ? '' : row.bytesPerKey.toFixed(0)] : []),
    ]),
  }));
  const paused = [...cells.flatMap(({ keys, rows }) => rows.map((row) => ({ keys, ...row }))), ...hugeRows(huge)];
  return [
    ...rates,
    ...(huge === undefined ? [] : [hugeTable(huge)]),
    {
      title:
        'Longest pause in a mixed load: 70 % on the keys that are there, 20 % new keys that live a second, 10 % denied',
      columns: ['contender', 'keys', 'own work, ms', 'min-max', 'wall clock, ms', 'longest GC, ms'],
      rows: paused
        .filter(({ pauses }) => pauses !== undefined)
        .map(({ name, keys, pauses }) => [
          name,
          count(keys),
          pauses.longestOwnMs.median.toFixed(1),
          spread(pauses.longestOwnMs, (ms) => ms.toFixed(1)),
          pauses.longestWallMs.median.toFixed(1),
          pauses.longestGcMs.median.toFixed(1),
        ]),
      notes: [
        'A pause is a batch of 64 attempts. "Own work" is the lesser of its wall and CPU time, so that another process that takes the core does not count; the row "nothing" is the floor of this measure.',
      ],
    },
  ];
}

const hugeRows = (huge) => huge?.rows.map((row) => ({ keys: huge.keys, ...row })) ?? [];

function hugeTable({ keys, rows }) {
  return {
    title: `${count(keys)} keys, one contender after the other (not interleaved: the peer takes gigabytes)`,
    columns: ['contender', 'checks/s', 'heap bytes/key'],
    rows: rows.map(({ name, perSecond, bytesPerKey }) => [name, count(perSecond.median), bytesPerKey.toFixed(0)]),
  };
}

function charts(cells) {
  const atMillion = cells.find(({ keys, outcome }) => keys === MILLION && outcome === 'allowed');
  return [
    {
      type: 'bars',
      title: 'Awaited checks a second at 1,000,000 keys',
      bars: atMillion.rows.map(({ name, kind, perSecond }) => ({ label: name, kind, ...perSecond })),
    },
    {
      type: 'bars',
      title: 'Bytes of heap a key at 1,000,000 keys',
      bars: atMillion.rows
        .filter(({ kind }) => kind !== 'floor')
        .map(({ name, kind, bytesPerKey }) => ({ label: name, kind, median: bytesPerKey })),
    },
  ];
}
