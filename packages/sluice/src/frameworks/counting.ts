/**
 * Limiters over one store with the same policies are one limit: a request that passes two of them is counted twice. Each of them goes by
 * the first that was seen.
 */
import type { Limiter } from '../limiter/limiter.ts';
import { ruleOf } from '../model/policy.ts';

const seen = new WeakMap<object, Map<string, object>>();

export function countedAs<Context>(limiter: Limiter<Context>): object {
  // A limiter of somebody else's may have neither.
  const place = limiter.store?.place ?? limiter.store;
  if (place === undefined || limiter.policies === undefined) return limiter;
  const limits = seen.get(place) ?? new Map<string, object>();
  seen.set(place, limits);
  const identities = limiter.policies.map((policy) => ruleOf(policy).identity);
  const policies = identities.sort().join('\n');
  const first = limits.get(policies) ?? limiter;
  limits.set(policies, first);
  return first;
}
