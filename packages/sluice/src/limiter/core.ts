/** What all verbs of a limiter share: its store, its policies, its timers, and one way to ask. */
import type { RateLimitResult } from '../model/decision.ts';
import type { Policy } from '../model/policy.ts';
import type { Store } from '../model/store.ts';
import type { PoliciesFor } from './policies.ts';
import { resultOf } from './result.ts';
import type { Timers } from './sleep.ts';

export interface Core<Context> {
  readonly store: Store;
  readonly policiesFor: PoliciesFor<Context>;
  readonly timers: Timers;
  /** Capacity has come back to this key: whoever sleeps until some would have, asks now. */
  freed(key: string): void;
}

export interface ContextOption<Context> {
  /** What a policy function is told. Needed when it takes one. */
  readonly context?: Context | undefined;
}

export interface AttemptOptions<Context> extends ContextOption<Context> {
  /** Units to spend: a whole number of at least 0. Default: 1. */
  readonly cost?: number | undefined;
}

/** An attempt of a key under policies that are checked already. */
export async function ask(
  store: Store,
  key: string,
  policies: readonly Policy[],
  cost: number,
): Promise<RateLimitResult> {
  const checks = policies.map((policy) => ({ key, policy, cost }));
  return resultOf(checks, await store.decide(checks));
}
