/** Redis: rates, latencies, server CPU and wire at 1, 64 and 512 in flight through each client; then bytes a key. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { CLIENTS } from '../contenders/clients.mjs';
import { redisBenchmarkArguments } from '../contenders/floors.mjs';
import { HOT_KEY_LIMIT, MANY_KEYS_LIMIT } from '../contenders/policies.mjs';
import { BASELINE, redisContenders } from '../contenders/redis.mjs';
import { keySequence, runAll } from '../measure/closed-loop.mjs';
import { startRedis } from '../measure/redis-server.mjs';
import { closeAll, closedLoopTurn, openAll } from '../measure/redis-turn.mjs';
import { interleave } from '../measure/rounds.mjs';
import { median, pairedRatio, summarise } from '../measure/statistics.mjs';
import { count, keysText, micros, millis, ratio, spread } from '../report/format.mjs';

export const EMPTY = 'empty EVALSHA';
const MANY_KEYS = 10_000;
const IN_FLIGHT = [1, 64, 512];

const SIZES = {
  quick: { rounds: 3, sliceMs: 40, warmMs: 30, byteKeys: 10_000, benchmarkRequests: 20_000, hotInFlight: [64] },
  full: { rounds: 7, sliceMs: 120, warmMs: 120, byteKeys: 100_000, benchmarkRequests: 200_000, hotInFlight: IN_FLIGHT },
};

const QUICK_HOT = new Set(['Sluice gcra', 'Sluice fixed-window', BASELINE, EMPTY]);
const MAY_LOG = (contender) => contender.algorithm !== 'sliding-log' && contender.textbook !== 'sliding-window-log';

export async function redisScenario({ quick, progress }) {
  const size = quick ? SIZES.quick : SIZES.full;
  const redis = await startRedis();
  try {
    const cells = [];
    for (const client of Object.keys(CLIENTS)) {
      for (const keys of [MANY_KEYS, 1])
        cells.push(...(await measureKeys({ redis, client, keys, size, quick, progress })));
      await redis.flush();
    }
    const bytes = await measureBytes({ redis, size, quick, progress });
    const benchmark = await measureRedisBenchmark({ redis, size, progress });
    return {
      id: 'redis',
      title: `Redis ${redis.version}`,
      serverVersion: redis.version,
      cells,
      bytes,
      benchmark,
      tables: [...cells.flatMap(cellTables), bytesTable(bytes), benchmarkTable(benchmark)],
      charts: charts(cells, bytes),
    };
  } finally {
    await redis.stop();
  }
}

/** A log of one hot key would hold every attempt of the run: it has a scenario of its own. */
function contendersFor(keys, quick) {
  if (keys !== 1) return redisContenders;
  const batched = redisContenders.filter(({ unbatched }) => unbatched === undefined);
  return batched.filter((contender) => MAY_LOG(contender) && (!quick || QUICK_HOT.has(contender.name)));
}

async function measureKeys({ redis, client, keys, size, quick, progress }) {
  const everyone = contendersFor(keys, quick);
  const limit = keys === 1 ? HOT_KEY_LIMIT : MANY_KEYS_LIMIT;
  const opened = await openAll({ redis, client, contenders: everyone, limit });
  const cells = [];
  try {
    for (const inFlight of keys === 1 ? size.hotInFlight : IN_FLIGHT) {
      // Unbatched is what one at a time is anyway.
      const contenders = everyone.filter(({ unbatched }) => unbatched === undefined || inFlight === 64);
      progress.group(`redis, ${client}, ${inFlight} in flight, ${keysText(keys)}`);
      const turn = (contender, round, durationMs) =>
        closedLoopTurn({
          redis,
          check: opened.get(contender).check,
          nextKey: keySequence(keys, round + 1),
          inFlight,
          durationMs,
        });
      for (const contender of contenders) await turn(contender, 0, size.warmMs);
      const records = await interleave({
        rounds: size.rounds,
        contenders,
        run: (contender, round) => turn(contender, round, size.sliceMs),
        onTurn: (contender, round) => progress.step(`round ${round + 1}, ${contender.name}`),
      });
      cells.push({ client, keys, inFlight, rows: rowsOf(contenders, records) });
    }
  } finally {
    await closeAll(opened);
  }
  return cells;
}

function rowsOf(contenders, records) {
  const rows = contenders.map((contender) => ({
    name: contender.name,
    kind: contender.kind,
    algorithm: contender.algorithm,
    unbatched: contender.unbatched,
    textbook: contender.textbook,
    ...summarise(records.get(contender)),
  }));
  const baseline = rows.find(({ name }) => name === BASELINE);
  const empty = rows.find(({ name }) => name === EMPTY);
  return rows.map((row) => ({
    ...row,
    rateVsBaseline: pairedRatio(row.perSecond, baseline.perSecond),
    rateVsEmpty: pairedRatio(row.perSecond, empty.perSecond),
    p50VsEmpty: pairedRatio(row.p50Ms, empty.p50Ms),
    cpuVsBaseline: pairedRatio(row.cpuMicros, baseline.cpuMicros),
  }));
}

/** Each contender alone on an emptied server; memory does not depend on the client, so one client will do. */
async function measureBytes({ redis, size, quick, progress }) {
  progress.group(`redis, bytes a key at ${count(size.byteKeys)} keys`);
  const contenders = redisContenders.filter(
    ({ kind, name, unbatched }) =>
      unbatched === undefined && (name === BASELINE || kind === 'sluice' || (!quick && kind !== 'floor')),
  );
  const rows = [];
  for (const contender of contenders) {
    progress.step(contender.name);
    const opened = await openAll({ redis, client: 'ioredis', contenders: [contender], limit: MANY_KEYS_LIMIT });
    const { check } = opened.get(contender);
    // The first call brings the script and the connection's buffers, which are not a key's.
    await runAll({ check, count: 2000, keyOf: (index) => `user:${100_000 + index}`, inFlight: 512 });
    await redis.flush();
    const before = await redis.settledMemory();
    await runAll({ check, count: size.byteKeys, keyOf: (index) => `user:${100_000 + index}`, inFlight: 512 });
    const after = await redis.settledMemory();
    rows.push({
      name: contender.name,
      kind: contender.kind,
      algorithm: contender.algorithm,
      bytesPerKey: (after - before) / size.byteKeys,
    });
    await closeAll(opened);
    await redis.flush();
  }
  return { keys: size.byteKeys, rows };
}

async function measureRedisBenchmark({ redis, size, progress }) {
  progress.group('redis, redis-benchmark');
  const sha = String(await redis.command('SCRIPT', 'LOAD', 'return 1'));
  const rows = [];
  for (const inFlight of IN_FLIGHT) {
    const requests = inFlight === 1 ? size.benchmarkRequests / 4 : size.benchmarkRequests;
    const rates = [];
    for (let round = 0; round < 3; round += 1) {
      rates.push(await redisBenchmarkRate(redisBenchmarkArguments({ port: redis.port, sha, inFlight, requests })));
    }
    rows.push({ inFlight, perSecond: rates.every(Number.isFinite) ? median(rates) : undefined });
  }
  return rows;
}

/** Not everyone has the program; the other floors do not need it. */
async function redisBenchmarkRate(args) {
  try {
    const { stdout } = await promisify(execFile)('redis-benchmark', args);
    return Number(stdout.trim().split('\n').at(-1).split(',')[1].replaceAll('"', ''));
  } catch (error) {
    if (error.code === 'ENOENT') return Number.NaN;
    throw error;
  }
}

function cellTables({ client, keys, inFlight, rows }) {
  const where = `${client}, ${inFlight} in flight, ${keys === 1 ? 'one hot key' : `${count(keys)} keys`}`;
  return [
    {
      title: where,
      columns: [
        ...['contender', 'checks/s', 'min-max', 'vs flexible', 'vs empty', 'p50 ms', 'p99 ms', 'p99.9 ms'],
        ...[
          'server CPU us',
          'min-max',
          'CPU vs flexible',
          'script us',
          'script calls',
          'commands',
          'bytes in',
          'bytes out',
        ],
      ],
      rows: rows.map((row) => [
        row.name,
        count(row.perSecond.median),
        spread(row.perSecond, count),
        ratio(row.rateVsBaseline.median),
        ratio(row.rateVsEmpty.median),
        millis(row.p50Ms.median),
        millis(row.p99Ms.median),
        millis(row.p999Ms.median),
        micros(row.cpuMicros.median),
        spread(row.cpuMicros, micros),
        ratio(row.cpuVsBaseline.median),
        micros(row.scriptMicros.median),
        row.scriptCalls.median.toFixed(3),
        row.commands.median.toFixed(2),
        row.inputBytes.median.toFixed(0),
        row.outputBytes.median.toFixed(0),
      ]),
      notes: [
        `All numbers but checks/s and latencies are for one check. "flexible" is ${BASELINE}; "script us" is the server's own count of time inside scripts; "commands" includes what scripts call.`,
      ],
    },
  ];
}

function bytesTable({ keys, rows }) {
  const baseline = rows.find(({ name }) => name === BASELINE).bytesPerKey;
  return {
    title: `Bytes of Redis memory a key at ${count(keys)} keys (used_memory, name and TTL included)`,
    columns: ['contender', 'bytes/key', `vs ${BASELINE}`],
    rows: rows.map(({ name, bytesPerKey }) => [name, bytesPerKey.toFixed(1), ratio(bytesPerKey / baseline)]),
    notes: ['Keys are user:100000 and so on; each contender adds the prefix that it adds by default.'],
  };
}

function benchmarkTable(rows) {
  return {
    title: 'Floor: redis-benchmark, an empty EVALSHA on one connection',
    columns: ['pipelined', 'commands/s'],
    rows: rows.map(({ inFlight, perSecond }) => [
      String(inFlight),
      perSecond === undefined ? 'redis-benchmark is not installed' : count(perSecond),
    ]),
  };
}

function charts(cells, bytes) {
  return [
    ...cells
      .filter(({ keys }) => keys === MANY_KEYS)
      .flatMap(({ client, inFlight, rows }) => [
        {
          type: 'bars',
          title: `${client}, ${inFlight} in flight, 10,000 keys: checks a second`,
          bars: rows.map(({ name, kind, perSecond }) => ({ label: name, kind, ...perSecond })),
        },
        {
          type: 'bars',
          title: `${client}, ${inFlight} in flight, 10,000 keys: microseconds of server CPU a check`,
          bars: rows.map(({ name, kind, cpuMicros }) => ({ label: name, kind, ...cpuMicros })),
        },
      ]),
    {
      type: 'bars',
      title: `Bytes of Redis memory a key at ${count(bytes.keys)} keys`,
      bars: bytes.rows.map(({ name, kind, bytesPerKey }) => ({ label: name, kind, median: bytesPerKey })),
    },
  ];
}
