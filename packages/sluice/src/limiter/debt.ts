/**
 * Debt: spending below empty, down to a bound. What was really used may be more than there is; charged later, it would be charged to nobody.
 */
import type { RateLimitResult } from '../model/decision.ts';
import { invalidOption } from '../model/options.ts';
import { type Policy, ruleOf } from '../model/policy.ts';
import { resultOf } from '../model/result.ts';
import type { Change } from '../model/store.ts';
import { type Amounts, amountFor, amountsOf, type Cost } from './costs.ts';

/** Checked before anything is spent: not every algorithm can go below empty. */
export function debtOf(maxDebt: Cost | undefined, policies: readonly Policy[], path: string): Amounts {
  if (maxDebt === undefined) return 0;
  const debts = amountsOf(maxDebt, policies, path);
  for (const [index, policy] of policies.entries()) {
    if (amountFor(debts, index) > 0) withDebt(policy, amountFor(debts, index));
  }
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

/** One decision for each policy: what a look sees last, and by how many units its changes moved it. */
export function joined(answer: RateLimitResult, parts: readonly (readonly unknown[])[]): RateLimitResult {
  const isOne = parts.every(({ length }) => length === 1);
  if (isOne) return answer;
  let next = 0;
  const decisions = parts.map(({ length }) => {
    next += length;
    const changed = answer.decisions.slice(next - length, next).reduce((sum, { changed = 0 }) => sum + changed, 0);
    return { ...answer.decisions[next - 1]!, changed };
  });
  return resultOf(decisions, answer.source);
}
