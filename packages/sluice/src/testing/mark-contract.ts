/** The part of the store contract about attempts that are remembered, settled once, or granted in part. */
import type { ManualClock } from '../model/clock.ts';
import { MICROS_PER_SECOND } from '../model/duration.ts';
import { type Policy, ruleOf } from '../model/policy.ts';
import { decidedAt, exactMicros } from '../model/result.ts';
import { spentBy } from '../model/spent.ts';
import { type Answer, type Attempt, attemptOf, type Changes, markedBy, type Store } from '../model/store.ts';
import { equal } from './expectations.ts';

const KEY = 'someone';
const TTL = 3 * MICROS_PER_SECOND;

function attempt(policies: readonly Policy[], cost: number, more: Partial<Attempt>): Attempt {
  return { ...attemptOf(policies.map((policy) => ({ key: KEY, policy, cost }))), ...more };
}

const markOf = (id: string): Attempt['mark'] => ({ id, ttl: TTL, isNew: false });

async function left(store: Store, policy: Policy): Promise<number> {
  return (await store.ask(attempt([policy], 0, {}))).remaining;
}

/** A retry of an attempt that was allowed is allowed and spends nothing, until the mark ends. One that was denied is not remembered. */
export async function remembers(store: Store, clock: ManualClock, policy: Policy): Promise<void> {
  const { limit } = ruleOf(policy);
  const ask = async (cost: number, id: string, key = KEY, dryRun = false): Promise<unknown[]> => {
    const answer = await store.ask({ ...attempt([policy], cost, { mark: markOf(id) }), key, dryRun });
    return [answer.allowed, answer.mark, answer.remaining];
  };
  equal(await ask(4, 'a', KEY, true), [true, undefined, limit], 'a dry run is not remembered');
  equal(await ask(4, 'a'), [true, 'made', limit - 4], 'the first one spends');
  equal(await ask(4, 'a'), [true, 'found', limit - 4], 'a repetition does not');
  equal(await ask(4, 'a', 'another'), [true, 'made', limit - 4], 'the same id of another key is another attempt');
  equal(await ask(limit, 'b'), [false, undefined, limit - 4], 'one that is denied');
  equal(await ask(limit - 4, 'b'), [true, 'made', 0], 'is not remembered');
  equal(await ask(4, 'a'), [true, 'found', 0], 'a repetition needs no room');
  clock.set(clock.now() + TTL / 1000 - 0.001);
  equal((await ask(1, 'a'))[1], 'found', 'until the mark ends');
  await store.ask({ verb: 'forget', key: KEY, policies: [policy] });
  clock.set(clock.now() + 0.001);
  equal(await ask(1, 'a'), [true, 'made', limit - 1], 'and no longer');
}

/** What was reserved is settled once, exactly, and only as it was marked. */
export async function settlesOnce(store: Store, clock: ManualClock, policy: Policy): Promise<void> {
  const { limit } = ruleOf(policy);
  const reserve = async (id: string): Promise<(cost?: number) => Promise<unknown[]>> => {
    const answer = await store.ask(attempt([policy], 5, { mark: markOf(id) }));
    equal([answer.allowed, answer.mark], [true, 'made'], 'reserved');
    return async (cost = 5) => {
      const settled = await store.ask(settlement(policy, id, answer, cost));
      return [settled.mark, settled.decisions[0]!.changed];
    };
  };
  const settle = await reserve('a');
  equal(await settle(6), ['missing', 0], 'a spend that was altered is not settled');
  equal(await settle(), ['found', 3], 'settled');
  equal(await left(store, policy), limit - 2, 'what was given back is there');
  equal(await settle(), ['missing', 0], 'a second time');
  equal(await left(store, policy), limit - 2, 'changes nothing');
  const late = await reserve('b');
  const before = await left(store, policy);
  clock.set(clock.now() + TTL / 1000);
  equal(await late(), ['missing', 0], 'when the mark has ended');
  equal((await left(store, policy)) >= before, true, 'nothing was taken either');
}

/** Gives 3 of 5 units back, if the spend was of this cost. */
function settlement(policy: Policy, id: string, answer: Answer, cost: number): Changes {
  const [decision] = answer.decisions;
  const resetAfter = exactMicros(decision!.resetAfter);
  const marked = markedBy({ id, ttl: TTL, isNew: true }, decidedAt(decision!), [{ resetAfter, cost }]);
  const spent = spentBy(decision!, cost);
  return { verb: 'change', changes: [{ verb: 'refund', key: KEY, policy, cost: 3, spent }], settles: { id, marked } };
}

/** As much as there is, and nothing when that is too little. */
export async function grants(store: Store, policies: readonly Policy[]): Promise<void> {
  const [first, ...others] = policies as [Policy, ...Policy[]];
  const { limit } = ruleOf(first);
  const ask = async (most: number, least: number, more: Partial<Attempt> = {}): Promise<unknown[]> => {
    const answer = await store.ask(attempt(policies, most, { least, ...more }));
    return [answer.allowed, answer.granted];
  };
  equal(await ask(4, 1), [true, 4], 'all of it, when it is there');
  equal(await ask(limit * 2, 1, { dryRun: true }), [true, limit - 4], 'a look says what there is');
  equal(await ask(limit * 2, limit - 3), [false, 0], 'nothing when the least is not there');
  equal(await left(store, first), limit - 4, 'and then nothing is spent');
  equal(await ask(limit * 2, 1), [true, limit - 4], 'otherwise what there is');
  for (const policy of [first, ...others]) equal(await left(store, policy), 0, 'under every policy the same');
  equal(await ask(5, 1), [false, 0], 'nothing of nothing');
  equal(await ask(5, 0), [true, 0], 'unless nothing will do');
}
