/**
 * Verbs that change what is spent without asking whether it fits: one question to the store, one change for each policy, all of them or
 * none. They answer with what a look (cost 0) sees afterwards.
 */
import type { RateLimitResult } from '../model/decision.ts';
import { type Duration, parseDuration, toMicros } from '../model/duration.ts';
import { Kind } from '../model/errors.ts';
import { invalidOption } from '../model/options.ts';
import type { Policy } from '../model/policy.ts';
import { checkResult, isSpentInStore, spentOf } from '../model/spent.ts';
import type { Store } from '../model/store.ts';
import { type AttemptOptions, ask, type ContextOption, type Core, called, type WithContext } from './core.ts';
import type { Amounts, Cost } from './costs.ts';
import { changeAll, debtOf, penalties } from './debt.ts';

/** What `refund` takes besides its key. */
export interface RefundOptions<Context> extends AttemptOptions<Context> {
  /**
   * The result of the attempt that is given back. With it a refund is exact: never more comes back than is still missing because of
   * that attempt. Without it the latest spend is meant, a moment ago.
   */
  readonly of?: RateLimitResult | undefined;
}

/** What `block` takes besides the key and the duration. */
export interface BlockOptions<Context> extends ContextOption<Context> {
  /** For people, at most 200 characters: shown in the list of exceptions, where the limiter has one. */
  readonly reason?: string | undefined;
}

function checkReason(reason: unknown): void {
  if (reason === undefined || (typeof reason === 'string' && reason.length >= 1 && reason.length <= 200)) return;
  throw invalidOption('block.reason', 'a text of 1 to 200 characters', Kind.of(reason));
}

/** What `penalize` takes besides its key. */
export interface PenalizeOptions<Context> extends AttemptOptions<Context> {
  /** How far below empty it may go: units, or units for each policy by its name. Default: 0. */
  readonly maxDebt?: Cost | undefined;
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
  refund(key: string, ...options: WithContext<Context, RefundOptions<Context>>): Promise<ChangeResult>;
  /** Spends even if it does not fit, down to empty, or down to `maxDebt` below. */
  penalize(key: string, ...options: WithContext<Context, PenalizeOptions<Context>>): Promise<ChangeResult>;
  /** Denies everything for so long, whatever the policies say. A second block replaces the first. */
  block(
    key: string,
    duration: Duration,
    ...options: WithContext<Context, BlockOptions<Context>>
  ): Promise<RateLimitResult>;
  /** Ends a block; what was spent before and meanwhile stays spent. */
  unblock(key: string, ...options: WithContext<Context, ContextOption<Context>>): Promise<RateLimitResult>;
}

export function changeVerbs(core: Core<unknown>): ChangeVerbs<unknown> {
  const { store, freed } = core;
  return {
    async refund(key, options) {
      const { amounts, of, policies } = await called(core, 'refund', ['cost', 'of'], key, options);
      if (of !== undefined) checkResult(of, key, policies, 'refund.of');
      const result = await refund(store, key, policies, amounts, of);
      if (result.changed > 0) freed(key);
      return result;
    },
    async penalize(key, options) {
      const { amounts, policies, maxDebt } = await called(core, 'penalize', ['cost', 'maxDebt'], key, options);
      const debts = debtOf(maxDebt, policies, 'penalize.maxDebt');
      return withUnits(
        await changeAll(store, policies, (policy, index) => penalties(key, policy, amounts[index]!, debts[index]!)),
      );
    },
    async block(key, duration, options) {
      const { policies, reason } = await called<unknown, BlockOptions<unknown>>(
        core,
        'block',
        ['reason'],
        key,
        options,
      );
      checkReason(reason);
      const micros = toMicros(parseDuration(duration, 'block.duration'));
      return changeAll(store, policies, (policy) => [{ verb: 'block', key, policy, duration: micros, reason }]);
    },
    async unblock(key, options) {
      const { policies } = await called(core, 'unblock', [], key, options);
      const result = await changeAll(store, policies, (policy) => [{ verb: 'unblock', key, policy }]);
      freed(key);
      return result;
    },
  };
}

/** What was spent elsewhere is not the store's to give back. `spent` is what the attempt took, if that is more than what is given back. */
export async function refund(
  store: Store,
  key: string,
  policies: readonly Policy[],
  amounts: Amounts,
  of?: RateLimitResult,
  spent = amounts,
): Promise<ChangeResult> {
  if (of !== undefined && !isSpentInStore(of))
    return {
      ...(await ask(
        store,
        key,
        policies,
        policies.map(() => 0),
      )),
      changed: 0,
    };
  return withUnits(
    await changeAll(store, policies, (policy, index) => [
      {
        ...{ verb: 'refund', key, policy, cost: amounts[index]! },
        spent: of && spentOf(of, key, policy, spent[index]!),
      },
    ]),
  );
}

function withUnits(answer: RateLimitResult): ChangeResult {
  return { ...answer, changed: Math.min(...unitsOf(answer)) };
}

/** By how many units the state of each policy has changed. */
export function unitsOf({ decisions }: RateLimitResult): number[] {
  return decisions.map(({ changed }) => wholeIfClose(changed ?? 0));
}

/** As everywhere, what is within a billionth of a whole unit is that unit. */
function wholeIfClose(units: number): number {
  const whole = Math.round(units);
  return Math.abs(units - whole) <= 1e-9 ? whole : units;
}
