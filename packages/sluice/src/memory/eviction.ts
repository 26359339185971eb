/**
 * Who makes room when a store is full. First whatever means nothing any more. Then, of a sample of states, the least
 * constrained one: it has the most of its limit free, so forgetting it gives away the least; among equals the one nearest to
 * being forgotten anyway. A key that is limited right now never makes room for one that is not: if the sample, made
 * larger, holds nothing else, the newcomer is the one that is not remembered.
 */
import type { Candidate, Table } from './table.ts';

const SAMPLE = 16;
const LARGE_SAMPLE = 512;

/** collected: something was out of date anyway. evicted: a live state is gone. refused: the newcomer must stay out. */
export type Room = 'collected' | 'evicted' | 'refused';

export function makeRoom(tables: readonly Table[], now: number, newcomerIsLimited: boolean): Room {
  const victim = leastConstrained(tables, now);
  if (victim === undefined) return 'refused';
  if (victim.freeShare === 0 && !newcomerIsLimited) return 'refused';
  victim.evict();
  return victim.forgetAt <= now ? 'collected' : 'evicted';
}

function leastConstrained(tables: readonly Table[], now: number): Candidate | undefined {
  let least: Candidate | undefined;
  for (let looked = 0; looked < LARGE_SAMPLE; looked += 1) {
    if (looked >= SAMPLE && least !== undefined && least.freeShare > 0) return least;
    const candidate = tables[looked % tables.length]?.nextCandidate(now);
    if (candidate !== undefined && candidate.forgetAt <= now) return candidate;
    if (candidate !== undefined && (least === undefined || isLess(candidate, least))) least = candidate;
  }
  return least;
}

function isLess(one: Candidate, other: Candidate): boolean {
  return one.freeShare === other.freeShare ? one.forgetAt < other.forgetAt : one.freeShare > other.freeShare;
}
