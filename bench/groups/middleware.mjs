/** What a middleware adds to the work of a request, where nothing else varies; and requests a second over sockets. */
import autocannon from 'autocannon';
import { FRAMEWORKS, PEERS } from '../contenders/middleware.mjs';
import { startWorker } from '../measure/child.mjs';
import { workOf } from '../measure/middleware-work.mjs';
import { interleave } from '../measure/rounds.mjs';
import { pairedRatio, summarise } from '../measure/statistics.mjs';
import { count, micros, ratio, spread } from '../report/format.mjs';
import { atMost } from '../report/reach.mjs';

const CONNECTIONS = 32;
/** `warmUp`: before the first round, until the code of all is compiled. A cold server would tell of that alone. */
const SIZES = {
  quick: { work: { rounds: 160, requests: 100, warmUp: 4000 }, sockets: { rounds: 3, requests: 500, warmUp: 900 } },
  full: { work: { rounds: 640, requests: 100, warmUp: 10_000 }, sockets: { rounds: 12, requests: 1000, warmUp: 6000 } },
};
const DEFAULT = 'sluice';
const NO_HEADERS = 'sluice none';
const NOTHING = 'constant fields: 0';
/** Of what the peer adds, at most. */
const MOST = { express: 0.5, fastify: 0.9, hono: 0.5 };

export const group = {
  title: 'What a middleware adds to a request',
  about:
    'CPU added to a request of Express, Fastify and Hono beside express-rate-limit, @fastify/rate-limit, hono-rate-limiter',
  place: 80,
  async run({ quick, progress, against }) {
    const size = quick ? SIZES.quick : SIZES.full;
    const cells = [];
    for (const framework of FRAMEWORKS) {
      progress.group(`middleware, ${framework}: CPU of a request`);
      const variants = variantsOf(framework);
      const [work, other] = await workOf(framework, variants, size.work, against);
      progress.group(`middleware, ${framework}: over sockets`);
      cells.push({ framework, work, other, rates: await ratesOf({ framework, size: size.sockets, progress }) });
    }
    return {
      tables: cells.flatMap((cell) => [workTable(cell, against), rateTable(cell)]),
      headlines: cells.map(headlineOf),
      behind: cells.flatMap(behindOf),
      reach: cells.map(reachOf),
      beside: cells.flatMap(besideOf),
      cells,
    };
  },
};

const variantsOf = (framework) => [
  ...[NOTHING, NO_HEADERS, DEFAULT],
  ...PEERS[framework].flatMap(({ variant, like }) => [`sluice ${like}`, variant]),
];

const nameOf = (framework, variant) => {
  const peer = PEERS[framework].find((one) => one.variant === variant);
  if (peer !== undefined) return peer.name;
  const names = {
    bare: `bare ${framework}`,
    [DEFAULT]: 'Sluice, default fields',
    [NO_HEADERS]: 'Sluice, no fields',
    [NOTHING]: 'a middleware that does nothing',
  };
  return names[variant] ?? variant.replace(/^sluice (.*)$/, 'Sluice, $1');
};

const addedBy = (work, wanted) => work.find(({ variant }) => variant === wanted).added.mean;
const partOf = (work, { variant, like }) => addedBy(work, `sluice ${like}`) / addedBy(work, variant);

function workTable({ framework, work, other }, against) {
  return {
    title: `${framework}: CPU of a request`,
    columns: [
      '',
      'us/request',
      'added us',
      'min-max',
      'vs the peer with the same kind of fields',
      ...(other ? [`${against.commit}: added us`] : []),
    ],
    rows: work.map(({ variant, cpuMicros, added }) => {
      const peer = PEERS[framework].find(({ like }) => variant === `sluice ${like}`);
      return [
        ...[nameOf(framework, variant), micros(cpuMicros.mean), micros(added.mean), spread(added, micros)],
        peer === undefined ? '' : ratio(partOf(work, peer)),
        ...(other ? [micros(addedBy(other, variant))] : []),
      ];
    }),
    notes: [
      'All in one process, in turns, over connections in memory: parser, framework and response are real, the system calls are left out. The client is an address, 100 of them; none is limited.',
    ],
  };
}

async function ratesOf({ framework, size, progress }) {
  const variants = ['bare', DEFAULT, 'peer'];
  const servers = new Map();
  try {
    for (const variant of variants) {
      const worker = startWorker('./middleware-worker.mjs', { silent: true });
      servers.set(variant, { worker });
      servers.get(variant).port = await worker.ask({ do: 'listen', framework, variant });
      await fire(servers.get(variant), size.warmUp);
    }
    const records = await interleave({
      rounds: size.rounds,
      contenders: variants,
      run: (variant) => fire(servers.get(variant), size.requests),
      onTurn: (variant, round) => progress.step(`round ${round + 1}, ${variant}`),
    });
    const bare = summarise(records.get('bare'));
    return variants.map((variant) => {
      const own = summarise(records.get(variant));
      return { variant, ...own, rateVsBare: pairedRatio(own.perSecond, bare.perSecond).median };
    });
  } finally {
    await Promise.all([...servers.values()].map(({ worker }) => worker.stop()));
  }
}

async function fire({ worker, port }, amount) {
  const before = await worker.ask({ do: 'cpu' });
  const { result, elapsedMs } = await timed({
    url: `http://127.0.0.1:${port}/`,
    connections: CONNECTIONS,
    amount,
    sampleInt: 100,
  });
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`${result.non2xx} answers other than 2xx and ${result.errors} errors from port ${port}`);
  }
  const cpu = (await worker.ask({ do: 'cpu' })) - before;
  return { perSecond: (result['2xx'] / elapsedMs) * 1000, cpuMicros: cpu / result['2xx'] };
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

function rateTable({ framework, rates }) {
  return {
    title: `${framework}: over sockets`,
    columns: ['', 'requests/s', 'min-max', 'vs bare', 'process CPU us/request', 'min-max'],
    rows: rates.map((row) => [
      ...[
        nameOf(framework, row.variant),
        count(row.perSecond.median),
        spread(row.perSecond, count),
        ratio(row.rateVsBare),
      ],
      ...[micros(row.cpuMicros.median), spread(row.cpuMicros, micros)],
    ]),
    notes: [
      `autocannon with ${CONNECTIONS} connections runs in the bench's own process, on the same machine. The system calls of a request vary by more than a middleware costs.`,
    ],
  };
}

const TITLES = { express: 'Express', fastify: 'Fastify', hono: 'Hono' };

function headlineOf({ framework, work }) {
  const [peer] = PEERS[framework];
  return {
    place: 10 + FRAMEWORKS.indexOf(framework),
    what: `CPU added to a request of ${TITLES[framework]}, with header fields`,
    sluice: `${micros(addedBy(work, `sluice ${peer.like}`))} µs`,
    peer: `${micros(addedBy(work, 'peer'))} µs`,
    of: peer.name.split(',')[0],
    ratio: 1 / partOf(work, peer),
    means:
      'All that a limit in memory costs a request: who it is, the decision, the fields (the same kind as the peer writes)',
    readme: true,
  };
}

function behindOf({ framework, work }) {
  return PEERS[framework].flatMap((peer) => {
    const part = partOf(work, peer);
    if (part <= 1.03) return [];
    const why = 'it adds one to a number in a map and sets three numbers, without a window that slides';
    return [{ who: peer.name, where: `CPU added to a request of ${TITLES[framework]}`, ratio: 1 / part, why }];
  });
}

/** How many times less CPU a whole request takes than with the other commit. */
function besideOf({ framework, work, other = [] }) {
  const own = work.filter(({ variant }) => variant.startsWith('sluice'));
  return own.flatMap(({ variant, cpuMicros }) => {
    const before = other.find((one) => one.variant === variant);
    return before === undefined
      ? []
      : [[`middleware, ${framework}, ${variant}`, before.cpuMicros.mean / cpuMicros.mean]];
  });
}

function reachOf({ framework, work }) {
  const rows = PEERS[framework].map((peer) => [peer.name, partOf(work, peer)]);
  return atMost(`${framework}: CPU added, of what the peer adds with the same kind of fields`, MOST[framework], rows);
}
