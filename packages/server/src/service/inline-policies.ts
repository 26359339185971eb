/**
 * Policies that come along with requests, in the memory of this process. The memory store keeps a table of some 3 kB for each identity under
 * which a key has a state, and callers may think of any number of them. So here the identity goes into the key, and all that came along
 * with one algorithm have one table together. On Redis an identity is part of the key anyway.
 */
import { checkPolicy, type MemoryStore, type Policy } from 'sluice';
import { type Answer, type Change, type Check, type Question, resultOf, ruleOf, type Store } from 'sluice/store';

/** The policy that stands for each that came along. */
const standIns = new WeakMap<Policy, Policy>();

/** A name that no configured policy can have. */
const TOGETHER = 'inline:';

/** From now on its name is the caller's, not the config's. */
export function markInline(policy: Policy): void {
  if (!standIns.has(policy)) standIns.set(policy, checkPolicy({ ...policy, name: TOGETHER }));
}

function moved<T extends Check | Change>(item: T): T {
  const policy = standIns.get(item.policy);
  return policy === undefined ? item : { ...item, key: keyOf(item), policy };
}

/** Identities are printable, so that the end of one cannot be the beginning of a key. */
function keyOf({ key, policy }: { readonly key: string; readonly policy: Policy }): string {
  return `${ruleOf(policy).identity}\n${key}`;
}

/** A memory store whose tables do not grow in number with the policies that come along. */
export function inOneTable(store: MemoryStore): Store & Pick<MemoryStore, 'restore'> {
  return {
    place: store.place,
    ask: (question) => (isAboutInline(question) ? askMoved(store, question) : store.ask(question)),
    restore(key, policy, ...rest) {
      const standIn = standIns.get(policy);
      if (standIn === undefined) store.restore(key, policy, ...rest);
      else store.restore(keyOf({ key, policy }), standIn, ...rest);
    },
  };
}

function isAboutInline(question: Question): boolean {
  if (question.verb === 'attempt' && question.and.length === 0) return standIns.has(question.policy);
  return policiesOf(question).some((policy) => standIns.has(policy));
}

/** One for each decision, in order. */
function policiesOf(question: Question): readonly Policy[] {
  switch (question.verb) {
    case 'attempt':
      return [question.policy, ...question.and.map(({ policy }) => policy)];
    case 'change':
      return question.changes.map(({ policy }) => policy);
    case 'forget':
      return question.policies;
    case 'history':
      return [question.policy];
  }
}

function askMoved(store: MemoryStore, question: Question): Answer {
  const names = policiesOf(question).map(({ name }) => name);
  switch (question.verb) {
    case 'attempt':
      return withNames(store.ask({ ...moved(question), and: question.and.map(moved) }), names);
    case 'change':
      return withNames(store.ask({ ...question, changes: question.changes.map(moved) }), names);
    case 'history': {
      const policy = standIns.get(question.policy)!;
      return withNames(store.ask({ ...question, key: keyOf(question), policy }), names);
    }
    case 'forget':
      return forgetEach(store, question.key, question.policies);
  }
}

/** Each may have a key of its own. */
function forgetEach(store: MemoryStore, key: string, policies: readonly Policy[]): Answer {
  const answers = policies.map((policy) => {
    const there = moved({ key, policy, cost: 0 });
    return withNames(store.ask({ verb: 'forget', key: there.key, policies: [there.policy] }), [policy.name]);
  });
  return resultOf(
    answers.flatMap(({ decisions }) => decisions),
    'store',
  );
}

/** Says the names that the caller gave. Whatever else the answer says is as it was. */
function withNames(answer: Answer, names: readonly string[]): Answer {
  const { decisions, source } = answer;
  const named = decisions.map((decision, index) => ({ ...decision, policy: names[index]! }));
  return { ...answer, ...resultOf(named, source) };
}
