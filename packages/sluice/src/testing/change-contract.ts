/** The part of the store contract about changes that are no attempts: refund, penalize, block and unblock. */
import { type ManualClock, readMicros } from '../model/clock.ts';
import { MAX_MICROS } from '../model/duration.ts';
import { type Policy, ruleOf } from '../model/policy.ts';
import { decidedAt, type Verdict, verdictOf } from '../model/result.ts';
import { spentBy } from '../model/spent.ts';
import { attemptOf, type Change, type Store } from '../model/store.ts';
import { equal, isTrue } from './expectations.ts';

const KEY = 'someone';
/** A policy may look back at two windows. */
const LONGEST = 2 * MAX_MICROS;

interface Seen extends Verdict {
  readonly now: number;
}

async function attempt(store: Store, policy: Policy, cost: number): Promise<Seen> {
  const { decisions } = await store.ask(attemptOf([{ key: KEY, policy, cost }]));
  return { now: decidedAt(decisions[0]!), ...verdictOf(decisions[0]!) };
}

type Verb = Change extends infer Each ? (Each extends Change ? Omit<Each, 'key' | 'policy'> : never) : never;

async function change(store: Store, policy: Policy, verb: Verb): Promise<Verdict & { readonly changed: number }> {
  const { decisions } = await store.ask({ verb: 'change', changes: [{ key: KEY, policy, ...verb } as Change] });
  return { ...verdictOf(decisions[0]!), changed: decisions[0]!.changed! };
}

export async function refundsRightAway(store: Store, clock: ManualClock, policy: Policy): Promise<void> {
  const { limit } = ruleOf(policy);
  const { decisions } = await store.ask(attemptOf([{ key: KEY, policy, cost: 4 }]));
  const spent = spentBy(decisions[0]!, 4);
  const { changed, remaining } = await change(store, policy, { verb: 'refund', cost: 3, spent });
  equal([changed, remaining], [3, limit - 1], '4 spent, 3 of them given back immediately');
  const rest = await change(store, policy, { verb: 'refund', cost: 100 });
  equal([rest.remaining, rest.resetAfter], [limit, 0], 'a refund beyond what is spent resets the key');
  equal((await change(store, policy, { verb: 'refund', cost: 1 })).changed, 0, 'there is nothing left to give back');
  clock.set(clock.now() - 500);
  equal((await attempt(store, policy, limit)).allowed, true, 'nothing is spent, also for a clock that steps back');
}

/** Once a spend is forgotten, giving it back gives nothing: otherwise the time since would be credited twice. */
export async function refundsNothingLate(store: Store, clock: ManualClock, policy: Policy): Promise<void> {
  const first = await attempt(store, policy, 5);
  const spent = { at: first.now, until: first.now + first.resetAfter, cost: 5 };
  clock.set((spent.until + 1) / 1000);
  const { limit } = ruleOf(policy);
  isTrue((await attempt(store, policy, limit)).allowed, 'everything is there again');
  equal(
    (await change(store, policy, { verb: 'refund', cost: 5, spent })).changed,
    0,
    'what was spent long ago is forgotten',
  );
  isTrue(!(await attempt(store, policy, 1)).allowed, 'no more than the limit at one instant');
}

/** `debt` is how many units a penalty may take from an empty state. */
export async function penalizes(store: Store, policy: Policy, debt = 0): Promise<void> {
  const { limit } = ruleOf(policy);
  await attempt(store, policy, 3);
  const some = await change(store, policy, { verb: 'penalize', cost: 2 });
  equal([some.changed, some.remaining], [2, limit - 5], 'what fits is spent');
  const more = await change(store, policy, { verb: 'penalize', cost: 1000 });
  equal([more.changed, more.remaining], [limit - 5 + debt, 0], 'what does not fit is spent down to the bound');
  const { retryAfter } = await attempt(store, policy, 1);
  isTrue(
    retryAfter > 0 && retryAfter <= (await attempt(store, policy, limit)).resetAfter,
    'empty, and no lower than the bound',
  );
}

export async function blocks(store: Store, clock: ManualClock, policy: Policy): Promise<void> {
  const { limit } = ruleOf(policy);
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
  await store.ask({ verb: 'forget', key: KEY, policies: [policy] });
  equal((await attempt(store, policy, 0)).remaining, limit, 'forgetting ends a block too');
}

/** What was spent under a fast plan takes as long as it takes under a slow one, and never longer than any policy could: every answer comes at once. */
export async function slowsDown(store: Store, fast: Policy, slow: Policy): Promise<void> {
  await attempt(store, fast, ruleOf(fast).limit);
  const { resetAfter } = await attempt(store, slow, 0);
  isTrue(resetAfter <= LONGEST, 'everything is back within two of the longest windows');
  const denied = await attempt(store, slow, 1);
  isTrue(denied.allowed || denied.retryAfter <= LONGEST, 'and may be tried again by then');
  const { changed } = await change(store, slow, { verb: 'refund', cost: 1 });
  isTrue(changed <= 1, 'a refund gives back no more than it says');
  await change(store, slow, { verb: 'penalize', cost: 1 });
}

/** A block keeps what was spent, whatever the numbers of the plan it came under. */
export async function blocksUnderOtherNumbers(store: Store, policy: Policy, other: Policy): Promise<void> {
  const { limit } = ruleOf(policy);
  await attempt(store, policy, 4);
  await change(store, other, { verb: 'block', duration: 60_000_000 });
  isTrue(!(await attempt(store, policy, 1)).allowed, 'blocked under every plan of the name');
  const { allowed } = await change(store, other, { verb: 'unblock' });
  isTrue(allowed, 'unblocked');
  equal((await attempt(store, policy, 0)).remaining, limit - 4, 'what was spent is still spent');
}
