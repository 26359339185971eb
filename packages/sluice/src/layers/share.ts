/** A store that grants a stated part of every limit: what one of several instances of a program may give while they cannot ask each other. */
import { SluiceError } from '../model/errors.ts';
import { isPromise } from '../model/maybe-promise.ts';
import { checkPolicy, limitOf, type Policy } from '../model/policy.ts';
import type { Change, Check, MaybePromise, Store, Verdict, Verdicts } from '../model/store.ts';

/** `retryAfter` in microseconds is for costs that fit the limit and not the share: they fit once the whole limit is back. */
export function shareOf(store: Store, share: number, retryAfter: number): Store {
  if (share === 1) return store;
  const scaled = new WeakMap<Policy, Policy>();
  const part = (policy: Policy): Policy => {
    let smaller = scaled.get(policy);
    if (smaller === undefined) {
      smaller = partOf(policy, share);
      scaled.set(policy, smaller);
    }
    return smaller;
  };
  const scaledOf = <Item extends Check | Change>(item: Item): Item => ({ ...item, policy: part(item.policy) });

  return {
    decide(checks, options) {
      const answer = store.decide(checks.map(scaledOf), options);
      const honest = (verdicts: Verdicts): Verdicts => notForever(checks, verdicts, retryAfter);
      return isPromise(answer) ? answer.then(honest) : honest(answer);
    },
    change: (changes): MaybePromise<Verdicts> => store.change(changes.map(scaledOf)),
    forget: (key, policies) => store.forget(key, policies.map(part)),
    history: (key, policy) => store.history(key, part(policy)),
  };
}

function notForever(checks: readonly Check[], { now, verdicts, source }: Verdicts, retryAfter: number): Verdicts {
  const honest = (verdict: Verdict, index: number): Verdict => {
    const { cost, policy } = checks[index]!;
    const isForShareOnly = verdict.retryAfter === Number.POSITIVE_INFINITY && cost <= limitOf(policy);
    return isForShareOnly ? { ...verdict, retryAfter } : verdict;
  };
  return { now, verdicts: verdicts.map(honest), source };
}

/**
 * The policy with its numbers scaled; at least 1 unit, or nothing would ever pass. A share so small that it would take more than a
 * century to recover is no policy: then the policy stays as it is, because a fallback must answer.
 */
function partOf(policy: Policy, share: number): Policy {
  try {
    return checkPolicy(scaledBy(policy, share));
  } catch {
    return policy;
  }
}

function scaledBy(policy: Policy, share: number): Policy {
  const some = (units: number): number => Math.max(1, Math.floor(units * share));
  switch (policy.algorithm) {
    case 'token-bucket':
      return { ...policy, capacity: some(policy.capacity), refillRate: policy.refillRate * share };
    case 'leaky-bucket':
      return { ...policy, capacity: some(policy.capacity), leakRate: policy.leakRate * share };
    case 'gcra':
      // A longer period keeps the rate exact where the limit is a small number.
      return { ...policy, capacity: some(policy.capacity), period: wholeMicros(policy.period / share) };
    default:
      return { ...policy, limit: some(policy.limit) };
  }
}

/** Milliseconds, as durations are held. */
function wholeMicros(ms: number): number {
  return Math.ceil(ms * 1e3) / 1e3;
}

export function checkShare(share: unknown, path: string): number {
  if (typeof share === 'number' && share > 0 && share <= 1) return share;
  throw new SluiceError({
    code: 'SLUICE_INVALID_OPTION',
    path,
    expected: 'a number above 0 and at most 1',
    got: share,
  });
}
