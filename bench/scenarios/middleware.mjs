/**
 * Requests a second of a bare server, of one with Sluice's middleware, and of one with the peer's, over sockets; and what each adds to the
 * work of a request, where nothing else varies.
 */
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';
import { FLOORS, FRAMEWORKS, KEY_HEADER, PEERS, VARIANTS } from '../contenders/middleware.mjs';
import { startWorker } from '../measure/child.mjs';
import { interleave } from '../measure/rounds.mjs';
import { mean, pairedRatio, summarise, summary } from '../measure/statistics.mjs';
import { count, micros, ratio, spread } from '../report/format.mjs';

const WORKER = fileURLToPath(new URL('../measure/middleware-worker.mjs', import.meta.url));
const CPU_WORKER = fileURLToPath(new URL('../measure/middleware-cpu-worker.mjs', import.meta.url));
const USERS = 100;
const CONNECTIONS = 32;
/** `warmUp`: before the first round, until the code of all is compiled. A cold server would tell of that alone. */
const SIZES = {
  quick: { rounds: 3, requests: 450, warmUp: 900, inMemory: { rounds: 40, requests: 25, warmUp: 800 } },
  full: { rounds: 40, requests: 1000, warmUp: 8000, inMemory: { rounds: 1000, requests: 50, warmUp: 15_000 } },
};

export async function middlewareScenario({ quick, progress }) {
  const size = quick ? SIZES.quick : SIZES.full;
  const cells = [];
  for (const framework of FRAMEWORKS) {
    progress.group(`middleware, ${framework}`);
    const rows = await measureRates({ framework, size, progress });
    progress.step('CPU added');
    cells.push({ framework, rows, work: await measureWork(framework, size.inMemory) });
  }
  return {
    id: 'middleware',
    title: 'Middleware (memory)',
    cells,
    tables: cells.flatMap((cell) => [rateTable(cell), workTable(cell)]),
    charts: cells.map(({ framework, rows }) => ({
      type: 'bars',
      title: `${framework}: requests a second`,
      bars: rows.map(({ name, kind, perSecond }) => ({ label: name, kind, ...perSecond })),
    })),
  };
}

async function measureRates({ framework, size, progress }) {
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
    return VARIANTS.map((variant) => {
      const own = summarise(records.get(variant));
      return { ...labels(framework, variant), ...own, rateVsBare: pairedRatio(own.perSecond, bare.perSecond) };
    });
  } finally {
    await Promise.all([...servers.values()].map(({ worker }) => worker.stop()));
  }
}

/** How many parts the rounds are told in, so that a spread can be seen. */
const PARTS = 8;

/** Means, not medians: garbage is collected in one slice of many, and is part of the work. */
async function measureWork(framework, size) {
  const worker = startWorker(CPU_WORKER, { silent: true });
  try {
    const variants = [...VARIANTS, ...FLOORS];
    const records = new Map(await worker.ask({ do: 'measure', framework, variants, ...size }));
    const bare = partMeans(records.get('bare'));
    return [...records].map(([variant, own]) => {
      const parts = partMeans(own);
      const added = parts.map((micros, part) => micros - bare[part]);
      return { ...labels(framework, variant), cpuMicros: mean(parts), added: { ...summary(added), mean: mean(added) } };
    });
  } finally {
    await worker.stop();
  }
}

function partMeans(records) {
  const size = Math.floor(records.length / PARTS);
  return Array.from({ length: PARTS }, (_, part) =>
    mean(records.slice(part * size, (part + 1) * size).map(({ cpuMicros }) => cpuMicros)),
  );
}

function labels(framework, variant) {
  const name = {
    bare: `bare ${framework}`,
    sluice: `${framework} + Sluice`,
    'sluice without headers': `${framework} + Sluice, no headers`,
    peer: `${framework} + ${PEERS[framework]}`,
    nothing: `${framework} + a middleware that does nothing`,
    'two fields': `${framework} + two constant header fields`,
  }[variant];
  const kind = variant === 'bare' || FLOORS.includes(variant) ? 'floor' : variant === 'peer' ? 'peer' : 'sluice';
  return { name, kind, variant };
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

function rateTable({ framework, rows }) {
  return {
    title: framework,
    columns: ['server', 'requests/s', 'min-max', 'vs bare', 'p99 ms', 'process CPU us/request', 'min-max'],
    rows: rows.map((row) => [
      row.name,
      count(row.perSecond.median),
      spread(row.perSecond, count),
      ratio(row.rateVsBare.median),
      row.p99Ms.median.toFixed(0),
      micros(row.cpuMicros.median),
      spread(row.cpuMicros, micros),
    ]),
    notes: [
      `autocannon with ${CONNECTIONS} connections runs in the bench's own process, on the same machine; ${USERS} users, none of them limited.`,
    ],
  };
}

function workTable({ framework, work }) {
  const peer = work.find(({ variant }) => variant === 'peer').added.mean;
  return {
    title: `${framework}: CPU of a request`,
    columns: ['server', 'us/request', 'added us', 'min-max', 'vs the peer'],
    rows: work.map(({ name, cpuMicros, added }) => [
      name,
      micros(cpuMicros),
      micros(added.mean),
      spread(added, micros),
      ratio(added.mean / peer),
    ]),
    notes: [
      'All in one process, in turns, over connections in memory: parser, framework and response are real, the system calls are left out.',
    ],
  };
}
