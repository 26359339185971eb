/**
 * What a request counts can depend on how it ends. Two ways: it spends at first and gets it back (`countOnly`), or an estimate is
 * reserved and the truth settled (`settle`). A request that got no response at all counts as it is: otherwise a client that hangs
 * up before the answer would never be limited.
 */
import type { GateDecision, RequestResult, Spent } from '../http/gate.ts';
import type { RefundOptions } from '../limiter/changes.ts';
import type { AttemptOptions } from '../limiter/core.ts';
import type { Cost } from '../limiter/costs.ts';
import type { Hold } from '../limiter/hold.ts';
import type { Limiter } from '../limiter/limiter.ts';
import type { RateLimitResult } from '../model/decision.ts';
import { type Duration, parseDuration } from '../model/duration.ts';
import { Kind } from '../model/errors.ts';
import type { MaybePromise } from '../model/maybe-promise.ts';
import { checkFunction, invalidOption } from '../model/options.ts';
import { emitWarning } from '../model/runtime.ts';
import type { NativeView } from './options.ts';

/** How a request ended. */
export interface Outcome<Native> {
  /** Of the response that was sent. */
  readonly status: number;
  readonly view: NativeView<Native>;
  readonly result: RequestResult;
}

/** Options about how a request ended, for limits that depend on it. */
export interface OutcomeOptions<Native> {
  /** Which requests count, by how they ended: the others get back what they spent. */
  readonly countOnly?: ((outcome: Outcome<Native>) => MaybePromise<boolean>) | undefined;
  /** What a request did cost, once that is known, one number or one for each policy by its name; `cost` is reserved until then. */
  readonly settle?: ((outcome: Outcome<Native>) => MaybePromise<Cost>) | undefined;
  /** How long a settlement may give units back, counted from the reservation. Default: 1 minute. */
  readonly settleWithin?: Duration | undefined;
  /** Told of errors that come too late to fail a request for. Default: a warning of the runtime. */
  readonly onError?: OnError | undefined;
}

export type OnError = (error: unknown) => void;

export const OUTCOME_OPTIONS = ['countOnly', 'settle', 'settleWithin', 'onError'] as const;

export type Allowed = Extract<GateDecision, { allowed: true }>;

/** Never rejects: the response is on its way. */
export type Conclude<Native> = (passed: Allowed, view: NativeView<Native>, status: number) => Promise<void>;

export function conclusionOf<Native, Context>(
  options: OutcomeOptions<Native>,
  limiter: Limiter<Context>,
  path: string,
): Conclude<Native> | undefined {
  checkOutcomeOptions(options, path);
  const { countOnly, settle, onError = warnOfError } = options;
  const { refund } = limiter as Limiter;
  if (countOnly === undefined && settle === undefined) return undefined;
  return async ({ result, spent }, view, status) => {
    if (result === undefined || spent === undefined) return;
    try {
      const outcome = { status, view, result };
      if (settle !== undefined) await holds.get(result.decisions)?.commit(await settle(outcome));
      else if (!(await countOnly!(outcome))) await refund(spent.key, refundOf(spent, result));
    } catch (error) {
      onError(error);
    }
  };
}

function refundOf({ cost, context }: Spent, result: RateLimitResult): RefundOptions<unknown> {
  return { cost, of: result, context };
}

function checkOutcomeOptions<Native>(options: OutcomeOptions<Native>, path: string): void {
  for (const name of ['countOnly', 'settle', 'onError'] as const) checkFunction(options[name], `${path}.${name}`);
  const { countOnly, settle, settleWithin } = options;
  if (countOnly !== undefined && settle !== undefined) {
    throw invalidOption(path, 'countOnly or settle: what does not count is settled at 0', new Kind('both'));
  }
  if (settleWithin === undefined) return;
  parseDuration(settleWithin, `${path}.settleWithin`);
  if (settle === undefined) throw invalidOption(`${path}.settleWithin`, 'settle beside it', new Kind('none'));
}

/** What was reserved for a request, by what its attempt was told. The gate makes a result of its own, with the key, around the same decisions. */
const holds = new WeakMap<RateLimitResult['decisions'], Hold<Cost>>();

/** The limiter as a gate is to see it that reserves: an attempt is a hold, to be settled when the request ends. */
export function reserving<Context>(limiter: Limiter<Context>, ttl: Duration | undefined): Limiter<Context> {
  const attempt = async (key: string, options?: AttemptOptions<Context>): Promise<RateLimitResult> => {
    const hold = await (limiter as Limiter).reserve(key, { ...options, ttl });
    if (hold.allowed) holds.set(hold.result.decisions, hold);
    return hold.result;
  };
  return { ...limiter, attempt: attempt as unknown as Limiter<Context>['attempt'] };
}

/** As for warnings about the setup. */
export function warnOfError(error: unknown): void {
  emitWarning(error instanceof Error ? error : new Error(String(error)));
}
