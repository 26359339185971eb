/** Who answers in the place of Redis: one for all, and in time for those who do not wait long. */
import { Redis } from 'ioredis';
import { createLimiter, fixedWindow, type Store } from 'sluice';
import { redisStore } from 'sluice/ioredis';
import { expect, test } from 'vitest';
import { startServer } from '../../../tools/servers/index.ts';
import { jsonLog } from '../src/service/log.ts';
import { Metrics } from '../src/service/metrics.ts';
import { cachedTogether, openStore } from '../src/service/open-store.ts';

const log = jsonLog(() => {});
const attempt = (store: Store) =>
  createLimiter({ policy: fixedWindow({ limit: 1, window: '1d', align: 'first' }), store }).attempt('ann');

test('while Redis is away a limit holds once for callers in a hurry and all others', async () => {
  const { store, hurried, close } = await openStore({ redis: 'redis://127.0.0.1:1' }, new Metrics(), log);
  expect(hurried).not.toBe(store);
  expect(await attempt(store)).toMatchObject({ allowed: true, source: 'fallback' });
  expect(await attempt(hurried!)).toMatchObject({ allowed: false, source: 'fallback' });
  await close();
});

test('a Redis that hangs: those in a hurry have their answer first', async () => {
  const redis = await startServer({ kind: 'redis' });
  const { store, hurried, close } = await openStore({ redis: redis.url }, new Metrics(), log);
  redis.process.kill('SIGSTOP');
  const order: string[] = [];
  const patient = attempt(store).then(({ source }) => order.push(`patient by ${source}`));
  const soon = attempt(hurried!).then(({ source }) => order.push(`in a hurry by ${source}`));
  await Promise.all([patient, soon]);
  expect(order).toEqual(['in a hurry by fallback', 'patient by fallback']);
  await close();
  await redis.stop();
});

test('one deadline that is given is for all', async () => {
  const { store, hurried, close } = await openStore(
    { redis: 'redis://127.0.0.1:1', deadline: '1s' },
    new Metrics(),
    log,
  );
  expect(hurried).toBe(store);
  await close();
});

test('what is given back by one way is no longer denied by the other', async () => {
  const redis = await startServer({ kind: 'redis' });
  const client = new Redis(redis.url);
  const bare = () => redisStore(client, { raw: true });
  const { store, hurried } = cachedTogether(bare(), bare());
  const policy = fixedWindow({ limit: 1, window: '1d', align: 'first' });
  const limiters = [store, hurried].map((each) => createLimiter({ policy, store: each }));
  await limiters[0]!.attempt('ann');
  for (const one of limiters) {
    for (const other of limiters) {
      const sources = [await one.attempt('ann'), await one.attempt('ann')].map(({ source }) => source);
      expect(sources).toEqual(['store', 'deny-cache']);
      await other.refund('ann');
      expect(await one.attempt('ann')).toMatchObject({ allowed: true, source: 'store' });
    }
  }
  client.disconnect();
  await redis.stop();
});
