/** `sluice serve` on Redis with one worker and with two, asked from outside. */
import { cpus } from 'node:os';
import { serverCost, startRedis } from '../measure/redis-server.mjs';
import { interleave } from '../measure/rounds.mjs';
import { startService } from '../measure/service-process.mjs';
import { pairedRatio, summarise } from '../measure/statistics.mjs';
import { findWrk } from '../measure/wrk.mjs';
import { count, micros, ratio, spread } from '../report/format.mjs';
import { atLeast } from '../report/reach.mjs';

const SIZES = { quick: { rounds: 3, seconds: 1, warmSeconds: 1 }, full: { rounds: 7, seconds: 2, warmSeconds: 4 } };
const WORKERS = [1, 2];
const CONNECTIONS = 64;

export const group = {
  title: 'The service on more than one core',
  about: '`sluice serve --workers 2` beside 1, attempts over HTTP on Redis, load from a program of its own (wrk)',
  place: 91,
  async run({ quick, progress }) {
    const size = quick ? SIZES.quick : SIZES.full;
    progress.group('workers');
    const redis = await startRedis();
    const services = new Map();
    try {
      for (const workers of WORKERS) services.set(workers, await startService({ workers, redisPort: redis.port }));
      const load = await findWrk(services.get(1).url);
      const turn = (workers, seconds) => measure({ service: services.get(workers), redis, load, seconds });
      for (const workers of WORKERS) await turn(workers, size.warmSeconds);
      const records = await interleave({
        rounds: size.rounds,
        contenders: WORKERS,
        run: (workers) => turn(workers, size.seconds),
        onTurn: (workers, round) => progress.step(`round ${round + 1}, --workers ${workers}`),
      });
      const rows = WORKERS.map((workers) => ({ workers, ...summarise(records.get(workers)) }));
      return { tables: [table(rows)], reach: reachOf(rows), rows };
    } finally {
      for (const service of services.values()) await service.stop();
      await redis.stop();
    }
  },
};

/** All CPU is for one attempt. `busiest` is the process of the service that used most: it, or Redis, is what a machine with cores enough waits for. */
async function measure({ service, redis, load, seconds }) {
  const before = service.cpu();
  const { result, cost } = await serverCost(redis, () => load({ url: service.url, connections: CONNECTIONS, seconds }));
  const after = service.cpu();
  const used = Object.keys(after).map((pid) => (after[pid] - (before[pid] ?? 0)) / result.requests);
  const all = used.reduce((sum, one) => sum + one, 0);
  const redisMicros = cost.cpuMicros / result.requests;
  return {
    perSecond: result.requests / result.seconds,
    serviceMicros: all,
    busiestMicros: Math.max(...used),
    busiestPart: Math.max(...used) / all,
    redisMicros,
    loadMicros: result.cpuMicros / result.requests,
    capacity: 1e6 / Math.max(...used, redisMicros),
  };
}

function table(rows) {
  return {
    title: `Attempts over HTTP on Redis, ${CONNECTIONS} connections, wrk beside it`,
    columns: [
      ...[
        '--workers',
        'attempts/s',
        'min-max',
        'times 1',
        'service CPU us',
        'busiest process us',
        'its part',
        'Redis CPU us',
      ],
      ...['load CPU us', 'attempts/s of the busiest process, given a core', 'times 1'],
    ],
    rows: rows.map((row) => [
      ...[
        String(row.workers),
        count(row.perSecond.median),
        spread(row.perSecond, count),
        ratio(pairedRatio(row.perSecond, rows[0].perSecond).median),
      ],
      ...[
        micros(row.serviceMicros.median),
        micros(row.busiestMicros.median),
        `${(row.busiestPart.median * 100).toFixed(0)} %`,
      ],
      ...[micros(row.redisMicros.median), micros(row.loadMicros.median), count(row.capacity.median)],
      ratio(pairedRatio(row.capacity, rows[0].capacity).median),
    ]),
    notes: [
      `CPU is for one attempt. This machine has ${cpus().length} cores for workers, Redis and the load together: attempts a second cannot be more than the cores divided by the sum of the CPU columns. The last columns say what the busiest process could do if it had a core to itself, so they are computed and not observed.`,
    ],
  };
}

function reachOf(rows) {
  const [one, two] = rows;
  return [
    atLeast('serve --workers 2, times 1: attempts/s', 1.6, [
      ['observed', pairedRatio(two.perSecond, one.perSecond).median],
    ]),
    atLeast('serve --workers 2, times 1: by the CPU of the busiest process', 1.6, [
      ['computed', pairedRatio(two.capacity, one.capacity).median],
    ]),
  ];
}
