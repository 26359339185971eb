/** Policies and a store: the object a user holds. It checks what it is given, asks the store once, and says the answer. */
import { checkCost, checkKey } from '../model/attempt.ts';
import type { HistoryEntry, RateLimitResult } from '../model/decision.ts';
import { SluiceError } from '../model/errors.ts';
import { checkOptionNames } from '../model/options.ts';
import type { Policy } from '../model/policy.ts';
import {
  type Check,
  checkIsLog,
  checkStore,
  type DecideOptions,
  type MaybePromise,
  type Store,
  type Verdicts,
} from '../model/store.ts';
import { type WaitVerbs, waitVerbs } from './acquire.ts';
import { type ChangeVerbs, changeVerbs } from './changes.ts';
import type { AttemptOptions, ContextOption, Core } from './core.ts';
import { type AttemptEntry, checksOf } from './entries.ts';
import { type Hold, type ReserveOptions, reserve } from './hold.ts';
import { Lines } from './lines.ts';
import { type PolicyOptions, policyChooser } from './policies.ts';
import { keyedResultOf, resultOf, resultOfOne } from './result.ts';
import { checkTimers, systemTimers, type Timers } from './sleep.ts';

export type { AcquireOptions } from './acquire.ts';
export type { ChangeResult, RefundOptions } from './changes.ts';
export type { AttemptOptions, ContextOption } from './core.ts';
export type { AttemptEntry } from './entries.ts';
export type { Hold, ReserveOptions, Settlement } from './hold.ts';
export type { PolicyChoice } from './policies.ts';
export type { Sleep, Timers } from './sleep.ts';

export interface LimiterOptions<Context> extends PolicyOptions<Context> {
  readonly store: Store;
  /** How many may wait for one key in `acquire` and `schedule`. Default: 10,000. */
  readonly queueLimit?: number | undefined;
  /** For tests and simulations: what `acquire` sleeps on, and measures timeouts and the ttl of holds with. Default: the system's. */
  readonly timers?: Timers | undefined;
}

/** A method, so that a limiter with a context passes for one without, as it does for all other verbs. */
interface AttemptForms<Context> {
  attempt(key: string, options?: AttemptOptions<Context>): Promise<RateLimitResult>;
  attempt(entries: readonly AttemptEntry[], options?: ContextOption<Context>): Promise<RateLimitResult>;
}

/** One key, or several at once: `attempt('user:42', { cost: 5 })`, `attempt([{ key: 'user:42', cost: 5 }, { key: 'everyone', policy }])`. */
export type AttemptVerb<Context> = AttemptForms<Context>['attempt'] & AtOnce<Context>;

/**
 * For servers, where a promise costs more than the decision: the same of one key, answered without a promise by a store that never waits.
 * Then it throws where the verb rejects. It belongs to the function `attempt` itself, so that a limiter with an `attempt` of its own is never
 * bypassed.
 */
interface AtOnce<Context> {
  atOnce?(key: string, options?: AttemptOptions<Context>): MaybePromise<RateLimitResult>;
}

export interface Limiter<Context = unknown> extends ChangeVerbs<Context>, WaitVerbs<Context> {
  /** What holds for every attempt; undefined when a function chooses. Headers tell their windows from it. */
  readonly policies: readonly Policy[] | undefined;
  /** May this key spend this cost now? Never rejects for "no". Of several keys all spend, or none does. */
  readonly attempt: AttemptVerb<Context>;
  /** What an attempt would be told, and nothing spent: `remaining` is what is there. Default cost: 1, as for an attempt. */
  readonly peek: AttemptVerb<Context>;
  /** Spends an estimate now, to be settled once the truth is known. */
  reserve(key: string, options?: ReserveOptions<Context>): Promise<Hold>;
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
  const lines = new Lines(options.queueLimit);
  const timers = options.timers === undefined ? systemTimers : checkTimers(options.timers, 'createLimiter.timers');
  const core: Core<Context> = { store, policiesFor, timers, freed: (key) => lines.wakeHeads(key) };

  /** Throws what is refused, and answers without a promise where the store does. */
  const ask = (
    key: string,
    options: AttemptOptions<Context> | undefined,
    verb: string,
    how?: DecideOptions,
  ): MaybePromise<RateLimitResult> => {
    if (options !== undefined) checkOptionNames(options, ATTEMPT_OPTIONS, verb);
    checkKey(key);
    const cost = options?.cost === undefined ? 1 : checkCost(options.cost);
    const policies = policiesFor(options?.context);
    const { one } = store.decide;
    if (one !== undefined && how === undefined && policies.length === 1) {
      const policy = policies[0]!;
      return resultOfOne(policy, one(key, policy, cost));
    }
    const checks = policies.map((policy) => ({ key, policy, cost }));
    const answer = store.decide(checks, how);
    return 'then' in answer ? resultLater(checks, answer) : resultOf(checks, answer);
  };

  /** One promise, whatever happens: an async function around a store that answers at once would make three. */
  const decide = (
    key: string,
    options: AttemptOptions<Context> | undefined,
    verb: string,
    how?: DecideOptions,
  ): Promise<RateLimitResult> => {
    try {
      return Promise.resolve(ask(key, options, verb, how));
    } catch (error) {
      return Promise.reject(error);
    }
  };

  const decideSeveral = async (
    entries: readonly AttemptEntry[],
    options: ContextOption<Context> | undefined,
    verb: string,
    how?: DecideOptions,
  ): Promise<RateLimitResult> => {
    if (options !== undefined) checkOptionNames(options, ['context'], verb);
    const checks = checksOf(entries, verb, () => policiesFor(options?.context));
    return keyedResultOf(checks, await store.decide(checks, how));
  };

  const isChosen = typeof (options.policy ?? options.policies) === 'function';
  const constant = isChosen ? undefined : policiesFor();
  const verbOf = (verb: string, how?: DecideOptions): AttemptVerb<Context> =>
    Object.assign(
      (key: Keys, options?: AttemptOptions<Context>) =>
        typeof key === 'string' ? decide(key, options, verb, how) : decideSeveral(key, options, verb, how),
      { atOnce: (key: string, options?: AttemptOptions<Context>) => ask(key, options, verb, how) },
    );
  return {
    policies: constant,
    attempt: verbOf('attempt'),
    peek: verbOf('peek', DRY_RUN),
    reserve: (key, options) => reserve(core, key, options),
    ...changeVerbs(core),
    ...waitVerbs(core, lines),
    async reset(key, options = {}) {
      checkOptionNames(options, ['context'], 'reset');
      await store.forget(checkKey(key), policiesFor(options.context));
      lines.wakeHeads(key);
    },
    async history(key, options = {}) {
      checkOptionNames(options, ['context', 'policy'], 'history');
      return store.history(checkKey(key), logAmong(policiesFor(options.context), options.policy));
    },
  };
}

type Keys = string | readonly AttemptEntry[];

const ATTEMPT_OPTIONS = ['cost', 'context'] as const;
const DRY_RUN = { dryRun: true } as const;

function resultLater(checks: readonly Check[], answer: Promise<Verdicts>): Promise<RateLimitResult> {
  return answer.then((verdicts) => resultOf(checks, verdicts));
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
