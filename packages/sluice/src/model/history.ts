/** Single admissions, as rules list them and as people read them. */
import type { HistoryEntry } from './decision.ts';
import { MICROS_PER_SECOND } from './duration.ts';

/** Of time in microseconds, units, time, units, ... */
export function historyOf(listed: readonly number[]): HistoryEntry[] {
  return Array.from({ length: listed.length / 2 }, (_, index) => ({
    at: listed[index * 2]! / MICROS_PER_SECOND,
    cost: listed[index * 2 + 1]!,
  }));
}
