import { concurrency, createLimiter, leakyBucket, memoryStore } from 'sluice';

// One page every 50 ms from each site, and two at a time.
const limiter = createLimiter({
  policies: [
    leakyBucket({ name: 'pace', capacity: 100, leakRate: 20, mode: 'shaping' }),
    concurrency({ name: 'connections', limit: 2, ttl: '30s' }),
  ],
  store: memoryStore(), // redisStore(client): several crawlers are polite together
});

let [running, most] = [0, 0];
const times: number[] = [];

async function visit(url: string): Promise<void> {
  const { host } = new URL(url);
  await limiter.run(
    host,
    async () => {
      most = Math.max(most, ++running);
      times.push(performance.now());
      await new Promise((resolve) => setTimeout(resolve, 10)); // await fetch(url)
      running -= 1;
    },
    { timeout: '1m' },
  );
}

const pages = Array.from({ length: 10 }, (_, page) => `https://example.org/${page}`);
await Promise.all(pages.map(visit));
console.log(`${times.length} pages, at most ${most} at a time`);
console.log(times.at(-1)! - times[0]! > 400 ? 'over half a second' : 'too fast');
