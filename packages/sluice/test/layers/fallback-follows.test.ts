/**
 * A fallback in memory goes on from what the store last said of a key, and gives nothing back that the store has lent: whatever the order of
 * outages and returns, nothing is minted.
 */
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import {
  createLimiter,
  type Hold,
  type ManualClock,
  manualClock,
  memoryStore,
  type Policy,
  type RateLimitResult,
  type SluiceError,
  type Store,
  tokenBucket,
} from '../../src/index.ts';
import { type FallbackOptions, fallback } from '../../src/layers/index.ts';
import { ruleOf } from '../../src/model/policy.ts';
import type { Change, Question } from '../../src/model/store.ts';
import {
  KINDS,
  policyOf,
  type Random,
  randomCost,
  randomFrom,
  randomPolicy,
  randomStep,
  testSeed,
} from '../support/random.ts';
import { bucket, change, check, decide, forget, puppet, type Seen, stateOf, waitedFor } from './support.ts';

const seed = testSeed();
afterAll(() => console.log(`fallback follows: seed ${seed}`));

const START_MICROS = 1_763_280_000_123_456;

/** A store that can be taken away, and a memory store that answers for it, on one clock. */
function setUp(options: Partial<FallbackOptions> = {}, micros = START_MICROS) {
  const clock = manualClock(micros / 1000);
  const shared = memoryStore({ clock });
  const inner = puppet(shared);
  const local = memoryStore({ clock });
  const store = fallback({ to: local, clock, warnings: false, ...options })(inner);
  return { clock, shared, inner, local, store };
}

function look(store: Store, policy: Policy): Seen {
  return decide(store, [check(policy, 0)], { dryRun: true }) as Seen;
}

/** Traffic on one key while the store is there, up to some moment. */
function traffic(random: Random, policy: Policy, store: Store, clock: ManualClock): { last: Seen; micros: number } {
  let micros = START_MICROS;
  let last = look(store, policy);
  for (let step = random.whole(1, 20); step > 0; step -= 1) {
    micros += randomStep(random, policy, false);
    clock.set(micros / 1000);
    last = decide(store, [check(policy, randomCost(random, ruleOf(policy).limit))]) as Seen;
  }
  return { last, micros };
}

describe.each(KINDS)('%s: goes on from what the store last said', (kind) => {
  const runs = Array.from({ length: 150 }, (_, run) => seed + run);

  test('as much is left, and never more than the store would have given from then on', () => {
    for (const each of runs) {
      const random = randomFrom(each);
      const policy = randomPolicy(random, kind);
      const { clock, shared, inner, store } = setUp();
      const { last, micros } = traffic(random, policy, store, clock);
      inner.behaves = 'throws';
      const here = look(store, policy);
      expect(here.source).toBe('fallback');
      expect(here.verdicts[0]!.remaining, `seed ${each}`).toBe(last.verdicts[0]!.remaining);
      const reset = Math.max(1, here.verdicts[0]!.resetAfter);
      for (const later of [1, reset / 7, reset / 3, reset / 2, reset - 1, reset, reset * 2]) {
        clock.set((micros + Math.floor(later)) / 1000);
        const mine = look(store, policy);
        // What the store says is whole microseconds, so the fallback may be ahead by less than one.
        clock.set((micros + Math.floor(later) + 1) / 1000);
        const theirs = look(shared, policy);
        const where = `seed ${each}, ${Math.floor(later)} later`;
        expect(mine.verdicts[0]!.remaining, where).toBeLessThanOrEqual(theirs.verdicts[0]!.remaining);
      }
      expect(look(store, policy).verdicts[0]!.remaining, 'and everything comes back').toBe(ruleOf(policy).limit);
    }
  });

  test.each([0.5, 0.25, 0.1])('a share of %d', (share) => {
    for (const each of runs) {
      const random = randomFrom(each);
      const policy = randomPolicy(random, kind);
      const { clock, inner, store } = setUp({ share });
      const { last } = traffic(random, policy, store, clock);
      inner.behaves = 'throws';
      const { remaining, resetAfter } = last.verdicts[0]!;
      const { limit } = ruleOf(policy);
      const part = Math.max(1, Math.floor(limit * share));
      const expected = resetAfter === 0 ? part : Math.floor(remaining * share);
      expect(look(store, policy).verdicts[0]!.remaining, `seed ${each}`).toBe(expected);
    }
  });

  test('under a name whose numbers change', () => {
    const plan = (limit: number) =>
      policyOf(kind, { limit, window: 3_600_000, capacity: limit, rate: limit / 3600 }, 'plan');
    const { inner, store } = setUp();
    decide(store, [check(plan(10), 4)]);
    inner.behaves = 'throws';
    const left = [10, 300, 5, 4].map((limit) => look(store, plan(limit)).verdicts[0]!.remaining);
    expect(left).toEqual([6, 296, 1, 0]);
  });

  test('a key that is blocked stays blocked, for as long', () => {
    const policy = policyOf(kind, { limit: 10, window: 10_000, capacity: 10, rate: 1 });
    for (const duration of [300_000, 3_000_000, 15_000_000, 3_600_000_000]) {
      for (const spent of [0, 4]) {
        const { clock, inner, store } = setUp();
        decide(store, [check(policy, spent)]);
        change(store, [{ verb: 'block', key: 'someone', policy, duration }]);
        inner.behaves = 'throws';
        clock.set((START_MICROS + duration - 1) / 1000);
        expect(decide(store, [check(policy)]), `${duration}`).toMatchObject({
          source: 'fallback',
          verdicts: [{ allowed: false, remaining: 0 }],
        });
      }
    }
  });

  test('a key of which an attempt was told that it is blocked', () => {
    const policy = policyOf(kind, { limit: 10, window: 10_000, capacity: 10, rate: 1 });
    const duration = 15_000_000;
    const { clock, shared, inner, store } = setUp();
    change(shared, [{ verb: 'block', key: 'someone', policy, duration }]);
    expect(decide(store, [check(policy)])).toMatchObject({ verdicts: [{ retryAfter: duration }] });
    inner.behaves = 'throws';
    clock.set((START_MICROS + duration - 1) / 1000);
    expect(decide(store, [check(policy)])).toMatchObject({ source: 'fallback', verdicts: [{ allowed: false }] });
    clock.set((START_MICROS + 2 * Math.max(duration, ruleOf(policy).recovery)) / 1000);
    expect(decide(store, [check(policy)])).toMatchObject({ source: 'fallback', verdicts: [{ allowed: true }] });
  });

  test('a penalty, a refund, an unblock and a reset', () => {
    const policy = policyOf(kind, { limit: 10, window: 10_000, capacity: 10, rate: 1 });
    const { inner, store } = setUp();
    const left = (): number => {
      inner.behaves = 'throws';
      const { remaining } = look(store, policy).verdicts[0]!;
      inner.behaves = 'answers';
      return remaining;
    };
    decide(store, [check(policy, 4)]);
    expect(left()).toBe(6);
    change(store, [{ verb: 'penalize', key: 'someone', policy, cost: 5 }]);
    expect(left()).toBe(1);
    change(store, [{ verb: 'refund', key: 'someone', policy, cost: 2 }]);
    expect(left()).toBe(3);
    change(store, [{ verb: 'block', key: 'someone', policy, duration: 60_000_000 }]);
    expect(left()).toBe(0);
    change(store, [{ verb: 'unblock', key: 'someone', policy }]);
    expect(left()).toBe(3);
    forget(store, 'someone', [policy]);
    expect(left()).toBe(10);
  });
});

test('what was asked of several policies at once', () => {
  const slow = tokenBucket({ capacity: 5, refillRate: 0.1, name: 'slow' });
  const { inner, store } = setUp();
  decide(store, [check(bucket, 3), check(slow, 2, 'other')]);
  inner.behaves = 'throws';
  expect(decide(store, [check(bucket, 0), check(slow, 0, 'other')])).toMatchObject({
    verdicts: [{ remaining: 7 }, { remaining: 3 }],
  });
});

describe('whatever was noted last counts, however many keys, policies and moments ago', () => {
  const hourly = (limit: number, name?: string) => tokenBucket({ capacity: limit, refillRate: `${limit}/h`, name });
  const left = (store: Store, policy: Policy, key: string): number =>
    (decide(store, [check(policy, 0, key)], { dryRun: true }) as Seen).verdicts[0]!.remaining;

  test('more keys than are noted down, long ones too', () => {
    const { inner, store } = setUp();
    const policy = hourly(10);
    const keys = Array.from({ length: 20_000 }, (_, index) => `${'long '.repeat(index % 100)}${index}`);
    keys.forEach((key, index) => void decide(store, [check(policy, 1 + (index % 9), key)]));
    inner.behaves = 'throws';
    expect(keys.map((key) => left(store, policy, key))).toEqual(keys.map((_, index) => 9 - (index % 9)));
  });

  test('more policies on a key than are noted down', () => {
    const { inner, store } = setUp();
    const plans = Array.from({ length: 200 }, (_, index) => hourly(10, `plan ${index}`));
    for (const [index, plan] of plans.entries()) decide(store, [check(plan, 1 + (index % 9))]);
    inner.behaves = 'throws';
    expect(plans.map((plan) => left(store, plan, 'someone'))).toEqual(plans.map((_, index) => 9 - (index % 9)));
  });

  test('a policy that is made anew for each attempt, among others', () => {
    const { inner, store } = setUp();
    for (const cost of [3, 2, 1]) {
      decide(store, [check(hourly(10, 'one'), cost)]);
      decide(store, [check(hourly(20, 'other'), cost)]);
      decide(store, [check(hourly(30), cost)]);
    }
    inner.behaves = 'throws';
    expect([hourly(10, 'one'), hourly(20, 'other'), hourly(30)].map((each) => left(store, each, 'someone'))).toEqual([
      4, 14, 24,
    ]);
  });

  test('what has come back since then is there', () => {
    const { clock, inner, store } = setUp();
    decide(store, [check(hourly(60), 60)]);
    clock.advance(600_000);
    inner.behaves = 'throws';
    expect(left(store, hourly(60), 'someone')).toBe(10);
    clock.advance(3_600_000);
    expect(left(store, hourly(60), 'someone')).toBe(60);
  });
});

test('only what the store itself said is followed', () => {
  const { clock, inner, local, store } = setUp();
  const outer = fallback({ to: local, clock, warnings: false })(store);
  decide(outer, [check(bucket, 3)]);
  inner.behaves = 'throws';
  expect(decide(outer, [check(bucket, 2)])).toMatchObject({ source: 'fallback', verdicts: [{ remaining: 5 }] });
  expect(decide(outer, [check(bucket, 2)])).toMatchObject({ source: 'fallback', verdicts: [{ remaining: 3 }] });
});

test('when the store is back, it is its word that counts again', () => {
  const { inner, store } = setUp();
  decide(store, [check(bucket, 3)]);
  inner.behaves = 'throws';
  decide(store, [check(bucket, 4)]);
  inner.behaves = 'answers';
  expect(decide(store, [check()])).toMatchObject({ source: 'store', verdicts: [{ remaining: 6 }] });
  inner.behaves = 'throws';
  expect(decide(store, [check(bucket, 0)])).toMatchObject({ source: 'fallback', verdicts: [{ remaining: 6 }] });
});

describe('a reset while both are away', () => {
  const AWAY: readonly [name: string, ask: () => Promise<never>][] = [
    ['rejects', () => Promise.reject(new Error('away too'))],
    [
      'throws',
      () => {
        throw new Error('away too');
      },
    ],
  ];

  test.each(AWAY)('a fallback that %s: the error is the store’s, and nothing is unhandled', async (_, ask) => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    const inner = puppet();
    const store = fallback({ to: { ask }, warnings: false })(inner);
    for (const mood of ['throws', 'rejects', 'answers'] as const) {
      inner.behaves = mood;
      const reset = (async () => forget(store, 'someone', [bucket]))();
      expect(await stateOf(reset)).toBe(mood === 'answers' ? 'answered' : 'connection lost');
    }
    await stateOf(undefined);
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});

describe('a refund is never carried out on the fallback', () => {
  test.each(['throws', 'rejects'] as const)('a store that %s', async (mood) => {
    const { inner, local, store } = setUp();
    const limiter = createLimiter({ policy: bucket, store });
    const before = await limiter.attempt('someone', { cost: 4 });
    const hold = await limiter.reserve('someone', { cost: 3 });
    const other = await limiter.reserve('someone', { cost: 2 });
    inner.behaves = mood;
    expect(await limiter.refund('someone', { cost: 4, of: before })).toMatchObject({ changed: 0, source: 'fallback' });
    expect(await limiter.refund('someone', { cost: 4 })).toMatchObject({ changed: 0, source: 'fallback' });
    expect(await hold.commit(1)).toMatchObject({ changed: 0, source: 'fallback' });
    expect(await other.cancel()).toMatchObject({ changed: 0, source: 'fallback' });
    expect(decide(local, [check(bucket, 0)])).toMatchObject({ verdicts: [{ remaining: 1 }] });
  });

  test('a penalty and a block are, and beside them in one question a refund is not', () => {
    const { inner, store } = setUp();
    decide(store, [check(bucket, 4)]);
    inner.behaves = 'throws';
    const changes: readonly Change[] = [
      { verb: 'refund', key: 'someone', policy: bucket, cost: 4 },
      { verb: 'penalize', key: 'someone', policy: bucket, cost: 2 },
      { verb: 'block', key: 'someone', policy: bucket, duration: 7_000_000 },
    ];
    expect(change(store, changes)).toMatchObject({
      source: 'fallback',
      verdicts: [
        { changed: 0, remaining: 6 },
        { changed: 2, remaining: 4 },
        { changed: 0, allowed: false, retryAfter: 7_000_000 },
      ],
    });
  });

  test('nor of what the fallback itself has allowed, then or when the store is back', async () => {
    const { inner, shared, store } = setUp();
    const limiter = createLimiter({ policy: bucket, store });
    await limiter.attempt('someone', { cost: 4 });
    inner.behaves = 'rejects';
    const local = await limiter.attempt('someone', { cost: 3 });
    const hold = await limiter.reserve('someone', { cost: 2 });
    expect([local.source, hold.result.source]).toEqual(['fallback', 'fallback']);
    expect(await limiter.refund('someone', { cost: 3, of: local })).toMatchObject({ changed: 0, remaining: 1 });
    inner.behaves = 'answers';
    expect(await limiter.refund('someone', { cost: 3, of: local })).toMatchObject({ changed: 0, remaining: 6 });
    expect(await hold.cancel()).toMatchObject({ changed: 0 });
    expect(look(shared, bucket).verdicts[0]!.remaining).toBe(6);
  });
});

/** What becomes of a question: it is answered, it fails before anything is done, or it is done and its answer is lost. */
type Fate = 'answered' | 'lost before' | 'lost after';

function fated(shared: Store): Store & { fate: Fate } {
  return {
    fate: 'answered',
    async ask(question: Question) {
      const { fate } = this;
      if (fate === 'lost before') throw new Error('connection lost');
      const answer = await shared.ask(question);
      if (fate === 'lost after') throw new Error('connection lost');
      return answer;
    },
  };
}

describe('nothing is minted, in any order of outage and return', () => {
  /** Nothing comes back by itself while the clock stands still, so every unit can be accounted for. */
  test.each(KINDS)('%s', async (kind) => {
    for (let run = 0; run < 100; run += 1) await accountFor(kind, randomFrom(seed + run), `seed ${seed + run}`);
  });
});

async function accountFor(kind: string, random: Random, where: string): Promise<void> {
  const limit = 30;
  const policy = policyOf(kind, { limit, window: 3_600_000, capacity: limit, rate: limit / 3600 });
  const clock = manualClock(START_MICROS / 1000);
  const shared = memoryStore({ clock });
  const inner = fated(shared);
  const limiter = createLimiter({ policy, store: fallback({ to: memoryStore({ clock }), warnings: false })(inner) });
  const results: { cost: number; result: RateLimitResult }[] = [];
  const holds: Hold[] = [];
  const spent = (): number => limit - look(shared, policy).verdicts[0]!.remaining;
  /** What the store has last said to be left; the fallback may allow no more than that until it says more. */
  let known = limit;
  let allowedSince = 0;

  const note = ({ source, remaining }: RateLimitResult): void => {
    if (source !== 'store') return;
    known = remaining;
    allowedSince = 0;
  };
  const spend = (result: RateLimitResult, cost: number, before: number): void => {
    note(result);
    if (result.source === 'fallback' && result.allowed) allowedSince += cost;
    expect(allowedSince, where).toBeLessThanOrEqual(known);
    expect(spent() - before, where).toBeLessThanOrEqual(cost);
    expect(spent(), where).toBeLessThanOrEqual(limit);
  };
  /** The store may have carried a refund out; the fallback never does, and tells nobody so. */
  const giveBack = (result: RateLimitResult & { changed: number }, cost: number, before: number): void => {
    if (result.source !== 'store') expect(result.changed, where).toBe(0);
    else expect(before - spent(), where).toBe(result.changed);
    expect(before - spent(), where).toBeLessThanOrEqual(cost);
    expect(result.remaining, where).toBeLessThanOrEqual(result.source === 'store' ? limit : known);
    note(result);
  };

  for (let step = 0; step < 40; step += 1) {
    if (random.real() < 0.4) inner.fate = random.pick(['answered', 'lost before', 'lost after']);
    const before = spent();
    const dice = random.real();
    const cost = random.whole(1, 5);
    if (dice < 0.35) {
      const result = await limiter.attempt('someone', { cost });
      if (result.allowed) results.push({ cost, result });
      spend(result, cost, before);
    } else if (dice < 0.6) {
      const hold = await limiter.reserve('someone', { cost });
      if (hold.allowed) holds.push(hold);
      spend(hold.result, cost, before);
    } else if (dice < 0.8 && results.length > 0) {
      const { cost: units, result } = results.splice(random.whole(0, results.length - 1), 1)[0]!;
      giveBack(await limiter.refund('someone', { cost: units, of: result }), units, before);
    } else if (holds.length > 0) {
      const hold = holds.splice(random.whole(0, holds.length - 1), 1)[0]!;
      const settled = random.real() < 0.5 ? await hold.cancel() : await hold.commit(random.whole(0, hold.cost - 1));
      // What the fallback has lent is not asked of the store, and the numbers are those of the reservation.
      if (hold.result.source === 'store') giveBack(settled, hold.cost, before);
      else expect([settled.changed, spent()], where).toEqual([0, before]);
    }
  }
}

describe('an outage is said aloud', () => {
  const warned: SluiceError[] = [];
  const hear = vi.spyOn(process, 'emitWarning');
  afterEach(() => {
    hear.mockReset();
    warned.length = 0;
  });
  const listening = (): SluiceError[] => {
    hear.mockImplementation(((warning: SluiceError) => warned.push(warning)) as never);
    return warned;
  };
  const sentences = (): string[] => warned.map(({ code, sentence }) => `${code}: ${sentence}`);

  test('once when it begins and once when it ends', () => {
    listening();
    const { clock, inner, store } = setUp({ warnings: undefined });
    decide(store, [check()]);
    inner.behaves = 'throws';
    for (let attempt = 0; attempt < 3; attempt += 1) decide(store, [check()]);
    clock.advance(2_500);
    inner.behaves = 'answers';
    for (let attempt = 0; attempt < 3; attempt += 1) decide(store, [check()]);
    const who = 'the memory of this process, which no other process shares,';
    expect(sentences()).toEqual([
      `SLUICE_STORE_AWAY: The store is away (connection lost), so ${who} answers until it is back.`,
      `SLUICE_STORE_BACK: The store answers again after 2.5 s; ${who} answered 3 times meanwhile.`,
    ]);
    expect(warned[0]!.cause).toBe(inner.error);
  });

  test.each([
    ['allow', 'a fallback that allows everything'],
    ['deny', 'a fallback that denies everything'],
    [waitedFor(memoryStore()), 'the fallback store'],
  ] as const)('%o: who answers, and that the store never has', async (to, who) => {
    listening();
    const { inner, store } = setUp({ to, warnings: true });
    inner.behaves = 'throws';
    await decide(store, [check()]);
    expect(sentences()).toEqual([
      `SLUICE_STORE_AWAY: The store has not answered since the start (connection lost), so ${who} answers until it is back.`,
    ]);
  });

  test('unless that is turned off', () => {
    listening();
    const { inner, store } = setUp({ warnings: false });
    inner.behaves = 'throws';
    decide(store, [check()]);
    inner.behaves = 'answers';
    decide(store, [check()]);
    expect(warned).toEqual([]);
  });

  test('a store of which a part is still away is not back', () => {
    listening();
    let isWell = false;
    const recovered: unknown[] = [];
    const { inner, store } = setUp({
      warnings: true,
      isBack: () => isWell,
      onRecovered: (event) => recovered.push(event),
    });
    inner.behaves = 'throws';
    decide(store, [check()]);
    inner.behaves = 'answers';
    decide(store, [check()]);
    expect([warned.length, recovered.length]).toEqual([1, 0]);
    isWell = true;
    decide(store, [check()]);
    expect([warned.length, recovered.length]).toEqual([2, 1]);
  });
});
