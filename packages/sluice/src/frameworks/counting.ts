/**
 * Limiters over one store with the same policies are one limit: a request that passes two of them is counted twice. Each of them goes by
 * the first that was seen.
 */
import type { Limiter } from '../limiter/limiter.ts';
import { storeOf } from '../model/limiter-store.ts';
import { identityOf } from '../model/policy.ts';
import type { Store } from '../model/store.ts';

const seen = new WeakMap<Store, Map<string, object>>();

export function countedAs<Context>(limiter: Limiter<Context>): object {
  const store = storeOf(limiter);
  if (store === undefined || limiter.policies === undefined) return limiter;
  const limits = seen.get(store) ?? new Map<string, object>();
  seen.set(store, limits);
  const policies = limiter.policies.map(identityOf).sort().join('\n');
  const first = limits.get(policies) ?? limiter;
  limits.set(policies, first);
  return first;
}
