/**
 * A permit in the hands of this process: kept alive by a heartbeat while it is held, given back once, and lost when it could not be kept alive in
 * time. What this process believes is never later than what the store does: times are counted from before a question was sent.
 */
import { readMicros } from '../../model/clock.ts';
import type { Decision, RateLimitResult } from '../../model/decision.ts';
import type { Entry, Permit, Permits } from '../../model/permit.ts';
import { type Policy, ruleOf } from '../../model/policy.ts';
import { spentBy } from '../../model/spent.ts';
import type { Change } from '../../model/store.ts';
import { type Heart, heartOf } from './heart.ts';

/** Places that others give back nobody is told of: whoever waits asks again so often. Microseconds. */
const RECHECK = 100_000;

/** `ttl` in microseconds. */
export function permitsFor(ttl: number, extend: Permits['extend']): Permits {
  return { ttl, recheck: Math.min(RECHECK, ttl), extend, permitOf: (entry) => new HeldPermit(entry) };
}

/** A spend that is to be given back. */
interface Place {
  readonly policy: Policy;
  readonly decision: Decision;
  readonly cost: number;
}

class HeldPermit implements Permit {
  readonly result: RateLimitResult;
  readonly #entry: Entry;
  readonly #places: readonly Place[];
  /** The shortest of its policies. Microseconds. */
  readonly #ttl: number;
  readonly #heart: Heart | undefined;
  /** Microseconds on the entry's clock. */
  #endsAt: number;
  #released: Promise<boolean> | undefined;
  #isLost = false;
  #lost: AbortController | undefined;

  constructor(entry: Entry) {
    this.result = entry.result;
    this.#entry = entry;
    this.#places = placesOf(entry);
    this.#ttl = shortestTtl(entry.policies);
    this.#endsAt = entry.sentAt + this.#ttl;
    if (!entry.heartbeat || this.#places.length === 0) return;
    this.#heart = heartOf(entry, this.#ttl);
    this.#heart.add(this);
  }

  get allowed(): boolean {
    return this.result.allowed;
  }

  get remaining(): number {
    return this.result.remaining;
  }

  get retryAfter(): number | null {
    return this.result.retryAfter;
  }

  get isHeld(): boolean {
    if (!this.allowed || this.#released !== undefined || this.#isLost) return false;
    // Nothing is held in a store when nobody could be asked, and what allows everything allows this.
    return this.#places.length === 0 || readMicros(this.#entry.clock) < this.#endsAt;
  }

  get signal(): AbortSignal {
    this.#lost ??= new AbortController();
    if (this.#isLost) this.#lost.abort();
    return this.#lost.signal;
  }

  release(): Promise<boolean> {
    this.#released ??= this.#giveBack();
    return this.#released;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  async extend(): Promise<boolean> {
    if (this.#released !== undefined || this.#places.length === 0) return this.isHeld;
    const sentAt = readMicros(this.#entry.clock);
    const changes = this.#changes((place) => ({ verb: 'extend', ...place }));
    const { decisions, source } = await this.#entry.store.ask({ verb: 'change', changes });
    if (decisions.every(({ changed }) => changed! > 0)) this.#endsAt = Math.max(this.#endsAt, sentAt + this.#ttl);
    // Another one has answered in its place, so nobody knows: it is held until its time is over.
    else if (source === 'store' || source === this.result.source) this.#lose();
    return this.isHeld;
  }

  /** The heart asks. Says whether to go on. */
  async beat(): Promise<boolean> {
    if (this.#released !== undefined || this.#isLost) return false;
    // A store that is away may be back before the time is over.
    await this.extend().catch(() => false);
    if (readMicros(this.#entry.clock) >= this.#endsAt) this.#lose();
    return this.#released === undefined && !this.#isLost;
  }

  async #giveBack(): Promise<boolean> {
    this.#heart?.remove(this);
    if (this.#places.length === 0) return false;
    const { store, freed } = this.#entry;
    const changes = this.#changes((place) => ({ verb: 'refund', cost: place.spent.cost, ...place }));
    const { decisions } = await store.ask({ verb: 'change', changes });
    freed();
    return decisions.every(({ changed }) => changed! > 0);
  }

  #changes(
    changeOf: (spend: Pick<Change & { verb: 'extend' }, 'key' | 'policy' | 'spent' | 'by'>) => Change,
  ): Change[] {
    const { key, result } = this.#entry;
    return this.#places.map(({ policy, decision, cost }) =>
      changeOf({ key, policy, spent: spentBy(decision, cost), by: result.source }),
    );
  }

  #lose(): void {
    this.#isLost = true;
    this.#heart?.remove(this);
    this.#lost?.abort();
  }
}

/** What lasts until it is given back. Rates stay spent, and a policy that is only tried has spent nothing when it would have denied. */
function placesOf({ result, policies, costs }: Entry): readonly Place[] {
  if (!result.allowed) return [];
  const places: Place[] = [];
  policies.forEach((policy, index) => {
    const decision = result.decisions[index]!;
    const cost = costs[index]!;
    const isHeld = ruleOf(policy).permits !== undefined && cost > 0 && decision.changed !== 0;
    if (isHeld) places.push({ policy, decision, cost });
  });
  return places;
}

/** Microseconds. */
function shortestTtl(policies: readonly Policy[]): number {
  let shortest = Number.POSITIVE_INFINITY;
  for (const policy of policies) shortest = Math.min(shortest, ruleOf(policy).permits?.ttl ?? shortest);
  return shortest;
}
