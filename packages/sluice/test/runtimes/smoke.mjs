/**
 * Run by each runtime in an app with the packed tarball: every subpath loads, every store keeps its contract, Redis through each client that
 * is written in JavaScript. Prints one line of JSON that says how much was run.
 */
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { createLimiter, memoryStore, tokenBucket } from 'sluice';
import { redisStore as ioredisStore } from 'sluice/ioredis';
import { redisStore as nodeRedisStore } from 'sluice/node-redis';
import { storeContract } from 'sluice/testing';

const [url, runId, ...subpaths] = process.argv.slice(2);
for (const subpath of subpaths) await import(`sluice${subpath}`);

const nodeRedis = await createClient({ url }).connect();
const ioredis = new Redis(url);
let cases = 0;
const raw = (name, clock) => ({ clock, raw: true, prefix: `${runId}-${name}-${cases}` });
const stores = {
  memory: ({ clock }) => memoryStore({ clock }),
  'node-redis': ({ clock }) => nodeRedisStore(nodeRedis, raw('node-redis', clock)),
  ioredis: ({ clock }) => ioredisStore(ioredis, raw('ioredis', clock)),
};
for (const [name, makeStore] of Object.entries(stores)) {
  for (const { name: title, run } of storeContract(makeStore)) {
    cases += 1;
    await run().catch((error) => {
      throw new Error(`${name}: ${title}: ${error.message}`, { cause: error });
    });
  }
}

/** As a user has it: the clock of the system, all layers, a deadline. */
const policy = tokenBucket({ capacity: 3, refillRate: '1/h' });
const answers = {};
for (const [name, store] of [
  ['memory', memoryStore()],
  ['node-redis', nodeRedisStore(nodeRedis, { prefix: `${runId}-user-1`, deadline: '10s' })],
  ['ioredis', ioredisStore(ioredis, { prefix: `${runId}-user-2`, deadline: '10s' })],
]) {
  const limiter = createLimiter({ policy, store });
  answers[name] = [];
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const { allowed, source } = await limiter.attempt('user:42');
    answers[name].push(`${allowed ? 'yes' : 'no'} by ${source}`);
  }
}

await nodeRedis.close();
ioredis.disconnect();
console.log(JSON.stringify({ subpaths: subpaths.length, cases, answers }));
