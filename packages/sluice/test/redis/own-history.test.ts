/** `history` of an algorithm of one's own: what lists admissions comes with `defineAlgorithm`, in memory and on Redis. */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../../tools/servers/index.ts';
import { defineAlgorithm } from '../../src/algorithm/index.ts';
import { SLIDING_WINDOW_LOG } from '../../src/algorithms/sliding-window-log/sliding-window-log.ts';
import { createLimiter, memoryStore, type SlidingWindowLogPolicy, tokenBucket } from '../../src/index.ts';
import type { RedisTwin } from '../../src/model/rule.ts';
import { redisStore } from '../../src/presets/ioredis.ts';

let server: RunningServer;
let client: Redis;
beforeAll(async () => {
  server = await startServer({ kind: 'redis' });
  client = new Redis(server.url);
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

/** The log as somebody else would write it: with `entries`, and nothing of what reads them. */
const ownLog = defineAlgorithm<SlidingWindowLogPolicy>({
  ...SLIDING_WINDOW_LOG,
  name: 'own-log' as 'sliding-window-log',
  rule(policy, kept) {
    const { history: _, ...parts } = SLIDING_WINDOW_LOG.rule(policy, kept);
    const { history: __, ...redis } = parts.redis as RedisTwin;
    return { ...parts, redis: { ...redis, code: '(own-log)' } };
  },
});

test.each([
  ['memory', () => memoryStore()],
  ['Redis', () => redisStore(client)],
])('in %s', async (_, make) => {
  const policies = [ownLog({ limit: 10, window: 60_000 }), tokenBucket({ capacity: 10, refillRate: 1 })];
  const limiter = createLimiter({ policies, store: make() });
  await limiter.attempt('a', { cost: 2 });
  await limiter.attempt('a', { cost: 3 });
  const entries = await limiter.history('a');
  expect(entries.reduce((sum, { cost }) => sum + cost, 0)).toBe(5);
  expect(await limiter.history('a', { limit: 1 })).toEqual(entries.slice(0, 1));
  await expect(limiter.history('a', { policy: 'token-bucket' })).rejects.toMatchObject({ code: 'SLUICE_NO_HISTORY' });
});
