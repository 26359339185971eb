/**
 * Single admissions, for policies that remember them: as rules list them, as people read them, and how a limiter asks for them. It comes with the
 * algorithms that have `entries`, so that no other limiter carries it.
 */
import type { HistoryEntry } from './decision.ts';
import { MICROS_PER_SECOND } from './duration.ts';
import { invalidOption } from './options.ts';
import { type Policy, ruleOf } from './policy.ts';
import { exactMicros } from './result.ts';
import { noHistory, type Store } from './store.ts';

/** Of time in microseconds, units, time, units, ... */
export function historyOf(listed: readonly number[]): HistoryEntry[] {
  return Array.from({ length: listed.length / 2 }, (_, index) => ({
    at: listed[index * 2]! / MICROS_PER_SECOND,
    cost: listed[index * 2 + 1]!,
  }));
}

/** Which admissions of a key are wanted, of the policies of a limiter. */
export interface HistoryRequest {
  readonly key: string;
  readonly policies: readonly Policy[];
  /** Its name, when several of them remember admissions. */
  readonly policy?: string | undefined;
  /** Only admissions after this Unix time in seconds. */
  readonly after?: number | undefined;
  /** At most so many. */
  readonly limit?: number | undefined;
}

/** Entries in one question: few enough that the store is not kept from answering others. */
const HISTORY_PIECE = 1000;

/** Asks a store for all of them, in pieces. */
export async function readHistory(store: Store, request: HistoryRequest): Promise<readonly HistoryEntry[]> {
  const { key, limit = Number.POSITIVE_INFINITY } = request;
  const policy = logAmong(request.policies, request.policy);
  const entries: HistoryEntry[] = [];
  let after = request.after === undefined ? Number.NEGATIVE_INFINITY : exactMicros(request.after);
  for (let isAll = false; !isAll && entries.length < limit; ) {
    const most = Math.min(HISTORY_PIECE, limit - entries.length);
    const { history: piece = [] } = await store.ask({ verb: 'history', key, policy, after, most });
    entries.push(...piece);
    isAll = piece.length < most;
    if (!isAll) after = exactMicros(piece.at(-1)!.at);
  }
  return entries;
}

/** The log that is asked for by name, or the only one there is. */
function logAmong(policies: readonly Policy[], name: string | undefined): Policy {
  const logs = policies.filter((policy) => ruleOf(policy).entries !== undefined);
  const found = name === undefined ? logs : policies.filter((policy) => policy.name === name);
  if (found.length === 1 && ruleOf(found[0]!).entries !== undefined) return found[0]!;
  if (found.length === 1) throw noHistory(found[0]!);
  const names = (name === undefined ? logs : policies).map((policy) => policy.name).join(', ');
  throw invalidOption('history.policy', `the name of a policy of this limiter: ${names}`, name);
}
