/** The refund rule: a refund never lifts a state above what it would have been had the spend not happened. */
import { describe, expect, it } from 'vitest';
import { type MemoryStore, manualClock, memoryStore, type Policy, tokenBucket } from '../src/index.ts';
import { ruleOf } from '../src/model/policy.ts';
import { attemptOf, type Change, type Check } from '../src/model/store.ts';
import { type Seen, seenOf } from './support/asking.ts';
import { KINDS, LATEST, policyOf, randomFrom, randomPolicy, randomStep, testSeed } from './support/random.ts';

const ROUNDS = 400;
/** For every algorithm: 100 at once, 1 a second. Each takes the numbers that are its own. */
const SLOW = { limit: 100, window: 100_000, capacity: 100, rate: 1 };

const decide = (store: MemoryStore, check: Check): Seen => seenOf(store.ask(attemptOf([check])));
const change = (store: MemoryStore, each: Change): Seen => seenOf(store.ask({ verb: 'change', changes: [each] }));

describe('a refund', () => {
  it('does not credit twice the time that has refilled the bucket since', () => {
    const clock = manualClock();
    const store = memoryStore({ clock });
    const policy = tokenBucket({ capacity: 10, refillRate: 1 });
    const spend = (cost: number) => decide(store, { key: 'k', policy, cost });
    const first = spend(5);
    clock.advance(5000);
    expect(spend(10).verdicts[0]!.allowed).toBe(true);
    const spent = { at: first.now, until: first.now + first.verdicts[0]!.resetAfter, cost: 5 };
    expect(change(store, { verb: 'refund', key: 'k', policy, cost: 5, spent }).verdicts[0]).toMatchObject({
      changed: 0,
      remaining: 0,
    });
    expect(spend(1).verdicts[0]!.allowed).toBe(false);
  });

  it.each(KINDS)('%s: several of them do not count what lay below twice', (name) => {
    const clock = manualClock(1e12);
    const policy = policyOf(name, SLOW);
    const [refunded, without] = [memoryStore({ clock }), memoryStore({ clock })];
    const spend = (cost: number) => decide(refunded, { key: 'k', policy, cost });
    const spendBoth = (cost: number): void => {
      spend(cost);
      decide(without, { key: 'k', policy, cost });
    };
    const back = ({ now, verdicts }: ReturnType<typeof spend>): void => {
      const spent = { at: now, until: now + verdicts[0]!.resetAfter, cost: 5 };
      change(refunded, { verb: 'refund', key: 'k', policy, cost: 5, spent });
    };
    const first = spend(5);
    spendBoth(5);
    const third = spend(5);
    back(first);
    clock.advance(6000);
    spendBoth(20);
    back(third);
    const [look, ideal] = [refunded, without].map((store) => decide(store, { key: 'k', policy, cost: 0 }).verdicts[0]!);
    expect(look!.remaining).toBeLessThanOrEqual(ideal!.remaining);
  });

  it.each(KINDS)('%s: right away, it gives everything back', (name) => {
    const random = randomFrom(testSeed());
    for (let round = 0; round < 50; round += 1) {
      const policy = randomPolicy(random, name);
      const store = memoryStore({ clock: manualClock(random.whole(0, 1e12)) });
      const cost = random.whole(1, ruleOf(policy).limit);
      const { now, verdicts } = decide(store, { key: 'k', policy, cost });
      const spent = { at: now, until: now + verdicts[0]!.resetAfter, cost };
      const after = change(store, { verb: 'refund', key: 'k', policy, cost, spent }).verdicts[0]!;
      expect(after, JSON.stringify({ policy, cost, spent })).toMatchObject({
        remaining: ruleOf(policy).limit,
        resetAfter: 0,
      });
    }
  });

  it.each(KINDS)('%s: never more than without the spend, whatever happens in between', (name) => {
    const seed = testSeed();
    console.log(`refunds, ${name}: SLUICE_SEED=${seed}`);
    const random = randomFrom(seed);
    let given = 0;
    for (let round = 0; round < ROUNDS; round += 1) given += compare(random, randomPolicy(random, name), seed);
    expect(given, 'something must have been given back, or the test is blind').toBeGreaterThan(0);
  });
});

/** The same traffic with a spend that is given back later, and without it. Returns what was given back. */
function compare(random: ReturnType<typeof randomFrom>, policy: Policy, seed: number): number {
  const clock = manualClock(random.whole(0, 1e12));
  const [refunded, without] = [memoryStore({ clock }), memoryStore({ clock })];
  const both = (): void => {
    clock.set(Math.min(clock.now() + Math.floor(randomStep(random, policy, false) / 5) / 1000, LATEST / 1000));
    const check = { key: 'k', policy, cost: random.whole(0, Math.ceil(ruleOf(policy).limit / 3)) };
    if (decide(refunded, check).verdicts[0]!.allowed) decide(without, check);
  };
  for (let before = random.whole(0, 4); before > 0; before -= 1) both();
  const cost = random.whole(1, Math.max(1, Math.ceil(ruleOf(policy).limit / 2)));
  const { now, verdicts } = decide(refunded, { key: 'k', policy, cost });
  if (!verdicts[0]!.allowed) return 0;
  const spent = { at: now, until: now + verdicts[0]!.resetAfter, cost };
  for (let between = random.whole(0, 6); between > 0; between -= 1) both();
  const part = random.whole(1, cost);
  const after = change(refunded, { verb: 'refund', key: 'k', policy, cost: part, spent }).verdicts[0]!;
  const look = decide(without, { key: 'k', policy, cost: 0 }).verdicts[0]!;
  const where = `SLUICE_SEED=${seed} ${JSON.stringify({ policy, cost, part, spent, at: clock.now() })}`;
  // Without the spend that opened it, a window of `align: 'first'` opens later and so ends later.
  const opensLater = 'align' in policy && policy.align === 'first';
  if (opensLater && clock.now() * 1000 >= spent.until) return after.changed!;
  expect(after.remaining, where).toBeLessThanOrEqual(look.remaining);
  if (!opensLater) expect(after.resetAfter, where).toBeGreaterThanOrEqual(look.resetAfter);
  return after.changed!;
}
