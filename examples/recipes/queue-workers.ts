import { createLimiter, memoryStore, slidingWindowLog } from 'sluice';

// A provider takes 20 messages in any 200 ms, from all workers together.
const limiter = createLimiter({
  policy: slidingWindowLog({ limit: 20, window: '200ms' }),
  store: memoryStore(), // redisStore(client): one limit for the workers of all machines
});

const jobs = Array.from({ length: 60 }, (_, id) => id);
const sentAt: number[] = [];
const start = performance.now();

async function worker(): Promise<void> {
  for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
    await limiter.acquire('provider', { timeout: '30s' }); // waits for its turn
    sentAt.push(performance.now() - start);
  }
}
await Promise.all([worker(), worker(), worker(), worker()]);

console.log(`${sentAt.length} sent by 4 workers`);
console.log(sentAt.at(-1)! >= 400 ? 'in three windows or more' : 'too fast');
