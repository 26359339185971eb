/**
 * The numbers of the chooser's table, measured on the real stores: `node packages/lab/measure-algorithms.mjs`, after `npm run build`, writes
 * src/model/choose/measured.json. How much an algorithm admits is exact and a test repeats it; bytes are of the Redis and the Node that are named.
 */
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Redis } from 'ioredis';
import {
  createLimiter,
  fixedWindow,
  gcra,
  leakyBucket,
  manualClock,
  memoryStore,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from 'sluice';
import { redisStore } from 'sluice/ioredis';

export const LIMIT = 100;
export const WINDOW_MS = 60_000;
const RATE = LIMIT / (WINDOW_MS / 1e3);

/** One limit, as each algorithm says it. By the lab's names of the cards. */
export const POLICIES = {
  'fixed-window': fixedWindow({ limit: LIMIT, window: WINDOW_MS }),
  'sliding-window-log': slidingWindowLog({ limit: LIMIT, window: WINDOW_MS }),
  'sliding-window-counter': slidingWindowCounter({ limit: LIMIT, window: WINDOW_MS }),
  'token-bucket': tokenBucket({ capacity: LIMIT, refillRate: RATE }),
  'leaky-bucket-policing': leakyBucket({ capacity: LIMIT, leakRate: RATE }),
  'leaky-bucket-shaping': leakyBucket({ capacity: LIMIT, leakRate: RATE, mode: 'shaping' }),
  gcra: gcra({ limit: LIMIT, period: WINDOW_MS }),
};

/** An edge of the clock's windows, far enough from the beginning of time for one to lie before it. */
const EDGE = 10 * WINDOW_MS;
const times = (count, at) => Array.from({ length: count }, (_, index) => at(index));

/** Everything just before an edge, and just after it. */
const BOUNDARY = [...times(LIMIT, () => EDGE - 1), ...times(LIMIT, () => EDGE + 1)];
/** Three times what is allowed, evenly, for ten windows. */
const STEADY = times(30 * LIMIT, (index) => EDGE + (index * WINDOW_MS) / (3 * LIMIT));
/** Idle, then asking without end: after a burst 20 times a second for two windows. */
const greedyFrom = (start) => [...times(LIMIT, () => start), ...times(40 * 60, (index) => start + (index + 1) * 50)];
const GREEDY = times(4, (quarter) => greedyFrom(EDGE - 1 - (quarter * WINDOW_MS) / 4));

/** The most that acts within any one window, however it lies. */
export async function mostInAnyWindow(policy, moments) {
  const clock = manualClock(0);
  const limiter = createLimiter({ policy, store: memoryStore({ clock }) });
  const acts = [];
  for (const moment of moments) {
    clock.set(moment);
    const { allowed, delay } = await limiter.attempt('client');
    if (allowed) acts.push(Math.round((moment + (delay ?? 0) * 1e3) * 1e3));
  }
  let [most, first] = [0, 0];
  for (const [index, at] of acts.entries()) {
    while (acts[first] <= at - WINDOW_MS * 1e3) first += 1;
    most = Math.max(most, index - first + 1);
  }
  return most;
}

/** Exact numbers: they are the algorithms', not the machine's. */
export async function admissions(policy) {
  const boundary = await mostInAnyWindow(policy, BOUNDARY);
  const steady = await mostInAnyWindow(policy, STEADY);
  const greedy = await Promise.all(GREEDY.map((moments) => mostInAnyWindow(policy, moments)));
  return { boundary, steady, worst: Math.max(boundary, steady, ...greedy), atOnce: await actAtOnce(policy) };
}

/** How many of twice the limit may act at one instant, after a pause. */
async function actAtOnce(policy) {
  const limiter = createLimiter({ policy, store: memoryStore({ clock: manualClock(EDGE) }) });
  const results = await Promise.all(times(2 * LIMIT, () => limiter.attempt('client')));
  return results.filter(({ allowed, delay }) => allowed && delay === null).length;
}

/** Only a log grows with what it admits; the others are as large after one admission as after all. */
const roundsOf = ({ algorithm }) => (algorithm === 'sliding-window-log' ? LIMIT : 1);

/** Of a client that has used up its limit: name, value, expiry and its share of Redis' tables. */
export async function redisBytes(client, policy, count = roundsOf(policy) === 1 ? 16_000 : 2_000) {
  const clients = times(count, (index) => `client:${10_000 + index}`);
  // Redis keeps scripts too, and not by the client.
  await spend(client, policy, ['warm']);
  await client.flushall();
  const before = await usedByRedis(client);
  await spend(client, policy, clients);
  return Math.round(((await usedByRedis(client)) - before) / clients.length);
}

/** How far the admissions of a log lie apart: what an entry takes depends on it, and must not depend on how busy this machine is. */
const APART_MS = 590;

/** All that each client has, on a connection that is gone afterwards: what Redis keeps for a busy one is more than what it keeps for many clients. */
async function spend(client, policy, clients) {
  const connection = client.duplicate();
  const clock = manualClock(EDGE);
  const limiter = createLimiter({ policy, store: redisStore(connection, { raw: true, clock }) });
  const [rounds, cost] = [roundsOf(policy), LIMIT / roundsOf(policy)];
  for (let round = 0; round < rounds; round += 1) {
    await Promise.all(clients.map((key) => limiter.attempt(key, { cost })));
    clock.advance(APART_MS);
  }
  const id = await connection.client('ID');
  connection.disconnect();
  while ((await client.client('LIST', 'ID', id)) !== '');
}

async function usedByRedis(client) {
  const stats = await client.call('MEMORY', 'STATS');
  return stats[stats.indexOf('total.allocated') + 1];
}

/** Kept, so that what one leaves behind is not counted as what the next one saves. */
const limiters = [];

/** The same in the memory of this process: what it has more afterwards. */
async function memoryBytes(policy) {
  const count = roundsOf(policy) === 1 ? 200_000 : 5_000;
  const clock = manualClock(EDGE);
  const limiter = createLimiter({ policy, store: memoryStore({ clock }) });
  limiters.push(limiter);
  await limiter.attempt('warm');
  const before = usedBytes();
  for (let round = 0; round < roundsOf(policy); round += 1) {
    clock.advance(0.001);
    for (let index = 0; index < count; index += 1) await limiter.attempt(`client:${index}`);
  }
  return Math.round((usedBytes() - before) / count);
}

let collect;
function usedBytes() {
  if (collect === undefined) {
    setFlagsFromString('--expose_gc');
    collect = runInNewContext('gc');
  }
  collect();
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

async function measure() {
  const { runnerImport } = await import('vite');
  const { module } = await runnerImport(fileURLToPath(new URL('../../tools/servers/index.ts', import.meta.url)));
  const server = await module.startServer({ kind: 'redis' });
  const client = new Redis(server.url);
  const algorithms = {};
  for (const [id, policy] of Object.entries(POLICIES)) {
    algorithms[id] = {
      ...(await admissions(policy)),
      redisBytes: await redisBytes(client, policy),
      memoryBytes: await memoryBytes(policy),
    };
    console.log(id, algorithms[id]);
  }
  client.disconnect();
  await server.stop();
  return {
    limit: LIMIT,
    windowSeconds: WINDOW_MS / 1e3,
    redis: server.version,
    node: process.versions.node,
    algorithms,
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = fileURLToPath(new URL('src/model/choose/measured.json', import.meta.url));
  await writeFile(file, `${JSON.stringify(await measure(), null, 2)}\n`);
  console.log(`written to ${file}`);
}
