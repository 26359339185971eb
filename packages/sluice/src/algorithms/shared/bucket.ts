/** What all algorithms with a capacity and a steady rate have in common. `interval` is the microseconds in which one unit comes back. */
import type { LeaseTerms, RuleParts } from '../../model/rule.ts';

/** Rounding may add this much to a sum of fractions. */
const SLACK = 1e-6;

/** The capacity, and what comes back meanwhile. */
export function bucketBound(capacity: number, interval: number): RuleParts['bound'] {
  return (from, to) => capacity + (to - from) / interval + SLACK;
}

/** At least 1 unit, or nothing would ever pass. */
export function partOfUnits(units: number, part: number): number {
  return Math.max(1, Math.floor(units * part));
}

/**
 * Units come back one by one, so all but the last of them come back before the end: `interval` microseconds each. Where that much cannot be, they
 * were not spent as it is assumed: then it is the end.
 */
export function unitByUnit(spent: number, resetAfter: number, interval: number): number {
  const next = Math.round(resetAfter - (spent - 1) * interval);
  return next > 0 && spent > 1 ? next : resetAfter;
}

/** Where leasing would take more than this part of the capacity, it is left alone. */
const MOST_OF_CAPACITY = 0.1;

/**
 * Whatever is spent in a time t was counted in a time t + ttl, in which rate x ttl more may be counted. So the shared state has that much
 * less capacity.
 */
export function drainingLease(capacity: number, interval: number): NonNullable<RuleParts['lease']> {
  return (ttl): LeaseTerms | undefined => {
    const recovered = ttl / interval;
    if (recovered > MOST_OF_CAPACITY * capacity) return undefined;
    return { fields: { capacity: capacity - Math.ceil(recovered) }, interval, usableFor: always };
  };
}

export function always(): number {
  return Number.POSITIVE_INFINITY;
}
