/** `sluice/algorithm`: for those who write an algorithm of their own. */

import { lua as history } from '../algorithms/shared/history.lua.generated.ts';
import { readHistory } from '../model/history.ts';
import { define, type NameOption, type Policy } from '../model/policy.ts';
import type { Algorithm, RuleParts } from '../model/rule.ts';

export type { ChoiceField, CountField, DurationField, Field, Fields, RateField, TextField } from '../model/field.ts';
export type { Entry, Permit, Permits } from '../model/permit.ts';
export type { NameOption, Policy } from '../model/policy.ts';
export type { Algorithm, LeaseTerms, RedisTwin, RuleParts, StateKept } from '../model/rule.ts';
export { type Numbers, type Spent, Step } from '../model/step.ts';

/** Makes a policy of an algorithm of your own, as `tokenBucket({ ... })` does of one of Sluice's. */
export type PolicyFunction<P extends Policy, O = Omit<P, keyof Policy> & NameOption> = (options: O) => P;

/**
 * An algorithm of your own: its fields, and the rule that a policy of it becomes. Its policies work in memory and on every store made by
 * `storeOver`; with a twin in Lua on Redis too. The function that comes back makes policies; `storeContract` of `sluice/testing` checks them.
 * `P` is the type of its policies, `O` that of the options, where they differ: a duration is milliseconds in a policy and may be `'1m'` in options.
 *
 * @example
 * const debtBucket = defineAlgorithm<DebtBucketPolicy>({ name: 'debt-bucket', about: '...', fields: { ... }, rule: (policy) => ({ ... }) });
 * const limiter = createLimiter({ policy: debtBucket({ capacity: 10, every: 1000 }) });
 */
export function defineAlgorithm<P extends Policy, O = Omit<P, keyof Policy> & NameOption>(
  algorithm: Algorithm<P>,
): PolicyFunction<P, O> {
  const rule: Algorithm<P>['rule'] = (policy, kept) => withHistory(algorithm.rule(policy, kept));
  return (options) => define({ ...algorithm, rule }, options);
}

/** What a policy that remembers single admissions needs to list them. */
function withHistory(parts: RuleParts): RuleParts {
  if (parts.entries === undefined) return parts;
  const { redis } = parts;
  return { ...parts, history: readHistory, redis: redis && { ...redis, history } };
}
