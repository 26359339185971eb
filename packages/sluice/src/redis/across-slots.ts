/**
 * An attempt whose keys lie in several slots of a cluster (a user's limit and a global one) cannot be one script. It is decided slot by
 * slot, in the order it was written, and what was spent is given back when a later slot says no. Nothing is ever admitted too much:
 * while an attempt that will be denied is on its way, what it has spent so far is missing for others, for two round trips at most; and
 * of buckets, as with every refund, only what has not been refilled meanwhile comes back.
 */
import type { Check, DecideOptions, Store, Verdict, Verdicts } from '../model/store.ts';

export type SlotStore = Pick<Store, 'change'> & {
  decide(checks: readonly Check[], options?: DecideOptions): Promise<Verdicts>;
};

/** The indexes of an attempt's checks, those of one slot together, in the order of their first. */
export type GroupBySlot = (checks: readonly Check[]) => readonly (readonly number[])[];

export function decideAcross(store: SlotStore, groups: GroupBySlot): SlotStore['decide'] {
  return (checks, options) => {
    const found = groups(checks);
    return found.length === 1 ? store.decide(checks, options) : decideInOrder(store, checks, found, options);
  };
}

async function decideInOrder(
  store: SlotStore,
  checks: readonly Check[],
  groups: readonly (readonly number[])[],
  options: DecideOptions | undefined,
): Promise<Verdicts> {
  const verdicts: Verdict[] = [];
  const spent: Spending[] = [];
  let now = 0;
  let isDenied = false;
  for (const group of groups) {
    const part = group.map((index) => checks[index]!);
    try {
      const answer = await store.decide(part, isDenied ? { dryRun: true } : options);
      now = Math.max(now, answer.now);
      group.forEach((index, at) => {
        verdicts[index] = answer.verdicts[at]!;
      });
      if (isDenied || options?.dryRun === true) continue;
      isDenied = answer.verdicts.some(({ allowed }) => !allowed);
      if (!isDenied) spent.push({ group, part, answer });
    } catch (error) {
      await giveBack(store, spent);
      throw error;
    }
    if (isDenied) {
      for (const [index, verdict] of await giveBack(store, spent)) verdicts[index] = verdict;
    }
  }
  return { now, verdicts, source: 'store' };
}

interface Spending {
  readonly group: readonly number[];
  readonly part: readonly Check[];
  readonly answer: Verdicts;
}

/** Returns what each of them is told instead: what a look sees now, and still that it would have been allowed. */
async function giveBack(store: SlotStore, spent: readonly Spending[]): Promise<[index: number, verdict: Verdict][]> {
  const told = await Promise.all(
    spent.map(async ({ group, part, answer }): Promise<[number, Verdict][]> => {
      const changes = part.map(({ key, policy, cost }, at) => {
        const until = answer.now + answer.verdicts[at]!.resetAfter;
        return { verb: 'refund' as const, key, policy, cost, spent: { at: answer.now, until, cost } };
      });
      const { verdicts } = await store.change(changes);
      return group.map((index, at) => [index, { ...verdicts[at]!, allowed: true, delay: 0 }]);
    }),
  );
  return told.flat();
}
