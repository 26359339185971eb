/** The sliding log at three limits, against the sorted set of tutorials: bytes a logged unit, CPU a check, the worst call. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CLIENTS } from '../contenders/clients.mjs';
import { sluiceContender } from '../contenders/redis.mjs';
import { textbookContender } from '../contenders/textbook.mjs';
import { runAll } from '../measure/closed-loop.mjs';
import { serverCost, startRedis } from '../measure/redis-server.mjs';
import { interleave } from '../measure/rounds.mjs';
import { pairedRatio, summarise } from '../measure/statistics.mjs';
import { count, micros, ratio, spread } from '../report/format.mjs';

const LIMITS = [100, 1000, 10_000];
const CLIENT = 'ioredis';
const IN_FLIGHT = 64;
/** Long enough to fill a log in, short enough to wait for. */
const WORST_WINDOW_MS = 2000;
const WORST_ATTEMPTS = 100;

const SIZES = { quick: { rounds: 1, units: 20_000 }, full: { rounds: 5, units: 50_000 } };
const SLUICE = 'Sluice sliding-log';
const SORTED_SET = 'sorted set (textbook)';

export async function logScenario({ quick, progress }) {
  const size = quick ? SIZES.quick : SIZES.full;
  const contenders = [
    { ...sluiceContender('sliding-log'), name: SLUICE },
    { ...textbookContender('sliding-window-log'), name: SORTED_SET },
  ];
  const redis = await startRedis();
  try {
    const cells = [];
    for (const limit of LIMITS) {
      progress.group(`log, limit ${count(limit)}`);
      const records = await interleave({
        rounds: size.rounds,
        contenders,
        run: (contender) => measure({ redis, contender, limit, units: size.units }),
        onTurn: (contender, round) => progress.step(`round ${round + 1}, ${contender.name}`),
      });
      cells.push({ limit, rows: contenders.map((one) => ({ name: one.name, ...summarise(records.get(one)) })) });
    }
    return { id: 'log', title: 'Sliding log against the sorted set', cells, tables: [table(cells)], charts: charts(cells) };
  } finally {
    await redis.stop();
  }
}

/** Fills a few keys to their limit, one unit an attempt, then asks again, in vain. */
async function measure({ redis, contender, limit, units }) {
  const connection = await CLIENTS[CLIENT].connect(redis.port);
  try {
    const check = await contender.open({ client: CLIENT, connection, limit });
    await runAll({ check, count: 500, keyOf: () => 'warm', inFlight: IN_FLIGHT });
    await redis.flush();
    const keys = Math.max(1, Math.floor(units / limit));
    const keyOf = (index) => `user:${100_000 + (index % keys)}`;
    const before = await redis.settledMemory();
    const filling = await serverCost(redis, () => runAll({ check, count: keys * limit, keyOf, inFlight: IN_FLIGHT }));
    const bytes = (await redis.settledMemory()) - before;
    const denials = Math.min(units, 10_000);
    const denying = await serverCost(redis, () => runAll({ check, count: denials, keyOf, inFlight: IN_FLIGHT }));
    return {
      bytesPerUnit: bytes / (keys * limit),
      allowedMicros: filling.cost.cpuMicros / (keys * limit),
      deniedMicros: denying.cost.cpuMicros / denials,
      worstMicros: await worstCall({ redis, contender, connection, limit }),
    };
  } finally {
    CLIENTS[CLIENT].close(connection);
    await redis.flush();
  }
}

/** The attempt that comes when everything in the log has just expired: the server's own time for that one call. */
async function worstCall({ redis, contender, connection, limit }) {
  const options = { client: CLIENT, connection, limit, windowMs: WORST_WINDOW_MS };
  const fill = await contender.open({ ...options, cost: limit / WORST_ATTEMPTS });
  const check = await contender.open(options);
  for (let i = 0; i < WORST_ATTEMPTS; i += 1) await fill('worst');
  // A key that expires as a whole is cheap for everyone: a late unit keeps it alive until the others are old.
  await sleep(WORST_WINDOW_MS / 2);
  await redis.command('PERSIST', 'nothing');
  await sleep(WORST_WINDOW_MS / 2 + 20);
  const { cost } = await serverCost(redis, () => check('worst'));
  return cost.scriptMicros;
}

function table(cells) {
  return {
    title: 'Bytes a logged unit, and server CPU a check',
    columns: [
      ...['limit', 'contender', 'bytes/unit', 'vs sorted set', 'allowed, CPU us', 'min-max', 'vs sorted set'],
      ...['denied, CPU us', 'vs sorted set', 'after all expired, script us'],
    ],
    rows: cells.flatMap(({ limit, rows }) => {
      const sortedSet = rows.find(({ name }) => name === SORTED_SET);
      return rows.map((row) => [
        count(limit),
        row.name,
        row.bytesPerUnit.median.toFixed(1),
        ratio(pairedRatio(row.bytesPerUnit, sortedSet.bytesPerUnit).median),
        micros(row.allowedMicros.median),
        spread(row.allowedMicros, micros),
        ratio(pairedRatio(row.allowedMicros, sortedSet.allowedMicros).median),
        micros(row.deniedMicros.median),
        ratio(pairedRatio(row.deniedMicros, sortedSet.deniedMicros).median),
        micros(row.worstMicros.median),
      ]);
    }),
    notes: [`${IN_FLIGHT} in flight through ${CLIENT}; keys are filled to their limit one unit at a time, then denied.`],
  };
}

function charts(cells) {
  const series = [SLUICE, SORTED_SET].map((name) => ({
    label: name,
    kind: name === SLUICE ? 'sluice' : 'textbook',
    points: cells.map(({ limit, rows }) => ({ x: limit, y: rows.find((row) => row.name === name).bytesPerUnit.median })),
  }));
  return [{ type: 'lines', title: 'Bytes a logged unit, by limit', xLabel: 'limit', yLabel: 'bytes', series }];
}
