/**
 * Which spend is given back: the result of an attempt says so by itself. Results are in seconds and stores count microseconds, and the
 * way back is exact, so that a refund with the result in hand lands in the very window, slot or entry that was charged.
 */
import type { Decision, RateLimitResult } from './decision.ts';
import { Kind } from './errors.ts';
import { invalidOption } from './options.ts';
import type { Policy } from './policy.ts';
import { exactMicros } from './result.ts';
import type { Spent } from './step.ts';

/** Answers of those who spend nothing in the store, so that nothing can be given back to it. */
const SPENT_ELSEWHERE: readonly string[] = ['fallback', 'fail-closed', 'shadow', 'exception'];

export function isSpentInStore({ source }: RateLimitResult): boolean {
  return !SPENT_ELSEWHERE.includes(source);
}

/** The result of an attempt that was allowed, and that this key and these policies were part of. */
export function checkResult(of: unknown, key: string, policies: readonly Policy[], path: string): void {
  const { allowed, decisions } = (of ?? {}) as Partial<RateLimitResult>;
  if (typeof allowed !== 'boolean' || !Array.isArray(decisions)) {
    throw invalidOption(path, 'the result of the attempt that is given back', of);
  }
  if (!allowed) {
    throw invalidOption(path, 'the result of an attempt that was allowed', new Kind('one that was denied'));
  }
  for (const policy of policies) {
    if (isMoment(decisionFor(of as RateLimitResult, key, policy))) continue;
    throw invalidOption(path, `a result with a decision of policy ${policy.name} for this key`, new Kind('none'));
  }
}

/** `cost` is what the attempt spent, or at least what is given back of it. */
export function spentOf(of: RateLimitResult, key: string, policy: Policy, cost: number): Spent {
  return spentBy(decisionFor(of, key, policy)!, cost);
}

/** Which spend a decision was, as a refund names it. Microseconds. */
export function spentBy({ resetAt, resetAfter }: Decision, cost: number): Spent {
  const until = exactMicros(resetAt);
  return { at: until - exactMicros(resetAfter), until, cost };
}

/** An attempt on several keys has decisions for each of them; of one key they do not say which. */
function decisionFor(of: RateLimitResult, key: string, policy: Policy): Decision | undefined {
  return of.decisions.find((decision) => {
    return decision?.policy === policy.name && (decision.key === undefined || decision.key === key);
  });
}

function isMoment(decision: Decision | undefined): boolean {
  return Number.isFinite(decision?.resetAt) && Number.isFinite(decision?.resetAfter);
}
