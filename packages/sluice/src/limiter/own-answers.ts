/**
 * Policies that have more to say than the store: those that answer for themselves (`unlimited()`, `nothing()`), and those that clients are not to
 * read about (`visible: false`).
 */
import { type MaybePromise, proceed } from '../model/maybe-promise.ts';
import { type Policy, ruleOf } from '../model/policy.ts';
import { resultOf } from '../model/result.ts';
import { type Answer, answerLike, around, checksOf, type Question, type Store } from '../model/store.ts';

export function hasOwnAnswers(policy: Policy): boolean {
  const { answers, visible } = ruleOf(policy);
  return answers !== undefined || !visible;
}

/** The store, but what such policies answer they answer here. */
export function withOwnAnswers(store: Store): Store {
  const ask = (question: Question): MaybePromise<Answer> => {
    for (const policy of policiesOf(question)) {
      const { answers } = ruleOf(policy);
      if (answers !== undefined) return answers(ask, question);
    }
    return store.ask(question);
  };
  return around(store, (question) => (isPlain(question) ? store.ask(question) : ask(question)));
}

/** The store, but its answers say of which policies clients are not to read. */
export function withMarks(store: Store): Store {
  return around(store, (question) => {
    if (isPlain(question)) return store.ask(question);
    const hidden = policiesOf(question).map((policy) => !ruleOf(policy).visible);
    return hidden.includes(true)
      ? proceed(store.ask(question), (answer) => marked(answer, hidden))
      : store.ask(question);
  });
}

/** Nearly all: one policy, which the store knows all about. */
function isPlain(question: Question): boolean {
  return question.verb === 'attempt' && question.and.length === 0 && !hasOwnAnswers(question.policy);
}

function marked(answer: Answer, hidden: readonly boolean[]): Answer {
  const { decisions, source, history } = answer;
  const result = resultOf(
    decisions.map((decision, index) => (hidden[index] ? { ...decision, visible: false as const } : decision)),
    source,
  );
  return answerLike(answer, history === undefined ? result : { ...result, history });
}

/** In the order of the decisions. */
function policiesOf(question: Question): readonly Policy[] {
  switch (question.verb) {
    case 'attempt':
      return question.and.length === 0 ? [question.policy] : checksOf(question).map(({ policy }) => policy);
    case 'change':
      return question.changes.map(({ policy }) => policy);
    case 'forget':
      return question.policies;
    case 'history':
      return [question.policy];
  }
}
