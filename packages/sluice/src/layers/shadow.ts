/**
 * Decides and reports, and never denies: for trying a limit on real traffic before it is enforced.
 *
 * Without `policies` the whole attempt is a rehearsal: it is decided as it would be in earnest, all or nothing, and a "no" becomes a
 * "yes". With `policies` only those are in the shadow. The others are decided first, as one attempt; only if they allow it is each one in the shadow
 * asked, in an attempt of its own. Else a policy that is only being tried would keep the others from being spent from, or would itself
 * be spent from by an attempt that never happened. That is a second call to the store, and what a trial costs.
 */
import { SluiceError } from '../model/errors.ts';
import { isPromise } from '../model/maybe-promise.ts';
import { checkOptionNames } from '../model/options.ts';
import type { Policy } from '../model/policy.ts';
import {
  type Check,
  checkStore,
  type DecideOptions,
  type MaybePromise,
  type Store,
  type Verdict,
  type Verdicts,
} from '../model/store.ts';
import { callHook, checkHook, type Hook } from './hooks.ts';
import type { Layer } from './layered.ts';

export interface ShadowOptions {
  /** The names of the policies in the shadow. Default: all. */
  readonly policies?: readonly string[] | undefined;
  /** Told of every attempt that would have been denied, once for each policy that would have. Not for looks and dry runs. */
  readonly onShadowDenied?: Hook<ShadowDenied> | undefined;
}

export interface ShadowDenied {
  readonly key: string;
  readonly cost: number;
  readonly policy: Policy;
  /** What it would have been told, in microseconds. */
  readonly verdict: Verdict;
}

export function shadow(options: ShadowOptions = {}): Layer {
  checkOptionNames(options, ['policies', 'onShadowDenied'], 'shadow');
  const { policies, onShadowDenied } = options;
  const names = policies === undefined ? undefined : checkNames(policies, 'shadow.policies');
  checkHook(onShadowDenied, 'shadow.onShadowDenied');

  return (inner) => {
    checkStore(inner, 'shadow(...)(store)');
    const isShadowed = (check: Check): boolean => names!.has(check.policy.name);
    const rehearse: Decide = (checks, options) => {
      const hook = options?.dryRun === true ? undefined : onShadowDenied;
      const answer = inner.decide(checks, options);
      return isPromise(answer) ? answer.then((told) => lifted(checks, told, hook)) : lifted(checks, answer, hook);
    };

    return {
      decide(checks, options) {
        if (names === undefined) return rehearse(checks, options);
        if (!checks.some(isShadowed)) return inner.decide(checks, options);
        return decideApart(inner, checks, isShadowed, rehearse, options);
      },
      change: (changes) => inner.change(changes),
      forget: (key, policies) => inner.forget(key, policies),
      history: (key, policy) => inner.history(key, policy),
    };
  };
}

type Decide = Store['decide'];

/** First what is enforced, then what is only tried, and both in one answer, in the order of the checks. */
function decideApart(
  inner: Store,
  checks: readonly Check[],
  isShadowed: (check: Check) => boolean,
  rehearse: Decide,
  options: DecideOptions | undefined,
): MaybePromise<Verdicts> {
  const enforced = checks.filter((check) => !isShadowed(check));
  const tried = checks.filter(isShadowed);
  if (enforced.length === 0) return each(tried, rehearse, options);

  return then(inner.decide(enforced, options), (answer) => {
    const trial = each(tried, rehearse, isDenied(answer) ? DRY_RUN : options);
    return then(trial, (told) => merged(checks, isShadowed, answer, told));
  });
}

const DRY_RUN: DecideOptions = { dryRun: true };

/** One attempt for each check, all sent at once. */
function each(checks: readonly Check[], decide: Decide, options: DecideOptions | undefined): MaybePromise<Verdicts> {
  const answers = checks.map((check) => decide([check], options));
  return answers.some(isPromise) ? Promise.all(answers).then(joined) : joined(answers as Verdicts[]);
}

function joined(answers: readonly Verdicts[]): Verdicts {
  const changed = answers.find(({ source }) => source === 'shadow');
  const { now, source } = changed ?? answers[0]!;
  return { now, verdicts: answers.flatMap(({ verdicts }) => verdicts), source };
}

function merged(
  checks: readonly Check[],
  isShadowed: (check: Check) => boolean,
  enforced: Verdicts,
  tried: Verdicts,
): Verdicts {
  let nextEnforced = 0;
  let nextTried = 0;
  const verdicts = checks.map((check) =>
    isShadowed(check) ? tried.verdicts[nextTried++]! : enforced.verdicts[nextEnforced++]!,
  );
  // A "no" that stands was changed by nobody.
  const source = tried.source === 'shadow' && !isDenied(enforced) ? 'shadow' : enforced.source;
  return { now: enforced.now, verdicts, source };
}

/** Every "no" as a "yes", with the numbers as they stand; and the hook is told. */
function lifted(checks: readonly Check[], answer: Verdicts, hook: Hook<ShadowDenied> | undefined): Verdicts {
  if (!isDenied(answer)) return answer;
  const verdicts = answer.verdicts.map((verdict, index) => {
    if (verdict.allowed) return verdict;
    callHook(hook, { ...checks[index]!, verdict });
    return { ...verdict, allowed: true, retryAfter: 0 };
  });
  return { now: answer.now, verdicts, source: 'shadow' };
}

function isDenied({ verdicts }: Verdicts): boolean {
  for (const { allowed } of verdicts) if (!allowed) return true;
  return false;
}

function then<T, Next>(answer: MaybePromise<T>, next: (value: T) => MaybePromise<Next>): MaybePromise<Next> {
  return isPromise(answer) ? answer.then(next) : next(answer);
}

function checkNames(names: unknown, path: string): ReadonlySet<string> {
  if (Array.isArray(names) && names.length > 0 && names.every((name) => typeof name === 'string'))
    return new Set(names);
  throw new SluiceError({ code: 'SLUICE_INVALID_OPTION', path, expected: 'an array of policy names', got: names });
}
