/**
 * Attempts that are more than yes or no: one that is retried under the same id spends once, and one that asks for as much as there is says how much it
 * got. Both are one question to the store.
 */
import type { RateLimitResult } from '../model/decision.ts';
import { type Duration, parseDuration, toMicros } from '../model/duration.ts';
import { Kind, wrong } from '../model/errors.ts';
import { type MaybePromise, proceed } from '../model/maybe-promise.ts';
import { checkOptionNames, invalidOption } from '../model/options.ts';
import type { Policy } from '../model/policy.ts';
import type { Answer, Attempt, Store } from '../model/store.ts';
import { type AttemptOptions, attemptOn } from './core.ts';
import { amountsOf, checkCost, isByName } from './costs.ts';

/** What `attempt` and `peek` take besides the key. */
export interface SpendOptions<Context> extends AttemptOptions<Context> {
  /** Tells a retry from a new attempt: one with the id of an attempt that was allowed is allowed and spends nothing. At most 256 characters. */
  readonly id?: string | undefined;
  /** How long an id is remembered, from the attempt that was allowed. Default: 10 minutes. */
  readonly ttl?: Duration | undefined;
}

const DEFAULT_TTL = '10m';
const MAX_ID = 256;

/** `{ most, least }`, unless a policy is called that. */
interface PartialCost {
  readonly most: number;
  readonly least: number;
}

export function isSpecial({ id, ttl, cost }: SpendOptions<unknown>): boolean {
  return id !== undefined || ttl !== undefined || (isByName(cost) && 'most' in cost);
}

export function askSpecially<Context>(
  store: Store,
  key: string,
  policies: readonly Policy[],
  { cost = 1, id, ttl }: SpendOptions<Context>,
  dryRun: boolean,
): MaybePromise<RateLimitResult> {
  const partial = partialOf(cost, policies);
  const amounts = amountsOf(partial?.most ?? cost, policies);
  const mark = markOf(id, ttl);
  const question: Attempt = { ...attemptOn(key, policies, amounts, dryRun), mark, least: partial?.least };
  return proceed(store.ask(question), ({ mark: made, granted, ...result }: Answer) => ({
    ...result,
    ...(mark === undefined ? {} : { repeated: made === 'found' }),
    // Whoever answers in the place of the store may not know about parts: it allows the whole, or nothing.
    ...(partial === undefined || made === 'found' ? {} : { granted: granted ?? (result.allowed ? partial.most : 0) }),
  }));
}

function markOf(id: unknown, ttl: Duration | undefined): Attempt['mark'] {
  if (id === undefined && ttl !== undefined) throw invalidOption('ttl', 'an id beside it', new Kind('none'));
  if (id === undefined) return undefined;
  if (typeof id !== 'string' || id === '' || id.length > MAX_ID) {
    const got = typeof id === 'string' ? new Kind(`${id.length} characters`) : id;
    throw invalidOption('id', `a string of 1 to ${MAX_ID} characters`, got);
  }
  // The ids of callers never meet those of holds.
  return { id: `r${id}`, ttl: toMicros(parseDuration(ttl ?? DEFAULT_TTL, 'ttl')), isNew: false };
}

function partialOf(cost: unknown, policies: readonly Policy[]): PartialCost | undefined {
  if (!isByName(cost) || !('most' in cost) || policies.some(({ name }) => name === 'most')) return undefined;
  checkOptionNames(cost, ['most', 'least'], 'cost');
  const { most, least = 1 } = cost;
  const part = { most: checkCost(most, 'cost.most'), least: checkCost(least, 'cost.least') };
  if (part.least <= part.most) return part;
  throw wrong('SLUICE_INVALID_COST', 'cost.least', `at most ${part.most}, which is cost.most`, part.least);
}
