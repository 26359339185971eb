/** Policies and a store: the object a user holds. It checks what it is given, asks the store once, and hands on the answer. */

import type { HistoryEntry, RateLimitResult } from '../model/decision.ts';
import { Kind } from '../model/errors.ts';
import type { ExceptionEntry } from '../model/exception.ts';
import { type MaybePromise, proceed } from '../model/maybe-promise.ts';
import { checkOptionNames, invalidOption } from '../model/options.ts';
import { type Policy, ruleOf } from '../model/policy.ts';
import { withKeys } from '../model/result.ts';
import { attemptOf, checkStore, NOTHING_ELSE, noHistory, type Store } from '../model/store.ts';
import { type WaitVerbs, waitVerbs } from './acquire.ts';
import { type ChangeVerbs, changeVerbs } from './changes.ts';
import {
  attemptOn,
  type ContextOption,
  type Core,
  called,
  checkKey,
  type PolicyOptions,
  policyChooser,
  type WithContext,
} from './core.ts';
import { amountsOf, type Cost, checkCost } from './costs.ts';
import { type EnterVerbs, enterVerbs } from './enter.ts';
import { type AttemptEntry, checksOfEntries } from './entries.ts';
import { type Hold, type ReservedCost, type ReserveOptions, reserve, type SettleOptions, settle } from './hold.ts';
import { Lines } from './lines.ts';
import { hasOwnAnswers, withOwnAnswers } from './own-answers.ts';
import type { Settlement } from './settle.ts';
import { warnOfSharing } from './sharing.ts';
import { checkTimers, systemTimers, type Timers } from './sleep.ts';
import { askSpecially, isSpecial, type SpendOptions } from './special.ts';

/** What `limiterOver` takes: one policy, several, or a function that chooses; and a store. */
export type LimiterOptions<Context> = PolicyOptions<Context> &
  LimiterSettings & {
    /** Where the state is kept, such as `redisStore(client)`. */
    readonly store: Store;
  };

/** What a limiter takes besides its policies and its store. */
export interface LimiterSettings {
  /** Keys, prefixes and networks that are exempt, denied or have other numbers: `sharedExceptions()` of `sluice/exceptions`. Default: none. */
  readonly exceptions?: ExceptionList | undefined;
  /** How many may wait for one key in `acquire` and `schedule`. Default: 10,000. */
  readonly queueLimit?: number | undefined;
  /** For tests and simulations: what `acquire` sleeps on, and measures timeouts and the ttl of holds with. Default: the system's. */
  readonly timers?: Timers | undefined;
}

/** What a limiter needs of exceptions: `sharedExceptions()` of `sluice/exceptions` makes them. */
export interface ExceptionList {
  around(store: Store): Store;
  list?(): readonly ExceptionEntry[];
  of?(key: string): readonly ExceptionEntry[];
}

/** A method, so that a limiter with a context passes for one without, as it does for all other verbs. */
interface AttemptForms<Context> {
  attempt(
    entries: readonly AttemptEntry[],
    ...options: WithContext<Context, ContextOption<Context>> | []
  ): Promise<RateLimitResult>;
  // Last, because the compiler explains the last one: a context that is missing.
  attempt(key: string, ...options: WithContext<Context, SpendOptions<Context>>): Promise<RateLimitResult>;
}

/**
 * One key, or several in one attempt: `attempt('user:42', { cost: 5 })`, `attempt([{ key: 'user:42', cost: 5 }, { key: 'everyone', policy }])`.
 */
export type AttemptVerb<Context> = AttemptForms<Context>['attempt'] & Synchronous<Context>;

/**
 * For servers, where a promise costs more than the decision: the same of one key, answered without a promise by a store that never waits.
 * Then it throws where the verb rejects. It belongs to the function `attempt` itself, so that a limiter with an `attempt` of its own is never
 * bypassed.
 */
interface Synchronous<Context> {
  atOnce?(key: string, options?: SpendOptions<Context>): MaybePromise<RateLimitResult>;
}

/** Policies and a store, with the verbs to use them. Made by `createLimiter`. */
export interface Limiter<Context = unknown> extends ChangeVerbs<Context>, WaitVerbs<Context>, EnterVerbs<Context> {
  /** What holds for every attempt; undefined when a function chooses. Headers tell their windows from it. */
  readonly policies: readonly Policy[] | undefined;
  /** Where the state is kept. */
  readonly store: Store;
  /**
   * May this key spend this cost now? Never rejects for "no": look at `allowed`. Of several keys all spend, or none does.
   *
   * @example
   * const { allowed, retryAfter } = await limiter.attempt('user:42');
   */
  readonly attempt: AttemptVerb<Context>;
  /** What an attempt would be told, and nothing spent: `remaining` is what is there. Default cost: 1, as for an attempt. */
  readonly peek: AttemptVerb<Context>;
  /** Spends an estimate now, to be settled once the actual cost is known. */
  reserve<Given extends ReservedCost = number>(
    key: string,
    ...options: WithContext<Context, ReserveOptions<Context, Given>>
  ): Promise<Hold<Given>>;
  /**
   * Settles a hold by its token, in any process that has its policies on this store, with what was really used; 0 cancels it. A hold is settled once: a
   * second settlement rejects with SLUICE_HOLD_SETTLED. After the ttl nothing is changed, and `expired` says so.
   *
   * @example
   * const hold = await limiter.reserve('user:42', { cost: 900 });
   * await queue.send({ hold: hold.token }); // and there: await limiter.settle(message.hold, 512)
   */
  settle(token: string, actual: Cost, ...options: WithContext<Context, SettleOptions<Context>>): Promise<Settlement>;
  /** Gives the key its full limit again, and ends a block. */
  reset(key: string, ...options: WithContext<Context, ContextOption<Context>>): Promise<void>;
  /**
   * Everything that holds besides the policies, as this process knows it: exempt, denied and blocked keys, prefixes and networks, and other numbers, each with
   * its end and reason; with a key those that hold for it, the most specific first. Empty without `exceptions`.
   */
  exceptions(key?: string): readonly ExceptionEntry[];
  /** When a sliding window log admitted what, within its window, oldest first. */
  history(key: string, ...options: WithContext<Context, HistoryOptions<Context>>): Promise<readonly HistoryEntry[]>;
}

/** What `history` takes besides its key. */
export interface HistoryOptions<Context> extends ContextOption<Context> {
  /** Which one, when the limiter has several sliding window logs. */
  readonly policy?: string | undefined;
  /** Only admissions after this Unix time in seconds. */
  readonly after?: number | undefined;
  /** At most so many. Default: all of them, asked for in pieces. */
  readonly limit?: number | undefined;
}

/**
 * A limiter over a store that you name. `createLimiter` is the same with a memory store by default; without that default a bundle is smaller.
 *
 * @example
 * const limiter = limiterOver({ policy: tokenBucket({ capacity: 10, refillRate: 1 }), store: redisStore(client) });
 * const { allowed } = await limiter.attempt('user:42');
 */
export function limiterOver<Context>(options: LimiterOptions<Context>): Limiter<Context> {
  // What a context is, only the policy function knows.
  return makeLimiter(options as LimiterOptions<unknown>) as Limiter<Context>;
}

function makeLimiter(options: LimiterOptions<unknown>): Limiter {
  const base = checkStore(options.store, 'createLimiter.store');
  const policiesFor = policyChooser(options);
  const lines = new Lines(options.queueLimit);
  const timers = options.timers === undefined ? systemTimers : checkTimers(options.timers, 'createLimiter.timers');
  const isChosen = typeof (options.policy ?? options.policies) === 'function';
  const constant = isChosen ? undefined : (policiesFor() as readonly Policy[]);
  const { exceptions } = options;
  if (exceptions !== undefined && typeof exceptions?.around !== 'function') {
    throw invalidOption('createLimiter.exceptions', 'sharedExceptions() of sluice/exceptions', Kind.of(exceptions));
  }
  const except = (inner: Store): Store => exceptions?.around(inner) ?? inner;
  // Exceptions are asked first: they hold for unlimited keys too.
  const several = except(withOwnAnswers(base));
  const store = constant === undefined || constant.some(hasOwnAnswers) ? several : except(base);
  const core: Core<unknown> = { store, policiesFor, timers, freed: (key) => lines.wakeHeads(key) };
  if (constant !== undefined) warnOfSharing(store, constant);
  const only = constant?.length === 1 ? constant[0] : undefined;
  return {
    policies: constant,
    store: except(base),
    attempt: attemptVerb(core, 'attempt', false, only, several),
    peek: attemptVerb(core, 'peek', true, only, several),
    reserve: (key, options) => reserve(core, lines, key, options),
    settle: (token, actual, options) => settle(core, token, actual, options),
    ...changeVerbs(core),
    ...waitVerbs(core, lines),
    ...enterVerbs(core, lines),
    async reset(key, options) {
      const { policies } = await called(core, 'reset', [], key, options);
      await store.ask({ verb: 'forget', key, policies });
      core.freed(key);
    },
    exceptions: (key) => (key === undefined ? exceptions?.list?.() : exceptions?.of?.(checkKey(key))) ?? [],
    async history(key, options) {
      const request = await called<unknown, HistoryOptions<unknown>>(core, 'history', HISTORY_OPTIONS, key, options);
      const { policies, limit } = request;
      if (limit !== undefined) checkCost(limit, 'history.limit');
      const log = policies.find((policy) => ruleOf(policy).history !== undefined);
      if (log === undefined) throw noHistory(policies[0]!);
      return ruleOf(log).history!(store, { ...request, key });
    },
  };
}

const HISTORY_OPTIONS = ['policy', 'after', 'limit'] as const;
const ATTEMPT_OPTIONS = ['cost', 'id', 'ttl', 'context'] as const;

function attemptVerb<Context>(
  { store, policiesFor }: Core<Context>,
  verb: string,
  dryRun: boolean,
  only: Policy | undefined,
  /** For entries, which may bring policies that answer for themselves. */
  several: Store,
): AttemptVerb<Context> {
  const { ask } = store;
  const prepared = only === undefined || dryRun ? undefined : ask.under?.(only);
  /** Throws what is refused, and answers without a promise where the store does. */
  const atOnce = (key: string, options?: SpendOptions<Context>): MaybePromise<RateLimitResult> => {
    checkKey(key);
    if (options !== undefined) checkOptionNames(options, ATTEMPT_OPTIONS, verb);
    if (options !== undefined && isSpecial(options)) {
      return proceed(policiesFor(options.context), (policies) => askSpecially(store, key, policies, options, dryRun));
    }
    const cost = options?.cost;
    if (only !== undefined && (cost === undefined || typeof cost === 'number')) {
      const units = cost === undefined ? 1 : checkCost(cost);
      // Unless somebody has put another `ask` in its place meanwhile.
      if (prepared !== undefined && store.ask === ask) return prepared(key, units);
      return store.ask({ verb: 'attempt', key, policy: only, cost: units, and: NOTHING_ELSE, dryRun });
    }
    return proceed(policiesFor(options?.context), (policies) => {
      return store.ask(attemptOn(key, policies, amountsOf(cost === undefined ? 1 : cost, policies), dryRun));
    });
  };
  const severalKeys = async (
    entries: readonly AttemptEntry[],
    options: ContextOption<Context> | undefined,
  ): Promise<RateLimitResult> => {
    if (options !== undefined) checkOptionNames(options, ['context'], verb);
    const needsOwn =
      Array.isArray(entries) && entries.some((entry) => (entry?.policy ?? entry?.policies) === undefined);
    const own = needsOwn ? await policiesFor(options?.context) : [];
    const checks = checksOfEntries(entries, verb, own);
    return withKeys(checks, await several.ask(attemptOf(checks, dryRun)));
  };
  /** One promise, whatever happens: an async function around a store that answers with a value would make three. */
  const attempt = (
    key: string | readonly AttemptEntry[],
    options?: SpendOptions<Context>,
  ): Promise<RateLimitResult> => {
    if (typeof key !== 'string' && typeof key === 'object') return severalKeys(key, options);
    try {
      return Promise.resolve(atOnce(key, options));
    } catch (error) {
      return Promise.reject(error);
    }
  };
  return Object.assign(attempt, { atOnce }) as AttemptVerb<Context>;
}
