/** Every row of the cases, over gRPC and over /json in the memory of the process, and over gRPC on a real Redis: the answers are the same. */
import { Redis } from 'ioredis';
import { type ManualClock, memoryStore, type Store } from 'sluice';
import { redisStore } from 'sluice/ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../../tools/servers/index.ts';
import { answerText, askedOf, CASES } from './cases.ts';
import { START, startEnvoy } from './support.ts';

let redis: RunningServer;
let client: Redis;
beforeAll(async () => {
  redis = await startServer({ kind: 'redis' });
  client = new Redis(redis.url);
});
afterAll(async () => {
  client.disconnect();
  await redis.stop();
});

let runs = 0;
const STORES: Readonly<Record<'memory' | 'Redis', (clock: ManualClock) => Store>> = {
  memory: (clock) => memoryStore({ clock }),
  Redis: (clock) => redisStore(client, { clock, raw: true, prefix: `envoy${runs++}` }),
};

const WAYS = [
  ['memory', 'grpc'],
  ['memory', 'json'],
  ['Redis', 'grpc'],
] as const;

describe.each(WAYS)('in %s over %s', (kind, transport) => {
  test.each(CASES)('$why', async ({ yaml, settings = {}, steps }) => {
    const service = await startEnvoy(yaml, { settings, store: STORES[kind] });
    for (const step of steps) {
      if (step.at !== undefined) service.clock.set(START + step.at * 1e3);
      for (let time = 0; time < (step.times ?? 1); time++) {
        const answer = await service[transport](askedOf(step));
        expect(answerText(answer), JSON.stringify(step)).toBe(step.expect);
      }
    }
    await service.stop();
  });
});
