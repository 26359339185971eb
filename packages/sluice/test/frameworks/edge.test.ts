/**
 * Nothing is used that an edge runtime lacks. There, `process` is an object whose functions throw when they are called, as Next.js makes
 * it: that must neither fail the build, where limits are made as the module loads, nor a request that a warning is about.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { rateLimit } from '../../src/frameworks/fetch.ts';
import { gate } from '../../src/http/index.ts';
import { createLimiter, fixedWindow, memoryStore } from '../../src/index.ts';
import { layered, telemetry } from '../../src/layers/index.ts';
import { viewOf } from '../http/support.ts';

const unsupported = (name: string) => () => {
  throw new Error(`A Node.js API is used (process.${name}) which is not supported in the Edge Runtime.`);
};

beforeEach(() => {
  const functions = ['emitWarning', 'getBuiltinModule', 'nextTick', 'cwd', 'on'];
  vi.stubGlobal('process', {
    env: {},
    versions: undefined,
    ...Object.fromEntries(functions.map((name) => [name, unsupported(name)])),
  });
});
afterEach(() => void vi.unstubAllGlobals());

const policy = fixedWindow({ name: 'day', limit: 1, window: '1d', align: 'first' });

test('an adapter is set up, and limits', async () => {
  const handler = rateLimit({ policy, ip: () => '203.0.113.7' })(() => new Response('ok'));
  const statuses = [];
  for (let request = 0; request < 2; request++) {
    statuses.push((await handler(new Request('http://localhost/'))).status);
  }
  expect(statuses).toEqual([200, 429]);
});

test('a warning that nobody can be given is no error', async () => {
  const enter = gate({ limiter: createLimiter({ policy }) });
  const decision = await enter(viewOf({ headers: { 'x-forwarded-for': '198.51.100.9' } }));
  expect(decision).toMatchObject({ allowed: true });
});

test('an error that comes too late is no error of the request', async () => {
  const failing = { ...createLimiter({ policy }), refund: () => Promise.reject(new Error('away')) };
  const handler = rateLimit({ limiter: failing, key: () => 'ada', countOnly: () => false })(() => new Response('ok'));
  const waiting: Promise<unknown>[] = [];
  const context = { waitUntil: (work: Promise<unknown>) => void waiting.push(work) };
  expect(
    (await (handler as (...args: unknown[]) => Promise<Response>)(new Request('http://localhost/'), context)).status,
  ).toBe(200);
  await Promise.all(waiting);
});

test('telemetry does without channels', async () => {
  const onDenied = vi.fn();
  const limiter = createLimiter({ policy, store: layered(memoryStore(), telemetry({ onDenied })) });
  expect([(await limiter.attempt('ada')).allowed, (await limiter.attempt('ada')).allowed]).toEqual([true, false]);
  expect(onDenied).toHaveBeenCalledOnce();
});
