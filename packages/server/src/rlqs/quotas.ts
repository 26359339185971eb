/**
 * Hands out units of policies to proxies. Every unit is debited in the store before a proxy is told of it, under the terms of leases: whatever becomes of
 * proxies, connections and messages, no more is allowed than the policy has (decisions/0106). What a proxy gets follows from what it told: as much as it
 * needs until it tells again, and where there is not enough for all, a fair part. Whoever needs little leaves the rest to the others.
 */
import type { Limiter, Policy, RateLimitResult } from 'sluice';
import { decidedAt } from 'sluice/store';
import type { Action, Usage } from './messages.ts';
import {
  LATENESS_MS,
  type Labels,
  type LeasedRule,
  MOST_DRIFT,
  type Quota,
  type QuotaTerms,
  quotaFor,
  termsOf,
} from './quota.ts';
import { type Block, CERTAINTY, type Certainty, Subscription } from './subscription.ts';

/** What is counted, for Prometheus. */
export interface QuotaEvents {
  assigned(kind: Action['kind'], units: number): void;
  returned(units: number): void;
  unmatched(): void;
}

export interface QuotasOptions {
  /** Those of the config that holds now. */
  quotas(): readonly Quota[];
  limiter(): Limiter<{ readonly policies: readonly Policy[] }>;
  readonly events: QuotaEvents;
  /** Milliseconds, never backwards. */
  now(): number;
  /** Calls back after so many milliseconds. Default: a timer. */
  wakeAfter?(ms: number, act: () => void): void;
  /** Processes that hand out the same quotas. Default: this one alone. */
  readonly nodes?: number | undefined;
  /** What the limit rests on. For the simulation, which shows that nothing of it can be left out. */
  readonly strictness?: Partial<Strictness> | undefined;
}

export interface Strictness extends Certainty {
  /** The store is asked under the terms of leases. */
  readonly isShared: boolean;
  /** Units of a window are not spent in the next. */
  readonly endsWithWindow: boolean;
  /** A proxy that has not got a block in time is given up. */
  readonly givesUp: boolean;
}

interface Shared {
  readonly subscriptions: Set<Subscription>;
  /** What the store has last said to be left. */
  remaining: number;
}

/** In reports: for how long a block is made. */
const HORIZON = 4;
/** Units in that time. */
const IDLE_BELOW = 0.5;
/** For how much longer than until the next report a block is made. */
const SPARE = 1.5;
const FEWEST_UNITS = 1;
/** For the first request of a bucket nothing is known yet. */
const FIRST_UNITS = 16;
/** In times that a block may be held: then nothing of it is given back. */
const STALE_AFTER = 3;
const SHORTEST_TTL_MS = 100;
const DENY_MS = 1000;
const MOST_UNITS = 2 ** 31;

export class Quotas {
  readonly #options: QuotasOptions;
  readonly #strictness: Strictness;
  readonly #shared = new Map<string, Shared>();
  readonly #terms = new WeakMap<LeasedRule, QuotaTerms>();
  #serial = 0;

  constructor(options: QuotasOptions) {
    this.#options = options;
    const all = { ...CERTAINTY, isShared: true, endsWithWindow: true, givesUp: true };
    this.#strictness = { ...all, ...options.strictness };
  }

  subscribe(key: string, labels: Labels): Subscription {
    const subscription = new Subscription(labels, this.#options.now(), this.#strictness);
    const shared = this.#shared.get(key) ?? { subscriptions: new Set(), remaining: Number.POSITIVE_INFINITY };
    this.#shared.set(key, shared);
    shared.subscriptions.add(subscription);
    return subscription;
  }

  /** What it holds is lost: nobody can tell what the proxy has done with it. */
  forget(key: string, subscription: Subscription): void {
    const shared = this.#shared.get(key);
    shared?.subscriptions.delete(subscription);
    if (shared?.subscriptions.size === 0) this.#shared.delete(key);
  }

  quotaFor(domain: string, labels: Labels): Quota | undefined {
    const quota = quotaFor(this.#options.quotas(), domain, labels);
    if (quota === undefined) this.#options.events.unmatched();
    return quota;
  }

  /** What a proxy is told about a bucket that it has just reported. Undefined: nothing new. */
  async report(key: string, subscription: Subscription, usage: Usage, rule: LeasedRule): Promise<Assigned | undefined> {
    const now = this.#options.now();
    subscription.told(usage, now);
    await this.#giveBack(key, subscription, rule);
    if (now - subscription.busyAt >= rule.idleMs) return { action: { kind: 'abandon' } };
    // What is asked for is on its way: a second question would be for the same need.
    if (subscription.isAsking || this.#hasEnough(subscription, rule, now)) return undefined;
    subscription.isAsking = true;
    try {
      return await this.#assignment(key, subscription, rule);
    } finally {
      subscription.isAsking = false;
    }
  }

  sent(subscription: Subscription, { action, block }: Assigned): void {
    this.#options.events.assigned(action.kind, block?.units ?? 0);
    subscription.assign(block);
  }

  /** Milliseconds until the proxy must have got it. */
  timeLeft({ block }: Assigned): number {
    if (block === undefined || !this.#strictness.givesUp) return Number.POSITIVE_INFINITY;
    return block.askedAt + LATENESS_MS - this.now();
  }

  now(): number {
    return this.#options.now();
  }

  wakeAfter(ms: number, act: () => void): void {
    if (ms === Number.POSITIVE_INFINITY) return;
    if (this.#options.wakeAfter === undefined) setTimeout(act, ms).unref();
    else this.#options.wakeAfter(ms, act);
  }

  #hasEnough(subscription: Subscription, { ttlMs }: LeasedRule, now: number): boolean {
    const { current, demand, intervalMs } = subscription;
    // Whoever is idle leaves everything to the others.
    if (demand * HORIZON * intervalMs < IDLE_BELOW) return true;
    if (current === undefined) return false;
    const soon = intervalMs * SPARE;
    const endsAt = current.askedAt + current.ttlMs;
    return subscription.held(now) >= demand * Math.min(soon, ttlMs) && endsAt > now + Math.min(soon, ttlMs / 2);
  }

  async #assignment(key: string, subscription: Subscription, rule: LeasedRule): Promise<Assigned | undefined> {
    const share = await this.#shareOf(key, subscription, rule);
    const askedAt = this.now();
    const result = await this.#debit(key, rule, share);
    // Only what the store itself has granted was counted: a fallback's "yes" was not.
    if (result.source !== 'store' && result.source !== 'deny-cache') return undefined;
    const shared = this.#shared.get(key);
    if (shared !== undefined) shared.remaining = result.remaining;
    const units = result.allowed ? (result.granted ?? share) : 0;
    const usableMs = this.#usableMs(rule, result);
    const ttlMs = this.#ttlOf(rule, usableMs);
    const staleAt = askedAt + Math.min(usableMs, STALE_AFTER * (rule.ttlMs + LATENESS_MS));
    const isInTime = this.now() - askedAt < LATENESS_MS / 2;
    const action = actionOf(rule, units, ttlMs, ++this.#serial);
    const taken = isInTime && ttlMs >= SHORTEST_TTL_MS ? mostOf(action) : 0;
    const block: Block = {
      ...{ units: taken, ttlMs, askedAt, staleAt, result, usedBefore: subscription.used, gotAt: undefined },
    };
    if (units > taken) await this.#refund(key, rule, { block, units: units - taken });
    if (taken > 0) return { action, block };
    // A block of nothing: it ends the one before, once the proxy has got it.
    const none = { ...block, units: 0, ttlMs: DENY_MS };
    return subscription.held(this.now()) > 0
      ? undefined
      : { action: { kind: 'deny_all', ttlMs: DENY_MS }, block: none };
  }

  /** What is left is divided: nobody gets more than they need, and what they leave goes to the others. */
  async #shareOf(key: string, subscription: Subscription, rule: LeasedRule): Promise<number> {
    const others = this.#shared.get(key)?.subscriptions ?? [];
    const needs = [...others].map((other) => needOf(other, rule, other === subscription));
    const own = needOf(subscription, rule, true);
    const wanted = needs.reduce((sum, need) => sum + need, 0);
    // Where there is enough for all, nobody has to look how much.
    if (this.#poolOf(key) < 2 * wanted) await this.#look(key, rule);
    return Math.max(FEWEST_UNITS, Math.floor(Math.min(own, fairShare(needs, this.#poolOf(key)))));
  }

  /** What is left in the store, and what proxies hold of it. */
  #poolOf(key: string): number {
    const now = this.now();
    const { subscriptions, remaining } = this.#shared.get(key) ?? { subscriptions: [], remaining: 0 };
    let pool = remaining / (this.#options.nodes ?? 1);
    for (const other of subscriptions) pool += other.held(now);
    return pool;
  }

  async #look(key: string, rule: LeasedRule): Promise<void> {
    const context = { policies: [this.#termsOf(rule).shared] };
    const { remaining } = await this.#options.limiter().peek(key, { cost: 0, context });
    const shared = this.#shared.get(key);
    if (shared !== undefined) shared.remaining = remaining;
  }

  async #debit(key: string, rule: LeasedRule, most: number): Promise<Granted> {
    const context = { policies: [this.#termsOf(rule).shared] };
    return (await this.#options.limiter().attempt(key, { cost: { most, least: 1 }, context })) as Granted;
  }

  /** From the debit on, the ttl aside. */
  #usableMs(rule: LeasedRule, result: RateLimitResult): number {
    return this.#termsOf(rule).usableFor(decidedAt(result), Math.round(result.resetAfter * 1e6)) / 1e3;
  }

  #ttlOf({ ttlMs }: LeasedRule, usableMs: number): number {
    if (!this.#strictness.endsWithWindow) return ttlMs;
    return Math.floor(Math.min(ttlMs, (usableMs - LATENESS_MS) / (1 + MOST_DRIFT)));
  }

  #termsOf(rule: LeasedRule): QuotaTerms {
    const known = this.#terms.get(rule);
    if (known !== undefined) return known;
    const terms = termsOf(rule)!;
    const used = this.#strictness.isShared ? terms : { ...terms, shared: rule.policy };
    this.#terms.set(rule, used);
    return used;
  }

  async #giveBack(key: string, subscription: Subscription, rule: LeasedRule): Promise<void> {
    for (const leftover of subscription.takeLeftovers(this.now())) await this.#refund(key, rule, leftover);
  }

  /** What cannot be given back stays spent, which is the safe side. */
  async #refund(key: string, rule: LeasedRule, { block, units }: { block: Block; units: number }): Promise<void> {
    const context = { policies: [this.#termsOf(rule).shared] };
    const limiter = this.#options.limiter();
    const result = await limiter.refund(key, { cost: units, of: block.result, context }).catch(() => undefined);
    if (result === undefined) return;
    const shared = this.#shared.get(key);
    if (shared !== undefined) shared.remaining = result.remaining;
    this.#options.events.returned(units);
  }
}

type Granted = RateLimitResult & { readonly granted?: number | undefined };

export interface Assigned {
  readonly action: Action;
  /** Undefined where nothing was debited for it. */
  readonly block?: Block | undefined;
}

function actionOf({ strategy }: LeasedRule, units: number, ttlMs: number, serial: number): Action {
  if (strategy === 'token_bucket') return { kind: 'token_bucket', units, ttlMs, serial };
  return { kind: 'requests_per_time_unit', units: Math.floor(units / (1 + Math.ceil(ttlMs / 1e3))), ttlMs };
}

/** What a proxy can spend of it: where tokens come back each second, those too, and those of the first moment. */
function mostOf(action: Action): number {
  if (action.kind === 'token_bucket') return action.units;
  return action.kind === 'requests_per_time_unit' ? action.units * (1 + Math.ceil(action.ttlMs / 1e3)) : 0;
}

/** Units that a proxy needs for some reports: each new block costs what is left of the one before until that is certain. */
function needOf(subscription: Subscription, { ttlMs }: LeasedRule, isAsking: boolean): number {
  const { demand, intervalMs, current } = subscription;
  const least = isAsking ? (current === undefined ? FIRST_UNITS : FEWEST_UNITS) : 0;
  return Math.max(least, Math.min(Math.ceil(demand * Math.min(ttlMs, HORIZON * intervalMs)), MOST_UNITS));
}

/** The part of each where all have the same, but for those who need less. */
export function fairShare(needs: readonly number[], pool: number): number {
  let left = pool;
  const sorted = [...needs].sort((one, other) => one - other);
  for (const [index, need] of sorted.entries()) {
    const part = left / (sorted.length - index);
    if (need > part) return part;
    left -= need;
  }
  return Number.POSITIVE_INFINITY;
}
