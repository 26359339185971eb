/** Requests a second of a bare server, of one with Sluice's middleware, and of one with the peer's. */
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';
import { FRAMEWORKS, KEY_HEADER, PEERS, VARIANTS } from '../contenders/middleware.mjs';
import { startWorker } from '../measure/child.mjs';
import { interleave } from '../measure/rounds.mjs';
import { pairedRatio, summarise } from '../measure/statistics.mjs';
import { count, micros, ratio, spread } from '../report/format.mjs';

const WORKER = fileURLToPath(new URL('../measure/middleware-worker.mjs', import.meta.url));
const USERS = 100;
const CONNECTIONS = 32;
/** `warmUp`: before the first round, until the code of all is compiled. A cold server would tell of that alone. */
const SIZES = {
  quick: { rounds: 3, requests: 600, warmUp: 1200 },
  full: { rounds: 5, requests: 8000, warmUp: 6000 },
};

export async function middlewareScenario({ quick, progress }) {
  const size = quick ? SIZES.quick : SIZES.full;
  const cells = [];
  for (const framework of FRAMEWORKS) {
    progress.group(`middleware, ${framework}`);
    cells.push(await measureFramework({ framework, size, progress }));
  }
  return {
    id: 'middleware',
    title: 'Middleware (memory)',
    cells,
    tables: cells.map(table),
    charts: cells.map(({ framework, rows }) => ({
      type: 'bars',
      title: `${framework}: requests a second`,
      bars: rows.map(({ name, kind, perSecond }) => ({ label: name, kind, ...perSecond })),
    })),
  };
}

async function measureFramework({ framework, size, progress }) {
  const servers = new Map();
  try {
    for (const variant of VARIANTS) {
      const worker = startWorker(WORKER, { silent: true });
      servers.set(variant, { worker });
      servers.get(variant).port = await worker.ask({ do: 'listen', framework, variant });
      await fire(servers.get(variant), size.warmUp);
    }
    const records = await interleave({
      rounds: size.rounds,
      contenders: VARIANTS,
      run: (variant) => fire(servers.get(variant), size.requests),
      onTurn: (variant, round) => progress.step(`round ${round + 1}, ${variant}`),
    });
    const bare = summarise(records.get('bare'));
    const rows = VARIANTS.map((variant) => {
      const own = summarise(records.get(variant));
      return {
        name: nameOf(framework, variant),
        kind: { bare: 'floor', peer: 'peer' }[variant] ?? 'sluice',
        variant,
        ...own,
        rateVsBare: pairedRatio(own.perSecond, bare.perSecond),
        cpuVsBare: pairedRatio(own.cpuMicros, bare.cpuMicros),
        // Of the least: other work on the machine only ever adds, and a difference of medians is mostly that.
        addedCpu: own.cpuMicros.min - bare.cpuMicros.min,
      };
    });
    return { framework, rows };
  } finally {
    await Promise.all([...servers.values()].map(({ worker }) => worker.stop()));
  }
}

function nameOf(framework, variant) {
  return {
    bare: `bare ${framework}`,
    sluice: `${framework} + Sluice`,
    'sluice without headers': `${framework} + Sluice, no headers`,
    peer: `${framework} + ${PEERS[framework]}`,
  }[variant];
}

async function fire({ worker, port }, amount) {
  const before = await worker.ask({ do: 'cpu' });
  const requests = Array.from({ length: USERS }, (_, user) => ({ headers: { [KEY_HEADER]: `user-${user}` } }));
  const { result, elapsedMs } = await timed({
    url: `http://127.0.0.1:${port}/`,
    connections: CONNECTIONS,
    amount,
    requests,
    sampleInt: 100,
  });
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`${result.non2xx} answers other than 2xx and ${result.errors} errors from port ${port}`);
  }
  const cpu = (await worker.ask({ do: 'cpu' })) - before;
  return { perSecond: (result['2xx'] / elapsedMs) * 1000, p99Ms: result.latency.p99, cpuMicros: cpu / result['2xx'] };
}

/** From start to last answer: autocannon itself notices only at its next sample that it is done. */
async function timed(options) {
  const start = performance.now();
  let last = start;
  const instance = autocannon(options);
  instance.on('response', () => {
    last = performance.now();
  });
  return { result: await instance, elapsedMs: last - start };
}

function table({ framework, rows }) {
  return {
    title: framework,
    columns: [
      'server',
      'requests/s',
      'min-max',
      'vs bare',
      'p99 ms',
      'process CPU us/request',
      'min-max',
      'vs bare',
      'added us (least)',
    ],
    rows: rows.map((row) => [
      row.name,
      count(row.perSecond.median),
      spread(row.perSecond, count),
      ratio(row.rateVsBare.median),
      row.p99Ms.median.toFixed(0),
      micros(row.cpuMicros.median),
      spread(row.cpuMicros, micros),
      ratio(row.cpuVsBare.median),
      micros(row.addedCpu),
    ]),
    notes: [
      `autocannon with ${CONNECTIONS} connections runs in the bench's own process, on the same machine; ${USERS} users, none of them limited.`,
    ],
  };
}
