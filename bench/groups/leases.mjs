/**
 * Answering without asking: one hot key on ioredis with 64 awaited attempts in flight, with leases while it is allowed and with the deny
 * cache while it is denied; and what each layer costs when it has nothing to do, around the memory store.
 */
import { createLimiter, memoryStore } from 'sluice';
import { redisStore } from 'sluice/ioredis';
import { circuitBreaker, deadline, denyCache, fallback, layered, leases, shadow, telemetry } from 'sluice/layers';
import { HOT_KEY_LIMIT, policyOf } from '../contenders/policies.mjs';
import { BASELINE, redisContender } from '../contenders/redis.mjs';
import { keySequence } from '../measure/closed-loop.mjs';
import { startRedis } from '../measure/redis-server.mjs';
import { closeAll, closedLoopTurn, openAll } from '../measure/redis-turn.mjs';
import { interleave } from '../measure/rounds.mjs';
import { pairedRatio, summarise } from '../measure/statistics.mjs';
import { count, millis, ratio } from '../report/format.mjs';

const IN_FLIGHT = 64;
const SIZES = {
  quick: { rounds: 3, sliceMs: 100, warmMs: 100, idleRounds: 25 },
  full: { rounds: 5, sliceMs: 200, warmMs: 200, idleRounds: 25 },
};

/** Each with a state of its own, so that none finds what another has spent. */
function sluice(what, algorithm, ...layers) {
  const name = `Sluice ${algorithm}${what === '' ? '' : `, ${what}`}`;
  return {
    name,
    kind: 'sluice',
    open({ connection, limit }) {
      const store = layered(redisStore(connection, { raw: true }), ...layers.map((layer) => layer()));
      const limiter = createLimiter({ policy: policyOf(algorithm, { limit, name }), store });
      return (key) => limiter.attempt(key);
    },
  };
}

const flexible = redisContender(BASELINE);
const CELLS = [
  {
    outcome: 'allowed',
    limit: HOT_KEY_LIMIT,
    contenders: [
      ...['fixed-window', 'token-bucket', 'gcra'].flatMap((algorithm) => [
        sluice('', algorithm),
        sluice('leases', algorithm, leases),
      ]),
      flexible,
    ],
  },
  {
    outcome: 'denied',
    limit: 1,
    contenders: [
      ...['fixed-window', 'token-bucket'].flatMap((algorithm) => [
        sluice('', algorithm),
        sluice('deny cache', algorithm, denyCache),
      ]),
      flexible,
    ],
  },
];

export const group = {
  title: 'Answering without asking',
  about: 'leases and the deny cache on one hot key, and what each layer costs when it has nothing to do',
  place: 96,
  async run({ quick, progress }) {
    const size = quick ? SIZES.quick : SIZES.full;
    const redis = await startRedis();
    try {
      const cells = [];
      for (const cell of CELLS) cells.push(await measureCell({ redis, cell, size, progress }));
      const idle = await measureIdle({ size, progress });
      return { tables: [...cells.map(cellTable), idleTable(idle)], cells, idle };
    } finally {
      await redis.stop();
    }
  },
};

async function measureCell({ redis, cell: { outcome, limit, contenders }, size, progress }) {
  progress.group(`leases, ${outcome}`);
  await redis.flush();
  const opened = await openAll({ redis, client: 'ioredis', contenders, limit });
  try {
    const turn = (contender, durationMs) =>
      closedLoopTurn({
        redis,
        check: opened.get(contender).check,
        nextKey: keySequence(1),
        inFlight: IN_FLIGHT,
        durationMs,
      });
    for (const contender of contenders) await turn(contender, size.warmMs);
    const records = await interleave({
      rounds: size.rounds,
      contenders,
      run: (contender) => turn(contender, size.sliceMs),
      onTurn: (contender, round) => progress.step(`round ${round + 1}, ${contender.name}`),
    });
    const rows = contenders.map(({ name, kind }, at) => ({ name, kind, ...summarise(records.get(contenders[at])) }));
    const baseline = rows.find(({ name }) => name === BASELINE);
    return {
      outcome,
      rows: rows.map((row) => ({ ...row, rateVsBaseline: pairedRatio(row.perSecond, baseline.perSecond) })),
    };
  } finally {
    await closeAll(opened);
  }
}

function cellTable({ outcome, rows }) {
  return {
    title: `One hot key, all ${outcome}, ioredis, ${IN_FLIGHT} awaited in flight`,
    columns: ['contender', 'checks/s', 'vs flexible', 'script calls per 1,000', 'p50 ms', 'p99 ms'],
    rows: rows.map((row) => [
      row.name,
      count(row.perSecond.median),
      ratio(row.rateVsBaseline.median),
      (row.scriptCalls.median * 1000).toFixed(2),
      millis(row.p50Ms.median),
      millis(row.p99Ms.median),
    ]),
    notes: [`"flexible" is ${BASELINE}, in the same run.`],
  };
}

const NO_LAYER = 'no layer';
const IDLE = {
  [NO_LAYER]: (inner) => inner,
  deadline: deadline(),
  circuitBreaker: circuitBreaker(),
  fallback: fallback({ to: 'deny' }),
  denyCache: denyCache(),
  leases: leases(),
  shadow: shadow({ policies: ['another'] }),
  telemetry: telemetry(),
};
const IDLE_CHECKS = 20_000;

/** Awaited attempts on the memory store, in CPU time. The least of all rounds counts: what is measured is small, and the machine only adds. */
async function measureIdle({ size, progress }) {
  progress.group('leases, idle layers');
  // The engine compiles for the first limiter of a process alone, and it stays 5 to 10 % faster than any other, with layers or without.
  await nanosPerCheck(memoryLimiter(IDLE[NO_LAYER]));
  const contenders = Object.keys(IDLE).map((name) => ({ name, limiter: memoryLimiter(IDLE[name]) }));
  const records = await interleave({
    rounds: size.idleRounds,
    contenders,
    run: ({ limiter }) => nanosPerCheck(limiter),
    onTurn: ({ name }, round) => progress.step(`round ${round + 1}, ${name}`),
  });
  const rows = contenders.map((contender) => ({ name: contender.name, nanos: Math.min(...records.get(contender)) }));
  return rows.map((row) => ({ ...row, vsNone: row.nanos / rows[0].nanos }));
}

function memoryLimiter(layer) {
  const policy = policyOf('token-bucket', { limit: HOT_KEY_LIMIT });
  return createLimiter({ policy, store: layered(memoryStore(), layer) });
}

async function nanosPerCheck(limiter) {
  const nextKey = keySequence(10_000);
  const before = process.cpuUsage();
  for (let check = 0; check < IDLE_CHECKS; check += 1) await limiter.attempt(nextKey());
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1e3) / IDLE_CHECKS;
}

function idleTable(rows) {
  return {
    title: 'A layer with nothing to do around the memory store, awaited attempts on 10,000 keys',
    columns: ['layer', 'ns of CPU a check', `vs ${NO_LAYER}`],
    rows: rows.map(({ name, nanos, vsNone }) => [name, nanos.toFixed(0), ratio(vsNone)]),
  };
}
