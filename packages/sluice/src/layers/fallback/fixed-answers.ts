/**
 * Answers without any state, for when nobody knows it: always yes, or always no. They keep what holds in every state: a cost above the
 * limit never fits, and cost 0 only looks.
 */
import { type Clock, readMicros } from '../../model/clock.ts';
import type { Decision } from '../../model/decision.ts';
import { type Policy, ruleOf } from '../../model/policy.ts';
import { decisionOf, resultOf } from '../../model/result.ts';
import { type Answer, checksOf, type Question, type Store } from '../../model/store.ts';

/** Denied unseen, which is no fault of the caller's: HTTP has another status for it. */
export const FAILS_CLOSED = 'fail-closed';

/** 'allow' answers as if nothing were spent; 'deny' as if nothing were left, and to come back in `retryAfter` microseconds. */
export function answering(answer: 'allow' | 'deny', clock: Clock, retryAfter: number): Store {
  const isAllowed = answer === 'allow';
  const source = isAllowed ? 'fallback' : FAILS_CLOSED;
  const decide = (policy: Policy, cost: number, now: number): Decision => {
    const rule = ruleOf(policy);
    const never = cost > rule.limit;
    return decisionOf(rule, now, {
      allowed: !never && (isAllowed || cost === 0),
      remaining: isAllowed ? rule.limit : 0,
      retryAfter: never ? Number.POSITIVE_INFINITY : retryAfter,
      resetAfter: isAllowed ? 0 : retryAfter,
      delay: 0,
    });
  };
  return { ask: (question) => resultOf(decisionsOf(question, decide, readMicros(clock)), source) };
}

function decisionsOf(
  question: Question,
  decide: (policy: Policy, cost: number, now: number) => Decision,
  now: number,
): Answer['decisions'] {
  switch (question.verb) {
    case 'attempt':
      return checksOf(question).map(({ policy, cost }) => decide(policy, cost, now));
    case 'change':
      // What was allowed without counting lasts as long as anybody likes.
      return question.changes.map(({ policy, verb }) => ({
        ...decide(policy, 0, now),
        changed: verb === 'extend' ? 1 : 0,
      }));
    case 'forget':
      return question.policies.map((policy) => decide(policy, 0, now));
    case 'history':
      return [decide(question.policy, 0, now)];
  }
}
