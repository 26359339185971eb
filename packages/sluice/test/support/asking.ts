/** Stores asked in whole microseconds, as rules think: most tests of stores are about single decisions. */
import type { Policy } from '../../src/index.ts';
import { isPromise, type MaybePromise, proceed } from '../../src/model/maybe-promise.ts';
import { decidedAt, type Verdict, verdictOf } from '../../src/model/result.ts';
import { type Answer, attemptOf, type Change, type Check, type Store } from '../../src/model/store.ts';

export type { Verdict } from '../../src/model/result.ts';
export type { Change, Check } from '../../src/model/store.ts';

/** One policy's answer in microseconds; after a change, by how many units. */
export interface SeenVerdict extends Verdict {
  readonly changed?: number;
}

export interface Seen {
  /** The reading of the clock that decided. */
  readonly now: number;
  readonly verdicts: readonly SeenVerdict[];
  readonly source: string;
}

export function seenOf({ decisions, source }: Answer): Seen {
  return {
    now: decidedAt(decisions[0]!),
    verdicts: decisions.map((decision) => {
      const { changed } = decision;
      return changed === undefined ? verdictOf(decision) : { ...verdictOf(decision), changed };
    }),
    source,
  };
}

export function decide(store: Store, checks: readonly Check[], options: { dryRun?: boolean } = {}): Promise<Seen> {
  return later(proceed(store.ask(attemptOf(checks, options.dryRun === true)), seenOf));
}

export function change(store: Store, changes: readonly Change[]): Promise<Seen> {
  return later(proceed(store.ask({ verb: 'change', changes }), seenOf));
}

export async function forget(store: Store, key: string, policies: readonly Policy[]): Promise<void> {
  await store.ask({ verb: 'forget', key, policies });
}

async function later<T>(value: MaybePromise<T>): Promise<T> {
  return isPromise(value) ? await value : value;
}
