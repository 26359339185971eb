/**
 * Asks the limiter for the descriptors of one request. By default a request that is denied costs nothing, whichever of its descriptors
 * denies it; the reference server's way, in which each descriptor counts by itself and denied ones count too, is there by name.
 */
import type { Decision, Limiter, Policy, RateLimitResult } from 'sluice';
import { ruleOf } from 'sluice/store';
import type { Limit } from './domain.ts';
import { periodEnd } from './unit.ts';

/** A limiter whose policies come along with each attempt. */
export type EnvoyLimiter = Limiter<{ readonly policies: readonly Policy[] }>;

/** One descriptor that is under a limit. */
export interface Spend {
  readonly key: string;
  readonly limit: Limit;
  /** 0 looks. */
  readonly hits: number;
  /** The hits are given back, and never more than was spent. That is no question: nothing denies it, and nobody is denied by it. */
  readonly isGiveBack: boolean;
  /** Whether it can deny the request by itself. */
  readonly isEnforced: boolean;
  /** Whether it denies the request together with all others of its kind. */
  readonly isQuota: boolean;
}

export interface Outcome {
  readonly isOver: boolean;
  /** Units spent before this request. */
  readonly before: number;
  /** Whole units that are left. */
  readonly remaining: number;
  /** Whole seconds. */
  readonly resetSeconds: number;
  /** Whether it was known without asking the store. */
  readonly isRemembered: boolean;
}

/** Answers in the order of the spends. */
export async function spendOf(
  denied: 'free' | 'spend',
  spends: readonly Spend[],
  limiter: EnvoyLimiter,
): Promise<readonly Outcome[]> {
  if (denied === 'spend') return spendAlways(spends, limiter);
  const backs = spends.filter(({ isGiveBack }) => isGiveBack);
  if (backs.length === 0) return spendIfAllowed(spends, limiter);
  // First, so that the same request may spend what it gives back.
  const given = await Promise.all(backs.map((spend) => giveBackHits(spend, limiter)));
  const rest = spends.filter(({ isGiveBack }) => !isGiveBack);
  const asked = rest.length === 0 ? [] : await spendIfAllowed(rest, limiter);
  const bySpend = new Map([...backs, ...rest].map((spend, index) => [spend, [...given, ...asked][index]!]));
  return spends.map((spend) => bySpend.get(spend)!);
}

/** Through the counter where there is one, which knows how much is above the limit. The answer is always OK, as with the reference server. */
async function giveBackHits({ key, hits, limit }: Spend, limiter: EnvoyLimiter): Promise<Outcome> {
  const policy = limit.counter ?? limit.policy;
  const result = await limiter.refund(key, { cost: hits, context: { policies: [policy] } });
  const spent =
    limit.counter === undefined ? limit.size - result.remaining : Number.MAX_SAFE_INTEGER - result.remaining;
  return {
    isOver: false,
    before: spent,
    remaining: Math.max(0, limit.size - spent),
    resetSeconds: resetSeconds(limit, result),
    isRemembered: false,
  };
}

async function spendIfAllowed(spends: readonly Spend[], limiter: EnvoyLimiter): Promise<readonly Outcome[]> {
  if (spends.length === 1 && spends[0]!.isEnforced) return [(await askOne(spends[0]!, limiter, 'spend')).outcome];
  const enforced = spends.filter(({ isEnforced }) => isEnforced);
  const others = spends.filter(({ isEnforced }) => !isEnforced);
  const first = await allOrNothing(enforced, limiter);
  const rest = await Promise.all(others.map((spend) => askOne(spend, limiter, first.isDenied ? 'look' : 'spend')));
  const receipts = [...first.receipts, ...rest];
  const quota = rest.filter(({ spend }) => spend.isQuota);
  const isQuotaSpent = quota.length > 0 && quota.every(({ outcome }) => outcome.isOver);
  if (isQuotaSpent) await giveBack(receipts, limiter);
  const bySpend = new Map(receipts.map((receipt) => [receipt.spend, receipt.outcome]));
  return spends.map((spend) => bySpend.get(spend)!);
}

interface Receipt {
  readonly spend: Spend;
  readonly outcome: Outcome;
  /** What was spent, and the answer that says so. Undefined when nothing was. */
  readonly spent: RateLimitResult | undefined;
}

async function allOrNothing(
  spends: readonly Spend[],
  limiter: EnvoyLimiter,
): Promise<{ readonly isDenied: boolean; readonly receipts: readonly Receipt[] }> {
  const receipts: Receipt[] = [];
  let isDenied = spends.some(neverFits);
  for (const batch of batchesOf(spends)) {
    const answers = await askTogether(batch, limiter, isDenied ? 'look' : 'spend');
    if (!isDenied && answers.some(({ outcome }) => outcome.isOver)) {
      isDenied = true;
      await giveBack(receipts, limiter);
    }
    receipts.push(...answers);
  }
  return { isDenied, receipts };
}

/** As many as one attempt takes. */
const MAX_TOGETHER = 64;

/** One attempt cannot ask twice for one state: what comes again is asked for afterwards, and sees what was spent. */
function batchesOf(spends: readonly Spend[]): readonly (readonly Spend[])[] {
  const batches: { readonly states: Set<string>; readonly spends: Spend[] }[] = [];
  for (const spend of spends) {
    const state = `${spend.limit.policy.name} ${spend.key}`;
    const known = batches.find(({ states }) => !states.has(state) && states.size < MAX_TOGETHER);
    const batch = known ?? { states: new Set<string>(), spends: [] };
    if (known === undefined) batches.push(batch);
    batch.states.add(state);
    batch.spends.push(spend);
  }
  return batches.map((batch) => batch.spends);
}

type How = 'spend' | 'look';

async function askTogether(spends: readonly Spend[], limiter: EnvoyLimiter, how: How): Promise<readonly Receipt[]> {
  if (spends.length === 1) return [await askOne(spends[0]!, limiter, how)];
  const entries = spends.map((spend) => ({ key: spend.key, policy: policyFor(spend), cost: costOf(spend) }));
  const result = await (how === 'spend' ? limiter.attempt(entries) : limiter.peek(entries));
  return spends.map((spend, index) => receiptOf(spend, result, result.decisions[index]!, how));
}

async function askOne(spend: Spend, limiter: EnvoyLimiter, how: How): Promise<Receipt> {
  const options = { cost: costOf(spend), context: { policies: [policyFor(spend)] } };
  const result = await (how === 'spend' ? limiter.attempt(spend.key, options) : limiter.peek(spend.key, options));
  return receiptOf(spend, result, result, how);
}

function neverFits({ limit, hits }: Spend): boolean {
  return limit.size === 0 && hits > 0;
}

/** What only looks sees through the counter, which knows how much is above the limit. */
function policyFor({ limit, hits }: Spend): Policy {
  return hits === 0 || limit.size === 0 ? (limit.counter ?? limit.policy) : limit.policy;
}

function costOf({ limit, hits }: Spend): number {
  return limit.size === 0 ? 0 : hits;
}

function receiptOf(spend: Spend, result: RateLimitResult, decision: Decision, how: How): Receipt {
  const cost = costOf(spend);
  const isSpent = how === 'spend' && result.allowed && cost > 0;
  if (cost === 0 && spend.limit.counter !== undefined) {
    return { spend, outcome: counted(spend, decision, 0, result.source), spent: undefined };
  }
  const available = decision.remaining + (isSpent ? cost : 0);
  const outcome: Outcome = {
    isOver: !decision.allowed,
    before: Math.max(0, spend.limit.size - available),
    remaining: decision.allowed ? decision.remaining : 0,
    resetSeconds: resetSeconds(spend.limit, decision),
    isRemembered: result.source === 'deny-cache',
  };
  return { spend, outcome, spent: isSpent ? result : undefined };
}

/** From a counter without a limit: the reference server's arithmetic to the letter. `cost` is what was spent of it just now. */
function counted({ limit, hits }: Spend, decision: Decision, cost: number, source: string): Outcome {
  const before = Number.MAX_SAFE_INTEGER - decision.remaining - cost;
  const isOver = before + hits > limit.size;
  const remaining = isOver ? 0 : limit.size - before - cost;
  const isRemembered = source === 'deny-cache';
  return { isOver, before, remaining, resetSeconds: resetSeconds(limit, decision), isRemembered };
}

/**
 * Of a fixed window: until it ends, also when nothing is spent. Else until the key is as good as new, and for those who are denied until
 * the same cost is allowed. Rounded up, once.
 */
function resetSeconds({ counter, calendar }: Limit, decision: Decision): number {
  const { allowed, retryAfter, resetAfter, resetAt } = decision;
  if (calendar !== undefined) {
    const nowMs = Math.round((resetAt - resetAfter) * 1e6) / 1e3;
    return Math.ceil((periodEnd(calendar, nowMs) - nowMs) / 1e3);
  }
  if (counter !== undefined) {
    const now = Math.round((resetAt - resetAfter) * 1e6);
    const window = ruleOf(counter).recovery;
    return Math.ceil((window - (now % window)) / 1e6);
  }
  return Math.ceil(!allowed && retryAfter !== null && Number.isFinite(retryAfter) ? retryAfter : resetAfter);
}

/** What cannot be given back stays spent, which is the safe side. */
async function giveBack(receipts: readonly Receipt[], limiter: EnvoyLimiter): Promise<void> {
  await Promise.allSettled(
    receipts.map(async ({ spend, spent }) => {
      if (spent === undefined) return;
      await limiter.refund(spend.key, { cost: spend.hits, of: spent, context: { policies: [policyFor(spend)] } });
    }),
  );
}

/**
 * Each by itself, and whether it fits or not. Where something is given back they go in order, as in the reference server: two of them may be of one counter, and
 * the second sees what the first has left.
 */
async function spendAlways(spends: readonly Spend[], limiter: EnvoyLimiter): Promise<readonly Outcome[]> {
  if (!spends.some(({ isGiveBack }) => isGiveBack)) return Promise.all(spends.map((spend) => spendOne(spend, limiter)));
  const outcomes: Outcome[] = [];
  for (const spend of spends) outcomes.push(await spendOne(spend, limiter));
  return outcomes;
}

function spendOne(spend: Spend, limiter: EnvoyLimiter): Promise<Outcome> {
  if (spend.isGiveBack) return giveBackHits(spend, limiter);
  return spend.limit.counter === undefined ? spendDown(spend, limiter) : count(spend, limiter);
}

async function count(spend: Spend, limiter: EnvoyLimiter): Promise<Outcome> {
  const { key, hits, limit } = spend;
  const result = await limiter.attempt(key, { cost: hits, context: { policies: [limit.counter!] } });
  return counted(spend, result, hits, result.source);
}

/** An algorithm that keeps no count above its limit: a denied attempt takes what is left. */
async function spendDown(spend: Spend, limiter: EnvoyLimiter): Promise<Outcome> {
  const { outcome } = await askOne(spend, limiter, 'spend');
  const context = { policies: [spend.limit.policy] };
  if (outcome.isOver) await limiter.penalize(spend.key, { cost: spend.hits, context });
  return outcome;
}
