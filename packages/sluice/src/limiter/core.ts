/** What all verbs of a limiter share: its store, its policies, its timers, one way to ask, and checks of what a verb was called with before anything is spent. */
import type { RateLimitResult } from '../model/decision.ts';
import { Kind, mistaken, type SluiceError, wrong } from '../model/errors.ts';
import { identity, type MaybePromise, proceed } from '../model/maybe-promise.ts';
import { checkOptionNames, invalidOption } from '../model/options.ts';
import { hasRule, invalidPolicy, isObject, type Policy, plainData } from '../model/policy.ts';
import { type Attempt, NOTHING_ELSE, type Store } from '../model/store.ts';
import { type Amounts, amountsOf, type Cost } from './costs.ts';
import type { Timers } from './sleep.ts';

export interface Core<Context> {
  readonly store: Store;
  readonly policiesFor: PoliciesFor<Context>;
  readonly timers: Timers;
  /** Capacity has come back to this key: whatever sleeps until some would have, asks now. */
  freed(key: string): void;
}

/** For limiters whose policy is a function: what to call it with. */
export interface ContextOption<Context> {
  /** What a policy function is called with. Needed when it takes one. */
  readonly context?: Context | undefined;
}

/** What an attempt takes besides its key. */
export interface AttemptOptions<Context> extends ContextOption<Context> {
  /**
   * Units to spend: a whole number of at least 0, or one for each policy by its name: `{ requests: 1, tokens: 900 }`. For `attempt` and `peek` also
   * `{ most: 100, least: 1 }`: as many as there are, and `granted` says how many. Default: 1.
   */
  readonly cost?: Cost | undefined;
}

/** What a verb was called with, checked: its options, the policies that hold, and what each of them is to be charged. */
export function called<Context, Options extends AttemptOptions<Context>>(
  { policiesFor }: Core<Context>,
  verb: string,
  names: readonly string[],
  key: string,
  options: Options = {} as Options,
): MaybePromise<Called<Options>> {
  checkOptionNames(options, [...names, 'context'], verb);
  checkKey(key);
  const { cost = 1, context } = options;
  const chosen = policiesFor(context);
  return proceed(chosen, (policies) => ({ ...options, amounts: amountsOf(cost, policies), policies }));
}

type Called<Options> = Options & { readonly amounts: Amounts; readonly policies: readonly Policy[] };

/** An attempt of a key under policies that are checked already. */
export function attemptOn(key: string, policies: readonly Policy[], amounts: Amounts, dryRun: boolean): Attempt {
  const and =
    policies.length === 1
      ? NOTHING_ELSE
      : policies.slice(1).map((policy, index) => ({ key, policy, cost: amounts[index + 1]! }));
  return { verb: 'attempt', key, policy: policies[0]!, cost: amounts[0]!, and, dryRun };
}

export function ask(
  store: Store,
  key: string,
  policies: readonly Policy[],
  amounts: Amounts,
): MaybePromise<RateLimitResult> {
  return store.ask(attemptOn(key, policies, amounts, false));
}

/** Limits by plan, route or anything else: which policies hold for this context. It may be asynchronous, as when a plan is looked up. */
export type PolicyChoice<Context> = (context: Context) => MaybePromise<Policy | readonly Policy[]>;

/** Either `policy` or `policies`. */
export type PolicyOptions<Context> =
  | {
      /** One policy, or a function that chooses by the context of an attempt. */
      readonly policy: Policy | PolicyChoice<Context>;
      readonly policies?: undefined;
    }
  | {
      readonly policy?: undefined;
      /** Several: an attempt spends from all of them or from none. */
      readonly policies: readonly Policy[] | PolicyChoice<Context>;
    };

/** The options of a verb as its last argument: with a context where the policies of the limiter are a function of one. */
export type WithContext<Context, Options> = undefined extends Context
  ? [options?: Options]
  : [options: Options & { readonly context: Context }];

export type PoliciesFor<Context> = (context?: Context) => MaybePromise<readonly Policy[]>;

/** Constant policies are checked once, here; chosen ones each time, which costs a look at each. */
export function policyChooser<Context>({ policy, policies }: PolicyOptions<Context>): PoliciesFor<Context> {
  if ((policy === undefined) === (policies === undefined)) {
    throw invalidPolicy(
      'createLimiter',
      'either policy or policies',
      new Kind(policy === undefined ? 'neither' : 'both'),
    );
  }
  const given = policy ?? policies;
  const path = policy === undefined ? 'policies(context)' : 'policy(context)';
  if (typeof given === 'function') {
    return (context) => proceed(choose(given, context), (chosen) => checkChosen(chosen, path));
  }
  const constant = policy === undefined ? checkPolicies(policies, 'policies') : [checkOne(policy, 'policy')];
  return () => constant;
}

/** A policy with its rule. */
export function checkOne(value: unknown, path: string): Policy {
  if (hasRule(value)) return value;
  if (isObject(value) && 'algorithm' in value) throw plainData(path);
  const isList = Array.isArray(value);
  throw invalidPolicy(
    path,
    isList ? 'one policy (several go into policies)' : 'a policy, as tokenBucket({ ... }) and its siblings make it',
    value,
  );
}

/** A function that needs a context and gets none fails with an error of its own, far from the mistake. */
function choose<Context>(choice: PolicyChoice<Context>, context: Context | undefined): MaybePromise<unknown> {
  const failed = (error: unknown): never => {
    if (context !== undefined) throw error;
    throw invalidOption('context', 'the context that the policies of this limiter are a function of', context);
  };
  try {
    return proceed<unknown, unknown>(choice(context as Context), identity, failed);
  } catch (error) {
    return failed(error);
  }
}

/** A function may answer with one policy or with several. */
function checkChosen(chosen: unknown, path: string): readonly Policy[] {
  return Array.isArray(chosen) ? checkPolicies(chosen, path) : [checkOne(chosen, path)];
}

export function checkPolicies(given: unknown, path: string): readonly Policy[] {
  if (!Array.isArray(given) || given.length === 0 || given.length > MAX_POLICIES) {
    throw invalidPolicy(path, `an array of 1 to ${MAX_POLICIES} policies`, given);
  }
  const checked = Array.from(given, (policy, index) => checkOne(policy, `${path}[${index}]`));
  refuseDuplicates(checked, path);
  return checked;
}

/** All of an attempt's policies are decided in one script call, which blocks the server while it runs. */
export const MAX_POLICIES = 64;

/** Results, headers and keys tell policies apart by name. */
function refuseDuplicates(policies: readonly Policy[], path: string): void {
  policies.forEach(({ name }, index) => {
    if (policies.findIndex((other) => other.name === name) === index) return;
    throw mistaken(
      'SLUICE_DUPLICATE_POLICY',
      `${path}[${index}].name`,
      `${path}[${index}]: another policy of this limiter is already called "${name}". Results and headers tell policies apart by name: give each a name of its own.`,
    );
  });
}

/** Long enough for any real identity, short enough that a caller cannot fill a store with a few keys. */
export const MAX_KEY_LENGTH = 65_536;

export function checkKey(key: unknown, path = 'key'): string {
  if (typeof key === 'string' && key.length <= MAX_KEY_LENGTH) return key;
  if (typeof key === 'number' || typeof key === 'bigint') throw numberAsKey(key, path);
  throw wrong(
    'SLUICE_INVALID_KEY',
    path,
    `a string of at most ${MAX_KEY_LENGTH} characters`,
    typeof key === 'string' ? new Kind(`a string of ${key.length} characters`) : key,
  );
}

function numberAsKey(key: number | bigint, path: string): SluiceError {
  return mistaken(
    'SLUICE_INVALID_KEY',
    path,
    `${path}: a key is a string, and ${key} is a number. Write \`user:\${id}\` or String(id).`,
  );
}
