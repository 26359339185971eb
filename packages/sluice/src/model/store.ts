/**
 * What keeps the state and applies a rule atomically. A store knows atomicity, not limits; a rule knows limits, not stores. It answers one
 * question at a time, with the same result that people read. Layers wrap a store and are stores again.
 */
import type { HistoryEntry, RateLimitResult, Source } from './decision.ts';
import { Kind, SluiceError, wrong } from './errors.ts';
import type { MaybePromise } from './maybe-promise.ts';
import type { Policy } from './policy.ts';
import type { Spent } from './step.ts';

/** "May this key spend this cost under this policy?" */
export interface Check {
  readonly key: string;
  readonly policy: Policy;
  readonly cost: number;
}

/** An attempt: the first check, and those that belong to it. It spends from all of them or from none. */
export interface Attempt extends Check {
  readonly verb: 'attempt';
  readonly and: readonly Check[];
  /** Answer as if, and spend nothing. */
  readonly dryRun: boolean;
  /** Remember the attempt if it is allowed. One that is remembered already is allowed and spends nothing. Only of attempts on one key. */
  readonly mark?: Mark | undefined;
  /** Spend as much as there is, up to the cost, which is the same for all checks, and no less than this. The answer says how much: `granted`. */
  readonly least?: number | undefined;
}

/** A note beside the states of a key, which a store makes in the same step as the spend it is about. */
export interface Mark {
  /** Tells it from others of the key. */
  readonly id: string;
  /** For how many microseconds it is kept. */
  readonly ttl: number;
  /** Nobody has used this id before: the attempt cannot be a repetition. */
  readonly isNew: boolean;
}

/**
 * What a mark says, as numbers: when it ends, when the attempt was decided, and of each check until when that would be remembered and its cost.
 * Microseconds.
 */
export type Marked = readonly number[];

/** The mark that an attempt leaves that was decided at a time, for as long as its ttl. */
export function markedBy(
  { ttl }: Mark,
  now: number,
  checks: readonly { readonly resetAfter: number; readonly cost: number }[],
): number[] {
  return [now + ttl, now, ...checks.flatMap(({ resetAfter, cost }) => [now + resetAfter, cost])];
}

/**
 * A change of one state that is not an attempt: it is always carried out, and never asks whether it fits.
 * - refund: gives units back, but never lifts the state above what it would have been without the spend. `spent` says which one;
 *   without it the latest is meant, a moment ago.
 * - extend: a spend that lasts until it is given back lasts for longer. Only some rules know such spends; others change nothing.
 *   `by` is who answered the attempt that spent: what a layer has spent in the place of the store is given back to that layer.
 * - penalize: spends even if it does not fit, down to empty and never below. `ago` microseconds: as if it had been spent then. A store may
 *   ignore that, which is stricter.
 * - block: denies everything until `duration` microseconds from now, whatever the algorithm says. unblock ends that. `reason` is for lists of
 *   exceptions; a store ignores it.
 */
export type Change = { readonly key: string; readonly policy: Policy } & (
  | {
      readonly verb: 'refund';
      readonly cost: number;
      readonly spent?: Spent | undefined;
      readonly by?: Source | undefined;
    }
  | { readonly verb: 'extend'; readonly spent: Spent; readonly by?: Source | undefined }
  | { readonly verb: 'penalize'; readonly cost: number; readonly ago?: number | undefined }
  | { readonly verb: 'block'; readonly duration: number; readonly reason?: string | undefined }
  | { readonly verb: 'unblock' }
);

/** Carries out all of the changes atomically. The answer is what a look (cost 0) sees afterwards, with `changed` in each decision. */
export interface Changes {
  readonly verb: 'change';
  readonly changes: readonly Change[];
  /**
   * Only if there is this mark beside the states of their key, which is removed in the same step: so a spend is settled once, by whatever process.
   * Without the mark nothing is changed.
   */
  readonly settles?: { readonly id: string; readonly marked: Marked } | undefined;
}

/** Resets a key under these policies. The answer is what a look sees afterwards. */
export interface Forget {
  readonly verb: 'forget';
  readonly key: string;
  readonly policies: readonly Policy[];
}

/** What was admitted within the window of a policy that remembers it, oldest first. The answer is a look with `history`. */
export interface History {
  readonly verb: 'history';
  readonly key: string;
  readonly policy: Policy;
  /** Only what was admitted after this time, in microseconds. */
  readonly after: number;
  /** At most so many. */
  readonly most: number;
}

/** Everything a store is asked. `verb` tells which question it is. */
export type Question = Attempt | Changes | Forget | History;

/** What a store answers: a result, and for a question about history the entries. */
export interface Answer extends RateLimitResult {
  readonly history?: readonly HistoryEntry[] | undefined;
  /**
   * What became of a mark. Of an attempt: `made`, or `found` when it was there, so that nothing was spent. Of a settlement: `found` when it was carried
   * out, `missing` when not. Undefined where nobody has looked for it, as in the answer of a fallback.
   */
  readonly mark?: 'made' | 'found' | 'missing' | undefined;
}

/**
 * The contract, which `storeContract` in sluice/testing checks:
 * - An attempt is all or nothing: it spends from every check or from none, atomically, at one reading of one clock.
 * - Checks with a key of their own see only what was spent under that key and that policy's identity.
 * - A denied attempt and a dry run write nothing.
 * - A mark is made in the same step as the spend, and removed in the same step as its settlement: what loses one loses the other.
 * - State may be forgotten once its resetAfter has passed, and must not be before.
 * - A store that answers without waiting answers with a value; one that waits, with a promise.
 * - What a caller did wrong is thrown or rejected with a SluiceError of the kind `mistake`; anything else means that the store is away.
 */
export interface Store {
  readonly ask: Ask;
  /** Where the states are. Stores with the same place keep the same states. Default: in this store alone, and shared by other processes. */
  readonly place?: Place | undefined;
}

/** How a store is asked. */
export interface Ask<A extends MaybePromise<Answer> = MaybePromise<Answer>> {
  (question: Question): A;
  /**
   * For a store that answers synchronously, if it wants to: attempts under one policy, prepared once. They must be answered as the question
   * would be. It belongs to the function `ask` itself, so that a store with an `ask` of its own is never bypassed.
   */
  readonly under?: ((policy: Policy) => (key: string, cost: number) => A) | undefined;
}

/** An object for each place where states are kept. */
export interface Place {
  /** Whether other processes see the states. */
  readonly isShared: boolean;
  /** Called with the policies of each limiter over it, if they are constant: two applications that share states by accident can be told. */
  announce?(policies: readonly Policy[]): void;
}

/** A store around a store: it answers by itself, and keeps its states where the other does. */
export function around(inner: Store, ask: Store['ask']): Store {
  return { ask, place: inner.place };
}

export const NOTHING_ELSE: readonly Check[] = [];

/** An attempt under one policy or several, each with its cost. */
export function attemptOf([first, ...and]: readonly Check[], dryRun = false): Attempt {
  const { key, policy, cost } = first!;
  return { verb: 'attempt', key, policy, cost, and, dryRun };
}

/** The same attempt with other checks in the place of its own. */
export function attemptLike({ mark, least, dryRun }: Attempt, checks: readonly Check[]): Attempt {
  const attempt = attemptOf(checks, dryRun);
  return mark === undefined && least === undefined ? attempt : { ...attempt, mark, least };
}

/** What an answer says besides its decisions, on another with other decisions. */
export function answerLike({ mark, granted }: Pick<Answer, 'mark' | 'granted'>, result: Answer): Answer {
  return mark === undefined && granted === undefined ? result : { ...result, mark, granted };
}

/** All checks of an attempt, in order. */
export function checksOf(attempt: Attempt): readonly Check[] {
  return attempt.and.length === 0 ? [attempt] : [attempt, ...attempt.and];
}

export function checkStore(value: unknown, path: string): Store {
  if (typeof (value as Store | null | undefined)?.ask === 'function') return value as Store;
  throw wrong('SLUICE_INVALID_STORE', path, 'a store, such as memoryStore() or redisStore(client)', Kind.of(value));
}

/** Only some algorithms remember single admissions. */
export function noHistory(policy: Policy): SluiceError {
  return wrong(
    'SLUICE_NO_HISTORY',
    'policy.algorithm',
    'sliding-window-log, the algorithm that remembers what it allowed',
    policy.algorithm,
  );
}

/** Whether an error says something about the store. All others name a mistake of the caller, which no other store would forgive. */
export function isStoreFault(error: unknown): boolean {
  return !(error instanceof SluiceError) || error.kind === 'store';
}
