/** From microseconds to the one result people read, in seconds. */
import type { Decision, RateLimitResult, Source } from './decision.ts';
import { MICROS_PER_SECOND } from './duration.ts';
import type { Rule } from './rule.ts';
import type { Answer, Check } from './store.ts';

/** The answer of one rule in whole microseconds, as a step has it and as Redis replies it. */
export interface Verdict {
  readonly allowed: boolean;
  readonly remaining: number;
  /** 0 when allowed, Infinity when this cost never can be. */
  readonly retryAfter: number;
  readonly resetAfter: number;
  readonly delay: number;
}

/** What people read of one policy, in seconds, made of what a rule says in microseconds. */
export function decisionOf(rule: Rule, now: number, verdict: Verdict): Decision {
  const decision: Decision = {
    policy: rule.name,
    allowed: verdict.allowed,
    limit: rule.limit,
    remaining: verdict.remaining,
    retryAfter: verdict.allowed ? null : verdict.retryAfter / MICROS_PER_SECOND,
    resetAfter: verdict.resetAfter / MICROS_PER_SECOND,
    resetAt: (now + verdict.resetAfter) / MICROS_PER_SECOND,
    delay: verdict.delay === 0 ? null : verdict.delay / MICROS_PER_SECOND,
  };
  return rule.visible ? decision : { ...decision, visible: false };
}

/** The answer to an attempt under one policy. Written out, because copying a decision costs as much as deciding. */
export function answerOf(rule: Rule, now: number, verdict: Verdict): RateLimitResult {
  const { name: policy, limit, visible } = rule;
  if (!visible) return resultOfOne(decisionOf(rule, now, verdict), 'store');
  const { allowed, remaining } = verdict;
  const retryAfter = allowed ? null : verdict.retryAfter / MICROS_PER_SECOND;
  const resetAfter = verdict.resetAfter / MICROS_PER_SECOND;
  const resetAt = (now + verdict.resetAfter) / MICROS_PER_SECOND;
  const delay = verdict.delay === 0 ? null : verdict.delay / MICROS_PER_SECOND;
  const decisions = [{ policy, allowed, limit, remaining, retryAfter, resetAfter, resetAt, delay }];
  return { allowed, limit, remaining, retryAfter, resetAfter, resetAt, delay, policy, decisions, source: 'store' };
}

/** The same of a decision. */
export function resultOfOne(decision: Decision, source: Source): RateLimitResult {
  return withDecisions(decision, decision.delay, [decision], source);
}

/** Of several policies: the numbers of the binding one, and the longest delay, because every slot must have come before the caller acts. */
export function resultOf(decisions: readonly Decision[], source: Source): RateLimitResult {
  const binding = decisions.reduce((tightest, next) => (isTighter(next, tightest) ? next : tightest));
  const delay = Math.max(...decisions.map((decision) => decision.delay ?? 0)) || null;
  const result = withDecisions(binding, delay, decisions, source);
  return binding.key === undefined ? result : { ...result, key: binding.key };
}

/** One that denies before one that allows; of those that deny the one to wait for longest, of others the one with the smallest part left. */
function isTighter(one: Decision, other: Decision): boolean {
  if (one.allowed !== other.allowed) return other.allowed;
  return one.allowed ? partLeft(one) < partLeft(other) : one.retryAfter! > other.retryAfter!;
}

/** Of no limit at all everything is left, whatever was spent; of a limit of 0 nothing. */
function partLeft({ remaining, limit }: Decision): number {
  return remaining / limit || remaining;
}

/** Says of each decision whose it is: for an attempt on several keys. */
export function withKeys(checks: readonly Check[], answer: Answer): RateLimitResult {
  const decisions = answer.decisions.map((decision, index) => ({ ...decision, key: checks[index]!.key }));
  return resultOf(decisions, answer.source);
}

/** Written out, because spreading an object costs more than deciding. */
function withDecisions(
  { policy, allowed, limit, remaining, retryAfter, resetAfter, resetAt }: Decision,
  delay: number | null,
  decisions: readonly Decision[],
  source: Source,
): RateLimitResult {
  return { allowed, limit, remaining, retryAfter, resetAfter, resetAt, delay, policy, decisions, source };
}

/**
 * The whole number of microseconds that was divided to give these seconds. From 2^32 seconds on (the year 2106, which a limit of a
 * century reaches today) rounding alone may miss it by one; which of the neighbours it was is seen by dividing again.
 */
export function exactMicros(seconds: number): number {
  const near = Math.round(seconds * MICROS_PER_SECOND);
  if (near / MICROS_PER_SECOND === seconds) return near;
  return [near - 1, near + 1].find((micros) => micros / MICROS_PER_SECOND === seconds) ?? near;
}

/** The reading of the store's clock that decided, in microseconds. */
export function decidedAt({ resetAt, resetAfter }: Pick<Decision, 'resetAt' | 'resetAfter'>): number {
  return exactMicros(resetAt) - exactMicros(resetAfter);
}

/** A decision in microseconds again. */
export function verdictOf({ allowed, remaining, retryAfter, resetAfter, delay }: Decision): Verdict {
  return {
    allowed,
    remaining,
    retryAfter: retryAfter === null ? 0 : exactMicros(retryAfter),
    resetAfter: exactMicros(resetAfter),
    delay: delay === null ? 0 : exactMicros(delay),
  };
}
