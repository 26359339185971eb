/** `sharded` over three Redis servers: the contract, eight processes, and what happens when one of the servers is killed. */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type RunningServer, startServer } from '../../../../tools/servers/index.ts';
import { createLimiter, tokenBucket } from '../../src/index.ts';
import { sharded } from '../../src/layers/index.ts';
import { redisStore } from '../../src/presets/ioredis.ts';
import { storeContract } from '../../src/testing/index.ts';
import { callsBy, expectInTable, major } from './support/measured.ts';
import { watchWarnings } from './support/outage.ts';
import { allowedTogether, exactly } from './support/processes.ts';

let servers: RunningServer[];
let clients: Redis[];
beforeAll(async () => {
  servers = await Promise.all(Array.from({ length: 3 }, () => startServer({ kind: 'redis' })));
  clients = servers.map(({ url }) => {
    const client = new Redis(url);
    client.on('error', () => undefined);
    return client;
  });
});
afterAll(async () => {
  for (const client of clients ?? []) client.disconnect();
  await Promise.all((servers ?? []).map((server) => server.stop()));
});

let prefixes = 0;
describe('the contract', () => {
  const contract = storeContract(({ clock }) => {
    prefixes += 1;
    return sharded(clients.map((client) => redisStore(client, { clock, raw: true, prefix: `contract-${prefixes}` })));
  });
  for (const { name, run } of contract) test(name, run);
});

test('eight processes are allowed exactly the limit', async () => {
  const spenders = Array.from({ length: 8 }, () => ({ engine: 'sharded' }));
  const env = { REDIS_URLS: servers.map(({ url }) => url).join(' ') };
  const told = await allowedTogether(spenders, env);
  expect(told).toEqual(exactly(8));
  const on = `three servers, Redis ${major(servers[0]!.version)}`;
  await expectInTable('`sharded`', { allowed: told.allowed, calls: await callsBy('sharded', env), on });
});

test('and on one server, which is the row that others are compared with', async () => {
  const env = { REDIS_URL: servers[0]!.url };
  const told = await allowedTogether(Array(8).fill({ engine: 'redis' }), env);
  expect(told).toEqual(exactly(8));
  const on = `Redis ${major(servers[0]!.version)}`;
  await expectInTable('Redis', { allowed: told.allowed, calls: await callsBy('redis', env), on });
});

test('a server that is killed takes only its share with it, and gives it back', async () => {
  const stores = clients.map((client) =>
    redisStore(client, { prefix: 'outage', denyCache: false, silence: '60s', deadline: '60s' }),
  );
  const policy = tokenBucket({ capacity: 1000, refillRate: '1/d' });
  const limiter = createLimiter({ policy, store: sharded(stores) });
  const keys = Array.from({ length: 60 }, (_, index) => `user:${index}`);
  const ask = async (): Promise<string[]> =>
    (await Promise.all(keys.map((key) => limiter.attempt(key)))).map(({ source }) => source);
  expect(new Set(await ask())).toEqual(new Set(['store']));
  const size = (await servers[1]!.command('DBSIZE')) as number;
  expect(size).toBeGreaterThan(10);

  const warnings = watchWarnings();
  const { port } = servers[1]!;
  // Busy as the machine may be, servers that run must not count as silent: what fails is what refuses connections.
  await servers[1]!.stop();
  await vi.waitUntil(async () => {
    const sources = await ask();
    return sources.includes('fallback') && sources.includes('store');
  });
  const sources = await ask();
  const away = keys.filter((_, index) => sources[index] === 'fallback');
  expect(away.length).toBeGreaterThan(10);
  expect(away.length).toBeLessThan(35);
  expect(warnings.codes.filter((code) => code === 'SLUICE_STORE_AWAY')).toHaveLength(1);

  servers[1] = await startServer({ kind: 'redis', port });
  await vi.waitUntil(async () => (await ask()).every((source) => source === 'store'), {
    timeout: 60_000,
    interval: 100,
  });
  await vi.waitUntil(() => warnings.codes.includes('SLUICE_STORE_BACK'));
  warnings.stop();
});
