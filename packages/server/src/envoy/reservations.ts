/**
 * Kuadrant's four calls on the limits of Envoy's files: look, spend whatever happens, hold an estimate, settle it. A hold is the library's own: its text is all
 * that there is of it outside of the store, so any server with the same store and files can settle it.
 */
import { SluiceError } from 'sluice';
import type { RateLimitRequest } from './request.ts';
import { ServiceError } from './request.ts';
import type { RateLimitResponse } from './response.ts';
import { type EnvoyContext, limitedBy, shouldRateLimit } from './should-rate-limit.ts';
import type { EnvoyLimiter, Spend } from './spend.ts';
import { spendOf } from './spend.ts';

export interface ReserveRequest extends RateLimitRequest {
  readonly amount: number;
  readonly ttlMs: number;
}

export interface CommitRequest extends RateLimitRequest {
  readonly reservationId: string;
  readonly actualAmount: number;
}

/** What would be the answer. Nothing is spent, and nothing given back. */
export function check(request: RateLimitRequest, context: EnvoyContext): Promise<RateLimitResponse> {
  const settings = { ...context.settings, denied: 'free' as const };
  return shouldRateLimit(request, { ...context, settings, limiter: looking(context.limiter) });
}

/** Spends also what does not fit: it has happened already. The answer is always OK. */
export async function report(request: RateLimitRequest, context: EnvoyContext): Promise<RateLimitResponse> {
  const settings = { ...context.settings, denied: 'spend' as const };
  return { ...(await shouldRateLimit(request, { ...context, settings })), overallCode: 'OK' };
}

function looking(limiter: EnvoyLimiter): EnvoyLimiter {
  const look = ((key: string, { context }: { context: never }) => limiter.peek(key, { cost: 0, context })) as never;
  return { ...limiter, attempt: limiter.peek as never, refund: look, penalize: look };
}

/** A hold has at most so many tokens as a request has descriptors, each of some hundred characters. */
const MAX_RESERVATION = 256 * 1024;

/** All of them, or none. Undefined: over the limit. */
export async function reserve(request: ReserveRequest, context: EnvoyContext): Promise<string | undefined> {
  const { amount, ttlMs } = request;
  const matches = limitedBy(request, context);
  const tokens: string[] = [];
  const cancel = async (): Promise<void> => {
    await Promise.allSettled(tokens.map((token, at) => settled(token, 0, matches[at]!, context)));
  };
  if (amount === 0) return reservationText(NOTHING);
  for (const { key, rule } of matches) {
    const limit = rule.limit!;
    const policies = [limit.policy];
    const cost = Math.min(amount, Number.MAX_SAFE_INTEGER);
    const hold =
      limit.size === 0 ? undefined : await context.limiter.reserve(key, { cost, ttl: ttlMs, context: { policies } });
    if (hold?.token !== undefined) {
      tokens.push(hold.token);
      continue;
    }
    await cancel();
    if (hold?.allowed === true) throw new ServiceError('the store does not answer: nothing can be held');
    return undefined;
  }
  return reservationText({ amount, tokens });
}

type Match = ReturnType<typeof limitedBy>[number];

/** True when the hold was there. Otherwise what was used is spent as by `report`; of a hold that has expired the estimate is spent already. */
export async function commit(request: CommitRequest, context: EnvoyContext): Promise<boolean> {
  const matches = limitedBy(request, context);
  const { tokens, amount } = reservationIn(request.reservationId);
  const actual = Math.min(request.actualAmount, Number.MAX_SAFE_INTEGER);
  const released = await Promise.all(
    matches.map(async (match, at) => {
      const token = tokens[at];
      const outcome = token === undefined ? undefined : await settled(token, actual, match, context);
      if (outcome === 'settled') return true;
      const missing = outcome === 'expired' ? Math.max(0, actual - amount) : actual;
      if (missing > 0) await spendOf('spend', [spendAll(match, missing)], context.limiter);
      return false;
    }),
  );
  return tokens.length > 0 && tokens.length === matches.length && released.every(Boolean);
}

/** What is above the estimate is spent, too, and owed where there is not enough. Undefined: there is no such hold. */
async function settled(
  token: string,
  actual: number,
  { rule }: Match,
  context: EnvoyContext,
): Promise<'settled' | 'expired' | undefined> {
  const { policy, size } = rule.limit!;
  try {
    const { expired } = await context.limiter.settle(token, actual, {
      maxDebt: size,
      context: { policies: [policy] },
    });
    return expired ? 'expired' : 'settled';
  } catch (error) {
    // Settled before, of other descriptors, or no hold at all.
    if (error instanceof SluiceError) return undefined;
    throw error;
  }
}

function spendAll({ key, rule }: Match, hits: number): Spend {
  return { key, limit: rule.limit!, hits, isGiveBack: false, isEnforced: false, isQuota: false };
}

interface Reservation {
  readonly amount: number;
  /** One for each limit, in order. */
  readonly tokens: readonly string[];
}

const NOTHING: Reservation = { amount: 0, tokens: [] };

function reservationText({ amount, tokens }: Reservation): string {
  return Buffer.from(JSON.stringify([amount, ...tokens])).toString('base64url');
}

/** What is no reservation holds nothing. */
function reservationIn(text: string): Reservation {
  if (text.length > MAX_RESERVATION) return NOTHING;
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (!Array.isArray(value)) return NOTHING;
    const [amount, ...tokens] = value as unknown[];
    if (!Number.isSafeInteger(amount) || !tokens.every((token) => typeof token === 'string')) return NOTHING;
    return { amount: amount as number, tokens: tokens as string[] };
  } catch {
    return NOTHING;
  }
}
