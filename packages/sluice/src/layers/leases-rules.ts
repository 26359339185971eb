/**
 * What keeps leased units within each algorithm's bound. A unit is spent at most `ttl` after the store has counted it, and that delay
 * is what has to be paid for:
 * - Windows on the clock (fixed, counter): a lease ends with the window it was taken from. Exact, and costs nothing.
 * - Levels that drain (token bucket, leaky policing, GCRA): whatever is spent in a time t was counted in a time t + ttl, in which
 *   rate x ttl more may be counted. So the shared state has that much less capacity.
 * - The log: a unit may be spent `ttl` after it was counted, so it stays counted for window + ttl.
 * - Shaping gives each caller a slot of its own, which nobody can hand out in advance: never leased.
 *
 * The shared policy is what the store is asked under by everyone, whether leased or not: all processes must agree on it, so it depends
 * on nothing but the policy and the ttl.
 */
import { MICROS_PER_MS, MICROS_PER_SECOND, toMicros } from '../model/duration.ts';
import { checkPolicy, limitOf, type Policy, type SlidingWindowLogPolicy } from '../model/policy.ts';
import type { Verdict } from '../model/store.ts';

export interface LeaseRule {
  /** What the store is asked under. */
  readonly shared: Policy;
  readonly isLeased: boolean;
  /** By how many microseconds one unit moves the time at which the key is as good as new; 0 where no such time is told for a unit. */
  readonly interval: number;
  /** For how many microseconds after the store's `now` units that were granted then may be spent, the ttl aside. */
  usableFor(now: number, granted: Verdict): number;
}

/** Of less there are no blocks worth taking (8 units) for a handful of processes. Small limits keep their numbers. */
export const SMALLEST_LEASED_LIMIT = 128;
/** Where leasing would take more than these parts of a policy it is left alone: of what may come at once, and of what may come for ever. */
const MOST_OF_CAPACITY = 0.1;
const MOST_OF_RATE = 0.02;

const ALWAYS = (): number => Number.POSITIVE_INFINITY;

function notLeased(policy: Policy): LeaseRule {
  return { shared: policy, isLeased: false, interval: 0, usableFor: ALWAYS };
}

/** `ttl` in microseconds. */
export function leaseRule(policy: Policy, ttl: number): LeaseRule {
  if (limitOf(policy) < SMALLEST_LEASED_LIMIT) return notLeased(policy);
  switch (policy.algorithm) {
    case 'fixed-window':
      return { ...notLeased(policy), isLeased: true, usableFor: (_, { resetAfter }) => resetAfter };
    case 'sliding-window-counter':
      return { ...notLeased(policy), isLeased: true, usableFor: untilNextWindow(toMicros(policy.window)) };
    case 'sliding-window-log':
      return logRule(policy, ttl);
    case 'token-bucket':
      return drainingRule(policy, MICROS_PER_SECOND / policy.refillRate, ttl);
    case 'leaky-bucket':
      if (policy.mode === 'shaping') return notLeased(policy);
      return drainingRule(policy, MICROS_PER_SECOND / policy.leakRate, ttl);
    case 'gcra':
      return drainingRule(policy, toMicros(policy.period) / policy.limit, ttl);
  }
}

function untilNextWindow(size: number): LeaseRule['usableFor'] {
  return (now) => size - (now % size);
}

function logRule(policy: SlidingWindowLogPolicy, ttl: number): LeaseRule {
  const size = toMicros(policy.window);
  if (ttl > MOST_OF_RATE * size) return notLeased(policy);
  const shared = checkPolicy({ ...policy, window: (size + ttl) / MICROS_PER_MS });
  return { shared, isLeased: true, interval: 0, usableFor: ALWAYS };
}

function drainingRule(policy: Policy & { readonly capacity: number }, interval: number, ttl: number): LeaseRule {
  const recovered = ttl / interval;
  if (recovered > MOST_OF_CAPACITY * policy.capacity) return notLeased(policy);
  const shared = checkPolicy({ ...policy, capacity: policy.capacity - Math.ceil(recovered) });
  return { shared, isLeased: true, interval, usableFor: ALWAYS };
}

/** Policies that are made anew for each attempt are known by their text. */
const MOST_RULES = 1000;

/** The rule of each policy, made once. */
export function ruleBook(ttl: number): (policy: Policy) => LeaseRule {
  const byPolicy = new WeakMap<Policy, LeaseRule>();
  const byText = new Map<string, LeaseRule>();
  let lastPolicy: Policy | undefined;
  let lastRule: LeaseRule | undefined;

  const findOrMake = (policy: Policy): LeaseRule => {
    const text = JSON.stringify(policy);
    const rule = byText.get(text) ?? leaseRule(policy, ttl);
    if (byText.size >= MOST_RULES) byText.clear();
    byText.set(text, rule);
    byPolicy.set(policy, rule);
    return rule;
  };

  return (policy) => {
    if (policy === lastPolicy) return lastRule!;
    const rule = byPolicy.get(policy) ?? findOrMake(policy);
    lastPolicy = policy;
    lastRule = rule;
    return rule;
  };
}
