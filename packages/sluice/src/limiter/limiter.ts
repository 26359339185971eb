/** Policies and a store: the object a user holds. It checks what it is given, asks the store once, and says the answer. */
import { checkCost, checkKey } from '../model/attempt.ts';
import type { HistoryEntry, RateLimitResult } from '../model/decision.ts';
import { Kind, SluiceError } from '../model/errors.ts';
import { checkOptionNames } from '../model/options.ts';
import { checkPolicy, type Policy } from '../model/policy.ts';
import { type Check, checkIsLog, checkStore, type MaybePromise, type Store } from '../model/store.ts';
import { resultOf } from './result.ts';

/** Limits by plan, route or anything else: which policies hold for this context. */
export type PolicyChoice<Context> = (context: Context) => Policy | readonly Policy[];

export interface LimiterOptions<Context> {
  /** One policy, or a function that chooses by the context of an attempt. */
  readonly policy?: Policy | PolicyChoice<Context> | undefined;
  /** Several: an attempt spends from all of them or from none. */
  readonly policies?: readonly Policy[] | PolicyChoice<Context> | undefined;
  readonly store: Store;
}

export interface ContextOption<Context> {
  /** What a policy function is told. Needed when it takes one. */
  readonly context?: Context | undefined;
}

export interface AttemptOptions<Context> extends ContextOption<Context> {
  /** Units to spend: a whole number of at least 0. Default: 1. */
  readonly cost?: number | undefined;
}

export interface Limiter<Context = unknown> {
  /** May this key spend this cost now? Never rejects for "no". */
  attempt(key: string, options?: AttemptOptions<Context>): Promise<RateLimitResult>;
  /** What an attempt would be told, and nothing spent: `remaining` is what is there. Default cost: 1, as for an attempt. */
  peek(key: string, options?: AttemptOptions<Context>): Promise<RateLimitResult>;
  /** Makes the key as good as new. */
  reset(key: string, options?: ContextOption<Context>): Promise<void>;
  /** When a sliding window log admitted what, within its window, oldest first. */
  history(key: string, options?: HistoryOptions<Context>): Promise<readonly HistoryEntry[]>;
}

export interface HistoryOptions<Context> extends ContextOption<Context> {
  /** Which one, when the limiter has several sliding window logs. */
  readonly policy?: string | undefined;
}

export function limiterOver<Context>(options: LimiterOptions<Context>): Limiter<Context> {
  const store = checkStore(options.store, 'createLimiter.store');
  const policiesFor = policyChooser(options);

  const decide = (key: string, cost: number, context: Context | undefined, dryRun: boolean) => {
    const checks = checksFor(checkKey(key), checkCost(cost), policiesFor(context));
    const answer = store.decide(checks, dryRun ? DRY_RUN : undefined);
    return 'then' in answer ? answer.then((verdicts) => resultOf(checks, verdicts)) : resultOf(checks, answer);
  };

  return {
    attempt: (key, options) =>
      promised(() => {
        if (options === undefined) return decide(key, 1, undefined, false);
        checkOptionNames(options, ATTEMPT_OPTIONS, 'attempt');
        return decide(key, options.cost === undefined ? 1 : options.cost, options.context, false);
      }),
    peek: (key, options = {}) =>
      promised(() => {
        checkOptionNames(options, ATTEMPT_OPTIONS, 'peek');
        return decide(key, options.cost === undefined ? 1 : options.cost, options.context, true);
      }),
    async reset(key, options = {}) {
      checkOptionNames(options, ['context'], 'reset');
      await store.forget(checkKey(key), policiesFor(options.context));
    },
    async history(key, options = {}) {
      checkOptionNames(options, ['context', 'policy'], 'history');
      return store.history(checkKey(key), logAmong(policiesFor(options.context), options.policy));
    },
  };
}

const ATTEMPT_OPTIONS = ['cost', 'context'] as const;
const DRY_RUN = { dryRun: true } as const;

/** What a function gives, now or later, as one promise: async functions around a store that answers at once would make three. */
function promised<T>(work: () => MaybePromise<T>): Promise<T> {
  try {
    return Promise.resolve(work());
  } catch (error) {
    return Promise.reject(error);
  }
}

function checksFor(key: string, cost: number, policies: readonly Policy[]): Check[] {
  return policies.map((policy) => ({ key, policy, cost }));
}

/** Constant policies are checked once, here; chosen ones each time, which costs nothing for those that were defined in code. */
function policyChooser<Context>({
  policy,
  policies,
}: LimiterOptions<Context>): (context?: Context) => readonly Policy[] {
  if ((policy === undefined) === (policies === undefined)) {
    throw new SluiceError({
      code: 'SLUICE_INVALID_POLICY',
      path: 'createLimiter',
      expected: 'either policy or policies',
      got: new Kind(policy === undefined ? 'neither' : 'both'),
    });
  }
  const given = policy ?? policies;
  const path = policy === undefined ? 'policies(context)' : 'policy(context)';
  if (typeof given === 'function') return (context) => checkChosen(choose(given, context), path);
  const constant = policy === undefined ? checkPolicies(policies, 'policies') : [checkPolicy(policy, 'policy')];
  return () => constant;
}

/** A function that needs a context and gets none fails with an error of its own, far from the mistake. */
function choose<Context>(choice: PolicyChoice<Context>, context: Context | undefined): unknown {
  try {
    return choice(context as Context);
  } catch (error) {
    if (context !== undefined) throw error;
    throw new SluiceError({
      code: 'SLUICE_INVALID_OPTION',
      path: 'context',
      expected: 'the context that the policies of this limiter are a function of',
      got: context,
    });
  }
}

/** A function may answer with one policy or with several. */
function checkChosen(chosen: unknown, path: string): readonly Policy[] {
  return Array.isArray(chosen) ? checkPolicies(chosen, path) : [checkPolicy(chosen, path)];
}

function checkPolicies(given: unknown, path: string): readonly Policy[] {
  if (!Array.isArray(given) || given.length === 0 || given.length > MAX_POLICIES) {
    throw new SluiceError({
      code: 'SLUICE_INVALID_POLICY',
      path,
      expected: `an array of 1 to ${MAX_POLICIES} policies`,
      got: given,
    });
  }
  const checked = Array.from(given, (policy, index) => checkPolicy(policy, `${path}[${index}]`));
  refuseDuplicates(checked, path);
  return checked;
}

/** All of an attempt's policies are decided in one script call, which blocks the server while it runs. */
const MAX_POLICIES = 64;

/** Results, headers and keys tell policies apart by name. */
function refuseDuplicates(policies: readonly Policy[], path: string): void {
  policies.forEach(({ name }, index) => {
    if (policies.findIndex((other) => other.name === name) === index) return;
    throw new SluiceError({
      code: 'SLUICE_DUPLICATE_POLICY',
      path: `${path}[${index}].name`,
      expected: 'a name no other policy of this limiter has',
      got: name,
    });
  });
}

/** The log that is asked for by name, or the only one there is. */
function logAmong(policies: readonly Policy[], name: string | undefined): Policy {
  const logs = policies.filter(({ algorithm }) => algorithm === 'sliding-window-log');
  const found = name === undefined ? logs : policies.filter((policy) => policy.name === name);
  if (found.length === 1) return checkIsLog(found[0]!);
  if (name === undefined && found.length === 0) return checkIsLog(policies[0]!);
  const names = (name === undefined ? logs : policies).map((policy) => policy.name).join(', ');
  throw new SluiceError({
    code: 'SLUICE_INVALID_OPTION',
    path: 'history.policy',
    expected: `the name of a policy of this limiter: ${names}`,
    got: name,
  });
}
