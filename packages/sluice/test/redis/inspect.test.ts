/** What `inspectState` reads in Redis is the state that the TypeScript twin has after the same history, for every kind of state. */
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { numbersAlgorithm } from '../../src/algorithms/index.ts';
import { fixedWindow, gcra, manualClock, type Policy, type Store, tokenBucket } from '../../src/index.ts';
import { limitOf } from '../../src/model/policy.ts';
import { inspectState, parseStateName, type StateKind, stateName, statePattern } from '../../src/redis/index.ts';
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

/** The same state as the twin's numbers, in seconds and by their names. */
function ofTwin(policy: Policy, [first, second, third]: readonly number[]) {
  switch (policy.algorithm) {
    case 'fixed-window':
      return { windowStart: first! / 1e6, count: second };
    case 'sliding-window-counter':
      return { windowStart: first! / 1e6, current: second, previous: third };
    case 'token-bucket':
      return { spent: first, at: second! / 1e6 };
    case 'leaky-bucket':
      return policy.mode === 'shaping' ? { nextFree: (first! + second!) / 1e6 } : { level: first, at: second! / 1e6 };
    default:
      return { theoreticalArrival: (first! + second!) / 1e6 };
  }
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
      const [key, policy] = [`key ${history}`, randomPolicy(random, kind)];
      const twin = numbersAlgorithm(policy.algorithm as never);
      let now = random.whole(0, 2e15);
      let state: number[] | undefined;
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        now = Math.min(now + randomStep(random, policy, false), LATEST);
        clock.set(now / 1000);
        const cost = randomCost(random, limitOf(policy));
        await store.decide([{ key, policy, cost }]);
        const step = twin.transition(state, now, cost, policy);
        if (step.changes) state = Array.from(step.next);
        if (state === undefined) continue;
        const where = `SLUICE_SEED=${seed}, ${JSON.stringify(policy)}, attempt ${attempt}`;
        expect(await inspected(key, policy, prefix), where).toEqual({
          kind: kind.startsWith('fixed-window') ? 'fixed-window' : kind,
          blockedUntil: null,
          state: ofTwin(policy, state),
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
        await store.decide([{ key, policy, cost: randomCost(random, limitOf(policy)) }]);
        const found = await inspected(key, policy, 'log');
        const entries = found?.state != null && 'entries' in found.state ? found.state.entries : [];
        const live = await store.history(key, policy);
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
    await store.change([{ verb: 'block', key: 'fresh', policy, duration: 90e6 }]);
    expect(await look('fresh')).toMatchObject({ blockedUntil: 1_700_000_090.123, state: null });
    await store.decide([{ key: 'spent', policy, cost: 1 }]);
    const before = await look('spent');
    await store.change([{ verb: 'block', key: 'spent', policy, duration: 90e6 }]);
    expect(await look('spent')).toEqual({ ...before, blockedUntil: 1_700_000_090.123 });
    await store.change([{ verb: 'unblock', key: 'spent', policy }]);
    expect(await look('spent')).toEqual(before);
  });
});

describe('names', () => {
  const options = fc.record({ prefix: fc.constantFrom('sluice', '', 'a:b', 'odd*[x]') });
  const POLICIES: readonly [Policy, StateKind][] = [
    [gcra({ limit: 1, period: 1 }), 'gcra'],
    [tokenBucket({ name: 'my: }{ name', capacity: 1, refillRate: 1 }), 'token-bucket'],
    [fixedWindow({ name: 'f', limit: 1, window: 1 }), 'fixed-window'],
  ];

  test('are read back, whatever the key', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.constantFrom(...POLICIES), options, (key, [policy, kind], opts) => {
        expect(parseStateName(stateName(key, policy, opts), opts)).toEqual({ key, kind, policy: policy.name });
      }),
    );
    const lone = 'lone \ud800 surrogate';
    expect(parseStateName(stateName(lone, POLICIES[0]![0]))?.key).toBe(lone);
  });

  test.each(['', 'sluice', 'sluice:{a', 'sluice:{a}', 'sluice:{a}x', 'sluice:{a}t:', 'sluice:{a}tt', 'other:{a}t'])(
    '%j is none of ours',
    (name) => {
      expect(parseStateName(name)).toBeUndefined();
    },
  );

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

test.each<[StateKind, string]>([
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
