/** What `inspectState` reads in Redis is the state that the TypeScript twin has after the same history, for every kind of state. */
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import {
  createLimiter,
  fixedWindow,
  gcra,
  type HistoryEntry,
  manualClock,
  type Policy,
  type Store,
  tokenBucket,
} from '../../src/index.ts';
import { ruleOf } from '../../src/model/policy.ts';
import { Step } from '../../src/model/step.ts';
import { inspectState, parseStateName, stateName, statePattern } from '../../src/redis/index.ts';
import { STATE_READERS } from '../../src/redis/states.generated.ts';
import { change, decide } from '../support/asking.ts';
import { KINDS, LATEST, randomCost, randomFrom, randomPolicy, randomStep, testSeed } from '../support/random.ts';
import { connectedTo } from './support/connected.ts';

const { connection, servers } = connectedTo('redis');
let redis: Redis;
beforeAll(async () => {
  redis = new Redis((await servers.single()).url);
});
afterAll(() => redis.disconnect());

/** The state of a policy in Redis, read as a tool would: by its name alone. */
async function inspected(key: string, policy: Policy, prefix: string) {
  const name = stateName(key, policy, { prefix });
  const value = await redis.getBuffer(name);
  return value === null ? undefined : inspectState(parseStateName(name, { prefix })!.kind, value);
}

const HISTORIES = 12;
const ATTEMPTS = 25;

describe('after a random history', () => {
  it.each(KINDS.filter((kind) => kind !== 'sliding-window-log'))('%s', async (kind) => {
    const seed = testSeed();
    console.log(`inspect, ${kind}: SLUICE_SEED=${seed}`);
    const random = randomFrom(seed);
    const clock = manualClock();
    const prefix = `inspect ${kind}`;
    const store = connection().store({ clock, prefix });
    for (let history = 0; history < HISTORIES; history += 1) {
      const name = history % 2 === 0 ? undefined : 'named';
      const [key, policy] = [`key ${history}`, randomPolicy(random, kind, name)];
      const rule = ruleOf(policy);
      const reader = STATE_READERS.find(({ code }) => code === rule.redis!.code)!;
      const step = new Step();
      let now = random.whole(0, 2e15);
      let state: number[] | undefined;
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        now = Math.min(now + randomStep(random, policy, false), LATEST);
        clock.set(now / 1000);
        const cost = randomCost(random, ruleOf(policy).limit);
        await decide(store, [{ key, policy, cost }]);
        rule.transition(state, now, cost, step);
        if (step.writes)
          state = rule.width > 0 ? Array.from(step.next.subarray(0, rule.width)) : rule.write!(state, step);
        if (state === undefined) continue;
        const where = `SLUICE_SEED=${seed}, ${JSON.stringify(policy)}, attempt ${attempt}`;
        expect(await inspected(key, policy, prefix), where).toEqual({
          kind: /^(fixed-window|calendar-quota)/.exec(kind)?.[0] ?? kind,
          blockedUntil: null,
          state: reader.describe(state),
          times: reader.times,
        });
      }
    }
  });

  it('sliding-window-log', async () => {
    const seed = testSeed();
    console.log(`inspect, sliding-window-log: SLUICE_SEED=${seed}`);
    const random = randomFrom(seed);
    const clock = manualClock();
    const store = connection().store({ clock, prefix: 'log' });
    for (let history = 0; history < HISTORIES; history += 1) {
      const [key, policy] = [`key ${history}`, randomPolicy(random, 'sliding-window-log')];
      let now = random.whole(0, 2e15);
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        now = Math.min(now + randomStep(random, policy, false), LATEST);
        clock.set(now / 1000);
        await decide(store, [{ key, policy, cost: randomCost(random, ruleOf(policy).limit) }]);
        const found = await inspected(key, policy, 'log');
        const entries = (found?.state?.entries ?? []) as readonly HistoryEntry[];
        const live = await createLimiter({ policy, store }).history(key);
        const where = `SLUICE_SEED=${seed}, ${JSON.stringify(policy)}, attempt ${attempt}`;
        // What has left the window may still be stored, before the rest.
        expect(live.length === 0 ? [] : entries.slice(-live.length), where).toEqual(live);
      }
    }
  });
});

describe('a block', () => {
  const clock = manualClock(1_700_000_000_123);
  let store: Store;
  beforeAll(() => {
    store = connection().store({ clock, prefix: 'blocks' });
  });

  it.each(KINDS)('%s: its end, with the state inside and without', async (kind) => {
    const policy = randomPolicy(randomFrom(7), kind);
    const look = (key: string) => inspected(key, policy, 'blocks');
    await change(store, [{ verb: 'block', key: 'fresh', policy, duration: 90e6 }]);
    expect(await look('fresh')).toMatchObject({ blockedUntil: 1_700_000_090.123, state: null });
    await decide(store, [{ key: 'spent', policy, cost: 1 }]);
    const before = await look('spent');
    await change(store, [{ verb: 'block', key: 'spent', policy, duration: 90e6 }]);
    expect(await look('spent')).toEqual({ ...before, blockedUntil: 1_700_000_090.123 });
    await change(store, [{ verb: 'unblock', key: 'spent', policy }]);
    expect(await look('spent')).toEqual(before);
  });
});

describe('names', () => {
  const options = fc.record({ prefix: fc.constantFrom('sluice', '', 'a:b', 'odd*[x]') });
  const POLICIES: readonly [Policy, string][] = [
    [gcra({ limit: 1, period: 1 }), 'gcra'],
    [tokenBucket({ name: 'my: }{ name', capacity: 1, refillRate: 1 }), 'token-bucket'],
    [fixedWindow({ name: 'f', limit: 1, window: 1 }), 'fixed-window'],
  ];

  test('are read back, whatever the key', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.constantFrom(...POLICIES), options, (key, [policy, kind], opts) => {
        const named = 'name' in JSON.parse(JSON.stringify(policy));
        expect(parseStateName(stateName(key, policy, opts), opts)).toEqual({
          key,
          kind,
          policy: named ? policy.name : undefined,
          numbers: named ? undefined : ruleOf(policy).numbers,
        });
      }),
    );
    const lone = 'lone \ud800 surrogate';
    expect(parseStateName(stateName(lone, POLICIES[0]![0]))?.key).toBe(lone);
  });

  test.each([
    '',
    'sluice',
    'sluice:{a',
    'sluice:{a}',
    'sluice:{a}2',
    'sluice:{a}2x',
    'sluice:{a}2t:',
    'sluice:{a}2(x)',
    'other:{a}2t',
    'sluice:{a}t',
    'sluice:{a}t:x',
    'sluice:{a}3t',
  ])('%j is none of ours', (name) => {
    expect(parseStateName(name)).toBeUndefined();
  });

  test('a pattern finds the states of one key and no others', async () => {
    const keys = ['a', 'a*', 'ab', 'a?', 'a[b]', 'a\\', 'a^b', '{a}', 'a}'];
    const prefix = 'pattern*[x]';
    for (const key of keys) for (const [policy] of POLICIES) await redis.set(stateName(key, policy, { prefix }), '1');
    for (const key of keys) {
      const found = (await redis.scan(0, 'MATCH', statePattern(key, { prefix }), 'COUNT', 10_000))[1];
      expect(found.sort()).toEqual(POLICIES.map(([policy]) => stateName(key, policy, { prefix })).sort());
    }
  });
});

test.each<[string, string]>([
  ['fixed-window', 'hello'],
  ['fixed-window', 'm1:2:3'],
  ['sliding-window-counter', 'm1:2'],
  ['token-bucket', '5'],
  ['gcra', 'f123'],
  ['sliding-window-log', 'x'],
  ['sliding-window-log', 'x'.repeat(50)],
])('%s: %s is none of ours', (kind, value) => {
  expect(() => inspectState(kind, Buffer.from(value))).toThrow('SLUICE_UNEXPECTED_REPLY');
});
