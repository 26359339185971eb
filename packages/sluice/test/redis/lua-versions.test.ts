/**
 * The scripts on plain Lua 5.1 and 5.4. Redis and Valkey have 5.1; Dragonfly and Garnet have 5.4, where a number has a type, `%d` refuses fractions
 * and `unpack` is gone. The whole contract and parity run on both, through the same store as on Redis.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LuaVersion, type RunningLua, startLua } from '../../../../tools/servers/index.ts';
import { createLimiter } from '../../src/index.ts';
import { redisStoreOver } from '../../src/redis/redis-store.ts';
import type { RunScript } from '../../src/redis/run-script.ts';
import { storeContract } from '../../src/testing/index.ts';
import { expectSameChanges } from '../support/changes.ts';
import { compareTwins } from '../support/parity.ts';
import { KINDS, policyOf, testSeed } from '../support/random.ts';
import { compareLargeLogs } from './support/large-logs.ts';
import { expectSamePermits } from './support/many-permits.ts';

const seed = testSeed();
const STEPS = 60_000;

describe.each(['5.1', '5.4'] satisfies LuaVersion[])('Lua %s', (version) => {
  let lua: RunningLua;
  let stores = 0;
  const run: RunScript = (script, keys, args) => lua.run(script, keys, args);
  beforeAll(async () => {
    lua = await startLua(version);
    console.log(`scripts on Lua ${version}: SLUICE_SEED=${seed}`);
  });
  afterAll(() => lua.stop());

  const contract = storeContract(({ clock }) => {
    stores += 1;
    return redisStoreOver(run, { clock, prefix: `contract ${stores}` });
  });
  for (const each of contract) test(each.name, each.run);

  test('the twins agree on attempts', async () => {
    expect(await compareTwins(run, seed, STEPS)).toEqual({ steps: STEPS, difference: undefined });
    expect(await compareLargeLogs(run, seed, 3)).toMatchObject({ difference: undefined });
  });

  test.each(KINDS)('the twins agree on changes: %s', async (kind) => {
    stores += 1;
    const prefix = `changes ${stores}`;
    expect(await expectSameChanges(kind, (clock) => redisStoreOver(run, { clock, prefix }), seed)).toBeGreaterThan(0);
  });

  test('the twins agree on many permits of one key', async () => {
    stores += 1;
    const prefix = `permits ${stores}`;
    const most = await expectSamePermits((clock) => redisStoreOver(run, { clock, prefix }), seed, 4000);
    expect(most).toBeGreaterThan(250);
  });

  /** On the host's own clock attempts of one turn share a call, which is another script. */
  test.each(KINDS)('many at the same time, of different costs: %s', async (kind) => {
    stores += 1;
    const policy = policyOf(kind, { limit: 60, window: 86_400_000, capacity: 60, rate: 60 / 86_400 });
    const limiter = createLimiter({ policy, store: redisStoreOver(run, { prefix: `many ${stores}` }) });
    const costs = Array.from({ length: 90 }, (_, index) => 1 + (index % 3));
    const answers = await Promise.all(costs.map((cost, index) => limiter.attempt(`key ${index % 2}`, { cost })));
    const spent = (key: number): number =>
      answers.reduce((sum, { allowed }, index) => sum + (allowed && index % 2 === key ? costs[index]! : 0), 0);
    expect([spent(0), spent(1)]).toEqual([60, 60]);
    const ones = await Promise.all(Array.from({ length: 50 }, () => limiter.attempt('key 2')));
    expect(ones.map(({ remaining }) => remaining)).toEqual(Array.from({ length: 50 }, (_, index) => 59 - index));
  });

  /** The host is as strict as a server of that Lua. */
  test.each([
    ['unpack', 'return unpack(KEYS)', version === '5.1'],
    ['%d of a fraction', "return string.format('%d', 1.5)", version === '5.1'],
    ['a global that is not there', 'return os', false],
    ['assigning a global', 'a = 1 return a', false],
    ['a command with a table', "return redis.call('SET', KEYS[1], {})", false],
    ['digits with a fraction', "return redis.call('SETRANGE', KEYS[1], '5.0', 'a')", false],
  ])('%s', async (_, source, isFine) => {
    const asked = run({ source, sha1: source }, ['key'], []);
    if (isFine) await asked;
    else await expect(asked).rejects.toThrow();
  });
});
