/**
 * An algorithm of your own: a bucket that may owe. An attempt takes its cost if that is there, as from a token bucket. A penalty, for work that
 * turned out to cost more than was asked for, is remembered in full: it takes the bucket below zero, down to a bound, and attempts wait
 * until the debt is paid off. (The buckets of Sluice end at empty: what a penalty finds no room for is forgiven.)
 *
 * State: two whole numbers. The microsecond at which nothing is owed any more, and how many microseconds one unit took when that was
 * written, so that a policy with a name can change its numbers and a unit that was spent is still a unit.
 */
import type { Duration } from 'sluice';
import { defineAlgorithm, type NameOption, type Numbers, type Policy, type RuleParts } from 'sluice/algorithm';
import { DEBT_BUCKET_LUA } from './debt-bucket.lua.ts';

export interface DebtBucketPolicy extends Policy {
  readonly algorithm: 'debt-bucket';
  /** Units in a full bucket. */
  readonly capacity: number;
  /** Units it may owe at most. */
  readonly debt: number;
  /** Milliseconds in which one unit comes back. */
  readonly every: number;
}

export interface DebtBucketOptions extends NameOption {
  readonly capacity: number;
  /** Default: the capacity. */
  readonly debt?: number;
  readonly every: Duration;
}

/** Makes a policy: `debtBucket({ capacity: 1000, debt: 500, every: '60ms' })`. */
export const debtBucket = defineAlgorithm<DebtBucketPolicy, DebtBucketOptions>({
  name: 'debt-bucket',
  about: 'A bucket that refills unit by unit; penalties take it below zero, down to a bound.',
  fields: {
    capacity: { kind: 'count', about: 'Units in a full bucket: the largest burst.' },
    debt: { kind: 'count', about: 'Units that penalties may take from an empty bucket.', same: 'capacity' },
    every: { kind: 'duration', about: 'How long it takes until one unit comes back.' },
  },
  rule: ({ capacity, debt, every }) => debtRule(capacity, debt, Math.max(1, Math.round(every * 1000))),
});

/** `interval` is the microseconds in which one unit comes back. All numbers are whole, so all arithmetic is exact. */
function debtRule(capacity: number, debt: number, interval: number): RuleParts {
  const span = capacity * interval;
  const recovery = (capacity + debt) * interval;

  /** The time until nothing is owed, in this policy's units. A state from too far ahead, after a clock step, counts as the deepest debt. */
  const owedOf = (state: Numbers | undefined, now: number): { owed: number; isOurs: boolean } => {
    if (state === undefined) return { owed: 0, isOurs: true };
    const isSame = state[1] === interval;
    const distance = Math.max(0, state[0]! - now);
    const owed = isSame ? distance : Math.ceil((distance / state[1]!) * interval);
    return { owed: Math.min(owed, recovery), isOurs: isSame && owed <= recovery };
  };
  const roomOf = (owed: number): number => Math.max(0, Math.floor((span - owed) / interval));

  return {
    limit: capacity,
    recovery,
    width: 2,
    transition(state, now, cost, step) {
      const { owed, isOurs } = owedOf(state, now);
      const after = owed + cost * interval;
      if (cost === 0) return step.allow(roomOf(owed), owed);
      if (after <= span) {
        step.allow(roomOf(after), after);
        step.becomes(now + after, interval);
        return;
      }
      step.deny(roomOf(owed), cost > capacity ? Number.POSITIVE_INFINITY : after - span, owed);
      // A denial writes only what this clock or this policy could not read.
      if (!isOurs) step.becomes(now + owed, interval);
    },
    penalize(state, now, cost, step) {
      const { owed } = owedOf(state, now);
      const units = Math.min(cost, Math.max(0, (recovery - owed) / interval));
      step.leaves();
      if (units === 0) return;
      step.units = units;
      step.becomes(now + owed + Math.round(units * interval), interval);
    },
    refund(state, now, cost, spent, step) {
      const { owed } = owedOf(state, now);
      // What has come back since it was spent is not given back a second time.
      const left = spent === undefined ? owed : Math.min(owed, spent.cost * interval - (now - spent.at));
      const back = Math.min(cost * interval, left);
      step.leaves();
      if (back <= 0) return;
      step.units = back / interval;
      step.becomes(now + owed - back, interval);
    },
    bound: (from, to) => capacity + Math.floor((to - from) / interval),
    share: (part) => ({
      capacity: Math.max(1, Math.floor(capacity * part)),
      debt: Math.max(1, Math.floor(debt * part)),
      every: interval / part / 1000,
    }),
    redis: { code: '(debt-bucket)', args: [String(span), String(interval), String(recovery)], lua: DEBT_BUCKET_LUA },
  };
}
