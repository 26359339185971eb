/** The sliding log at three limits, against the sorted set of tutorials: bytes a logged unit, CPU a check, the worst call. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CLIENTS } from '../contenders/clients.mjs';
import { DAY_MS } from '../contenders/policies.mjs';
import { sluiceContender } from '../contenders/redis.mjs';
import { textbookContender } from '../contenders/textbook.mjs';
import { runAll } from '../measure/closed-loop.mjs';
import { serverCost, startRedis } from '../measure/redis-server.mjs';
import { interleave } from '../measure/rounds.mjs';
import { pairedRatio, summarise } from '../measure/statistics.mjs';
import { count, micros, ratio, spread } from '../report/format.mjs';

const CLIENT = 'ioredis';
const IN_FLIGHT = 64;
/** Long enough to fill a log in, short enough to wait for. */
const WORST_WINDOW_MS = 800;
const WORST_ATTEMPTS = 100;

const HOUR_MS = 3_600_000;

/** A longer window needs more bytes for a time, so the middle limit is measured with a day as well. */
const LOGS = {
  small: { limit: 100, windowMs: HOUR_MS, window: '1 h' },
  middle: { limit: 1000, windowMs: HOUR_MS, window: '1 h' },
  long: { limit: 1000, windowMs: DAY_MS, window: '1 d' },
  large: { limit: 10_000, windowMs: HOUR_MS, window: '1 h' },
};

const SIZES = {
  quick: { logs: [LOGS.small, LOGS.middle], rounds: 1, units: 10_000, minKeys: 5 },
  full: { logs: Object.values(LOGS), rounds: 2, units: 30_000, minKeys: 6 },
};
const SLUICE = 'Sluice sliding-log';
const SORTED_SET = 'sorted set (textbook)';

export const group = {
  title: 'The sliding window log in Redis',
  about: 'the sliding window log in Redis beside the sorted set of tutorials',
  place: 75,
  async run({ quick, progress }) {
    const size = quick ? SIZES.quick : SIZES.full;
    const contenders = [
      { ...sluiceContender('sliding-log'), name: SLUICE },
      { ...textbookContender('sliding-window-log'), name: SORTED_SET },
    ];
    const redis = await startRedis();
    try {
      const cells = [];
      for (const log of size.logs) {
        progress.group(`log in Redis, limit ${count(log.limit)} in ${log.window}`);
        const records = await interleave({
          rounds: size.rounds,
          contenders,
          run: (contender) => measure({ redis, contender, log, size }),
          onTurn: (contender, round) => progress.step(`round ${round + 1}, ${contender.name}`),
        });
        cells.push({ ...log, rows: contenders.map((one) => ({ name: one.name, ...summarise(records.get(one)) })) });
      }
      return { tables: [table(cells)], cells };
    } finally {
      await redis.stop();
    }
  },
};

/**
 * Fills a few keys to their limit, one unit an attempt, then asks again, in vain. There are never more in flight than keys: attempts of
 * one key that go out together are decided at one instant, and Sluice logs what happened at one instant as one entry, which would flatter it.
 */
async function measure({ redis, contender, log: { limit, windowMs }, size: { units, minKeys } }) {
  const connection = await CLIENTS[CLIENT].connect(redis.port);
  try {
    const check = await contender.open({ client: CLIENT, connection, limit, windowMs });
    await runAll({ check, count: 500, keyOf: () => 'warm', inFlight: IN_FLIGHT });
    await redis.flush();
    const keys = Math.max(minKeys, Math.floor(units / limit));
    const inFlight = Math.min(IN_FLIGHT, keys);
    const keyOf = (index) => `user:${100_000 + (index % keys)}`;
    const before = await redis.settledMemory();
    const filling = await serverCost(redis, () => runAll({ check, count: keys * limit, keyOf, inFlight }));
    const bytes = (await redis.settledMemory()) - before;
    const denials = Math.min(units, 10_000);
    const denying = await serverCost(redis, () => runAll({ check, count: denials, keyOf, inFlight }));
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
  for (let i = 0; i < WORST_ATTEMPTS - 1; i += 1) await fill('worst');
  // A key that expires as a whole is cheap for everyone: a late unit keeps it alive until the others are old.
  await sleep(WORST_WINDOW_MS / 2);
  await check('worst');
  await sleep(WORST_WINDOW_MS / 2 + 20);
  const { cost } = await serverCost(redis, () => check('worst'));
  return cost.scriptMicros;
}

function table(cells) {
  return {
    title: 'Bytes a logged unit, and server CPU a check',
    columns: [
      ...['limit', 'window', 'contender', 'bytes/unit', 'vs sorted set', 'allowed, CPU us', 'min-max', 'vs sorted set'],
      ...['denied, CPU us', 'vs sorted set', 'after all expired, script us'],
    ],
    rows: cells.flatMap(({ limit, window, rows }) => {
      const sortedSet = rows.find(({ name }) => name === SORTED_SET);
      return rows.map((row) => [
        count(limit),
        window,
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
    notes: [
      `Through ${CLIENT}, at most ${IN_FLIGHT} in flight and at most one for each key; keys are filled to their limit one unit at a time, then denied. "After all expired" is the server's time for the one call that finds nearly all of a full log too old.`,
    ],
  };
}
