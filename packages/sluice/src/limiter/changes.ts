/**
 * Verbs that change what is spent without asking whether it fits: one call to the store, one change for each policy, all of them or
 * none. They answer with what a look (cost 0) sees afterwards.
 */
import { checkCost, checkKey } from '../model/attempt.ts';
import type { RateLimitResult } from '../model/decision.ts';
import { type Duration, parseDuration, toMicros } from '../model/duration.ts';
import { checkOptionNames } from '../model/options.ts';
import type { Policy } from '../model/policy.ts';
import type { Change, Store } from '../model/store.ts';
import { type AttemptOptions, ask, type ContextOption, type Core } from './core.ts';
import { resultOf } from './result.ts';
import { checkResult, isSpentInStore, spentOf } from './spent.ts';

export interface RefundOptions<Context> extends AttemptOptions<Context> {
  /**
   * The result of the attempt that is given back. With it a refund is exact: never more comes back than is still missing because of
   * that attempt. Without it the latest spend is meant, a moment ago.
   */
  readonly of?: RateLimitResult | undefined;
}

/** What a look sees after a change. `allowed` is false only while the key is blocked: a look costs nothing. */
export interface ChangeResult extends RateLimitResult {
  /**
   * Units that were really given back or spent. Under several policies the smallest: what all of them have done. May be a fraction,
   * where a bucket has refilled a part of a unit.
   */
  readonly changed: number;
}

export interface ChangeVerbs<Context> {
  /** Gives units back, but never lifts the key above what it would have been without the spend. */
  refund(key: string, options?: RefundOptions<Context>): Promise<ChangeResult>;
  /** Spends even if it does not fit, down to empty and never below. */
  penalize(key: string, options?: AttemptOptions<Context>): Promise<ChangeResult>;
  /** Denies everything for so long, whatever the policies say. A second block replaces the first. */
  block(key: string, duration: Duration, options?: ContextOption<Context>): Promise<RateLimitResult>;
  /** Ends a block; what was spent before and meanwhile stays spent. */
  unblock(key: string, options?: ContextOption<Context>): Promise<RateLimitResult>;
}

export function changeVerbs<Context>({ store, policiesFor, freed }: Core<Context>): ChangeVerbs<Context> {
  return {
    async refund(key, options = {}) {
      checkOptionNames(options, ['cost', 'of', 'context'], 'refund');
      const { cost = 1, of, context } = options;
      checkKey(key);
      checkCost(cost);
      const policies = policiesFor(context);
      if (of !== undefined) checkResult(of, key, policies, 'refund.of');
      const result = await refund(store, key, policies, cost, of);
      if (result.changed > 0) freed(key);
      return result;
    },
    async penalize(key, options = {}) {
      checkOptionNames(options, ['cost', 'context'], 'penalize');
      const { cost = 1, context } = options;
      return penalize(store, checkKey(key), policiesFor(context), checkCost(cost));
    },
    async block(key, duration, options = {}) {
      checkOptionNames(options, ['context'], 'block');
      checkKey(key);
      const micros = toMicros(parseDuration(duration, 'block.duration'));
      const policies = policiesFor(options.context);
      return looked(
        store,
        policies.map((policy) => ({ key, policy, verb: 'block', duration: micros })),
      );
    },
    async unblock(key, options = {}) {
      checkOptionNames(options, ['context'], 'unblock');
      checkKey(key);
      const policies = policiesFor(options.context);
      const result = await looked(
        store,
        policies.map((policy) => ({ key, policy, verb: 'unblock' })),
      );
      freed(key);
      return result;
    },
  };
}

/** What somebody else than the store has spent is not the store's to give back. */
export async function refund(
  store: Store,
  key: string,
  policies: readonly Policy[],
  cost: number,
  of?: RateLimitResult,
  spentCost = cost,
): Promise<ChangeResult> {
  if (of !== undefined && !isSpentInStore(of)) return { ...(await ask(store, key, policies, 0)), changed: 0 };
  return changed(
    store,
    policies.map((policy) => {
      const spent = of === undefined ? undefined : spentOf(of, key, policy, spentCost);
      return { key, policy, verb: 'refund', cost, spent };
    }),
  );
}

export function penalize(store: Store, key: string, policies: readonly Policy[], cost: number): Promise<ChangeResult> {
  return changed(
    store,
    policies.map((policy) => ({ key, policy, verb: 'penalize', cost })),
  );
}

async function looked(store: Store, changes: readonly Change[]): Promise<RateLimitResult> {
  return resultOf(changes, await store.change(changes));
}

async function changed(store: Store, changes: readonly Change[]): Promise<ChangeResult> {
  const answer = await store.change(changes);
  const units = answer.verdicts.map((verdict) => wholeIfClose(verdict.changed ?? 0));
  return { ...resultOf(changes, answer), changed: Math.min(...units) };
}

/** As everywhere, what is within a billionth of a whole unit is that unit. */
function wholeIfClose(units: number): number {
  const whole = Math.round(units);
  return Math.abs(units - whole) <= 1e-9 ? whole : units;
}
