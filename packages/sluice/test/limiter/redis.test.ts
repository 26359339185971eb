/** The same story over the memory store and over a real Redis, told by one clock: every verb says the same, to the last digit. */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../../tools/servers/index.ts';
import {
  createLimiter,
  fixedWindow,
  gcra,
  type Limiter,
  leakyBucket,
  type ManualClock,
  manualClock,
  memoryStore,
  type Policy,
  type Store,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../../src/index.ts';
import { redisStore } from '../../src/presets/ioredis.ts';
import { virtualTimers } from './support.ts';

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

const START = 1_763_280_000_123;
const POLICIES: readonly Policy[] = [
  fixedWindow({ limit: 100, window: '10s' }),
  slidingWindowLog({ limit: 100, window: '10s' }),
  slidingWindowCounter({ limit: 100, window: '10s' }),
  tokenBucket({ capacity: 100, refillRate: '7/s' }),
  leakyBucket({ capacity: 100, leakRate: 3 }),
  leakyBucket({ name: 'shaping', capacity: 100, leakRate: 7, mode: 'shaping' }),
  gcra({ limit: 30, period: '1s', capacity: 100 }),
];
const everyone = tokenBucket({ name: 'everyone', capacity: 60, refillRate: 10 });

async function story(limiter: Limiter, clock: ManualClock): Promise<unknown[]> {
  const told: unknown[] = [];
  const tell = async (answer: Promise<unknown>): Promise<void> => {
    told.push(await answer);
    clock.advance(137.5);
  };
  const first = await limiter.attempt('user:42', { cost: 40 });
  const hold = await limiter.reserve('user:42', { cost: 30 });
  const small = await limiter.reserve('user:42', { cost: 5 });
  await tell(limiter.refund('user:42', { cost: 15, of: first }));
  await tell(limiter.refund('user:42', { cost: 1 }));
  await tell(hold.commit(12));
  await tell(small.commit(90));
  await tell(limiter.penalize('user:42', { cost: 1000 }));
  await tell(limiter.block('user:42', '3s'));
  await tell(limiter.attempt('user:42'));
  await tell(limiter.unblock('user:42'));
  await tell(
    limiter.attempt([
      { key: 'user:43', cost: 50 },
      { key: 'all', cost: 50, policy: everyone },
    ]),
  );
  await tell(
    limiter.attempt([
      { key: 'user:44', cost: 50 },
      { key: 'all', cost: 50, policy: everyone },
    ]),
  );
  await tell(limiter.peek([{ key: 'user:44' }, { key: 'all', policy: everyone }]));
  await tell(limiter.acquire('user:45', { cost: 20, timeout: '1s' }));
  return told;
}

const over = (store: Store, policies: readonly Policy[]): Limiter =>
  createLimiter({ policies, store, timers: virtualTimers() });

test.each([...POLICIES.map((policy) => [policy.name, [policy]] as const), ['all of them', POLICIES] as const])(
  '%s',
  async (name, policies) => {
    const [here, there] = [manualClock(START), manualClock(START)];
    const expected = await story(over(memoryStore({ clock: here }), policies), here);
    const store = redisStore(client, { clock: there, raw: true, prefix: name });
    expect(await story(over(store, policies), there)).toEqual(expected);
    expect(expected).toHaveLength(12);
  },
);
