/** Policies that have more to say than the store: those that answer for themselves, such as `unlimited()` and `nothing()`. */
import type { MaybePromise } from '../model/maybe-promise.ts';
import { type Policy, ruleOf } from '../model/policy.ts';
import { type Answer, around, checksOf, type Question, type Store } from '../model/store.ts';

export function hasOwnAnswers(policy: Policy): boolean {
  return ruleOf(policy).answers !== undefined;
}

/** The store, but what such policies answer they answer here. */
export function withOwnAnswers(store: Store): Store {
  const ask = (question: Question): MaybePromise<Answer> => {
    const own = policiesOf(question).find(hasOwnAnswers);
    return own === undefined ? store.ask(question) : ruleOf(own).answers!(ask, question);
  };
  return around(store, ask);
}

/** In the order of the decisions. */
function policiesOf(question: Question): readonly Policy[] {
  switch (question.verb) {
    case 'attempt':
      return checksOf(question).map(({ policy }) => policy);
    case 'change':
      return question.changes.map(({ policy }) => policy);
    case 'forget':
      return question.policies;
    case 'history':
      return [question.policy];
  }
}
