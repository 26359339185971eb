/**
 * What a state costs in Redis: server CPU for a check, and memory for a key, in Sluice's layout and in the textbook's.
 * `npm run build && npm run bench:layouts`. Contenders take turns, several rounds; the numbers are medians. Server CPU comes from the
 * server's own accounting, so that the client's cost and the machine's noise stay out of it.
 */
import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { fixedWindow, gcra, leakyBucket, slidingWindowCounter, slidingWindowLog, tokenBucket } from 'sluice';
import { redisStore } from 'sluice/ioredis';
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

const store = redisStore(client);
const sluice = (policy) => (key) => store.decide([{ key, policy, cost: 1 }]);
const textbook = async (name, args) => {
  const source = TEXTBOOK[name];
  const sha = createHash('sha1').update(source).digest('hex');
  await client.script('LOAD', source);
  return (key) => client.evalsha(sha, 1, `rl:${key}`, 1, ...args);
};

const rows = [];
for (const [title, policy, args] of CONTENDERS) {
  const contenders = { sluice: sluice(policy), ...(args && { textbook: await textbook(title, args) }) };
  const cpu = { sluice: { allowed: [], denied: [] }, textbook: { allowed: [], denied: [] } };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, check] of Object.entries(contenders)) {
      await client.flushall();
      if (name === 'textbook') await textbook(title, args);
      cpu[name].allowed.push(await cpuPerCheck(check, (i) => `user:${100_000 + (i % 10_000)}`));
      for (let i = 0; i < 110; i += 1) await check('hot');
      cpu[name].denied.push(await cpuPerCheck(check, () => 'hot'));
    }
  }
  const bytes = {};
  for (const [name, check] of Object.entries(contenders)) {
    await client.flushall();
    if (name === 'textbook') await textbook(title, args);
    bytes[name] = await bytesPerKey(check, title === 'sliding-window-log' ? 100 : 1);
  }
  rows.push([title, cpu, bytes]);
  process.stderr.write(`${title} done\n`);
}

const number = (value, digits = 1) => (value === undefined || Number.isNaN(value) ? '-' : value.toFixed(digits));
console.log(
  `Redis ${server.version}, ${ROUNDS} rounds of ${CHECKS} checks, medians; us of server CPU a check, bytes a key`,
);
console.log(
  '| state | allowed: Sluice | textbook | ratio | denied: Sluice | textbook | ratio | bytes: Sluice | textbook |',
);
console.log('|---|---|---|---|---|---|---|---|---|');
for (const [title, cpu, bytes] of rows) {
  const [a, ta, d, td] = [cpu.sluice.allowed, cpu.textbook.allowed, cpu.sluice.denied, cpu.textbook.denied].map(median);
  console.log(
    `| ${title} | ${number(a)} | ${number(ta)} | ${number(a / ta, 2)} | ${number(d)} | ${number(td)} | ${number(d / td, 2)} | ${number(bytes.sluice, 0)} | ${number(bytes.textbook, 0)} |`,
  );
}
client.disconnect();
await server.stop();
