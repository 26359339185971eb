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
import { isSpentInStore } from '../model/spent.ts';
import { type ChangeResult, penalize, refund } from './changes.ts';
import { type AttemptOptions, ask, type Core, called, checkCost } from './core.ts';

/** What `reserve` takes besides the key. */
export interface ReserveOptions<Context> extends AttemptOptions<Context> {
  /** How long a settlement may give units back, counted in this process from before the reserve was sent. Default: 1 minute. */
  readonly ttl?: Duration | undefined;
}

/** Units that are reserved until you know what they were used for. Made by `limiter.reserve(key, { cost })`; end it with `commit` or `cancel`. */
export interface Hold {
  /** Whether the units are there to be used. A hold that was denied holds nothing: there is nothing to settle. */
  readonly allowed: boolean;
  /** What was reserved. */
  readonly cost: number;
  /** What the attempt to reserve was told. */
  readonly result: RateLimitResult;
  /** Settles with what was really used: less gives the rest back, more spends the difference. Default: what was reserved. */
  commit(actual?: number): Promise<Settlement>;
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

export async function reserve<Context>(
  core: Core<Context>,
  key: string,
  options?: ReserveOptions<Context>,
): Promise<Hold> {
  const { cost, policies, ttl = DEFAULT_TTL } = called(core, 'reserve', ['cost', 'ttl'], key, options);
  const expiresAt = toMicros(parseDuration(ttl, 'reserve.ttl')) + readMicros(core.timers.clock);
  const result = await ask(core.store, key, policies, cost);
  return holdOf(core, { key, policies, cost, result, expiresAt });
}

interface Reservation {
  readonly key: string;
  readonly policies: readonly Policy[];
  readonly cost: number;
  readonly result: RateLimitResult;
  /** Microseconds on the limiter's own clock. */
  readonly expiresAt: number;
}

function holdOf<Context>(core: Core<Context>, reservation: Reservation): Hold {
  const { cost, result, expiresAt } = reservation;
  let ended = result.allowed ? undefined : 'denied, so that it holds nothing';

  const settle = async (verb: string, actual: number): Promise<Settlement> => {
    if (ended !== undefined) throw alreadySettled(verb, ended);
    const expired = readMicros(core.timers.clock) >= expiresAt;
    ended = 'settled already';
    const change = await settleIn(core, reservation, actual, expired);
    return { ...change, missing: Math.max(0, actual - cost - change.changed), expired };
  };

  return {
    allowed: result.allowed,
    cost,
    result,
    commit: async (actual = cost) => settle('commit', checkCost(actual, 'commit(actual)')),
    cancel: () => settle('cancel', 0),
  };
}

async function settleIn<Context>(
  { store, freed }: Core<Context>,
  { key, policies, cost, result }: Reservation,
  actual: number,
  expired: boolean,
): Promise<ChangeResult> {
  if (actual > cost) return penalize(store, key, policies, actual - cost);
  if (actual === cost || expired || !isSpentInStore(result)) return { ...result, changed: 0 };
  const change = await refund(store, key, policies, cost - actual, result, cost);
  if (change.changed > 0) freed(key);
  return change;
}

function alreadySettled(verb: string, ended: string): SluiceError {
  return wrong(
    'SLUICE_HOLD_SETTLED',
    `hold.${verb}`,
    'a hold that is allowed and not settled yet',
    new Kind(`one that was ${ended}`),
  );
}
