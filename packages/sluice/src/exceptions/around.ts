/**
 * A store whose exceptions are looked up before it is asked. Keys without one are asked about as ever; those that are exempt or denied are answered
 * here, and the store hears nothing of them; those with other numbers are asked about under these.
 */
import type { Clock } from '../model/clock.ts';
import type { Decision } from '../model/decision.ts';
import { MICROS_PER_MS } from '../model/duration.ts';
import { type MaybePromise, proceed } from '../model/maybe-promise.ts';
import { type Policy, ruleOf } from '../model/policy.ts';
import { decisionOf, resultOf } from '../model/result.ts';
import type { Answer, Attempt, Check, Question, Store } from '../model/store.ts';
import { answerLike, around, attemptLike, attemptOf, checksOf } from '../model/store.ts';
import { type ExceptionEntry, untilOf } from './entry.ts';
import type { Lookup } from './lookup.ts';

/** Where the exceptions are, and who hears of blocks. */
export interface Surroundings {
  readonly clock: Clock;
  lookup(): Lookup;
  /** What was blocked, unblocked or reset in the store. */
  blocked(question: Question): void;
}

export function withExceptions(inner: Store, { clock, lookup, blocked }: Surroundings): Store {
  const askOthers = (question: Question): MaybePromise<Answer> => {
    const free = freePenalties(question, lookup(), clock);
    if (free !== undefined) return free;
    const given = overridden(question, lookup(), clock);
    if (question.verb === 'history') return inner.ask(given);
    return proceed(inner.ask(given), (answer) => {
      blocked(question);
      return answer;
    });
  };
  return around(inner, (question) => {
    if (question.verb !== 'attempt') return askOthers(question);
    const held = lookup();
    if (held.size === 0) return inner.ask(question);
    if (question.and.length > 0) return decide(inner, question, held, clock);
    return held.find(question.key, clock) === undefined ? inner.ask(question) : decide(inner, question, held, clock);
  });
}

function decide(inner: Store, attempt: Attempt, lookup: Lookup, clock: Clock): MaybePromise<Answer> {
  const checks = checksOf(attempt);
  const found = foundFor(checks, lookup, clock);
  const now = clock.now();
  const own = checks.map(({ policy }, index) => {
    const entry = found[index]?.find(isListed);
    return entry === undefined ? undefined : decisionBy(entry, policy, now);
  });
  const rest = checks
    .map((check, index) => ({ ...check, policy: policyUnder(check.policy, found[index]) }))
    .filter((_, index) => own[index] === undefined);
  const isDenied = own.some((decision) => decision?.allowed === false);
  if (rest.length === 0) return resultOf(own as Decision[], 'exception');
  // Only attempts on several keys are answered in part, and those are neither remembered nor granted in part.
  const isWhole = rest.length === checks.length;
  const asked = isWhole ? attemptLike(attempt, rest) : attemptOf(rest, attempt.dryRun || isDenied);
  return proceed(inner.ask(asked), (answer) => {
    let next = 0;
    const both = own.map((decision) => decision ?? answer.decisions[next++]!);
    const told = isDenied ? both.map((decision) => ({ ...decision, delay: null })) : both;
    return answerLike(answer, resultOf(told, isWhole ? answer.source : 'exception'));
  });
}

/** Keys are mostly the same in all checks of an attempt. */
function foundFor(checks: readonly Check[], lookup: Lookup, clock: Clock): (readonly ExceptionEntry[] | undefined)[] {
  const byKey = new Map<string, readonly ExceptionEntry[] | undefined>();
  return checks.map(({ key }) => {
    if (!byKey.has(key)) byKey.set(key, lookup.find(key, clock));
    return byKey.get(key);
  });
}

/** An exempt key is told what an unlimited one is; a denied one, when its exception ends. */
function decisionBy(entry: ExceptionEntry, policy: Policy, nowMs: number): Decision {
  const rule = ruleOf(policy);
  const allowed = entry.kind === 'exempt';
  const wait = allowed ? 0 : (untilOf(entry) - nowMs) * MICROS_PER_MS;
  const resetAfter = Number.isFinite(wait) ? Math.round(wait) : 0;
  const verdict = { allowed, remaining: 0, retryAfter: Math.round(wait), resetAfter, delay: 0 };
  const decision = decisionOf(rule, Math.round(nowMs * MICROS_PER_MS), verdict);
  const all = Number.POSITIVE_INFINITY;
  return allowed ? { ...decision, limit: all, remaining: all } : decision;
}

/** By entry and policy: a policy with other numbers is made once. */
const made = new WeakMap<ExceptionEntry, WeakMap<Policy, Policy>>();

/** The policy with the numbers of the most specific override that is for it. */
function policyUnder(policy: Policy, found: readonly ExceptionEntry[] | undefined): Policy {
  for (const entry of found ?? []) {
    if (entry.kind !== 'override' || (entry.policy !== undefined && entry.policy !== policy.name)) continue;
    const known = made.get(entry) ?? new WeakMap<Policy, Policy>();
    made.set(entry, known);
    const changed = known.get(policy) ?? changedBy(entry, policy);
    known.set(policy, changed);
    if (changed !== policy) return changed;
  }
  return policy;
}

/** An override is for every policy that takes its numbers; for others it is none. */
function changedBy({ numbers }: ExceptionEntry, policy: Policy): Policy {
  try {
    return ruleOf(policy).changed(numbers!);
  } catch {
    return policy;
  }
}

function overridden(question: Question, lookup: Lookup, clock: Clock): Question {
  if (lookup.size === 0 || question.verb === 'attempt') return question;
  if (question.verb === 'change') {
    const changes = question.changes.map((change) => ({
      ...change,
      policy: policyUnder(change.policy, lookup.find(change.key, clock)),
    }));
    return { ...question, changes };
  }
  const found = lookup.find(question.key, clock);
  if (question.verb === 'history') return { ...question, policy: policyUnder(question.policy, found) };
  return { ...question, policies: question.policies.map((policy) => policyUnder(policy, found)) };
}

/** What an exempt key is charged afterwards, as by a settlement, it is not charged. */
function freePenalties(question: Question, lookup: Lookup, clock: Clock): Answer | undefined {
  if (lookup.size === 0 || question.verb !== 'change') return undefined;
  const decisions: Decision[] = [];
  for (const { verb, key, policy, ...amount } of question.changes) {
    const entry = verb === 'penalize' ? lookup.find(key, clock)?.find(isListed) : undefined;
    if (entry?.kind !== 'exempt') return undefined;
    decisions.push({ ...decisionBy(entry, policy, clock.now()), changed: 'cost' in amount ? amount.cost : 0 });
  }
  return resultOf(decisions, 'exception');
}

function isListed({ kind }: ExceptionEntry): boolean {
  return kind === 'exempt' || kind === 'deny';
}
