/** `sluice serve` beside the same server answering a constant, over HTTP and over gRPC. */
import autocannon from 'autocannon';
import { BATCH, USERS, VARIANTS } from '../contenders/service.mjs';
import { startWorker } from '../measure/child.mjs';
import { grpcClients, grpcLoad } from '../measure/grpc-load.mjs';
import { interleave } from '../measure/rounds.mjs';
import { pairedRatio, summarise } from '../measure/statistics.mjs';
import { count, micros, ratio, spread } from '../report/format.mjs';

const WORKER = './service-worker.mjs';
const CONNECTIONS = 32;
const GRPC_CONNECTIONS = 4;
const SIZES = { quick: { rounds: 3, requests: 1000 }, full: { rounds: 5, requests: 5000 } };
const NAMES = Object.keys(VARIANTS);

export const group = {
  title: 'The service',
  about: '`sluice serve` on its memory store beside the same server answering a constant, over HTTP and gRPC',
  place: 92,
  async run({ quick, progress }) {
    const size = quick ? SIZES.quick : SIZES.full;
    progress.group('service');
    const worker = startWorker(WORKER, { silent: true });
    try {
      const ports = await worker.ask({ do: 'listen' });
      const fire = (name) => measure(worker, VARIANTS[name], ports[VARIANTS[name].port], size.requests);
      for (const name of NAMES) await fire(name);
      const records = await interleave({
        rounds: size.rounds,
        contenders: NAMES,
        run: fire,
        onTurn: (name, round) => progress.step(`round ${round + 1}, ${name}`),
      });
      const rows = NAMES.map((name) => rowOf(name, records));
      return { tables: [table(rows)], rows };
    } finally {
      await worker.stop();
    }
  },
};

async function measure(worker, { requests, messages, attempts = 1 }, port, full) {
  const amount = Math.ceil(full / Math.max(1, attempts / 10));
  const before = await worker.ask({ do: 'cpu' });
  const { elapsedMs, p99Ms } = await (messages === undefined
    ? httpLoad({ port, requests, amount })
    : grpcTurn({ port, messages, amount }));
  const cpu = (await worker.ask({ do: 'cpu' })) - before;
  const made = amount * attempts;
  return { perSecond: (made / elapsedMs) * 1000, p99Ms, cpuMicros: cpu / made };
}

/** From start to last answer: autocannon itself notices only at its next sample that it is done. */
async function httpLoad({ port, requests, amount }) {
  const start = performance.now();
  let last = start;
  const instance = autocannon({
    url: `http://127.0.0.1:${port}`,
    connections: CONNECTIONS,
    amount,
    requests,
    sampleInt: 100,
  });
  instance.on('response', () => {
    last = performance.now();
  });
  const { non2xx, errors, latency } = await instance;
  if (non2xx > 0 || errors > 0) throw new Error(`${non2xx} answers other than 2xx and ${errors} errors`);
  return { elapsedMs: last - start, p99Ms: latency.p99 };
}

async function grpcTurn({ port, messages, amount }) {
  const clients = grpcClients(port, GRPC_CONNECTIONS);
  const result = await grpcLoad({ clients, messages, inFlight: CONNECTIONS, amount });
  for (const client of clients) client.close();
  return result;
}

function rowOf(name, records) {
  const { floor = false, against = name, attempts = 1 } = VARIANTS[name];
  const [own, constant] = [summarise(records.get(name)), summarise(records.get(against))];
  return {
    name,
    kind: floor ? 'floor' : 'sluice',
    attempts,
    ...own,
    rateVsConstant: pairedRatio(own.perSecond, constant.perSecond),
    /** The constant's over its own, so that more is better here too. */
    cpuVsConstant: pairedRatio(constant.cpuMicros, own.cpuMicros),
    perAttemptVsOne: pairedRatio(own.perSecond, summarise(records.get('HTTP, /v1/attempt')).perSecond),
  };
}

function table(rows) {
  return {
    title: 'sluice serve',
    columns: ['', 'attempts/s', 'min-max', 'vs constant', 'p99 ms', 'server CPU us/attempt', 'min-max', 'constant/own'],
    rows: rows.map((row) => [
      row.name,
      count(row.perSecond.median),
      spread(row.perSecond, count),
      ratio(row.rateVsConstant.median),
      row.p99Ms.median.toFixed(1),
      micros(row.cpuMicros.median),
      spread(row.cpuMicros, micros),
      ratio(row.cpuVsConstant.median),
    ]),
    notes: [
      `${CONNECTIONS} in flight, ${USERS} users, none of them limited; the load comes from the bench's own process on the same machine.`,
      `The constant: over HTTP a route of the same process that reads the same body, over gRPC the same method. p99 of a list is of all ${BATCH}.`,
    ],
  };
}
