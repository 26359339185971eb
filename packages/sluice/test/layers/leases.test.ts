/**
 * Leases, one rule at a time. That they are strict whatever happens is shown by the simulation; here it is what they promise besides:
 * who is asked when, what is told, and what becomes of what is held.
 */
import { describe, expect, test } from 'vitest';
import {
  fixedWindow,
  gcra,
  leakyBucket,
  type ManualClock,
  manualClock,
  memoryStore,
  type Policy,
  type Store,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../../src/index.ts';
import { fallback, type LeaseOptions, layered, leases } from '../../src/layers/index.ts';
import { SMALLEST_LEASED_LIMIT, termsOf } from '../../src/layers/leases/terms.ts';
import { ruleOf } from '../../src/model/policy.ts';
import { attemptOf, type Change, type Check, checksOf } from '../../src/model/store.ts';
import { storeContract } from '../../src/testing/index.ts';
import { policyOf } from '../support/random.ts';
import { change, check, counting, decide, forget, history, puppet, type Seen, waitedFor } from './support.ts';

const START_MS = 1_763_280_000_000;
const hourly = fixedWindow({ limit: 100_000, window: '1h' });
const bucket = tokenBucket({ capacity: 10_000, refillRate: 1000 });

function costsOf(checks: readonly Check[]): string {
  return checks.map(({ cost }) => cost).join('+');
}

function wordsOf(each: Change): string {
  return `${each.verb} ${'cost' in each ? each.cost : ''}`.trim();
}

/** A store with leases that writes down what reaches the store inside. */
function around(options: LeaseOptions = {}, wrap: (store: Store) => Store = waitedFor) {
  const clock = manualClock(START_MS);
  const asked: string[] = [];
  const bare = memoryStore({ clock });
  const noted: Store = {
    ask(question) {
      if (question.verb === 'attempt') {
        asked.push(`${question.dryRun ? 'look' : 'spend'} ${costsOf(checksOf(question))}`);
      }
      if (question.verb === 'change') asked.push(question.changes.map(wordsOf).join(', '));
      return bare.ask(question);
    },
  };
  const store = leases({ ttl: 100, nodes: 1, clock, ...options })(wrap(noted));
  return { clock, asked, bare, store };
}

/** Attempts of cost 1, a millisecond apart: 1,000 a second. */
async function attempts(store: Store, clock: ManualClock, count: number, policy: Policy = hourly): Promise<Seen[]> {
  const told: Seen[] = [];
  for (let attempt = 0; attempt < count; attempt += 1) {
    clock.advance(1);
    told.push(await decide(store, [check(policy)]));
  }
  return told;
}

/** Until the first answer that asked nobody. */
async function holding(options?: LeaseOptions, policy: Policy = hourly) {
  const made = around(options);
  let last: Seen | undefined;
  for (let attempt = 0; attempt < 100 && last?.source !== 'lease'; attempt += 1)
    [last] = await attempts(made.store, made.clock, 1, policy);
  expect(last!.source).toBe('lease');
  made.asked.length = 0;
  return { ...made, last: last! };
}

describe('who is asked', () => {
  test('a key with a steady demand is leased for half of the ttl, and then asks once in a while', async () => {
    const { store, clock, asked } = around();
    const told = await attempts(store, clock, 1000);
    expect(told.filter(({ source }) => source === 'lease').length).toBeGreaterThan(950);
    expect(asked.length).toBeLessThan(80);
    expect(asked).toContain('spend 50');
  });

  test('an answer from a lease is no promise', async () => {
    const { store, clock } = await holding();
    clock.advance(1);
    expect(decide(store, [check(hourly)])).toMatchObject({ source: 'lease', verdicts: [{ allowed: true }] });
  });

  test('a key with a low demand is never leased', async () => {
    const { store, clock, asked } = around();
    for (let attempt = 0; attempt < 300; attempt += 1) {
      clock.advance(6);
      await decide(store, [check(hourly)]);
    }
    expect(asked).toEqual(Array.from({ length: 300 }, () => 'spend 1'));
  });

  test('the end of a quota is decided by the store', async () => {
    const policy = fixedWindow({ limit: 500, window: '1h' });
    const { store, clock, asked } = around({ nodes: 8 });
    const told = await attempts(store, clock, 700, policy);
    expect(told.filter(({ verdicts }) => verdicts[0]!.allowed)).toHaveLength(500);
    expect(told.slice(400, 500).every(({ source }) => source === 'store')).toBe(true);
    expect(asked.every((what) => Number(what.split(' ')[1]) <= 500 / 16)).toBe(true);
  });

  test.each<[string, (store: Store, policy: Policy) => unknown, string]>([
    ['a look', (store, policy) => decide(store, [check(policy, 0)]), 'spend 0'],
    ['a dry run', (store, policy) => decide(store, [check(policy)], { dryRun: true }), 'look 1'],
    ['a cost that the block cannot pay', (store, policy) => decide(store, [check(policy, 1000)]), 'spend 1000'],
    ['several checks', (store, policy) => decide(store, [check(policy), check(bucket)]), 'spend 1+1'],
  ])('%s goes to the store', async (_, ask, expected) => {
    const { store, asked } = await holding();
    await ask(store, hourly);
    expect(asked).toEqual([expected]);
  });

  test('another key, and another policy of the same key, hold nothing', async () => {
    const { store, asked } = await holding();
    await decide(store, [check(hourly, 1, 'another')]);
    await decide(store, [check(fixedWindow({ limit: 100_000, window: '1h', name: 'another' }))]);
    expect(asked).toEqual(['spend 1', 'spend 1']);
  });

  test('a policy that is made anew for each attempt is the same policy', async () => {
    const { store } = await holding();
    const again = fixedWindow({ limit: 100_000, window: '1h' });
    expect(decide(store, [check(again)])).toMatchObject({ source: 'lease' });
  });

  test('a store that answers at once is asked every time', async () => {
    const { store, clock, asked } = around({}, (inner) => inner);
    const told = await attempts(store, clock, 500);
    expect(told.every(({ source }) => source === 'store')).toBe(true);
    expect(asked.filter((what) => what === 'spend 1')).toHaveLength(500);
  });

  test('what answers without a promise goes on doing so, under the numbers of everyone', () => {
    const store = leases()(memoryStore({ clock: manualClock(START_MS) }));
    expect(store.ask(attemptOf([check(bucket)]))).toMatchObject({ limit: 10_000, remaining: 9899 });
    expect(leases()(waitedFor(memoryStore())).ask(attemptOf([check(bucket)]))).toBeInstanceOf(Promise);
  });

  test('the quietest key makes room', async () => {
    const { store, clock, asked } = await holding({ maxKeys: 2 });
    for (const key of ['one', 'two']) await decide(store, [check(hourly, 1, key)]);
    clock.advance(1);
    asked.length = 0;
    await decide(store, [check(hourly)]);
    expect(asked).toEqual(['spend 1']);
  });

  test('a very long key is not kept', async () => {
    const { store, clock } = around();
    const long = 'x'.repeat(1025);
    for (let attempt = 0; attempt < 200; attempt += 1) {
      clock.advance(1);
      expect((await decide(store, [check(hourly, 1, long)])).source).toBe('store');
    }
  });
});

describe('how long', () => {
  test('a block ends before the ttl has passed since it was asked for, by the 200 ppm that clocks may differ', async () => {
    const { store, clock, asked } = await holding({ horizon: '1s', minRate: 1 });
    const granted = clock.now() - 1;
    clock.set(granted + 99.9);
    expect(decide(store, [check(hourly)])).toMatchObject({ source: 'lease' });
    clock.set(granted + 99.98);
    expect((await decide(store, [check(hourly)])).source).toBe('store');
    expect(asked.some((what) => what.startsWith('refund'))).toBe(true);
  });

  test('and when the clock steps back, which it must not', async () => {
    const { store, clock } = await holding();
    clock.advance(-50);
    expect((await decide(store, [check(hourly)])).source).toBe('store');
  });

  test('a lost request blocks the next one for the ttl only', async () => {
    const clock = manualClock(START_MS);
    const inner = puppet(waitedFor(memoryStore({ clock })));
    let lost = 0;
    const losing: Store = {
      ask(question) {
        if (question.verb !== 'attempt' || question.cost === 1 || lost > 0) return inner.ask(question);
        lost += 1;
        return new Promise(() => undefined);
      },
    };
    const store = leases({ ttl: 100, nodes: 1, clock })(losing);
    const told = await attempts(store, clock, 400);
    expect(lost).toBe(1);
    const first = told.findIndex(({ source }) => source === 'lease');
    expect(first).toBeGreaterThan(100);
    expect(first).toBeLessThan(130);
  });

  test('a request that fails is forfeited, and nobody hears of it', async () => {
    const { clock, bare } = around();
    const failing: Store = {
      async ask(question) {
        const answer = bare.ask(question);
        if (question.verb === 'attempt' && question.cost > 1) throw new Error('lost on the way back');
        return answer;
      },
    };
    const store = leases({ ttl: 100, nodes: 1, clock })(failing);
    const told = await attempts(store, clock, 300);
    expect(told.every(({ source }) => source === 'store')).toBe(true);
    const left = decide(bare, [check(hourly, 0)]).verdicts[0]!.remaining;
    expect(left).toBeLessThan(100_000 - 300);
  });

  test('what a fallback allows is not leased', async () => {
    const { clock } = around();
    const away: Store = { ask: () => Promise.reject(new Error('away')) };
    const store = layered(away, fallback({ to: 'allow', warnings: false }), leases({ clock }));
    const told = await attempts(store, clock, 300);
    expect(told.every(({ source }) => source === 'fallback')).toBe(true);
  });
});

describe('what each algorithm is asked under', () => {
  const shared = (policy: Policy) => termsOf(policy, 100_000);

  test('windows on the clock keep their numbers, and end the lease', () => {
    const counter = slidingWindowCounter({ limit: 1000, window: '1s' });
    expect(shared(hourly)).toMatchObject({ shared: hourly, isLeased: true });
    expect(shared(counter)).toMatchObject({ shared: counter, isLeased: true });
    expect(shared(hourly).usableFor(0, 1234)).toBe(1234);
    expect(shared(counter).usableFor(7_250_000, 1234)).toBe(750_000);
  });

  test.each<[Policy, number]>([
    [bucket, 9900],
    [tokenBucket({ capacity: 1000, refillRate: 0.5 }), 999],
    [leakyBucket({ capacity: 1000, leakRate: 1000 }), 900],
    [gcra({ limit: 1000, period: '1m', capacity: 200 }), 198],
  ])('%o has room for what comes back while units are held: %i', (policy, capacity) => {
    expect(shared(policy).shared).toEqual({ ...policy, capacity });
    expect(ruleOf(shared(policy).shared).identity, 'on the same state').toBe(ruleOf(policy).identity);
  });

  test('a log counts for longer', () => {
    const log = slidingWindowLog({ limit: 1000, window: '5s' });
    expect(shared(log).shared).toEqual({ ...log, window: 5100 });
    expect(ruleOf(shared(log).shared).identity, 'on the same state').toBe(ruleOf(log).identity);
  });

  test.each<[string, Policy]>([
    ['that recovers a tenth in a lease', tokenBucket({ capacity: 1000, refillRate: 1001 })],
    ['whose window is short', slidingWindowLog({ limit: 1000, window: '4s' })],
    ['that gives each caller a slot', leakyBucket({ capacity: 1000, leakRate: 1, mode: 'shaping' })],
    ['with a small limit', fixedWindow({ limit: SMALLEST_LEASED_LIMIT - 1, window: '1h' })],
  ])('one %s is not leased and keeps its numbers', async (_, policy) => {
    expect(shared(policy)).toMatchObject({ shared: policy, isLeased: false });
    const { store, clock } = around();
    const told = await attempts(store, clock, 90, policy);
    expect(told.every(({ source }) => source === 'store')).toBe(true);
  });

  test('everything asks under it: attempts without a lease, dry runs, changes', async () => {
    const { store } = around();
    expect((await decide(store, [check(bucket)], { dryRun: true })).verdicts[0]!.remaining).toBe(9900);
    expect((await decide(store, [check(bucket, 9901)])).verdicts[0]!.retryAfter).toBe(Number.POSITIVE_INFINITY);
    const penalty: Change = { verb: 'penalize', key: 'someone', policy: bucket, cost: 20_000 };
    expect((await change(store, [penalty])).verdicts[0]!.changed).toBe(9900);
  });
});

describe('what is told', () => {
  test('the numbers of the grant, less what was spent since', async () => {
    const { store, clock, bare, last } = await holding();
    const { remaining, resetAfter } = last.verdicts[0]!;
    clock.advance(1);
    const next = (await decide(store, [check(hourly)])) as Seen;
    expect(next.verdicts[0]).toEqual({ allowed: true, remaining: remaining - 1, retryAfter: 0, resetAfter, delay: 0 });
    expect(next.now).toBe(last.now);
    expect(next.now + resetAfter).toBe(START_MS * 1e3 + 3_600_000_000);
    const left = decide(bare, [check(hourly, 0)]).verdicts[0]!.remaining;
    expect(next.verdicts[0]!.remaining).toBeGreaterThan(left);
  });

  test('a refund with the result of a leased attempt finds what was charged, and the lease stays', async () => {
    const { store, bare, last } = await holding();
    const before = decide(bare, [check(hourly, 0)]).verdicts[0]!.remaining;
    const spent = { at: last.now, until: last.now + last.verdicts[0]!.resetAfter, cost: 1 };
    const refund: Change = { verb: 'refund', key: 'someone', policy: hourly, cost: 1, spent };
    expect((await change(store, [refund])).verdicts[0]).toMatchObject({ changed: 1, remaining: before + 1 });
    expect(decide(store, [check(hourly)])).toMatchObject({ source: 'lease' });
  });

  test('in a bucket, refunds of a whole block give back no more than has not drained', async () => {
    const { store, clock, bare, last } = await holding({ minRate: 1 }, bucket);
    const spent: { at: number; until: number; cost: number }[] = [];
    for (let told = last; told.source === 'lease' && spent.length < 20; ) {
      spent.push({ at: told.now, until: told.now + told.verdicts[0]!.resetAfter, cost: 1 });
      told = (await decide(store, [check(bucket)])) as Seen;
    }
    const everyones = ruleOf(bucket).changed({ capacity: 9900 });
    const level = (): number => 9900 - decide(bare, [check(everyones, 0)]).verdicts[0]!.remaining;
    const held = level();
    clock.advance(held - 5);
    await change(
      store,
      spent.map((each) => ({ verb: 'refund', key: 'someone', policy: bucket, cost: 1, spent: each })),
    );
    expect(level()).toBeLessThanOrEqual(5);
    await decide(bare, [check(everyones, 9000)]);
    await change(
      store,
      spent.map((each) => ({ verb: 'refund', key: 'someone', policy: bucket, cost: 1, spent: each })),
    );
    expect(level()).toBeGreaterThanOrEqual(9000 - 5);
  });

  test('history shows what the store has counted, of the policy’s own window', async () => {
    const log = slidingWindowLog({ limit: 1000, window: '10s' });
    const { store, clock } = around();
    await decide(store, [check(log, 3)]);
    clock.advance(10_000);
    expect(await history(store, 'someone', log)).toEqual([]);
    expect((await decide(store, [check(log)], { dryRun: true })).verdicts[0]!.remaining).toBe(997);
  });
});

describe('what becomes of what is held', () => {
  test('what is left at the end is given back by the next attempt, on whatever key', async () => {
    const { store, clock, asked, bare } = await holding({ horizon: '1s', minRate: 1 });
    clock.advance(200);
    await decide(store, [check(hourly, 1, 'another')]);
    expect(asked[0]).toMatch(/^refund \d+$/);
    const spent = 100_000 - decide(bare, [check(hourly, 0)]).verdicts[0]!.remaining;
    expect(spent).toBeLessThan(20);
  });

  test.each(['penalize', 'block'] as const)('%s takes it first', async (verb) => {
    const { store, clock, asked } = await holding();
    const each = { key: 'someone', policy: hourly, verb, cost: 5, duration: 1e6 } as Change;
    const { verdicts } = await change(store, [each]);
    expect(verdicts).toHaveLength(1);
    expect(asked[0]).toMatch(new RegExp(`^refund \\d+, ${verb}`));
    clock.advance(1);
    const next = await decide(store, [check(hourly)]);
    expect(next).toMatchObject({ source: 'store', verdicts: [{ allowed: verb === 'penalize' }] });
  });

  test('a reset forfeits it, and what is on its way', async () => {
    const clock = manualClock(START_MS);
    const inner = puppet(waitedFor(memoryStore({ clock })));
    const store = leases({ ttl: 100, nodes: 1, clock })(inner);
    let told = await attempts(store, clock, 1);
    while (told[0]!.source !== 'lease') told = await attempts(store, clock, 1);
    while (inner.behaves === 'answers') {
      const before = inner.calls;
      inner.behaves = 'hangs';
      clock.advance(1);
      const answer = decide(store, [check(hourly)]);
      if (inner.calls === before) inner.behaves = 'answers';
      await (inner.behaves === 'answers' ? answer : undefined);
    }
    inner.behaves = 'answers';
    await forget(store, 'someone', [hourly]);
    inner.settle('answer');
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(1);
    expect((await decide(store, [check(hourly)])).source).toBe('store');
  });
});

describe('the contract', () => {
  /** A limit of 300 or more can be leased, and then a bucket keeps one unit of it back: see the numbers below. */
  const DIFFERENT = ['gcra', 'leaky-bucket policing', 'token-bucket'];
  const nameOf = (kind: string): string => `${kind}: a raised or lowered limit keeps what was spent`;
  const inners: readonly [string, (clock: ManualClock) => Store][] = [
    ['that answers at once', (clock) => memoryStore({ clock })],
    ['that has to be waited for', (clock) => waitedFor(memoryStore({ clock }))],
  ];

  describe.each(inners)('around a store %s', (_, inner) => {
    const cases = storeContract(({ clock }) => leases({ clock })(inner(clock)));
    const different = DIFFERENT.map(nameOf);
    for (const { name, run } of cases.filter((each) => !different.includes(each.name))) test(name, run);

    test.each(DIFFERENT)('%s: a raised or lowered limit keeps what was spent', async (kind) => {
      const store = leases()(inner(manualClock(START_MS)));
      const sized = (size: number) =>
        policyOf(kind, { limit: size, window: 3_600_000, capacity: size, rate: size / 3600 }, 'plan');
      const remaining = async (size: number) => (await decide(store, [check(sized(size), 0)])).verdicts[0]!.remaining;
      await decide(store, [check(sized(10), 4)]);
      const seen = [await remaining(10), await remaining(300), await remaining(5), await remaining(4)];
      expect(seen).toEqual([6, 295, 1, 0]);
    });
  });
});

test.each([
  [{ ttl: '0ms' }, 'leases.ttl'],
  [{ nodes: 0 }, 'leases.nodes'],
  [{ maxUnits: 1.5 }, 'leases.maxUnits'],
  [{ minRate: -1 }, 'leases.minRate'],
  [{ horizon: 'soon' }, 'leases.horizon'],
  [{ maxKeys: 0 }, 'leases.maxKeys'],
  [{ clock: 5 }, 'leases.clock'],
  [{ time: 1 }, 'leases.time'],
])('%o is a mistake in %s', (options, path) => {
  expect(() => leases(options as LeaseOptions)).toThrow(expect.objectContaining({ path }));
});

test('a layer that leases nothing passes on what it is given', async () => {
  const clock = manualClock(START_MS);
  const inner = counting(memoryStore({ clock }));
  const store = leases({ clock })(inner);
  const checks: readonly Check[] = [check(fixedWindow({ limit: 5, window: '1s' }))];
  await decide(store, checks);
  await forget(store, 'someone', [hourly]);
  expect(inner.calls).toEqual(['attempt', 'forget']);
});
