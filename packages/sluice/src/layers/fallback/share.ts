/** A store that allows a stated part of every limit: what one of several processes may give while they cannot ask each other. */
import { proceed } from '../../model/maybe-promise.ts';
import { invalidOption } from '../../model/options.ts';
import { type Policy, ruleOf } from '../../model/policy.ts';
import { resultOf } from '../../model/result.ts';
import {
  type Answer,
  answerLike,
  attemptLike,
  type Check,
  checksOf,
  type Question,
  type Store,
} from '../../model/store.ts';

/** The policy that allows a part of another, made once for each. */
export type PartOf = (policy: Policy) => Policy;

export function partOf(share: number): PartOf {
  if (share === 1) return (policy) => policy;
  const parts = new WeakMap<Policy, Policy>();
  return (policy) => {
    const known = parts.get(policy);
    if (known !== undefined) return known;
    const part = scaled(policy, share);
    parts.set(policy, part);
    return part;
  };
}

/**
 * A share so small that it would take more than a century to recover is no policy: then the policy stays as it is, because a fallback must
 * answer.
 */
function scaled(policy: Policy, share: number): Policy {
  const rule = ruleOf(policy);
  try {
    return rule.changed(rule.share(share));
  } catch {
    return policy;
  }
}

/** `retryAfter` in seconds is for costs that fit the limit and not the share: they fit once the whole limit is back. */
export function sharing(store: Store, part: PartOf, retryAfter: number): Store['ask'] {
  return (question) => {
    return proceed(store.ask(questionUnder(question, part)), (answer) => whole(question, answer, retryAfter));
  };
}

/** The same question, with each policy replaced. */
export function questionUnder(question: Question, replace: (policy: Policy) => Policy): Question {
  const replaced = <Item extends { readonly policy: Policy }>(item: Item): Item => ({
    ...item,
    policy: replace(item.policy),
  });
  switch (question.verb) {
    case 'attempt':
      return attemptLike(question, checksOf(question).map(replaced));
    case 'change':
      return { ...question, changes: question.changes.map(replaced) };
    case 'forget':
      return { ...question, policies: question.policies.map(replace) };
    case 'history':
      return replaced(question);
  }
}

/** The limit that people read is the policy's own. */
function whole(question: Question, answer: Answer, retryAfter: number): Answer {
  const checks = checksIn(question);
  const decisions = answer.decisions.map((decision, index) => {
    const { policy, cost } = checks[index]!;
    const { limit } = ruleOf(policy);
    const isForShareOnly = decision.retryAfter === Number.POSITIVE_INFINITY && cost <= limit;
    return { ...decision, limit, retryAfter: isForShareOnly ? retryAfter : decision.retryAfter };
  });
  return answerLike(answer, resultOf(decisions, answer.source));
}

/** What each decision of an answer is about: all but attempts are answered with a look, which costs nothing. */
export function checksIn(question: Question): readonly Check[] {
  switch (question.verb) {
    case 'attempt':
      return checksOf(question);
    case 'change':
      return question.changes.map(({ key, policy }) => ({ key, policy, cost: 0 }));
    case 'forget':
      return question.policies.map((policy) => ({ key: question.key, policy, cost: 0 }));
    case 'history':
      return [{ key: question.key, policy: question.policy, cost: 0 }];
  }
}

export function checkShare(share: unknown, path: string): number {
  if (typeof share === 'number' && share > 0 && share <= 1) return share;
  throw invalidOption(path, 'a number above 0 and at most 1', share);
}
