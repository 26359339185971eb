/**
 * What keeps leased units within each algorithm's bound. A unit is spent at most `ttl` after the store has counted it, and that delay
 * is what has to be paid for: each algorithm says how (`lease` of its rule).
 *
 * The shared policy is what the store is asked under by everyone, whether leased or not: all processes must agree on it, so it depends
 * on nothing but the policy and the ttl.
 */
import { type Policy, ruleOf } from '../../model/policy.ts';
import type { LeaseTerms } from '../../model/rule.ts';

export interface Terms extends Omit<LeaseTerms, 'fields'> {
  /** What the store is asked under. */
  readonly shared: Policy;
  readonly isLeased: boolean;
}

/** Of less there are no blocks worth taking (8 units) for a handful of processes. Small limits keep their numbers. */
export const SMALLEST_LEASED_LIMIT = 128;

function always(): number {
  return Number.POSITIVE_INFINITY;
}

/** `ttl` in microseconds. */
export function termsOf(policy: Policy, ttl: number): Terms {
  const rule = ruleOf(policy);
  const terms = rule.limit < SMALLEST_LEASED_LIMIT ? undefined : rule.lease?.(ttl);
  if (terms === undefined) return { shared: policy, isLeased: false, interval: 0, usableFor: always };
  const { fields, interval, usableFor } = terms;
  return { shared: fields === undefined ? policy : rule.changed(fields), isLeased: true, interval, usableFor };
}

/** Policies that are made anew for each attempt are known by their text. */
const MOST_TERMS = 1000;

/** The terms of each policy, made once. */
export function termsBook(ttl: number): (policy: Policy) => Terms {
  const byText = new Map<string, Terms>();
  let lastPolicy: Policy | undefined;
  let lastTerms: Terms | undefined;

  const findOrMake = (policy: Policy): Terms => {
    const { identity, numbers } = ruleOf(policy);
    const text = `${identity} ${numbers}`;
    const known = byText.get(text);
    if (known !== undefined) return known;
    if (byText.size >= MOST_TERMS) byText.clear();
    const terms = termsOf(policy, ttl);
    byText.set(text, terms);
    return terms;
  };

  return (policy) => {
    if (policy !== lastPolicy) {
      lastTerms = findOrMake(policy);
      lastPolicy = policy;
    }
    return lastTerms!;
  };
}
