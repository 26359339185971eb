/** `sluice inspect` on real servers: every kind of state, decoded, as a table and as JSON. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../tools/servers/index.ts';
import { run } from './run.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-inspect-'));
const config = join(folder, 'policies.yaml');
writeFileSync(
  config,
  `policies:
  fixed: { algorithm: fixed-window, limit: 10, window: 36500d }
  log: { algorithm: sliding-window-log, limit: 10, window: 1d }
  counter: { algorithm: sliding-window-counter, limit: 10, window: 36500d }
  tokens: { algorithm: token-bucket, capacity: 10, refillRate: 1/d }
  policing: { algorithm: leaky-bucket, capacity: 10, leakRate: 1/d }
  shaping: { algorithm: leaky-bucket, capacity: 10, leakRate: 1/d, mode: shaping }
  gcra: { algorithm: gcra, limit: 10, period: 10d }
`,
);
const NAMES = ['fixed', 'log', 'counter', 'tokens', 'policing', 'shaping', 'gcra'];

let redis: RunningServer;
let client: Redis;
beforeAll(async () => {
  redis = await startServer({ kind: 'redis' });
  client = new Redis(redis.url);
});
afterAll(async () => {
  client.disconnect();
  await redis.stop();
  rmSync(folder, { recursive: true });
});

const at = (...args: string[]) => run([...args, '--redis', redis.url]);
const spend = async (key: string, ...more: string[]): Promise<void> => {
  const policies = NAMES.flatMap((name) => ['--policy', name]);
  expect(await at('attempt', key, ...policies, '--cost', '3', '--config', config, ...more)).toMatchObject({ code: 0 });
};

/** Of what it says the parts that do not depend on the moment. */
const STATES: Readonly<Record<string, object>> = {
  fixed: { kind: 'fixed-window', state: { windowStart: 0, count: 3 } },
  log: { kind: 'sliding-window-log', state: { entries: [{ at: expect.any(Number), cost: 3 }] } },
  counter: { kind: 'sliding-window-counter', state: { windowStart: 0, current: 3, previous: 0 } },
  tokens: { kind: 'token-bucket', state: { spent: 3, at: expect.any(Number) } },
  policing: { kind: 'leaky-bucket policing', state: { level: 3, at: expect.any(Number) } },
  shaping: { kind: 'leaky-bucket shaping', state: { nextFree: expect.any(Number) } },
  gcra: { kind: 'gcra', state: { theoreticalArrival: expect.any(Number) } },
};

describe('every kind of state', () => {
  beforeAll(() => spend('ann'));

  test('as JSON, with expiry, memory and the value itself', async () => {
    const { code, out } = await at('inspect', 'ann', '--json');
    const { key, at: now, states } = JSON.parse(out);
    expect([code, key]).toEqual([0, 'ann']);
    expect(states.map(({ policy }: { policy: string }) => policy).sort()).toEqual([...NAMES].sort());
    for (const { policy, name, ttlMs, memoryBytes, value, ...rest } of states) {
      expect(rest).toEqual({ ...STATES[policy], blockedUntil: null, left: null });
      expect(Buffer.from(value, 'base64')).toEqual(await client.getBuffer(name));
      expect(Math.abs(ttlMs - (await client.pttl(name)))).toBeLessThan(60_000);
      expect(memoryBytes).toBe(Number(await client.call('MEMORY', 'USAGE', name)));
    }
    const of = (policy: string) => states.find((state: { policy: string }) => state.policy === policy).state;
    for (const moment of [of('log').entries[0].at, of('tokens').at, of('policing').at]) {
      expect(moment).toBeLessThanOrEqual(now);
      expect(moment).toBeGreaterThan(now - 60);
    }
    for (const moment of [of('shaping').nextFree, of('gcra').theoreticalArrival]) {
      expect(moment).toBeGreaterThan(now + 3 * 86_400 - 60);
      expect(moment).toBeLessThanOrEqual(now + 3 * 86_400);
    }
  });

  test('as a table, with what is left where the policy is known', async () => {
    const { code, out } = await at('inspect', 'ann', '--config', config);
    expect(code).toBe(0);
    for (const line of [
      /^POLICY +KIND +STATE +LEFT +BLOCKED +EXPIRES +BYTES +VALUE$/,
      /^fixed +fixed-window +window start \d+ d \d+ h ago, count 3 +7 of 10 +no +in [\dsdhmin ]+ +\d+ +3$/,
      /^log +sliding-window-log +3 units in 1 entry, newest [\d.]+ s ago +7 of 10 +no /,
      /^counter +sliding-window-counter +window start \d+ d \d+ h ago, current 3, previous 0 +7 of 10 /,
      /^tokens +token-bucket +spent 3, at [\d.]+ s ago +7 of 10 /,
      /^policing +leaky-bucket policing +level 3, at [\d.]+ s ago +7 of 10 /,
      /^shaping +leaky-bucket shaping +next free in (?:3 d|2 d \d+ h) +7 of 10 /,
      /^gcra +gcra +theoretical arrival in (?:3 d|2 d \d+ h) +7 of 10 /,
    ])
      expect(out).toMatch(new RegExp(line.source, 'm'));
    expect(out.trim().split('\n')).toHaveLength(8);
  });

  test('only some policies, by name', async () => {
    for (const more of [[], ['--config', config]]) {
      const { out } = await at('inspect', 'ann', '--policy', 'log', '--policy', 'gcra', '--json', ...more);
      expect(
        JSON.parse(out)
          .states.map(({ policy }: { policy: string }) => policy)
          .sort(),
      ).toEqual(['gcra', 'log']);
    }
  });
});

test('a block, with a state and without', async () => {
  await at('attempt', 'eve', '--policy', 'tokens', '--cost', '2', '--config', config);
  await at('block', 'eve', '--policy', 'tokens', '--policy', 'log', '--for', '1h', '--config', config);
  const { out } = await at('inspect', 'eve', '--json');
  const { at: now, states } = JSON.parse(out);
  expect(states).toMatchObject([
    { policy: 'log', state: null },
    { policy: 'tokens', state: { spent: 2 } },
  ]);
  for (const { blockedUntil } of states) expect(Math.abs(blockedUntil - now - 3600)).toBeLessThan(60);
  expect((await at('inspect', 'eve')).out).toMatch(/^log .* nothing spent .* in (?:1 h|59 min \d+ s) /m);
});

test('nothing, and keys that only look alike', async () => {
  await spend('a*');
  expect(await at('inspect', 'a')).toEqual({ code: 1, out: 'a: no state, so nothing is spent\n', error: '' });
  expect(JSON.parse((await at('inspect', 'a*', '--json')).out).states).toHaveLength(7);
});

test('hashed keys, and another prefix', async () => {
  await spend('bob', '--hash-keys', '--prefix', 'mine');
  const states = async (...more: string[]) => JSON.parse((await at('inspect', 'bob', '--json', ...more)).out).states;
  expect(await states('--hash-keys', '--prefix', 'mine')).toHaveLength(7);
  expect(await states('--prefix', 'mine')).toEqual([]);
  expect(await client.keys('mine:*bob*')).toEqual([]);
});

test('what is none of ours is said to be', async () => {
  await client.set('sluice:{odd}2t', 'hello', 'PX', 60_000);
  await client.set('sluice:{odd}2z', 'hello');
  const { out } = await at('inspect', 'odd');
  expect(out).toMatch(/^\(without a name\) +token-bucket +not a state of this version .* hello$/m);
  expect(out.trim().split('\n')).toHaveLength(2);
});
