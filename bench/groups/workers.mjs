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
const CONNECTIONS = 128;
const CORES = cpus().length;

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
  const loadMicros = result.cpuMicros / result.requests;
  const capacity = 1e6 / Math.max(...used, redisMicros);
  return {
    perSecond: result.requests / result.seconds,
    serviceMicros: all,
    busiestMicros: Math.max(...used),
    busiestPart: Math.max(...used) / all,
    redisMicros,
    loadMicros,
    possible: Math.min(capacity, (CORES * 1e6) / (all + redisMicros + loadMicros)),
    capacity,
  };
}

const COLUMNS = [
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
  ...['load CPU us', `most that ${CORES} cores allow`, 'times 1', 'if each process had a core', 'times 1'],
];

function table(rows) {
  const times = (row, part) => ratio(pairedRatio(row[part], rows[0][part]).median);
  return {
    title: `Attempts over HTTP on Redis, ${CONNECTIONS} connections, wrk beside it`,
    columns: COLUMNS,
    rows: rows.map((row) => [
      ...[String(row.workers), count(row.perSecond.median), spread(row.perSecond, count), times(row, 'perSecond')],
      ...[micros(row.serviceMicros.median), micros(row.busiestMicros.median)],
      ...[`${(row.busiestPart.median * 100).toFixed(0)} %`, micros(row.redisMicros.median)],
      ...[micros(row.loadMicros.median), count(row.possible.median), times(row, 'possible')],
      ...[count(row.capacity.median), times(row, 'capacity')],
    ]),
    notes: [
      `CPU is for one attempt. Workers, Redis and the load share ${CORES} cores: attempts a second are at most the cores divided by all CPU of an attempt, and at most what the busiest process does in a second of CPU. The last four columns are computed from that, not observed.`,
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
