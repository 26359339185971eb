/**
 * Decides and reports, and never denies: for trying a limit on real traffic before it is enforced.
 *
 * Without `policies` the whole attempt is a dry run: it is decided as it would be in earnest, all or nothing, and a "no" becomes a
 * "yes". With `policies` only those are in shadow. The others are decided first, as one attempt; only if they allow it is each one in shadow
 * asked, in an attempt of its own. Else a policy that is only being tried would keep the others from being spent from, or would itself
 * be spent from by an attempt that never happened. That is a second question to the store, and what a trial costs.
 */
import type { Decision } from '../model/decision.ts';
import { all, type MaybePromise, proceed } from '../model/maybe-promise.ts';
import { checkOptionNames, invalidOption } from '../model/options.ts';
import { type Policy, ruleOf } from '../model/policy.ts';
import { resultOf } from '../model/result.ts';
import type { Answer, Attempt, Change, Changes, Check, Store } from '../model/store.ts';
import { answerLike, attemptLike, attemptOf, checksOf } from '../model/store.ts';
import { callHook, checkHook, type Hook } from './hooks.ts';
import { type Layer, layerOf } from './layered.ts';

/** What `shadow` takes. */
export interface ShadowOptions {
  /** The names of the policies in shadow. Default: all. */
  readonly policies?: readonly string[] | undefined;
  /** Called with every attempt that would have been denied, once for each policy that would have. Not for looks and dry runs. */
  readonly onShadowDenied?: Hook<ShadowDenied> | undefined;
}

/** An attempt that a policy in shadow would have denied. */
export interface ShadowDenied {
  readonly key: string;
  readonly cost: number;
  readonly policy: Policy;
  /** What it would have been told. */
  readonly decision: Decision;
}

/** Tries limits on real traffic: they are counted and reported, and never deny. */
export function shadow(options: ShadowOptions = {}): Layer {
  checkOptionNames(options, ['policies', 'onShadowDenied'], 'shadow');
  const { policies, onShadowDenied } = options;
  const names = policies === undefined ? undefined : checkNames(policies, 'shadow.policies');
  checkHook(onShadowDenied, 'shadow.onShadowDenied');
  return layerOf('shadow', (inner) => {
    const rehearse = (attempt: Attempt): MaybePromise<Answer> =>
      proceed(inner.ask(attempt), (answer) => lifted(attempt, answer, attempt.dryRun ? undefined : onShadowDenied));
    return (question) => {
      const isShadowed = ({ policy }: { readonly policy: Policy }): boolean => names?.has(policy.name) === true;
      if (question.verb === 'change' && question.settles !== undefined) return settleApart(inner, question, isShadowed);
      if (question.verb !== 'attempt') return inner.ask(question);
      if (names === undefined) return rehearse(question);
      return checksOf(question).some(isShadowed)
        ? decideApart(inner, question, isShadowed, rehearse)
        : inner.ask(question);
    };
  });
}

type Rehearse = (attempt: Attempt) => MaybePromise<Answer>;

/** First what is enforced, then what is only tried, and both in one answer, in the order of the checks. */
function decideApart(
  inner: Store,
  attempt: Attempt,
  isShadowed: (check: Check) => boolean,
  rehearse: Rehearse,
): MaybePromise<Answer> {
  const checks = checksOf(attempt);
  const enforced = checks.filter((check) => !isShadowed(check));
  const tried = checks.filter(isShadowed);
  if (enforced.length === 0) return each(tried, rehearse, attempt.dryRun);
  return proceed(inner.ask(attemptLike(attempt, enforced)), (answer) => {
    const { granted, mark } = answer;
    const asTold = granted === undefined ? tried : tried.map((check) => ({ ...check, cost: granted }));
    const isSpent = !attempt.dryRun && !isDenied(answer) && mark !== 'found';
    return proceed(each(asTold, rehearse, !isSpent), (told) =>
      answerLike(answer, merged(checks, isShadowed, answer, told)),
    );
  });
}

/** The mark of a hold is about what is enforced. What is in shadow is settled when that has been, and only then. */
function settleApart(
  inner: Store,
  { changes, settles }: Changes,
  isShadowed: (change: Change) => boolean,
): MaybePromise<Answer> {
  const [ends, at, ...spends] = settles!.marked;
  const own = [ends!, at!, ...spends.filter((_, index) => !isShadowed(changes[index >> 1]!))];
  const enforced = changes.filter((change) => !isShadowed(change));
  const tried = changes.filter(isShadowed);
  if (tried.length === 0 || enforced.length === 0) return inner.ask({ verb: 'change', changes, settles });
  const settlement = { verb: 'change', changes: enforced, settles: { ...settles!, marked: own } } as const;
  return proceed(inner.ask(settlement), (answer) => {
    const looks = tried.map(({ key, policy }): Change => ({ verb: 'refund', key, policy, cost: 0 }));
    const rest = { verb: 'change', changes: answer.mark === 'found' ? tried : looks } as const;
    return proceed(inner.ask(rest), (told) => answerLike(answer, merged(changes, isShadowed, answer, told)));
  });
}

/** One attempt for each check, all sent at the same time. */
function each(checks: readonly Check[], rehearse: Rehearse, dryRun: boolean): MaybePromise<Answer> {
  return proceed(all(checks.map((check) => rehearse(attemptOf([check], dryRun)))), joined);
}

function joined(answers: readonly Answer[]): Answer {
  const { source } = answers.find((answer) => answer.source === 'shadow') ?? answers[0]!;
  return resultOf(
    answers.flatMap(({ decisions }) => decisions),
    source,
  );
}

function merged<Item>(
  checks: readonly Item[],
  isShadowed: (check: Item) => boolean,
  enforced: Answer,
  tried: Answer,
): Answer {
  let nextEnforced = 0;
  let nextTried = 0;
  const decisions = checks.map((check) =>
    isShadowed(check) ? tried.decisions[nextTried++]! : enforced.decisions[nextEnforced++]!,
  );
  // A "no" that stands was changed by nobody.
  return resultOf(decisions, tried.source === 'shadow' && !isDenied(enforced) ? 'shadow' : enforced.source);
}

/** Every "no" as a "yes", with the numbers as they stand; and the hook is called. */
function lifted(attempt: Attempt, answer: Answer, hook: Hook<ShadowDenied> | undefined): Answer {
  // A trial lifts what its limits say. What somebody has denied by name stays denied.
  if (!isDenied(answer) || answer.source === 'exception') return answer;
  const checks = checksOf(attempt);
  const decisions = answer.decisions.map((decision, index) => {
    if (decision.allowed) return decision;
    const { key, cost, policy } = checks[index]!;
    callHook(hook, { key, cost, policy, decision });
    const told = { ...decision, allowed: true, retryAfter: null };
    // Nothing was taken, so there is no permit to give back.
    return ruleOf(policy).permits === undefined ? told : { ...told, changed: 0 };
  });
  return resultOf(decisions, 'shadow');
}

function isDenied({ decisions }: Answer): boolean {
  return decisions.some(({ allowed }) => !allowed);
}

function checkNames(names: unknown, path: string): ReadonlySet<string> {
  if (Array.isArray(names) && names.length > 0 && names.every((name) => typeof name === 'string'))
    return new Set(names);
  throw invalidOption(path, 'an array of policy names', names);
}
