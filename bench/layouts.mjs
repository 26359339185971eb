/**
 * What a state costs in Redis: server CPU for a check, and memory for a key, in Sluice's layout and in the textbook's.
 * `npm run build && npm run bench:layouts`. Contenders take turns, several rounds; the numbers are medians. Server CPU comes from the
 * server's own accounting, so that the client's cost and the machine's noise stay out of it.
 */
import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { fixedWindow, gcra, leakyBucket, slidingWindowCounter, slidingWindowLog, tokenBucket } from 'sluice';
import { redisStore, runScriptWith } from 'sluice/ioredis';
import { redisStoreOver } from 'sluice/redis';
import { runnerImport } from 'vite';
import { TEXTBOOK } from './textbook/scripts.mjs';

const ROUNDS = 5;
const CHECKS = 10_000;
const IN_FLIGHT = 200;
const KEYS = 100_000;

const WINDOW = { limit: 100, window: '1h' };
const CONTENDERS = [
  ['fixed-window', fixedWindow(WINDOW), [100, 3_600_000]],
  ['fixed-window first', fixedWindow({ ...WINDOW, align: 'first' }), undefined],
  ['sliding-window-log', slidingWindowLog(WINDOW), [100, 3_600_000]],
  ['sliding-window-counter', slidingWindowCounter(WINDOW), [100, 3_600_000]],
  ['token-bucket', tokenBucket({ capacity: 100, refillRate: '100/h' }), [100, 100 / 3600]],
  ['leaky-bucket', leakyBucket({ capacity: 100, leakRate: '100/h' }), [100, 100 / 3600]],
  ['leaky-bucket shaping', leakyBucket({ capacity: 100, leakRate: '100/h', mode: 'shaping' }), undefined],
  ['gcra', gcra({ limit: 100, period: '1h', capacity: 100 }), undefined],
];

const { module: servers } = await runnerImport(new URL('../tools/servers/index.ts', import.meta.url).pathname);
const server = await servers.startServer({ kind: 'redis' });
const client = new Redis(server.port);

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

async function info(section, field) {
  const text = await client.info(section);
  return Number(new RegExp(`${field}:([0-9.]+)`).exec(text)[1]);
}

const cpuSeconds = async () => (await info('cpu', 'used_cpu_user')) + (await info('cpu', 'used_cpu_sys'));

/** Microseconds of server CPU for one check, with many in flight. */
async function cpuPerCheck(check, keyOf) {
  const before = await cpuSeconds();
  for (let done = 0; done < CHECKS; done += IN_FLIGHT) {
    await Promise.all(Array.from({ length: IN_FLIGHT }, (_, i) => check(keyOf(done + i))));
  }
  return (((await cpuSeconds()) - before) / CHECKS) * 1e6;
}

/** Server memory for one key that was checked `times` times, the key's name and TTL included. */
async function bytesPerKey(check, times = 1) {
  await client.flushall();
  const before = await info('memory', 'used_memory');
  const keys = times > 1 ? 2000 : KEYS;
  for (let round = 0; round < times; round += 1) {
    for (let done = 0; done < keys; done += IN_FLIGHT) {
      await Promise.all(Array.from({ length: IN_FLIGHT }, (_, i) => check(`user:${100_000 + done + i}`)));
    }
  }
  return ((await info('memory', 'used_memory')) - before) / keys;
}

const store = redisStore(client, { raw: true });
/** A call for each attempt, as the textbook has it: what the script itself costs. */
const unbatched = redisStoreOver(runScriptWith(client), {}, { most: 1, bySlot: false });
const deciding = (store, policy) => (key) =>
  store.ask({ verb: 'attempt', key, policy, cost: 1, and: [], dryRun: false });
const textbook = async (name, args) => {
  const source = TEXTBOOK[name];
  const sha = createHash('sha1').update(source).digest('hex');
  await client.script('LOAD', source);
  return (key) => client.evalsha(sha, 1, `rl:${key}`, 1, ...args);
};

const KEY = {
  allowed: (i) => `user:${100_000 + (i % 10_000)}`,
  denied: () => 'hot',
};

/** Contenders take turns in every round, each on an empty server that knows the scripts. */
async function cpuOf(contenders) {
  const seen = {};
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, check] of Object.entries(contenders)) {
      await client.flushall();
      for (let i = 0; i < 110; i += 1) await check('hot');
      for (const [answer, keyOf] of Object.entries(KEY)) {
        seen[`${name} ${answer}`] ??= [];
        seen[`${name} ${answer}`].push(await cpuPerCheck(check, keyOf));
      }
    }
  }
  return seen;
}

const number = (value, digits = 1) => (value === undefined || Number.isNaN(value) ? '-' : value.toFixed(digits));
const cells = (cpu, answer) => {
  const [textbook, each, together] = ['textbook', 'unbatched', 'batched'].map(
    (name) => cpu[`${name} ${answer}`] && median(cpu[`${name} ${answer}`]),
  );
  return [number(textbook), number(each), number(each / textbook, 2), number(together), number(together / textbook, 2)];
};

console.log(
  `Redis ${server.version}, ioredis, ${IN_FLIGHT} in flight, ${ROUNDS} rounds of ${CHECKS} checks, medians: us of server CPU a check, bytes a key.`,
);
console.log(
  '| state | allowed: textbook | a call each | ratio | batched | ratio | denied: textbook | a call each | ratio | batched | ratio | bytes: textbook | Sluice |',
);
console.log(`|---|${'---|'.repeat(12)}`);
for (const [title, policy, args] of CONTENDERS) {
  const contenders = {
    ...(args && { textbook: await textbook(title, args) }),
    unbatched: deciding(unbatched, policy),
    batched: deciding(store, policy),
  };
  const cpu = await cpuOf(contenders);
  const times = title === 'sliding-window-log' ? 100 : 1;
  const textbookBytes = args && (await bytesPerKey(contenders.textbook, times));
  const bytes = await bytesPerKey(contenders.batched, times);
  const row = [title, ...cells(cpu, 'allowed'), ...cells(cpu, 'denied'), number(textbookBytes, 0), number(bytes, 0)];
  console.log(`| ${row.join(' | ')} |`);
}
client.disconnect();
await server.stop();
