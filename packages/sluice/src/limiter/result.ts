/** From a store's verdicts in microseconds to the one result people read, in seconds. */
import type { Decision, RateLimitResult } from '../model/decision.ts';
import { MICROS_PER_SECOND } from '../model/duration.ts';
import { limitOf, type Policy } from '../model/policy.ts';
import type { Answer, Check, Verdict, Verdicts } from '../model/store.ts';

export function resultOf(
  checks: readonly Pick<Check, 'policy'>[],
  { now, verdicts, source }: Verdicts,
): RateLimitResult {
  if (verdicts.length === 1) return resultOfOne(checks[0]!.policy, { now, verdict: verdicts[0]!, source });
  const decisions = verdicts.map((verdict, index) => decisionOf(checks[index]!.policy, verdict, now));
  return withDecisions(bindingOf(decisions), longestDelay(decisions), decisions, source);
}

export function resultOfOne(policy: Policy, { now, verdict, source }: Answer): RateLimitResult {
  const decision = decisionOf(policy, verdict, now);
  return withDecisions(decision, decision.delay, [decision], source);
}

/** Of an attempt on several keys: each decision says whose it is. */
export function keyedResultOf(checks: readonly Check[], { now, verdicts, source }: Verdicts): RateLimitResult {
  const decisions = verdicts.map((verdict, index) => {
    const { key, policy } = checks[index]!;
    return { ...decisionOf(policy, verdict, now), key };
  });
  const binding = bindingOf(decisions);
  return { ...withDecisions(binding, longestDelay(decisions), decisions, source), key: binding.key };
}

/** Written out, because spreading an object costs more than deciding. */
function withDecisions(
  { policy, allowed, limit, remaining, retryAfter, resetAfter, resetAt }: Decision,
  delay: number | null,
  decisions: readonly Decision[],
  source: string,
): RateLimitResult {
  return { allowed, limit, remaining, retryAfter, resetAfter, resetAt, delay, policy, decisions, source };
}

function decisionOf(policy: Policy, verdict: Verdict, now: number): Decision {
  return {
    policy: policy.name,
    allowed: verdict.allowed,
    limit: limitOf(policy),
    remaining: verdict.remaining,
    retryAfter: verdict.allowed ? null : verdict.retryAfter / MICROS_PER_SECOND,
    resetAfter: verdict.resetAfter / MICROS_PER_SECOND,
    resetAt: (now + verdict.resetAfter) / MICROS_PER_SECOND,
    delay: verdict.delay === 0 ? null : verdict.delay / MICROS_PER_SECOND,
  };
}

/** The denying policy with the longest retryAfter; if all allow, the one with the smallest remaining / limit. */
function bindingOf(decisions: readonly Decision[]): Decision {
  const denying = decisions.filter(({ allowed }) => !allowed);
  return denying.length > 0
    ? denying.reduce((longest, next) => (next.retryAfter! > longest.retryAfter! ? next : longest))
    : decisions.reduce((tightest, next) => (freeShare(next) < freeShare(tightest) ? next : tightest));
}

function freeShare({ remaining, limit }: Decision): number {
  return remaining / limit;
}

/** Every policy's slot must have come before the caller acts. */
function longestDelay(decisions: readonly Decision[]): number | null {
  return decisions.reduce<number | null>(
    (longest, { delay }) => (delay !== null && (longest === null || delay > longest) ? delay : longest),
    null,
  );
}
