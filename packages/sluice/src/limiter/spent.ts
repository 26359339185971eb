/**
 * Which spend is given back: the result of an attempt says so by itself. Results are in seconds and stores count microseconds, and the
 * way back is exact, so that a refund with the result in hand lands in the very window, slot or entry that was charged.
 */
import type { Spent } from '../model/algorithm.ts';
import type { Decision, RateLimitResult } from '../model/decision.ts';
import { MICROS_PER_SECOND } from '../model/duration.ts';
import { Kind, SluiceError } from '../model/errors.ts';
import type { Policy } from '../model/policy.ts';

/** Answers of those who spend nothing in the store, so that nothing can be given back to it. */
const SPENT_ELSEWHERE: readonly string[] = ['fallback', 'fail-closed', 'shadow'];

export function isSpentInStore({ source }: RateLimitResult): boolean {
  return !SPENT_ELSEWHERE.includes(source);
}

/** The result of an attempt that was allowed, and that this key and these policies were part of. */
export function checkResult(of: unknown, key: string, policies: readonly Policy[], path: string): void {
  const { allowed, decisions } = (of ?? {}) as Partial<RateLimitResult>;
  if (typeof allowed !== 'boolean' || !Array.isArray(decisions)) {
    throw invalidResult(path, 'the result of the attempt that is given back', of);
  }
  if (!allowed) {
    throw invalidResult(path, 'the result of an attempt that was allowed', new Kind('one that was denied'));
  }
  for (const policy of policies) {
    if (isMoment(decisionFor(of as RateLimitResult, key, policy))) continue;
    throw invalidResult(path, `a result with a decision of policy ${policy.name} for this key`, new Kind('none'));
  }
}

/** `cost` is what the attempt spent, or at least what is given back of it. */
export function spentOf(of: RateLimitResult, key: string, policy: Policy, cost: number): Spent {
  const { resetAt, resetAfter } = decisionFor(of, key, policy)!;
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

/**
 * The whole number of microseconds that was divided to give these seconds. From 2^32 seconds on (the year 2106, which a limit of a
 * century reaches today) rounding alone may miss it by one; which of the neighbours it was is seen by dividing again.
 */
export function exactMicros(seconds: number): number {
  const near = Math.round(seconds * MICROS_PER_SECOND);
  return [near, near - 1, near + 1].find((micros) => micros / MICROS_PER_SECOND === seconds) ?? near;
}

function invalidResult(path: string, expected: string, got: unknown): SluiceError {
  return new SluiceError({ code: 'SLUICE_INVALID_OPTION', path, expected, got });
}
