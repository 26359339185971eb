/**
 * Debt: spending below empty, down to a bound. What was really used may be more than there is; charged later, it would be charged to nobody.
 */
import { invalidOption } from '../model/options.ts';
import { type Policy, ruleOf } from '../model/policy.ts';
import { resultOf } from '../model/result.ts';
import { type Answer, answerLike, type Change, type Changes, type Store } from '../model/store.ts';
import { type Amounts, amountsOf, type Cost } from './costs.ts';

/** Checked before anything is spent: not every algorithm can go below empty. */
export function debtOf(maxDebt: Cost | undefined, policies: readonly Policy[], path: string): Amounts {
  const debts = amountsOf(maxDebt ?? 0, policies, path);
  for (const [index, debt] of debts.entries()) if (debt > 0) withDebt(policies[index]!, debt);
  return debts;
}

/**
 * Spends into debt as a policy would whose limit is larger by that much, on the same state. A level above its limit is nothing new for any
 * algorithm: it is what a limit that was lowered leaves, and comes back at the policy's own rate.
 */
export function penalties(key: string, policy: Policy, cost: number, maxDebt: number): readonly Change[] {
  if (maxDebt === 0) return [{ verb: 'penalize', key, policy, cost }];
  return [
    { verb: 'penalize', key, policy: withDebt(policy, maxDebt), cost },
    { verb: 'penalize', key, policy, cost: 0 },
  ];
}

/** The same policy with a limit that is larger by so much. */
export function withDebt(policy: Policy, maxDebt: number): Policy {
  const rule = ruleOf(policy);
  const limit = rule.limit + maxDebt;
  const raised = rule.changed({ ['capacity' in policy ? 'capacity' : 'limit']: limit });
  if (ruleOf(raised).limit === limit) return raised;
  throw invalidOption('maxDebt', `0 for policy ${policy.name}, whose algorithm has no limit to go below`, maxDebt);
}

/**
 * Carries out the changes of each policy in one question. One decision for each policy: what a look sees last, and by how many units its changes
 * moved it.
 */
export async function changeAll(
  store: Store,
  policies: readonly Policy[],
  changesOf: (policy: Policy, index: number) => readonly Change[],
  settles?: Changes['settles'],
): Promise<Answer> {
  const parts = policies.map(changesOf);
  const answer = await store.ask({ verb: 'change', changes: parts.flat(), settles });
  if (parts.every(({ length }) => length === 1)) return answer;
  let next = 0;
  const decisions = parts.map(({ length }) => {
    next += length;
    const changed = answer.decisions.slice(next - length, next).reduce((sum, { changed = 0 }) => sum + changed, 0);
    return { ...answer.decisions[next - 1]!, changed };
  });
  return answerLike(answer, resultOf(decisions, answer.source));
}
