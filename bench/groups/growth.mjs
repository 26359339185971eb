/**
 * How cost grows with keys, policies, cost and limit, in memory and in Redis. Only Sluice: the question is whether a curve that should
 * be flat bends. The points of a curve take turns like contenders do.
 */
import { createLimiter } from 'sluice';
import { CLIENTS } from '../contenders/clients.mjs';
import { policyOf } from '../contenders/policies.mjs';
import { startWorker } from '../measure/child.mjs';
import { closedLoop, keySequence, runAll } from '../measure/closed-loop.mjs';
import { serverCost, startRedis } from '../measure/redis-server.mjs';
import { interleave } from '../measure/rounds.mjs';
import { summarise } from '../measure/statistics.mjs';
import { count, micros, spread } from '../report/format.mjs';

const WORKER = './growth-worker.mjs';
/** So high that a cost of a thousand is allowed as often as it is asked. */
const HIGH_LIMIT = 10_000_000_000;
const LOG_LIMIT = 10_000_000;

const SIZES = {
  quick: {
    rounds: 3,
    sliceMs: 40,
    keys: { memory: [1e3, 1e4, 1e5], redis: [1e3, 1e4, 5e4] },
    policies: [1, 4, 8],
    costs: [1, 1000],
    limits: [10, 1e6],
    limitKeys: 20_000,
    algorithms: ['gcra', 'sliding-log'],
  },
  full: {
    rounds: 3,
    sliceMs: 50,
    keys: { memory: [1e3, 1e4, 1e5, 1e6], redis: [1e3, 1e4, 1e5, 1e6] },
    policies: [1, 2, 4, 8],
    costs: [1, 1000],
    limits: [10, 1e6],
    limitKeys: 20_000,
    algorithms: ['gcra', 'sliding-counter', 'sliding-log'],
  },
};

const KEYS = 1000;

/** What grows, what it should do, and the points of its curves. */
function curvesOf(size) {
  const others = { keys: KEYS, policies: 1, limit: 10_000, cost: 1 };
  const each = (values, point) => values.map((x) => ({ x, ...others, ...point(x) }));
  const highLimit = (algorithm) => (algorithm === 'sliding-log' ? LOG_LIMIT : HIGH_LIMIT);
  return [
    ...['memory', 'redis'].map((store) => ({
      by: 'keys',
      store,
      algorithm: 'gcra',
      shape: 'flat but for the cache misses of a bigger table',
      points: each(size.keys[store], (keys) => ({ keys })),
    })),
    ...['memory', 'redis'].map((store) => ({
      by: 'policies',
      store,
      algorithm: 'gcra',
      shape: 'a straight line',
      points: each(size.policies, (policies) => ({ policies })),
    })),
    ...size.algorithms.flatMap((algorithm) =>
      ['memory', 'redis'].flatMap((store) => [
        {
          by: 'cost',
          store,
          algorithm,
          shape: algorithm === 'sliding-log' ? 'may grow: it logs units' : 'flat',
          points: each(size.costs, (cost) => ({ cost, limit: highLimit(algorithm) })),
        },
        {
          by: 'limit',
          store,
          algorithm,
          shape: 'flat',
          points: each(size.limits, (limit) => ({ limit, keys: size.limitKeys })),
        },
      ]),
    ),
  ];
}

export const group = {
  title: 'How cost grows',
  about: 'how the cost of a check grows with keys, policies, cost and limit, in memory and in Redis',
  place: 95,
  async run({ quick, progress }) {
    const size = quick ? SIZES.quick : SIZES.full;
    const redis = await startRedis();
    try {
      const curves = [];
      for (const curve of curvesOf(size)) {
        progress.group(`growth by ${curve.by}, ${curve.store}, ${curve.algorithm}`);
        const measure = curve.store === 'memory' ? measureInMemory : measureInRedis;
        curves.push({ ...curve, points: await measure({ curve, size, redis, progress }) });
      }
      return { tables: tables(curves), curves };
    } finally {
      await redis.stop();
    }
  },
};

async function measureInMemory({ curve, size, progress }) {
  const workers = new Map();
  try {
    for (const point of curve.points) {
      const worker = startWorker(WORKER);
      workers.set(point, worker);
      await worker.ask({ do: 'open', algorithm: curve.algorithm, ...point });
      await worker.ask({ do: 'run', durationMs: size.sliceMs * 3 });
    }
    return await takeTurns({
      curve,
      size,
      progress,
      run: (point) => workers.get(point).ask({ do: 'run', durationMs: size.sliceMs }),
    });
  } finally {
    await Promise.all([...workers.values()].map((worker) => worker.stop()));
  }
}

/** Server CPU a check, with 64 in flight: what the client costs does not depend on any of this. */
async function measureInRedis({ curve, size, redis, progress }) {
  const connection = await CLIENTS.ioredis.connect(redis.port);
  const store = CLIENTS.ioredis.bareStore(connection);
  const checks = new Map();
  try {
    for (const [index, point] of curve.points.entries()) {
      const policies = Array.from({ length: point.policies }, (_, i) =>
        policyOf(curve.algorithm, { limit: point.limit + i, name: `p${index}-${i}` }),
      );
      const limiter = createLimiter({ policies, store });
      const check = (key) => limiter.attempt(key, { cost: point.cost });
      checks.set(point, check);
      const keyOf = (i) => `user:${100_000 + i}`;
      if (curve.by === 'keys') await runAll({ check, count: point.keys, keyOf, inFlight: 512 });
      await closedLoop({ check, nextKey: keySequence(point.keys), inFlight: 64, durationMs: size.sliceMs });
    }
    return await takeTurns({
      curve,
      size,
      progress,
      run: async (point, round) => {
        const load = { check: checks.get(point), nextKey: keySequence(point.keys, round + 1), inFlight: 64 };
        const { result, cost } = await serverCost(redis, () => closedLoop({ ...load, durationMs: size.sliceMs }));
        return { micros: cost.cpuMicros / result.checks };
      },
    });
  } finally {
    CLIENTS.ioredis.close(connection);
    await redis.flush();
  }
}

async function takeTurns({ curve, size, progress, run }) {
  const records = await interleave({
    rounds: size.rounds,
    contenders: curve.points,
    run,
    onTurn: ({ x }) => progress.step(`${curve.by} ${count(x)}`),
  });
  return curve.points.map((point) => ({ x: point.x, ...summarise(records.get(point)) }));
}

const GROWN = { keys: 'keys', policies: 'policies of an attempt', cost: 'cost of an attempt', limit: 'limit' };

function tables(curves) {
  return Object.keys(GROWN).map((by) => {
    const own = curves.filter((curve) => curve.by === by);
    return {
      title: `By ${GROWN[by]}: microseconds of CPU a check (memory: the process, awaited; redis: the server, 64 in flight)`,
      columns: ['store', 'algorithm', by, 'us', 'min-max', 'vs the first', 'should be'],
      rows: own.flatMap(({ store, algorithm, shape, points }) =>
        points.map((point) => [
          store,
          algorithm,
          count(point.x),
          micros(point.micros.median),
          spread(point.micros, micros),
          `${(point.micros.median / points[0].micros.median).toFixed(2)}x`,
          shape,
        ]),
      ),
      notes:
        by === 'limit'
          ? ['At a limit of 10 some attempts are denied and write nothing, above it none are.']
          : by === 'keys'
            ? ['Both are filled up to a million keys: ten million take minutes to fill.']
            : [],
    };
  });
}
