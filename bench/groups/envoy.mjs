/** `sluice serve` as Envoy asks it: CPU of a call over gRPC on Redis, and memory after very many of them. */
import { startWorker } from '../measure/child.mjs';
import { frameLoad, question } from '../measure/grpc-frames.mjs';
import { serverCost, startRedis } from '../measure/redis-server.mjs';
import { interleave } from '../measure/rounds.mjs';
import { startService } from '../measure/service-process.mjs';
import { pairedRatio, summarise } from '../measure/statistics.mjs';
import { count, micros, ratio, spread } from '../report/format.mjs';
import { atMost } from '../report/reach.mjs';

const DOMAIN = 'bench';
const CONFIG = `
domain: ${DOMAIN}
descriptors: [{ key: user, rate_limit: { unit: day, requests_per_unit: 4000000000 } }]
`;
const QUESTIONS = Array.from({ length: 100 }, (_, user) => question(DOMAIN, 'user', `user-${user}`));
const LOAD = { questions: QUESTIONS, connections: 4, inFlight: 16 };
const SIZES = {
  quick: { rounds: 3, requests: 10_000, many: 200_000 },
  full: { rounds: 7, requests: 20_000, many: 1_000_000 },
};
const SLUICE = 'sluice serve, on Redis';
const CONSTANT = '@grpc/grpc-js answering a constant';
const OTHER = 'the other commit';

export const group = {
  title: 'The rate limit service for Envoy',
  about: '`sluice serve` asked over gRPC on Redis: CPU of a call, and memory after a million of them',
  place: 93,
  async run({ quick, progress, against }) {
    const size = quick ? SIZES.quick : SIZES.full;
    progress.group('envoy');
    const redis = await startRedis();
    const constant = startWorker('./grpc-constant-worker.mjs');
    const started = [];
    const start = async (command) => {
      const more = ['--grpc-port', '0', '--no-lab'];
      started.push(await startService({ workers: 1, redisPort: redis.port, text: CONFIG, more, command }));
      return started.at(-1);
    };
    try {
      const service = await start();
      const other = against === undefined ? undefined : await start(await against.server());
      const contenders = {
        [SLUICE]: callsOf(service, redis),
        [CONSTANT]: await constantCalls(constant),
        ...(other === undefined ? {} : { [OTHER]: callsOf(other, redis) }),
      };
      const startMb = service.residentMb();
      const records = await measured(contenders, size, progress);
      progress.step(`${count(size.many)} calls`);
      await frameLoad({ ...LOAD, port: service.grpcPort, amount: size.many });
      const rows = Object.keys(contenders).map((name) => ({ name, ...summarise(records.get(name)) }));
      const memory = { startMb, afterMb: service.residentMb(), calls: size.many };
      return { tables: [table(rows, memory)], reach: reachOf(rows, memory), beside: besideOf(rows), rows, memory };
    } finally {
      for (const service of started) await service.stop();
      await constant.stop();
      await redis.stop();
    }
  },
};

async function measured(contenders, size, progress) {
  const names = Object.keys(contenders);
  for (const name of names) await contenders[name](size.requests);
  return interleave({
    rounds: size.rounds,
    contenders: names,
    run: (name) => contenders[name](size.requests),
    onTurn: (name, round) => progress.step(`round ${round + 1}, ${name}`),
  });
}

/** Makes so many calls, and says what one of them cost the server. */
function callsOf(service, redis) {
  const cpuOf = () => Object.values(service.cpu()).reduce((sum, one) => sum + one, 0);
  return async (amount) => {
    const before = cpuOf();
    const { cost } = await serverCost(redis, () => frameLoad({ ...LOAD, port: service.grpcPort, amount }));
    return { cpuMicros: (cpuOf() - before) / amount, redisMicros: cost.cpuMicros / amount };
  };
}

async function constantCalls(constant) {
  const port = await constant.ask({ do: 'listen' });
  return async (amount) => {
    const before = await constant.ask({ do: 'cpu' });
    await frameLoad({ ...LOAD, port, amount });
    return { cpuMicros: ((await constant.ask({ do: 'cpu' })) - before) / amount, redisMicros: 0 };
  };
}

function table(rows, { startMb, afterMb, calls }) {
  const [, constant] = rows;
  return {
    title: 'ShouldRateLimit over gRPC, 64 calls in flight on 4 connections',
    columns: ['', 'server CPU us/call', 'min-max', 'times grpc-js', 'Redis CPU us/call'],
    rows: rows.map((row) => [
      row.name,
      micros(row.cpuMicros.median),
      spread(row.cpuMicros, micros),
      ratio(pairedRatio(row.cpuMicros, constant.cpuMicros).median),
      row.redisMicros.median === 0 ? '-' : micros(row.redisMicros.median),
    ]),
    notes: [
      `Resident memory of the service: ${startMb.toFixed(0)} MB at the start, ${afterMb.toFixed(0)} MB after ${count(calls)} calls more.`,
      'The load is bare frames of HTTP/2 from the process of the bench.',
    ],
  };
}

function reachOf(rows, { afterMb, calls }) {
  const [sluice] = rows;
  const other = rows.find(({ name }) => name === OTHER);
  const memory = atMost(`gRPC, MB of memory after ${count(calls)} calls`, 90, [['resident', afterMb]]);
  if (other === undefined) return [memory];
  const times = pairedRatio(sluice.cpuMicros, other.cpuMicros).median;
  return [atMost('gRPC, server CPU of a call, times the other commit', 0.65, [['CPU', times]]), memory];
}

function besideOf(rows) {
  const [sluice] = rows;
  const other = rows.find(({ name }) => name === OTHER);
  return other === undefined ? [] : [['CPU of a call', pairedRatio(other.cpuMicros, sluice.cpuMicros).median]];
}
