import { createLimiter, tokenBucket } from 'sluice';

// In memory. To share one limit between servers, add a store:
// redisStore(client) from 'sluice/node-redis'.
const limiter = createLimiter({
  policy: tokenBucket({ capacity: 5, refillRate: 5 }),
});

const { allowed, remaining, retryAfter } = await limiter.attempt('user:42');
console.log(allowed ? `${remaining} left` : `retry in ${retryAfter} s`);
