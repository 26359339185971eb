/**
 * Open-loop traffic below and at saturation. The rates are parts of what rate-limiter-flexible does in a closed loop with 512 in
 * flight on the same client, a moment before: at 1.0 and above it cannot keep up.
 */
import { CLIENTS } from '../contenders/clients.mjs';
import { MANY_KEYS_LIMIT } from '../contenders/policies.mjs';
import { BASELINE, redisContender } from '../contenders/redis.mjs';
import { closedLoop, keySequence } from '../measure/closed-loop.mjs';
import { openLoop } from '../measure/open-loop.mjs';
import { serverCost, startRedis } from '../measure/redis-server.mjs';
import { closeAll, openAll } from '../measure/redis-turn.mjs';
import { interleave } from '../measure/rounds.mjs';
import { median, pairedRatio, summarise } from '../measure/statistics.mjs';
import { count, micros, millis, ratio, spread } from '../report/format.mjs';

const KEYS = 10_000;
const NAMES = ['Sluice gcra', 'Sluice fixed-window', BASELINE, 'empty EVALSHA'];
const SIZES = {
  quick: { rounds: 3, durationMs: 80, parts: [0.1, 1] },
  full: { rounds: 5, durationMs: 200, parts: [0.1, 0.5, 1, 1.5] },
};

export const group = {
  title: 'Arrivals that do not wait',
  about: 'latency on Redis when attempts come at their own pace, from a tenth of saturation to one and a half',
  place: 65,
  async run({ quick, progress }) {
    const size = quick ? SIZES.quick : SIZES.full;
    const redis = await startRedis();
    try {
      const cells = [];
      for (const client of Object.keys(CLIENTS))
        cells.push(...(await measureClient({ redis, client, size, progress })));
      return { tables: cells.map(table), cells };
    } finally {
      await redis.stop();
    }
  },
};

async function measureClient({ redis, client, size, progress }) {
  const contenders = NAMES.map(redisContender);
  const opened = await openAll({ redis, client, contenders, limit: MANY_KEYS_LIMIT });
  try {
    const saturation = await measureSaturation({ opened, size });
    const cells = [];
    for (const part of size.parts) {
      const perSecond = saturation * part;
      progress.group(`open loop, ${client}, ${count(perSecond)} arrivals/s (${part} of saturation)`);
      const records = await interleave({
        rounds: size.rounds,
        contenders,
        run: (one, round) => turn({ redis, check: opened.get(one).check, round, perSecond, size }),
        onTurn: (one, round) => progress.step(`round ${round + 1}, ${one.name}`),
      });
      const rows = contenders.map((one) => ({ name: one.name, kind: one.kind, ...summarise(records.get(one)) }));
      const baseline = rows.find(({ name }) => name === BASELINE);
      cells.push({
        client,
        part,
        perSecond,
        rows: rows.map((row) => ({
          ...row,
          p50VsBaseline: pairedRatio(row.p50Ms, baseline.p50Ms),
          p99VsBaseline: pairedRatio(row.p99Ms, baseline.p99Ms),
        })),
      });
    }
    return cells;
  } finally {
    await closeAll(opened);
    await redis.flush();
  }
}

/** Everyone warms up on the way. */
async function measureSaturation({ opened, size }) {
  const rates = [];
  for (let round = 0; round < 3; round += 1) {
    for (const [contender, { check }] of opened) {
      const nextKey = keySequence(KEYS, round + 1);
      const { perSecond } = await closedLoop({ check, nextKey, inFlight: 512, durationMs: size.durationMs });
      if (contender.name === BASELINE) rates.push(perSecond);
    }
  }
  return median(rates);
}

async function turn({ redis, check, round, perSecond, size }) {
  const nextKey = keySequence(KEYS, round + 1);
  const { result, cost } = await serverCost(redis, () =>
    openLoop({ check, nextKey, perSecond, durationMs: size.durationMs }),
  );
  const { total, ...latencies } = result;
  return { ...latencies, cpuMicros: cost.cpuMicros / total, checksPerCall: total / cost.scriptCalls };
}

function table({ client, part, perSecond, rows }) {
  return {
    title: `${client}, ${count(perSecond)} arrivals/s (${part} of the saturation of ${BASELINE})`,
    columns: [
      ...['contender', 'answered/s', 'p50 ms', 'min-max', 'vs flexible', 'p99 ms', 'vs flexible', 'p99.9 ms'],
      ...['unanswered at the end', 'checks a script call', 'server CPU us'],
    ],
    rows: rows.map((row) => [
      row.name,
      count(row.answeredPerSecond.median),
      millis(row.p50Ms.median),
      spread(row.p50Ms, millis),
      ratio(row.p50VsBaseline.median),
      millis(row.p99Ms.median),
      ratio(row.p99VsBaseline.median),
      millis(row.p999Ms.median),
      count(row.backlog.median),
      row.checksPerCall.median.toFixed(2),
      micros(row.cpuMicros.median),
    ]),
    notes: ['Latency counts from the appointed arrival, also when the process was too busy to send it then.'],
  };
}
