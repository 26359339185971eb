/**
 * Two limiters whose policies have the same name and other numbers share one count, which is rarely meant: an API limit and a login limit, say.
 * That is seen when the second one is made, and said once.
 */
import type { Mistake } from '../model/errors.ts';
import { type Policy, ruleOf } from '../model/policy.ts';
import type { Store } from '../model/store.ts';
import { warnOnce } from '../model/warnings.ts';

/** By the place where the states are: the policy that was first seen of each identity. */
const seen = new WeakMap<object, Map<string, Policy>>();
/** More names than this come from data, not from code, and are not watched. */
const MOST_WATCHED = 1000;

export function warnOfSharing(store: Store, policies: readonly Policy[]): void {
  const place = store.place ?? store;
  const known = seen.get(place) ?? new Map<string, Policy>();
  seen.set(place, known);
  store.place?.announce?.(policies);
  for (const policy of policies) {
    const { identity, numbers } = ruleOf(policy);
    const other = known.get(identity);
    if (other === undefined && known.size < MOST_WATCHED) known.set(identity, policy);
    else if (other !== undefined && ruleOf(other).numbers !== numbers) warnOnce()(sharedState(policy, other));
  }
}

function sharedState(policy: Policy, other: Policy): Mistake {
  return {
    code: 'SLUICE_SHARED_STATE',
    path: 'createLimiter.policy',
    message: `Two limiters on one store call a policy "${policy.name}", with different numbers: ${JSON.stringify(other)} and ${JSON.stringify(policy)}. Each of them counts what the other has spent. Give one of them another name, or no name.`,
  };
}
