/**
 * One of several processes that spend from one key of an engine: opens the store, says so, waits for a line, spends, and prints how much it was
 * allowed. Talks by lines, which every runtime can.
 */
import process from 'node:process';
import { createInterface } from 'node:readline';
import { createLimiter, tokenBucket } from 'sluice';
import { OPEN } from './open-store.mjs';

const [engine, key, limit, attempts] = process.argv.slice(2);
// Nothing here is about how long a busy machine takes.
const { store, close } = await OPEN[engine](process.env, { silence: '120s', deadline: '120s' });
const limiter = createLimiter({ policy: tokenBucket({ capacity: Number(limit), refillRate: '1/d' }), store });
await limiter.peek(key);
console.log('ready');
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
await lines.next();
let left = Number(attempts);
const answers = [];
const spend = async () => {
  while (left > 0) {
    left -= 1;
    const { allowed, source } = await limiter.attempt(key);
    answers.push(`${allowed ? 'yes' : 'no'} by ${source}`);
  }
};
await Promise.all(Array.from({ length: 10 }, spend));
const counts = {};
for (const answer of answers) counts[answer] = (counts[answer] ?? 0) + 1;
console.log(JSON.stringify(counts));
await close();
process.exit(0);
