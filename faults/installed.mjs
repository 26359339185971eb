/**
 * What people install keeps the promise: processes with the README's lines and all defaults, half of them on each client, spend from one Redis at the
 * same moment, from a cold start, on a machine that others keep busy. Together they are allowed exactly the limit, under every algorithm.
 *
 *     node faults/installed.mjs --help
 */
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { lagDuring, now, watchLag } from './lag.mjs';

const WORKER = fileURLToPath(new URL('installed-worker.mjs', import.meta.url));
const SERVERS = fileURLToPath(new URL('../tools/servers/index.ts', import.meta.url));
export const LIMIT = 50;
const ATTEMPTS = 100;
const PROCESSES = 8;
const CLIENTS = ['ioredis', 'node-redis'];
const DAYS = 86_400_000;

/** One of each algorithm, in which nothing comes back meanwhile. Without names, as people write them first. */
export const POLICIES = [
  { algorithm: 'fixed-window', limit: LIMIT, window: 36_500 * DAYS },
  { algorithm: 'fixed-window', limit: LIMIT, window: DAYS, align: 'first' },
  { algorithm: 'sliding-window-log', limit: LIMIT, window: DAYS },
  { algorithm: 'sliding-window-counter', limit: LIMIT, window: 36_500 * DAYS },
  { algorithm: 'token-bucket', capacity: LIMIT, refillRate: '1/d' },
  { algorithm: 'leaky-bucket', capacity: LIMIT, leakRate: '1/d' },
  { algorithm: 'leaky-bucket', capacity: LIMIT, leakRate: '1/d', mode: 'shaping' },
  { algorithm: 'gcra', limit: 1, period: DAYS, capacity: LIMIT },
];

/** Processes that only burn time. */
export function keepBusy(count) {
  const script = 'for (;;) Math.sqrt(Math.random())';
  const busy = Array.from({ length: count }, () => spawn(process.execPath, ['-e', script], { stdio: 'ignore' }));
  return () => {
    for (const child of busy) child.kill('SIGKILL');
  };
}

/**
 * A cold start of all processes, and then as many rounds as there are `before` functions: each is awaited, then all spend again at the same moment.
 * Gives for each round what was allowed under each policy, and who answered.
 */
export async function runInstalled(url, before = []) {
  const workers = Array.from({ length: PROCESSES }, (_, index) => startWorker(CLIENTS[index % CLIENTS.length], url));
  try {
    const rounds = [await spendTogether(workers, 'cold start')];
    for (const [index, prepare] of before.entries()) {
      await prepare();
      rounds.push(await spendTogether(workers, `round ${index}`));
    }
    return rounds;
  } finally {
    for (const { child } of workers) child.kill('SIGKILL');
  }
}

function startWorker(client, url) {
  const child = fork(WORKER, [client, url], { execArgv: [] });
  setPriority(child.pid, 0);
  const ready = once(child, 'message');
  return { child, ready };
}

/** The way to the server goes through this process: what it is late by, the network is late by. */
const lags = watchLag();
let keys = 0;

/** At the cold start each begins as soon as it can; later all have been ready for long. */
async function spendTogether(workers, round) {
  keys += 1;
  const key = `key ${keys}`;
  const startedAt = now();
  const replies = await Promise.all(
    workers.map(async ({ child, ready }) => {
      await ready;
      const reply = once(child, 'message');
      child.send({ key, policies: POLICIES, attempts: ATTEMPTS });
      const [{ admitted, sources, error }] = await reply;
      if (error !== undefined) throw new Error(error);
      return { admitted, sources };
    }),
  );
  const admitted = POLICIES.map((_, index) => replies.reduce((sum, reply) => sum + reply.admitted[index], 0));
  const sources = {};
  for (const reply of replies) {
    for (const [source, count] of Object.entries(reply.sources)) sources[source] = (sources[source] ?? 0) + count;
  }
  return { round, admitted, sources, lateMs: lagDuring(lags, { startedAt, tookMs: now() - startedAt }) };
}

/** What is not exactly the limit, in words. */
export function inexact(rounds) {
  return rounds.flatMap(({ round, admitted, sources, lateMs }) =>
    admitted.flatMap((units, index) =>
      units === LIMIT
        ? []
        : [
            `${round}: ${units} of ${LIMIT} under ${JSON.stringify(POLICIES[index])}, by ${JSON.stringify(sources)}; the way was late by ${Math.round(lateMs)} ms`,
          ],
    ),
  );
}

const HELP = `node faults/installed.mjs [options]

${PROCESSES} processes with redisStore(client) and all defaults, half of them on ioredis and half on node-redis, ask ${ATTEMPTS} times each at the same moment under
${POLICIES.length} policies with a limit of ${LIMIT}: from a cold start on an empty server, after SCRIPT FLUSH, and once more. Each time exactly ${LIMIT} must be allowed in all.

  --runs N         cold starts for each latency (10)
  --busy N         processes that only burn time beside them (4)
  --latency LIST   milliseconds to Redis and back (0,5,60,120)
  --idle SECONDS   one more round after so long without a question (0: none)
  --help           this text

Redis and the way to it, which is this process, go ahead of all others where that is permitted: they are seldom on the same machine. A run that is not exact while this process was late by more than 150 ms in all
is not judged: then the network stood still.

A line for each count that is not ${LIMIT}, one for each latency, and exit code 1 if there was any.`;

/** The way to Redis goes through this process. If it stands still for longer than this by itself, Redis is silent for that long. */
const LATE_MS = 150;

/** The way and the server are no part of what is installed, and seldom on the same machine: they go first where that is permitted. */
function hurry(server) {
  try {
    setPriority(-10);
    setPriority(server.pid, -10);
  } catch {
    // Then it is as busy as everything else, and runs in which it was late are not judged.
  }
}

async function main() {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: '10' },
      busy: { type: 'string', default: '4' },
      latency: { type: 'string', default: '0,5,60,120' },
      idle: { type: 'string', default: '0' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return;
  }
  const { runnerImport } = await import('vite');
  const { module: servers } = await runnerImport(SERVERS);
  const stopBusy = keepBusy(Number(values.busy));
  const server = await servers.startServer({ kind: 'redis' });
  hurry(server);
  let wrong = 0;
  let notJudged = 0;
  try {
    for (const latency of values.latency.split(',').map(Number)) {
      const proxy = await servers.startProxy({ host: server.host, port: server.port });
      proxy.delay(latency / 2);
      const flush = () => server.command('SCRIPT', 'FLUSH');
      const idle = values.idle === '0' ? [] : [() => sleep(Number(values.idle) * 1000)];
      for (let run = 0; run < Number(values.runs); run += 1) {
        await server.command('FLUSHALL');
        await server.command('SCRIPT', 'FLUSH');
        const rounds = await runInstalled(`redis://${proxy.host}:${proxy.port}`, [flush, () => sleep(10), ...idle]);
        const broken = inexact(rounds);
        const isLate = rounds.some(({ lateMs }) => lateMs > LATE_MS);
        if (broken.length > 0 && isLate) notJudged += 1;
        else wrong += broken.length;
        for (const line of broken) console.log(`run ${run}, ${latency} ms: ${line}`);
        if (process.stdout.isTTY) process.stdout.write(`\r${latency} ms: ${run + 1} of ${values.runs}`);
      }
      console.log(
        `${latency} ms to Redis, ${values.busy} busy processes: ${values.runs} runs, ${wrong} inexact and ${notJudged} not judged so far`,
      );
      await proxy.stop();
    }
  } finally {
    stopBusy();
    await server.stop();
  }
  process.exitCode = wrong === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
