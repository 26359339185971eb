/** The numbers that the chooser shows are those of this library: what is exact is repeated, what depends on the machine is looked at. */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../tools/servers/index.ts';
import { admissions, LIMIT, POLICIES, redisBytes, WINDOW_MS } from '../measure-algorithms.mjs';
import measured from '../src/model/choose/measured.json' with { type: 'json' };
import { KINDS } from '../src/model/kinds/index.ts';

type Id = keyof typeof POLICIES;

let server: RunningServer;
let client: Redis;
beforeAll(async () => {
  server = await startServer({ kind: 'redis' });
  client = new Redis(server.url);
});
afterAll(async () => {
  client?.disconnect();
  await server?.stop();
});

test('of every card, at the limit that is named', () => {
  expect(Object.keys(measured.algorithms).sort()).toEqual(KINDS.map(({ id }) => id).sort());
  expect([measured.limit, measured.windowSeconds]).toEqual([LIMIT, WINDOW_MS / 1e3]);
});

test.each(Object.keys(POLICIES) as Id[])('%s admits as many as the table says', async (card) => {
  const { boundary, steady, worst, atOnce } = measured.algorithms[card];
  expect(await admissions(POLICIES[card])).toEqual({ boundary, steady, worst, atOnce });
});

test.each(Object.keys(POLICIES) as Id[])('%s takes about as much of Redis as the table says', async (card) => {
  const bytes = await redisBytes(client, POLICIES[card], card === 'sliding-window-log' ? 500 : 4_000);
  expect(bytes / measured.algorithms[card].redisBytes).toBeGreaterThan(0.8);
  expect(bytes / measured.algorithms[card].redisBytes).toBeLessThan(1.25);
});
