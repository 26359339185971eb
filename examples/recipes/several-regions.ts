import { createLimiter, memoryStore, slidingWindowCounter } from 'sluice';

/** In production each region has a Redis of its own: redisStore(clientOf(region)). */
const REGIONS = { eu: memoryStore(), us: memoryStore(), asia: memoryStore() };
type Region = keyof typeof REGIONS;

const LIMIT = 90;

// A share for each region: no call leaves it, and all of them together keep the limit.
const shares: Record<Region, number> = { eu: 0.5, us: 0.3, asia: 0.2 };
const limiters = Object.fromEntries(
  Object.entries(REGIONS).map(([region, store]) => {
    const limit = Math.floor(LIMIT * shares[region as Region]);
    return [region, createLimiter({ policy: slidingWindowCounter({ name: 'api', limit, window: '1m' }), store })];
  }),
);

for (const region of Object.keys(REGIONS)) {
  let allowed = 0;
  for (let time = 0; time < 100; time++) if ((await limiters[region]!.attempt('user:42')).allowed) allowed += 1;
  console.log(region, allowed);
}
