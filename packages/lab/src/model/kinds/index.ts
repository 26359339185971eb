/** The algorithms that have a row, in the order of the rows: those with the same answers stand beside one another. */
import { algorithms } from 'sluice';
import type { FieldKind } from '../field-text.ts';
import type { Kind, Numbers } from '../kind.ts';
import { calendarQuotaKind } from './calendar-quota.ts';
import { concurrencyKind } from './concurrency.ts';
import { fixedWindowKind } from './fixed-window.ts';
import { gcraKind } from './gcra.ts';
import { type Declaration, genericKind } from './generic.ts';
import { policingKind, shapingKind } from './leaky-bucket.ts';
import { slidingWindowCounterKind } from './sliding-window-counter.ts';
import { slidingWindowLogKind } from './sliding-window-log.ts';
import { tokenBucketKind } from './token-bucket.ts';

const DRAWN: readonly Kind[] = [
  fixedWindowKind,
  slidingWindowLogKind,
  slidingWindowCounterKind,
  tokenBucketKind,
  policingKind,
  gcraKind,
  shapingKind,
];

/**
 * Algorithms whose limits the lab's traffic says nothing about: its requests take no time, so that none of them holds a place, and a calendar has no
 * month in the minutes of a story. A policy of theirs that a server has gets a row of theirs.
 */
const OF_OTHER_TRAFFIC: readonly Kind[] = [concurrencyKind, calendarQuotaKind];

/** What the library declares of its algorithms. Those that have no picture here get a generic row. */
const DECLARED: readonly Declaration[] = algorithms
  .filter(({ name }) => !OF_OTHER_TRAFFIC.some(({ algorithm }) => algorithm === name))
  .map(({ name, about, fields }) => ({ algorithm: name, summary: about, fields }));

/** Those that have a picture, and a generic row for each algorithm that is only declared. */
export function kindsWith(declared: readonly Declaration[]): readonly Kind[] {
  const known = new Set(DRAWN.map(({ algorithm }) => algorithm));
  return [...DRAWN, ...declared.filter(({ algorithm }) => !known.has(algorithm)).map(genericKind)];
}

export const KINDS: readonly Kind[] = kindsWith(DECLARED);

export function kindOf(id: string): Kind | undefined {
  return KINDS.find((kind) => kind.id === id);
}

/** The kind that a policy is of; one that nobody knows is told by its own numbers. */
export function kindOfPolicy(numbers: Numbers): Kind {
  const isOf = (kind: Kind): boolean =>
    kind.algorithm === numbers.algorithm &&
    Object.entries(kind.fixed).every(([name, value]) => numbers[name] === value);
  return (
    [...KINDS, ...OF_OTHER_TRAFFIC].find(isOf) ??
    genericKind({ algorithm: String(numbers.algorithm), fields: fieldsIn(numbers) })
  );
}

function fieldsIn(numbers: Numbers): Readonly<Record<string, { readonly kind: FieldKind }>> {
  const named = Object.entries(numbers).filter(([name, value]) => name !== 'name' && typeof value === 'number');
  return Object.fromEntries(named.map(([name]) => [name, { kind: KIND_OF_FIELD[name] ?? 'count' }]));
}

/** What numbers of these names are, in every policy. */
const KIND_OF_FIELD: Readonly<Record<string, FieldKind>> = {
  ...{ window: 'duration', period: 'duration', ttl: 'duration', refillRate: 'rate', leakRate: 'rate', rate: 'rate' },
};
