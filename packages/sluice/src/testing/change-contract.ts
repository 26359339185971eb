/** The part of the store contract about changes that are no attempts: refund, penalize, block and unblock. */
import { type ManualClock, readMicros } from '../model/clock.ts';
import { limitOf, type Policy } from '../model/policy.ts';
import type { Change, Store, Verdict } from '../model/store.ts';
import { equal, isTrue } from './expectations.ts';

const KEY = 'someone';

async function attempt(store: Store, policy: Policy, cost: number): Promise<Verdict & { readonly now: number }> {
  const { now, verdicts } = await store.decide([{ key: KEY, policy, cost }]);
  return { now, ...verdicts[0]! };
}

type Verb = Change extends infer Each ? (Each extends Change ? Omit<Each, 'key' | 'policy'> : never) : never;

async function change(store: Store, policy: Policy, verb: Verb): Promise<Verdict> {
  const { verdicts } = await store.change([{ key: KEY, policy, ...verb } as Change]);
  return verdicts[0]!;
}

export async function refundsRightAway(store: Store, _clock: ManualClock, policy: Policy): Promise<void> {
  const limit = limitOf(policy);
  const { now, resetAfter } = await attempt(store, policy, 4);
  const spent = { at: now, until: now + resetAfter, cost: 4 };
  const { changed, remaining } = await change(store, policy, { verb: 'refund', cost: 3, spent });
  equal([changed, remaining], [3, limit - 1], '4 spent, 3 of them given back at once');
  const rest = await change(store, policy, { verb: 'refund', cost: 100 });
  equal([rest.remaining, rest.resetAfter], [limit, 0], 'a refund beyond what is spent makes the key as good as new');
  equal((await change(store, policy, { verb: 'refund', cost: 1 })).changed, 0, 'there is nothing left to give back');
}

/** Once a spend is forgotten, giving it back gives nothing: otherwise the time since would be credited twice. */
export async function refundsNothingLate(store: Store, clock: ManualClock, policy: Policy): Promise<void> {
  const first = await attempt(store, policy, 5);
  const spent = { at: first.now, until: first.now + first.resetAfter, cost: 5 };
  clock.set((spent.until + 1) / 1000);
  const limit = limitOf(policy);
  isTrue((await attempt(store, policy, limit)).allowed, 'everything is there again');
  equal(
    (await change(store, policy, { verb: 'refund', cost: 5, spent })).changed,
    0,
    'what was spent long ago is forgotten',
  );
  isTrue(!(await attempt(store, policy, 1)).allowed, 'no more than the limit at one instant');
}

export async function penalizes(store: Store, _clock: ManualClock, policy: Policy): Promise<void> {
  const limit = limitOf(policy);
  await attempt(store, policy, 3);
  const some = await change(store, policy, { verb: 'penalize', cost: 2 });
  equal([some.changed, some.remaining], [2, limit - 5], 'what fits is spent');
  const more = await change(store, policy, { verb: 'penalize', cost: 1000 });
  equal([more.changed, more.remaining], [limit - 5, 0], 'what does not fit is spent down to empty');
  const { retryAfter } = await attempt(store, policy, 1);
  isTrue(retryAfter > 0 && retryAfter <= (await attempt(store, policy, limit)).resetAfter, 'empty, and not below');
}

export async function blocks(store: Store, clock: ManualClock, policy: Policy): Promise<void> {
  const limit = limitOf(policy);
  const blocked = await change(store, policy, { verb: 'block', duration: 60_000_000 });
  equal([blocked.allowed, blocked.remaining, blocked.retryAfter], [false, 0, 60_000_000], 'blocked for a minute');
  equal(
    (await attempt(store, policy, 1)).resetAfter,
    60_000_000,
    'nothing is spent, so nothing but the block must pass',
  );
  clock.set((readMicros(clock) + 59_999_999) / 1000);
  equal((await attempt(store, policy, 1)).retryAfter, 1, 'blocked until its last microsecond');
  clock.set((readMicros(clock) + 1) / 1000);
  equal((await attempt(store, policy, 1)).remaining, limit - 1, 'and then as if nothing had been');
  await change(store, policy, { verb: 'block', duration: 60_000_000 });
  const unblocked = await change(store, policy, { verb: 'unblock' });
  equal([unblocked.allowed, unblocked.remaining], [true, limit - 1], 'what was spent before the block still counts');
  await change(store, policy, { verb: 'block', duration: 60_000_000 });
  await store.forget(KEY, [policy]);
  equal((await attempt(store, policy, 0)).remaining, limit, 'forgetting ends a block too');
}
