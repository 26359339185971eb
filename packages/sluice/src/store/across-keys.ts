/**
 * An attempt whose keys do not lie together (in several slots of a cluster, or in several values of an engine) cannot be decided in one step. It
 * is decided group by group, in the order it was written, and what was spent is given back when a later group says no. Nothing is ever
 * allowed too much: while an attempt that will be denied is under way, what it has spent so far is missing for others, for two round
 * trips at most; and of buckets, as with every refund, only what has not been refilled meanwhile comes back.
 */
import type { Decision } from '../model/decision.ts';
import { resultOf } from '../model/result.ts';
import { spentBy } from '../model/spent.ts';
import { type Answer, type Attempt, attemptOf, type Change, type Check, checksOf, type Store } from '../model/store.ts';

/** What was spent in one group. */
interface Spending {
  readonly group: readonly number[];
  readonly part: readonly Check[];
  readonly answer: Answer;
}

/** `groups` are the indexes of the attempt's checks that can be decided together, in the order of their first. */
export async function decideAcross(
  store: Store,
  attempt: Attempt,
  groups: readonly (readonly number[])[],
): Promise<Answer> {
  const checks = checksOf(attempt);
  const decisions: Decision[] = [];
  const spent: Spending[] = [];
  let isDenied = false;
  for (const group of groups) {
    const part = group.map((index) => checks[index]!);
    try {
      const answer = await store.ask(attemptOf(part, isDenied || attempt.dryRun));
      group.forEach((index, at) => {
        decisions[index] = answer.decisions[at]!;
      });
      if (isDenied || attempt.dryRun) continue;
      isDenied = answer.decisions.some(({ allowed }) => !allowed);
      if (!isDenied) spent.push({ group, part, answer });
    } catch (error) {
      await giveBack(store, spent);
      throw error;
    }
    if (isDenied) {
      for (const [index, decision] of await giveBack(store, spent)) decisions[index] = decision;
    }
  }
  return resultOf(decisions, 'store');
}

/** Returns what each of them is told instead: what a look sees now, and still that it would have been allowed. */
async function giveBack(store: Store, spent: readonly Spending[]): Promise<[index: number, decision: Decision][]> {
  const told = await Promise.all(
    spent.map(async ({ group, part, answer }): Promise<[number, Decision][]> => {
      const changes = part.map(({ key, policy, cost }, at): Change => {
        return { verb: 'refund', key, policy, cost, spent: spentBy(answer.decisions[at]!, cost) };
      });
      const { decisions } = await store.ask({ verb: 'change', changes });
      return group.map((index, at) => {
        const { changed: _changed, ...look } = decisions[at]!;
        return [index, { ...look, allowed: true, retryAfter: null, delay: null }];
      });
    }),
  );
  return told.flat();
}

/** Changes on several keys: key by key, each atomically. */
export async function changeAcross(store: Store, changes: readonly Change[], keys: readonly string[]): Promise<Answer> {
  const decisions: Decision[] = [];
  for (const key of keys) {
    const indexes = changes.flatMap((change, index) => (change.key === key ? [index] : []));
    const answer = await store.ask({ verb: 'change', changes: indexes.map((index) => changes[index]!) });
    indexes.forEach((index, at) => {
      decisions[index] = answer.decisions[at]!;
    });
  }
  return resultOf(decisions, 'store');
}
