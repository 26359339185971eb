/** Who may give hits back, what is refused aloud, and that no deny cache goes on denying. What is given back stands among the cases. */
import { status } from '@grpc/grpc-js';
import { Redis } from 'ioredis';
import { redisStore } from 'sluice/ioredis';
import { denyCache, layered } from 'sluice/layers';
import { afterEach, describe, expect, test } from 'vitest';
import { startServer } from '../../../../tools/servers/index.ts';
import { type Asked, type EnvoyService, jsonOf, startEnvoy } from './support.ts';

const YAML = 'domain: shop\ndescriptors: [{ key: user, rate_limit: { unit: day, requests_per_unit: 2 } }]';
const about = (hits: number, isNegativeHits = false): Asked => ({
  domain: 'shop',
  descriptors: [{ entries: [{ key: 'user', value: 'ann' }], hitsAddend: { value: hits }, isNegativeHits }],
});
const TOKEN = { authorization: 'Bearer secret' };

let service: EnvoyService;
afterEach(() => service.stop());

const left = async (): Promise<number> => (await service.grpc(about(0), TOKEN)).statuses[0].limitRemaining ?? 0;

describe('with a token, as for /v1/refund', () => {
  test.each(['changes', 'everything'] as const)('that protects %s: it is asked for', async (protect) => {
    service = await startEnvoy(YAML, { token: 'secret', protect });
    await service.grpc(about(2), TOKEN);
    await expect(service.grpc(about(1, true))).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
    expect((await service.post('/json', jsonOf(about(1, true)))).status).toBe(401);
    expect(await left()).toBe(0);
    await service.grpc(about(1, true), TOKEN);
    expect((await service.post('/json', jsonOf(about(1, true)), TOKEN)).status).toBe(200);
    expect(await left()).toBe(2);
  });

  test('--envoy-negative-hits allow: whoever may ask may give back, as with the reference server', async () => {
    service = await startEnvoy(YAML, { token: 'secret', settings: { negativeHits: 'allow' } });
    await service.grpc(about(2));
    await service.grpc(about(1, true));
    expect(await left()).toBe(1);
  });
});

test('--envoy-negative-hits refuse: an error, and nothing is charged or given back', async () => {
  service = await startEnvoy(YAML, { settings: { negativeHits: 'refuse' } });
  await service.grpc(about(1));
  const details = 'this server does not accept is_negative_hits (--envoy-negative-hits refuse)';
  await expect(service.grpc(about(1, true))).rejects.toMatchObject({ code: status.UNKNOWN, details });
  await expect(service.json(about(1, true))).rejects.toMatchObject({ code: 400 });
  expect(await left()).toBe(1);
});

test('JSON: true or false, and nothing else', async () => {
  service = await startEnvoy(YAML);
  const [descriptor] = about(1).descriptors;
  for (const value of ['true', 1, 'yes', {}]) {
    const body = { domain: 'shop', descriptors: [{ entries: descriptor!.entries, is_negative_hits: value }] };
    expect((await service.post('/json', body)).status, JSON.stringify(value)).toBe(400);
  }
  expect(await left()).toBe(2);
});

test('metrics count them by themselves', async () => {
  service = await startEnvoy(YAML);
  await service.grpc(about(2));
  await service.grpc(about(7, true));
  const { text } = await service.get('/metrics');
  expect(text).toContain('ratelimit_service_rate_limit_total_hits{domain="shop",key1="user"} 2\n');
  expect(text).toContain('ratelimit_service_rate_limit_total_negative_hits{domain="shop",key1="user"} 7\n');
});

test('on Redis the deny cache hears of it, over gRPC and over JSON', async () => {
  const redis = await startServer({ kind: 'redis' });
  const client = new Redis(redis.url);
  // Without a deadline: nothing is to be answered by anybody but Redis.
  const store = layered(redisStore(client, { raw: true }), denyCache());
  service = await startEnvoy(YAML, { store: () => store });
  await service.grpc(about(2));
  for (const ask of [service.grpc, service.json]) {
    for (const giveBack of [service.grpc, service.json]) {
      // Twice: the second one is remembered.
      for (let time = 0; time < 2; time++) expect((await ask(about(1))).overallCode).toBe('OVER_LIMIT');
      await giveBack(about(1, true));
      expect((await ask(about(1))).overallCode).toBe('OK');
    }
  }
  expect((await service.get('/metrics')).text).toMatch(/over_limit_with_local_cache\{.*\} 4$/m);
  client.disconnect();
  await redis.stop();
});
