/** Bodies, paths and headers nobody thought of: an answer or a 4xx, never a 5xx, and a service that still runs. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROUTES } from '../src/service/routes.ts';
import { type RunningService, startService } from './support.ts';

let running: RunningService;
beforeAll(async () => {
  running = await startService();
});
afterAll(() => running.stop());

const path = fc.constantFrom(...ROUTES.map(({ path }) => path.replace(':policy', 'api')));
const algorithm = fc.constantFrom(
  ...['fixed-window', 'sliding-window-log', 'sliding-window-counter', 'token-bucket', 'leaky-bucket', 'gcra'],
);
const anything = fc.jsonValue({ maxDepth: 2 });
const number = fc.oneof(fc.nat(), fc.double(), fc.constantFrom('1s', '1/s', '1d', Number.MAX_SAFE_INTEGER), anything);
const policy = fc.record(
  { algorithm, limit: number, capacity: number, window: number, period: number, refillRate: number, leakRate: number },
  { requiredKeys: ['algorithm'] },
);
const named = fc.oneof(fc.constantFrom('api', 'daily', 'trial'), policy, anything);
const almostRight = fc.record(
  {
    key: fc.oneof(fc.string(), anything),
    policy: named,
    policies: fc.oneof(fc.array(named, { maxLength: 3 }), anything),
    cost: fc.oneof(fc.nat(20), anything),
    plan: fc.oneof(fc.constant('pro'), anything),
    duration: fc.oneof(fc.constantFrom('1s', '5d', 10), anything),
    ttl: anything,
    hold: anything,
    actual: anything,
    of: fc.oneof(fc.record({ allowed: fc.boolean(), decisions: fc.array(anything) }), anything),
  },
  { requiredKeys: ['key'] },
);
const body = fc.oneof(
  { weight: 6, arbitrary: almostRight.map((value) => JSON.stringify(value)) },
  { weight: 2, arbitrary: fc.array(almostRight, { maxLength: 4 }).map((value) => JSON.stringify(value)) },
  { weight: 1, arbitrary: fc.json() },
  { weight: 1, arbitrary: fc.string() },
);
const query = fc.option(
  fc.webQueryParameters().map((text) => `?${text}`),
  { nil: '?key=a' },
);

test('POST with any body', async () => {
  await fc.assert(
    fc.asyncProperty(path, query, body, async (path, query, body) => {
      const { status } = await running.post(path + query, body);
      expect(status).toBeLessThan(500);
    }),
    { numRuns: 1500 },
  );
  expect(running.logs).toEqual([]);
});

test('GET anything', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(path, fc.webPath()), query, async (path, query) => {
      const { status } = await running.get(`/${path.replace(/^\/+/, '')}${query}`, { 'x-forwarded-uri': path });
      expect(status).toBeLessThan(500);
    }),
    { numRuns: 300 },
  );
  expect(running.logs).toEqual([]);
});
