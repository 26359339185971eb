/**
 * Two policies that are no state at all, so that a plan can be either: everything is allowed, or nothing is. A limiter answers them itself and
 * asks its store only about the policies beside them.
 */
import { readMicros, systemClock } from '../model/clock.ts';
import type { Decision } from '../model/decision.ts';
import { mistaken } from '../model/errors.ts';
import { type MaybePromise, proceed } from '../model/maybe-promise.ts';
import { define, type NameOption, type Policy, ruleOf } from '../model/policy.ts';
import { decisionOf, resultOf } from '../model/result.ts';
import type { Algorithm, RuleParts } from '../model/rule.ts';
import { type Answer, answerLike, attemptOf, checksOf, type Question, type Store } from '../model/store.ts';

/** A policy made by `unlimited()`. */
export interface UnlimitedPolicy extends Policy {
  readonly algorithm: 'unlimited';
}

/** A policy made by `nothing()`. */
export interface NothingPolicy extends Policy {
  readonly algorithm: 'nothing';
}

const UNLIMITED: Algorithm<UnlimitedPolicy> = {
  name: 'unlimited',
  about: 'Allows everything and counts nothing.',
  fields: {},
  rule: () => fixedRule(Number.POSITIVE_INFINITY),
};

const NOTHING: Algorithm<NothingPolicy> = {
  name: 'nothing',
  about: 'Denies everything.',
  fields: {},
  rule: () => fixedRule(0),
};

/** What `checkPolicy` knows besides the algorithms. */
export const FIXED: readonly Algorithm[] = [UNLIMITED, NOTHING];

/**
 * Allows everything and counts nothing: for a plan without a limit. Its `limit` and `remaining` are `Infinity`, the store is not asked for it, and
 * headers do not name it.
 *
 * @example
 * const limiter = createLimiter({ policy: (plan: string) => (plan === 'enterprise' ? unlimited() : tokenBucket({ capacity: 100, refillRate: 10 })) });
 */
export function unlimited(options: NameOption = {}): UnlimitedPolicy {
  return define(UNLIMITED, options);
}

/**
 * Denies everything that costs something, for good: `retryAfter` is `Infinity`. For a plan that does not include a feature.
 *
 * @example
 * const limiter = createLimiter({ policy: (plan: string) => (plan === 'free' ? nothing() : tokenBucket({ capacity: 100, refillRate: 10 })) });
 */
export function nothing(options: NameOption = {}): NothingPolicy {
  return define(NOTHING, options);
}

/** The rule is whole, for those who ask a store themselves; a limiter never does. */
function fixedRule(limit: number): RuleParts {
  return {
    limit,
    recovery: 0,
    width: 1,
    transition: (_state, _now, cost, step) =>
      cost <= limit ? step.allow(limit, 0) : step.deny(limit, Number.POSITIVE_INFINITY, 0),
    penalize: (_state, _now, _cost, step) => step.leaves(),
    refund: (_state, _now, _cost, _spent, step) => step.leaves(),
    bound: () => limit,
    share: () => ({}),
    answers,
  };
}

function isFixed(policy: Policy): boolean {
  return ruleOf(policy).answers === answers;
}

function decided(policy: Policy, cost: number): Decision {
  const rule = ruleOf(policy);
  const allowed = cost <= rule.limit;
  const retryAfter = Number.POSITIVE_INFINITY;
  return decisionOf(rule, readMicros(systemClock), {
    allowed,
    remaining: rule.limit,
    retryAfter,
    resetAfter: 0,
    delay: 0,
  });
}

function answers(ask: Store['ask'], question: Question): MaybePromise<Answer> {
  switch (question.verb) {
    case 'attempt': {
      const checks = checksOf(question);
      const rest = checks.filter(({ policy }) => !isFixed(policy));
      const { least, mark } = question;
      const own = checks.map(({ policy, cost }) => (isFixed(policy) ? decided(policy, least ?? cost) : undefined));
      const isDenied = own.some((decision) => decision?.allowed === false);
      // The mark of a hold says what was spent under all of its policies, and there is nothing to say of these: such a hold has no token.
      const asked = { least, mark: mark?.isNew === true ? undefined : mark };
      if (rest.length === 0) return merged(own, undefined);
      return merged(own, ask({ ...attemptOf(rest, question.dryRun || isDenied), ...asked }), isDenied);
    }
    case 'change': {
      refuseBlock(question.changes);
      const rest = question.changes.filter(({ policy }) => !isFixed(policy));
      const own = question.changes.map((change) => {
        const units = 'cost' in change && ruleOf(change.policy).limit > 0 ? change.cost : 0;
        return isFixed(change.policy) ? { ...decided(change.policy, 0), changed: units } : undefined;
      });
      return merged(own, rest.length === 0 ? undefined : ask({ ...question, changes: rest }));
    }
    case 'forget': {
      const policies = question.policies.filter((policy) => !isFixed(policy));
      const own = question.policies.map((policy) => (isFixed(policy) ? decided(policy, 0) : undefined));
      return merged(own, policies.length === 0 ? undefined : ask({ ...question, policies }));
    }
    case 'history':
      return ask(question);
  }
}

/** In the order of the question. What is denied by one of these is delayed by nobody. */
function merged(
  own: readonly (Decision | undefined)[],
  answer: MaybePromise<Answer> | undefined,
  isDenied = false,
): MaybePromise<Answer> {
  if (answer === undefined) return resultOf(own as readonly Decision[], 'policy');
  return proceed(answer, (told) => {
    let next = 0;
    const both = own.map((decision) => decision ?? told.decisions[next++]!);
    const result = resultOf(isDenied ? both.map((decision) => ({ ...decision, delay: null })) : both, told.source);
    return isDenied ? result : answerLike(told, result);
  });
}

/** There is no state that a block could be kept in: a block that blocks nothing must not look like one. */
function refuseBlock(changes: Extract<Question, { verb: 'change' }>['changes']): void {
  const isKept = changes.some(({ verb, policy }) => verb !== 'block' || !isFixed(policy));
  const isNeeded = changes.some(({ policy }) => ruleOf(policy).limit > 0);
  if (isKept || !isNeeded) return;
  throw mistaken(
    'SLUICE_INVALID_POLICY',
    'block',
    'block: this key is under unlimited(), which keeps no state, so it cannot keep a block. Deny the key with an exception: createLimiter({ policy, store, exceptions }), then exceptions.deny(key, { for: ... }).',
  );
}
