/**
 * Reserve the estimate, do the work, settle the truth. Reserving spends immediately, so a hold that is never settled counts as spent.
 *
 * The store marks the spend in the step in which it spends, and a settlement removes the mark: so a hold is settled once, in this process or by its
 * token in another, and a settlement whose answer was lost can be tried again. Where the store has made no mark (it was away, or does not know
 * marks), a hold is settled by this object alone, and its first settlement ends it whatever becomes of it.
 */
import { readMicros } from '../model/clock.ts';
import type { RateLimitResult } from '../model/decision.ts';
import { type Duration, parseDuration, toMicros } from '../model/duration.ts';
import type { MaybePromise } from '../model/maybe-promise.ts';
import { checkOptionNames } from '../model/options.ts';
import { decidedAt } from '../model/result.ts';
import { isSpentInStore, spentBy } from '../model/spent.ts';
import type { Answer, Attempt } from '../model/store.ts';
import { waitFor } from './acquire.ts';
import { type AttemptOptions, attemptOn, type ContextOption, type Core, called } from './core.ts';
import { type Amounts, amountsOf, type Cost, isByName } from './costs.ts';
import { debtOf } from './debt.ts';
import type { Lines } from './lines.ts';
import {
  alreadySettled,
  late,
  type MarkedSpending,
  markId,
  type Settlement,
  type Spending,
  settleSpending,
  spendingOf,
  tokenOf,
} from './settle.ts';

/** A cost that is learned from what work really cost. `estimates` of `sluice/llm` makes them. */
export interface Estimate {
  /** What to reserve: a whole number of at least 0. */
  readonly value: number;
  /** Called with what it really cost when a hold is committed. */
  learn(actual: number): void;
}

/** What may be reserved: a number or an estimate, for all policies or for each by its name. */
export type ReservedCost = number | Estimate | Readonly<Record<string, number | Estimate>>;

/** What `reserve` takes besides the key. With `timeout` or `signal` it waits until there is enough, as `acquire` does. */
export interface ReserveOptions<Context, Given extends ReservedCost = ReservedCost> extends ContextOption<Context> {
  /** What the work is expected to cost: a number or an estimate, or one for each policy by its name. Default: 1. */
  readonly cost?: Given | undefined;
  /** How long a settlement may give units back, counted in this process from before the reserve was sent. Default: 1 minute. */
  readonly ttl?: Duration | undefined;
  /**
   * How far below empty a settlement may go when more was used than reserved: units, or units for each policy by its name. What is owed comes back at
   * the rate of the policy before anything is allowed again. Default: 0.
   */
  readonly maxDebt?: Cost | undefined;
  /** Wait for so long at most. Default: not at all, unless there is a `signal`. */
  readonly timeout?: Duration | undefined;
  /** Wait until it aborts. */
  readonly signal?: AbortSignal | undefined;
}

/** Units that are reserved until you know what they were used for. Made by `limiter.reserve(key, { cost })`; end it with `commit` or `cancel`. */
export interface Hold<Given extends ReservedCost = number> {
  /** Whether the units are there to be used. A hold that was denied holds nothing: there is nothing to settle. */
  readonly allowed: boolean;
  /** What was reserved. */
  readonly cost: Given extends number | Estimate ? number : { readonly [Name in keyof Given]: number };
  /** What the attempt to reserve was told. */
  readonly result: RateLimitResult;
  /**
   * The hold as text, for `limiter.settle(token, actual)` in any process that has these policies on this store. Undefined when the hold was denied, and
   * when the store did not answer itself. It holds the key.
   */
  readonly token: string | undefined;
  /**
   * Settles with what was really used, one number or one for each policy by its name: less gives the rest back, more spends the difference. Default: what
   * was reserved.
   */
  commit(actual?: Cost): Promise<Settlement>;
  /** Nothing was used: the same as commit(0). */
  cancel(): Promise<Settlement>;
}

/** What `settle` takes besides the token and the cost. */
export interface SettleOptions<Context> extends ContextOption<Context> {
  /** As for `reserve`. */
  readonly maxDebt?: Cost | undefined;
}

const DEFAULT_TTL = '1m';

const RESERVE_OPTIONS = ['cost', 'ttl', 'maxDebt', 'timeout', 'signal'] as const;

export async function reserve<Context, Given extends ReservedCost>(
  core: Core<Context>,
  lines: Lines,
  key: string,
  options?: ReserveOptions<Context, Given>,
): Promise<Hold<Given>> {
  if (options !== undefined) checkOptionNames(options, [...RESERVE_OPTIONS, 'context'], 'reserve');
  const { cost, learn } = estimated(options?.cost);
  const request = await called(core, 'reserve', RESERVE_OPTIONS, key, {
    ...options,
    cost,
  } as ReserveOptions<Context, Given> & AttemptOptions<Context>);
  const { amounts, policies, ttl = DEFAULT_TTL, timeout, signal } = request;
  const maxDebt = debtOf(request.maxDebt, policies, 'reserve.maxDebt');
  const lasts = toMicros(parseDuration(ttl, 'reserve.ttl'));
  const id = randomId();
  const mark = { id: markId(id, policies), ttl: lasts, isNew: true };
  const question: Attempt = { ...attemptOn(key, policies, amounts, false), mark };
  let expiresAt = 0;
  const ask = (): MaybePromise<Answer> => {
    expiresAt = lasts + readMicros(core.timers.clock);
    return core.store.ask(question);
  };
  const waits = timeout !== undefined || signal !== undefined;
  const { mark: made, ...result }: Answer = await (waits
    ? waitFor(core, lines, { ...request, key, ask }, 'reserve')
    : ask());
  const spending: Spending = {
    key,
    policies,
    spent: result.decisions.map((told, index) => spentBy(told, amounts[index]!)),
  };
  const marked =
    made === 'made' && isSpentInStore(result) ? { ...spending, id, ends: decidedAt(result) + lasts } : undefined;
  return holdOf(core, { cost: cost ?? 1, amounts, maxDebt, result, spending, marked, learn, expiresAt }) as Hold<Given>;
}

interface Reservation {
  readonly cost: Cost;
  readonly amounts: Amounts;
  readonly maxDebt: Amounts;
  readonly result: RateLimitResult;
  readonly spending: Spending;
  /** The same if the store has marked it. */
  readonly marked: MarkedSpending | undefined;
  readonly learn: (actual: Cost) => void;
  /** Microseconds on the limiter's own clock. */
  readonly expiresAt: number;
}

function holdOf<Context>(core: Core<Context>, reservation: Reservation): Hold<Cost> {
  const { cost, amounts, maxDebt, result, spending, marked, learn, expiresAt } = reservation;
  const { policies } = spending;
  let ended = result.allowed ? undefined : 'denied, so that it holds nothing';
  /** Whether anybody else can settle it. */
  let isShown = false;

  const settleNow = async (actual: Amounts, expired: boolean): Promise<Settlement> => {
    const over = actual.map((units, index) => units - amounts[index]!);
    const givesBack = !expired && isSpentInStore(result);
    const nothing = over.every((by) => by === 0 || (by < 0 && !givesBack));
    if (nothing && !(isShown && givesBack)) return { ...result, changed: 0, missing: 0, expired };
    if (givesBack && marked !== undefined) {
      const { mark, ...told } = await settleSpending(core, marked, actual, maxDebt);
      return { ...told, expired: mark === 'missing' && late(told, marked, 'hold.commit') };
    }
    const used = givesBack ? actual : actual.map((units, index) => Math.max(units, amounts[index]!));
    const { mark: _, ...told } = await settleSpending(core, spending, used, maxDebt);
    return { ...told, expired };
  };

  const settle = async (verb: string, actual: Cost, isTruth: boolean): Promise<Settlement> => {
    if (ended !== undefined) throw alreadySettled(`hold.${verb}`, ended);
    const units = amountsOf(actual, policies, 'commit(actual)');
    const expired = readMicros(core.timers.clock) >= expiresAt;
    ended = 'settled already';
    try {
      const settlement = await settleNow(units, expired);
      // What did not happen, and what nobody knows, teaches nothing.
      if (isTruth) learn(actual);
      return settlement;
    } catch (error) {
      // The mark says whether it was carried out, so it may be tried again.
      if (marked !== undefined && !expired) ended = undefined;
      throw error;
    }
  };

  return {
    allowed: result.allowed,
    cost: cost as Hold<Cost>['cost'],
    result,
    get token() {
      isShown = true;
      return marked && tokenOf(marked);
    },
    commit: (actual) => settle('commit', actual === undefined ? cost : actual, actual !== undefined),
    cancel: () => settle('cancel', 0, false),
  };
}

/** See `Limiter.settle`. */
export async function settle<Context>(
  core: Core<Context>,
  token: string,
  actual: Cost,
  options: SettleOptions<Context> = {},
): Promise<Settlement> {
  checkOptionNames(options, ['maxDebt', 'context'], 'settle');
  const marked = spendingOf(token, await core.policiesFor(options.context));
  const maxDebt = debtOf(options.maxDebt, marked.policies, 'settle.maxDebt');
  const units = amountsOf(actual, marked.policies, 'settle(token, actual)');
  const { mark, ...told } = await settleSpending(core, marked, units, maxDebt);
  return { ...told, expired: mark === 'missing' && late(told, marked, 'settle') };
}

function isEstimate(cost: unknown): cost is Estimate {
  return typeof (cost as Partial<Estimate> | null | undefined)?.learn === 'function';
}

/** The numbers that estimates stand for now, and how they learn what it was. */
function estimated(given: unknown): { cost: Cost | undefined; learn(actual: Cost): void } {
  const nothing = (): void => {};
  if (isEstimate(given)) {
    const learn = (actual: Cost): void => (typeof actual === 'number' ? given.learn(actual) : undefined);
    return { cost: given.value, learn };
  }
  if (!isByName(given)) return { cost: given as Cost | undefined, learn: nothing };
  const entries = Object.entries(given);
  return {
    cost: Object.fromEntries(entries.map(([name, each]) => [name, isEstimate(each) ? each.value : each])) as Cost,
    learn(actual) {
      for (const [name, each] of entries) {
        if (isEstimate(each)) each.learn(typeof actual === 'number' ? actual : actual[name]!);
      }
    },
  };
}

/** Nobody can guess it, and no two are the same. */
function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (word) => word.toString(36)).join('');
}
