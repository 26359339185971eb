import { createLimiter, memoryStore, slidingWindowCounter } from 'sluice';

const tenant = slidingWindowCounter({ name: 'tenant', limit: 3, window: '1m' });
const everyone = slidingWindowCounter({ name: 'everyone', limit: 5, window: '1m' });
const limiter = createLimiter({
  policy: tenant,
  store: memoryStore(), // redisStore(client) for several processes
});

/** Spends from both limits or from neither, in one call to the store. */
const attempt = (id: string) =>
  limiter.attempt([
    { key: `tenant:${id}` }, // under the limiter's own policy
    { key: 'everyone', policy: everyone },
  ]);

for (const id of ['acme', 'acme', 'acme', 'acme', 'globex', 'globex', 'initech']) {
  const { allowed, policy } = await attempt(id);
  console.log(id, allowed ? 'allowed' : `denied by ${policy}`);
}
