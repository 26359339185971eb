/**
 * What keeps the state and applies a step atomically. A store knows atomicity, not limits; an algorithm knows limits, not
 * stores. Layers wrap a store and are stores again.
 */
import type { Spent } from './algorithm.ts';
import type { HistoryEntry } from './decision.ts';
import { Kind, SluiceError } from './errors.ts';
import type { Policy, SlidingWindowLogPolicy } from './policy.ts';

/** "May this key spend this cost under this policy?" */
export interface Check {
  readonly key: string;
  readonly policy: Policy;
  readonly cost: number;
}

/** One policy's answer as stores give it: whole microseconds, before it is put into seconds for people. */
export interface Verdict {
  readonly allowed: boolean;
  readonly remaining: number;
  /** 0 when allowed, Infinity when this cost never can be. */
  readonly retryAfter: number;
  readonly resetAfter: number;
  readonly delay: number;
  /** After a change: how many units were spent or given back. */
  readonly changed?: number | undefined;
}

export interface Verdicts {
  /** The one reading of the store's clock that decided all of them, in microseconds. */
  readonly now: number;
  /** One for each check, in order. */
  readonly verdicts: readonly Verdict[];
  readonly source: string;
}

export type MaybePromise<T> = T | Promise<T>;

export interface DecideOptions {
  /** Answer as if, and spend nothing. */
  readonly dryRun?: boolean | undefined;
}

/** One verdict and the reading of the store's clock that decided it. */
export interface Answer {
  readonly now: number;
  readonly verdict: Verdict;
  readonly source: string;
}

/**
 * A short way for the most common question: one check, spent if allowed, answered at once and without lists, in one object that
 * the next call overwrites. Only stores that never wait can have it. It belongs to the function `decide` itself, so that a
 * layer with a `decide` of its own is never bypassed.
 */
export interface ShortWay {
  readonly one?: ((key: string, policy: Policy, cost: number) => Answer) | undefined;
}

/**
 * A change of one state that is not an attempt: it is always carried out, and never asks whether it fits.
 * - refund: gives units back, but never lifts the state above what it would have been without the spend. `spent` says which one;
 *   without it the latest is meant, a moment ago.
 * - penalize: spends even if it does not fit, down to empty and never below.
 * - block: denies everything until `duration` microseconds from now, whatever the algorithm says. unblock ends that.
 */
export type Change = { readonly key: string; readonly policy: Policy } & (
  | { readonly verb: 'refund'; readonly cost: number; readonly spent?: Spent | undefined }
  | { readonly verb: 'penalize'; readonly cost: number }
  | { readonly verb: 'block'; readonly duration: number }
  | { readonly verb: 'unblock' }
);

/**
 * The contract, which `storeContract` in sluice/testing checks:
 * - `decide` is all or nothing: it spends from every check or from none, atomically, at one reading of one clock.
 * - Checks with a key of their own see only what was spent under that key and that policy's identity.
 * - A denied attempt and a dry run write nothing.
 * - State may be forgotten once its resetAfter has passed, and must not be before.
 */
export interface Store {
  readonly decide: ((checks: readonly Check[], options?: DecideOptions) => MaybePromise<Verdicts>) & ShortWay;
  /** Carries out all of the changes atomically. Answers with what a look (cost 0) sees afterwards, one for each. */
  change(changes: readonly Change[]): MaybePromise<Verdicts>;
  /** Makes the key as good as new under these policies. */
  forget(key: string, policies: readonly Policy[]): MaybePromise<void>;
  /** What a sliding window log has admitted within its window, oldest first. */
  history(key: string, policy: Policy): MaybePromise<readonly HistoryEntry[]>;
}

export function checkStore(value: unknown, path: string): Store {
  const store = value as Store | null | undefined;
  const isMethod = (name: keyof Store): boolean => typeof store?.[name] === 'function';
  if (isMethod('decide') && isMethod('change') && isMethod('forget') && isMethod('history')) return store!;
  throw new SluiceError({
    code: 'SLUICE_INVALID_STORE',
    path,
    expected: 'a store, such as memoryStore() or redisStore(client)',
    got: Kind.of(value),
  });
}

/** Only a sliding window log remembers single admissions. */
export function checkIsLog(policy: Policy): SlidingWindowLogPolicy {
  if (policy.algorithm === 'sliding-window-log') return policy;
  throw new SluiceError({
    code: 'SLUICE_NO_HISTORY',
    path: 'policy.algorithm',
    expected: 'sliding-window-log, the one algorithm that remembers when it admitted what',
    got: policy.algorithm,
  });
}
