/**
 * Answers without any state, for when nobody knows it: always yes, or always no. They keep what holds in every state: a cost above the
 * limit never fits, and cost 0 only looks.
 */
import { type Clock, readMicros } from '../model/clock.ts';
import { limitOf, type Policy } from '../model/policy.ts';
import type { Check, Store, Verdict } from '../model/store.ts';

/** Whoever is denied is denied unseen: that is no fault of the caller's, and HTTP has another status for it. */
export const FAILS_CLOSED = 'fail-closed';

/** 'allow' is told as if nothing were spent; 'deny' as if nothing were left, and to come back in `retryAfter` microseconds. */
export function answering(answer: 'allow' | 'deny', clock: Clock, retryAfter: number): Store {
  const isAllowed = answer === 'allow';
  const resetAfter = isAllowed ? 0 : retryAfter;
  const source = isAllowed ? 'fallback' : FAILS_CLOSED;

  const look = (policy: Policy): Verdict => {
    return { allowed: true, remaining: isAllowed ? limitOf(policy) : 0, retryAfter: 0, resetAfter, delay: 0 };
  };
  const decideOne = ({ policy, cost }: Check): Verdict => {
    if (cost > limitOf(policy)) return { ...look(policy), allowed: false, retryAfter: Number.POSITIVE_INFINITY };
    return isAllowed || cost === 0 ? look(policy) : { ...look(policy), allowed: false, retryAfter };
  };

  return {
    decide: (checks) => ({ now: readMicros(clock), verdicts: checks.map(decideOne), source }),
    change: (changes) => ({ now: readMicros(clock), verdicts: changes.map(({ policy }) => look(policy)), source }),
    forget: () => undefined,
    history: () => [],
  };
}
