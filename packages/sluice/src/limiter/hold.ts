/**
 * Reserve the estimate, do the work, settle the truth. Reserving spends at once, so a hold that is never settled counts as spent, and
 * nothing has to be remembered about it anywhere but in the object itself.
 *
 * A hold is settled once. The first call ends it whatever becomes of it: when its answer is lost it may have been carried out, so a
 * second one could give the same units back again.
 */

import { readMicros } from '../model/clock.ts';
import type { RateLimitResult } from '../model/decision.ts';
import { type Duration, parseDuration, toMicros } from '../model/duration.ts';
import { Kind, type SluiceError, wrong } from '../model/errors.ts';
import type { Policy } from '../model/policy.ts';
import { isSpentInStore, spentOf } from '../model/spent.ts';
import { type Amount, type ChangeResult, change, unitsOf } from './changes.ts';
import { type AttemptOptions, ask, type Core, called } from './core.ts';
import { type Amounts, amountFor, amountsOf, type Cost, most } from './costs.ts';

/** What `reserve` takes besides the key. */
export interface ReserveOptions<Context, Given extends Cost = Cost> extends AttemptOptions<Context> {
  /** What the work is expected to cost: one number, or one for each policy by its name. Default: 1. */
  readonly cost?: Given | undefined;
  /** How long a settlement may give units back, counted in this process from before the reserve was sent. Default: 1 minute. */
  readonly ttl?: Duration | undefined;
}

/** Units that are reserved until you know what they were used for. Made by `limiter.reserve(key, { cost })`; end it with `commit` or `cancel`. */
export interface Hold<Given extends Cost = number> {
  /** Whether the units are there to be used. A hold that was denied holds nothing: there is nothing to settle. */
  readonly allowed: boolean;
  /** What was reserved. */
  readonly cost: Given extends number ? number : Given;
  /** What the attempt to reserve was told. */
  readonly result: RateLimitResult;
  /**
   * Settles with what was really used, one number or one for each policy by its name: less gives the rest back, more spends the difference. Default: what
   * was reserved.
   */
  commit(actual?: Cost): Promise<Settlement>;
  /** Nothing was used: the same as commit(0). */
  cancel(): Promise<Settlement>;
}

/**
 * What a look sees after the settlement; `changed` is what was given back, or spent on top. Where there was nothing to change
 * the store is not asked, and the numbers are those of the reservation.
 */
export interface Settlement extends ChangeResult {
  /** Units that were used and that the key did not have: 0 unless more was used than reserved. */
  readonly missing: number;
  /** Settled after the ttl, when nothing is given back any more. */
  readonly expired: boolean;
}

const DEFAULT_TTL = '1m';

export async function reserve<Context, Given extends Cost>(
  core: Core<Context>,
  key: string,
  options?: ReserveOptions<Context, Given>,
): Promise<Hold<Given>> {
  const {
    cost = 1,
    amounts,
    policies,
    ttl = DEFAULT_TTL,
  } = await called(core, 'reserve', ['cost', 'ttl'], key, options);
  const expiresAt = toMicros(parseDuration(ttl, 'reserve.ttl')) + readMicros(core.timers.clock);
  const result = await ask(core.store, key, policies, amounts);
  return holdOf(core, { key, policies, cost, amounts, result, expiresAt }) as Hold<Given>;
}

interface Reservation {
  readonly key: string;
  readonly policies: readonly Policy[];
  readonly cost: Cost;
  readonly amounts: Amounts;
  readonly result: RateLimitResult;
  /** Microseconds on the limiter's own clock. */
  readonly expiresAt: number;
}

function holdOf<Context>(core: Core<Context>, reservation: Reservation): Hold<Cost> {
  const { cost, policies, result, expiresAt } = reservation;
  let ended = result.allowed ? undefined : 'denied, so that it holds nothing';

  const settle = async (verb: string, actual: Amounts): Promise<Settlement> => {
    if (ended !== undefined) throw alreadySettled(verb, ended);
    const expired = readMicros(core.timers.clock) >= expiresAt;
    ended = 'settled already';
    return { ...(await settleIn(core, reservation, actual, expired)), expired };
  };

  return {
    allowed: result.allowed,
    cost: cost as Hold<Cost>['cost'],
    result,
    commit: async (actual = cost) => settle('commit', amountsOf(actual, policies, 'commit(actual)')),
    cancel: () => settle('cancel', 0),
  };
}

/** One change for each policy, all of them or none. Where nothing changes under any of them the store is not asked. */
async function settleIn<Context>(
  { store, freed }: Core<Context>,
  { key, policies, amounts, result }: Reservation,
  actual: Amounts,
  expired: boolean,
): Promise<ChangeResult & { missing: number }> {
  const givesBack = !expired && isSpentInStore(result);
  const over = policies.map((_, index) => amountFor(actual, index) - amountFor(amounts, index));
  if (over.every((units) => units === 0 || (units < 0 && !givesBack))) return { ...result, changed: 0, missing: 0 };
  const answer = await change(store, key, policies, (policy, index): Amount => {
    const units = over[index]!;
    if (units > 0) return { verb: 'penalize', cost: units };
    const cost = givesBack ? -units : 0;
    return {
      verb: 'refund',
      cost,
      spent: cost === 0 ? undefined : spentOf(result, key, policy, amountFor(amounts, index)),
    };
  });
  const units = unitsOf(answer);
  const moved = units.filter((_, index) => over[index] !== 0 && (over[index]! > 0 || givesBack));
  if (over.some((by, index) => by < 0 && units[index]! > 0)) freed(key);
  const missing = most(over.map((by, index) => Math.max(0, by - units[index]!)));
  return { ...answer, changed: Math.min(...moved), missing };
}

function alreadySettled(verb: string, ended: string): SluiceError {
  return wrong(
    'SLUICE_HOLD_SETTLED',
    `hold.${verb}`,
    'a hold that is allowed and not settled yet',
    new Kind(`one that was ${ended}`),
  );
}
