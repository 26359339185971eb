/** What a sliding window log takes in Redis, and that a check does not depend on how much that is. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLimiter, manualClock, slidingWindowLog } from '../../src/index.ts';
import { stateName } from '../../src/redis/inspect.ts';
import { type Connection, type Servers, serversOf, TOPOLOGIES } from './support/topologies.ts';

const servers: Servers = serversOf('redis');
let connection: Connection;
beforeAll(async () => {
  connection = await TOPOLOGIES.find(({ title }) => title.startsWith('ioredis client'))!.connect(servers);
});
afterAll(async () => {
  await connection.close();
  await servers.stop();
});

/** Full to its limit, with admissions at times of their own, one unit each; the ring has gone round once. */
async function fullLog(limit: number, window: '1m' | '1h' | '1d', prefix: string) {
  const clock = manualClock(1_763_280_000_000);
  const policy = slidingWindowLog({ limit, window });
  const limiter = createLimiter({ policy, store: connection.store({ clock, prefix }) });
  const step = policy.window / limit;
  for (let filled = 0; filled < limit * 1.5; ) {
    const turn = Array.from({ length: Math.min(500, limit) }, () => {
      clock.advance(step);
      filled += 1;
      return limiter.attempt('someone');
    });
    await Promise.all(turn);
  }
  return { limiter, name: stateName('someone', policy, { prefix }) };
}

describe.each([
  [100, '1m'],
  [1000, '1m'],
  [1000, '1h'],
  [10_000, '1h'],
  [1000, '1d'],
  [70_000, '1h'],
] as const)('a log of %d units in %s', (limit, window) => {
  test('takes at most 8 bytes a unit, the key and its place in the server included', async () => {
    const prefix = `size-${limit}-${window}`;
    const { limiter, name } = await fullLog(limit, window, prefix);
    expect((await limiter.history('someone')).length).toBeGreaterThanOrEqual(limit - 1);
    const { command } = await servers.single();
    const bytes = Number(await command('MEMORY', 'USAGE', name));
    expect(bytes).toBeGreaterThan(limit);
    expect(bytes / limit).toBeLessThanOrEqual(8);
  });
});

test('a large cost is one entry, not many', async () => {
  const clock = manualClock(1_763_280_000_000);
  const policy = slidingWindowLog({ limit: 1_000_000, window: '1m' });
  const limiter = createLimiter({ policy, store: connection.store({ clock, prefix: 'cost' }) });
  for (let index = 0; index < 10; index += 1) {
    clock.advance(1);
    expect((await limiter.attempt('someone', { cost: 100_000 })).allowed).toBe(true);
  }
  expect((await limiter.attempt('someone')).allowed).toBe(false);
  const { command } = await servers.single();
  const bytes = await command('STRLEN', stateName('someone', policy, { prefix: 'cost' }));
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThan(200);
});

test('what a check reads and writes does not grow with the log', async () => {
  const commandsFor = async (limit: number): Promise<Record<string, number>> => {
    const { limiter } = await fullLog(limit, '1h', `work-${limit}`);
    const { command } = await servers.single();
    await command('CONFIG', 'RESETSTAT');
    for (let index = 0; index < 20; index += 1) await limiter.attempt('someone');
    const stats = String(await command('INFO', 'commandstats'));
    return Object.fromEntries(
      [...stats.matchAll(/cmdstat_(\w+):calls=(\d+)/g)].map(([, name, calls]) => [name!, Number(calls)]),
    );
  };
  const [small, large] = [await commandsFor(1000), await commandsFor(30_000)];
  // A galloping search takes at most two probes for each doubling of the log.
  expect(large.getrange! - small.getrange!).toBeLessThanOrEqual(20 * 2 * Math.log2(30));
  expect(large.evalsha).toBe(20);
});
