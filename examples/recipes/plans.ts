import { createLimiter, fixedWindow, memoryStore, tokenBucket, unlimited } from 'sluice';

const PLANS = {
  free: [
    tokenBucket({ name: 'burst', capacity: 5, refillRate: '10/m' }),
    fixedWindow({ name: 'daily', limit: 100, window: '1d' }),
  ],
  pro: [
    tokenBucket({ name: 'burst', capacity: 50, refillRate: '600/m' }),
    fixedWindow({ name: 'daily', limit: 100_000, window: '1d' }),
  ],
  enterprise: [unlimited({ name: 'burst' })],
};
type Plan = keyof typeof PLANS;

const limiter = createLimiter({
  policies: (plan: Plan) => PLANS[plan],
  store: memoryStore(), // redisStore(client) for several processes
});

const remaining = async (user: string, plan: Plan) =>
  (await limiter.attempt(user, { cost: 4, context: plan })).remaining;

console.log('free:', await remaining('user:1', 'free'));
console.log('the same user on pro:', await remaining('user:1', 'pro')); // what was spent stays spent
console.log('enterprise:', await remaining('user:2', 'enterprise')); // the store is not asked
