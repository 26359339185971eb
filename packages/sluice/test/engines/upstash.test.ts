/** `sluice/upstash`: the real client of Upstash, before a real Redis behind a front that speaks its REST API. */
import { fileURLToPath } from 'node:url';
import { Redis } from '@upstash/redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningWorker, startWorker } from '../../../../tools/runtimes/workerd.ts';
import { type RunningServer, startServer } from '../../../../tools/servers/index.ts';
import { type RunningFront, startUpstashFront } from '../../../../tools/servers/upstash-front.ts';
import { type UpstashOptions, upstashStore } from '../../src/engines/upstash/index.ts';
import { createLimiter, tokenBucket } from '../../src/index.ts';
import { storeContract } from '../../src/testing/index.ts';
import { callsBy, expectInTable, major } from './support/measured.ts';
import { expectBoundedOutage } from './support/outage.ts';
import { allowedTogether, exactly } from './support/processes.ts';

let server: RunningServer;
let front: RunningFront;
let redis: Redis;
beforeAll(async () => {
  server = await startServer({ kind: 'redis' });
  front = await startUpstashFront(server.url);
  redis = clientOf(front);
});
afterAll(async () => {
  await front?.stop();
  await server?.stop();
});

const clientOf = ({ url, token }: RunningFront, more: object = {}): Redis => new Redis({ url, token, ...more });
const PATIENT: UpstashOptions = { silence: '120s', deadline: '120s', denyCache: false };
const policy = tokenBucket({ capacity: 5, refillRate: '1/d' });
let prefixes = 0;
const newPrefix = (): string => {
  prefixes += 1;
  return `test-${prefixes}`;
};

describe('the contract', () => {
  for (const { name, run } of storeContract(({ clock }) =>
    upstashStore(redis, { clock, raw: true, prefix: newPrefix() }),
  )) {
    test(name, run);
  }
});

test.each([
  ['as it comes', {}],
  ['without base64', { responseEncoding: false }],
  ['without pipelines', { enableAutoPipelining: false }],
  ['without reading JSON', { automaticDeserialization: false }],
])('a client %s', async (_, options) => {
  const store = upstashStore(clientOf(front, options), { ...PATIENT, prefix: newPrefix() });
  const limiter = createLimiter({ policy, store });
  const results = await Promise.all(Array.from({ length: 8 }, () => limiter.attempt('key')));
  expect(results.map(({ allowed }) => allowed)).toEqual([...Array(5).fill(true), ...Array(3).fill(false)]);
  expect(results.every(({ source }) => source === 'store')).toBe(true);
});

test('eight processes are allowed exactly the limit', async () => {
  const env = { UPSTASH_REDIS_REST_URL: front.url, UPSTASH_REDIS_REST_TOKEN: front.token };
  const spenders = Array.from({ length: 8 }, () => ({ engine: 'upstash' }));
  const told = await allowedTogether(spenders, env);
  expect(told).toEqual(exactly(8));
  const on = `@upstash/redis, before Redis ${major(server.version)}`;
  await expectInTable('Upstash', { allowed: told.allowed, calls: await callsBy('upstash', env), on });
});

test('an attempt is one request, and those of one turn share it', async () => {
  const store = upstashStore(redis, { ...PATIENT, prefix: newPrefix() });
  const limiter = createLimiter({ policy, store });
  // The first one teaches the server its script.
  await limiter.attempt('key');
  const before = front.requests();
  await limiter.attempt('key');
  expect(front.requests() - before).toBe(1);
  await Promise.all(Array.from({ length: 60 }, (_, index) => limiter.attempt(`key ${index}`)));
  // The script of many attempts is another one, which the server may not know yet.
  expect(front.requests() - before).toBeLessThanOrEqual(3);
});

test('a request whose answer was lost is not sent again', async () => {
  const own = await startUpstashFront(server.url);
  const prefix = newPrefix();
  const limiter = createLimiter({ policy, store: upstashStore(clientOf(own), { raw: true, prefix }) });
  const direct = createLimiter({ policy, store: upstashStore(redis, { raw: true, prefix }) });
  await limiter.attempt('key');
  await own.stop();
  await expect(limiter.attempt('key')).rejects.toThrow(/fetch failed \(.*ECONNREFUSED/);
  const before = own.requests();
  await own.start();
  own.hang(true);
  const asked = limiter.attempt('key').catch((error: Error) => error.message);
  await expect.poll(() => own.requests()).toBe(before + 1);
  // It is carried out, and its connection is cut before the answer.
  await own.stop();
  expect(await asked).toContain('fetch failed');
  expect(own.requests()).toBe(before + 1);
  expect((await direct.peek('key')).remaining).toBeGreaterThanOrEqual(3);
});

test('what no waiting mends is said, without the command, and no fallback answers', async () => {
  const store = upstashStore(new Redis({ url: front.url, token: 'wrong' }), PATIENT);
  const error = await createLimiter({ policy, store })
    .attempt('secret-key')
    .catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'SLUICE_STORE_REFUSES', message: expect.stringContaining('WRONGPASS') });
  expect((error as Error).message).not.toMatch(/secret-key|local /);
});

test.each<[title: string, make: () => unknown, expected: object]>([
  [
    'no client',
    () => upstashStore(undefined as never),
    { code: 'SLUICE_INVALID_CLIENT', path: 'upstashStore(client)' },
  ],
  ['misspelt', () => upstashStore(redis, { fallbak: 'deny' } as never), { path: 'upstashStore.fallbak' }],
  ['wait', () => upstashStore(redis, { wait: { replicas: 1 } } as never), { path: 'upstashStore.wait' }],
  ['a layer beside raw', () => upstashStore(redis, { raw: true, warnings: false }), { path: 'upstashStore.warnings' }],
])('%s is an error where it is written', (_, make, expected) => {
  expect(make).toThrow(expect.objectContaining(expected));
});

describe('in workerd, by a worker that keeps its store', () => {
  let own: RunningFront;
  let worker: RunningWorker;
  beforeAll(async () => {
    own = await startUpstashFront(server.url);
    const entry = fileURLToPath(new URL('support/upstash-worker.mjs', import.meta.url));
    const variables = { UPSTASH_REDIS_REST_URL: own.url, UPSTASH_REDIS_REST_TOKEN: own.token };
    worker = await startWorker({ entry, variables });
  });
  afterAll(async () => {
    await worker?.stop();
    await own?.stop();
  });
  let clients = 0;
  const from = (client: string) => fetch(worker.url, { headers: { 'cf-connecting-ip': client } });

  test('requests at the same time, of which none waits for another', async () => {
    const responses = await Promise.all(Array.from({ length: 80 }, (_, index) => from(`203.0.113.${index % 4}`)));
    const statuses = responses.map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array(20).fill(200), ...Array(60).fill(429)]);
  });

  test.each([
    ['nobody answers', () => own.hang(true), () => own.hang(false)],
    ['nobody listens', () => own.stop(), () => own.start()],
  ])('an outage is bounded, and over when it is: %s', async (_title, begin, end) => {
    // Each is a client of its own, that has not spent anything.
    const told = async () => {
      clients += 1;
      return (await from(`2001:db8:0:${clients}::1`)).json();
    };
    await begin();
    expect(await told()).toMatchObject({ source: 'fallback' });
    await end();
    await expect.poll(async () => (await told()).source).toBe('store');
    expect((await told()).events.slice(-2)).toEqual(['fallback', 'recovered']);
  });
});

describe('an outage is bounded and loud, and ends by itself', () => {
  test('nobody listens', async () => {
    const own = await startUpstashFront(server.url);
    const store = upstashStore(clientOf(own), { prefix: newPrefix() });
    await expectBoundedOutage({ store, begin: () => own.stop(), end: () => own.start(), bound: 20_000 });
    await own.stop();
  });

  test('nobody answers', async () => {
    const own = await startUpstashFront(server.url);
    const store = upstashStore(clientOf(own), { prefix: newPrefix() });
    await expectBoundedOutage({ store, begin: () => own.hang(true), end: () => own.hang(false), bound: 20_000 });
    await own.stop();
  });
});
