/**
 * For hot keys: takes units from the store in blocks, and spends them here without asking. Off unless it is put in, and strict: a
 * block is counted in the store before the first of its units is spent, so however many processes do this, and whatever becomes of
 * them, of the network and of their clocks, no more is admitted than the policy allows. What keeps each algorithm's bound is in
 * leases-rules.ts.
 *
 * - A block ends `ttl` after the moment *before* it was asked for, on a clock that never steps back. The store reads its clock later
 *   than that, so nobody's clocks have to agree; they only have to run at the same speed, to 200 parts in a million.
 * - A request for units without an answer may have been granted: it counts as granted, and its units as lost.
 * - What is left of a block when it ends is given back, by the next attempt that comes along; without one it is lost too.
 * - Only keys with a steady demand are leased, each block for a fraction of a second of it, and only while there is plenty left: the
 *   end of a quota is decided by the store, one attempt at a time.
 * - Everything else goes to the store: looks, dry runs, attempts under several policies, and costs that the block cannot pay.
 *
 * It is for stores that have to be waited for. One that answers at once is asked every time.
 */
import { type Clock, checkClock, monotonicClock, readMicros } from '../model/clock.ts';
import { type Duration, MICROS_PER_SECOND, parseDuration, parseRate, type Rate, toMicros } from '../model/duration.ts';
import { isPromise } from '../model/maybe-promise.ts';
import { checkOptionNames } from '../model/options.ts';
import type { Policy } from '../model/policy.ts';
import {
  type Change,
  type Check,
  checkStore,
  type MaybePromise,
  type ShortWay,
  type Store,
  type Verdicts,
} from '../model/store.ts';
import { checkCount } from './counts.ts';
import type { Layer } from './layered.ts';
import { LeaseBook } from './leases-book.ts';
import type { Block, HeldKey, Sizing } from './leases-held.ts';
import { type LeaseRule, ruleBook } from './leases-rules.ts';

export interface LeaseOptions {
  /**
   * How long units may be held at most. A setting of the whole deployment: every process that uses these policies on this store must
   * have the same. Default: 100 ms.
   */
  readonly ttl?: Duration | undefined;
  /** How many processes may lease one key. A block is at most what is left / (2 x nodes). Default: 8. */
  readonly nodes?: number | undefined;
  /** Units in a block at most. Default: 10,000. */
  readonly maxUnits?: number | undefined;
  /** Keys with less demand than this are never leased. Default: 200 units a second. */
  readonly minRate?: Rate | undefined;
  /** For how long a block is to last, by the demand of the last moments. Default: half of the ttl. */
  readonly horizon?: Duration | undefined;
  /** Keys watched and leased at most. The one that was quiet for longest makes room. Default: 10,000. */
  readonly maxKeys?: number | undefined;
  /** For tests and simulations. Default: a clock that never steps back. */
  readonly clock?: Clock | undefined;
}

interface Settings extends Sizing {
  /** Microseconds, on the store's clock. */
  readonly ttl: number;
  readonly maxKeys: number;
  readonly clock: Clock;
}

/** A clock may run this much slower than the store's. */
const MOST_DRIFT = 200e-6;
/** Two readings of a clock are rounded to microseconds, each by half of one. */
const ROUNDING = 1;
/** As for the deny cache: a store that answers at once is left alone. */
const ENOUGH_AT_ONCE = 100;
/** Longer keys are not kept, so that `maxKeys` bounds the memory too. */
const MAX_KEY_LENGTH = 1024;

export function leases(options: LeaseOptions = {}): Layer {
  const settings = checkOptions(options);
  return (inner) => {
    const lessee = new Lessee(checkStore(inner, 'leases(...)(store)'), settings);
    const decide: Store['decide'] = (checks, options) =>
      checks.length === 1 && options?.dryRun !== true
        ? lessee.attempt(checks)
        : inner.decide(lessee.shared(checks), options);
    return {
      decide: Object.assign(decide, lessee.shortWay()),
      change: (changes) => lessee.change(changes),
      forget: (key, policies) => lessee.forget(key, policies),
      // Of the policy's own window: what the store counts for longer has left it.
      history: (key, policy) => inner.history(key, policy),
    };
  };
}

class Lessee {
  readonly #inner: Store;
  readonly #clock: Clock;
  readonly #ttl: number;
  readonly #ruleFor: ReturnType<typeof ruleBook>;
  readonly #book: LeaseBook;
  #answersAtOnce = 0;

  constructor(inner: Store, settings: Settings) {
    this.#inner = inner;
    this.#clock = settings.clock;
    this.#ttl = settings.ttl;
    this.#ruleFor = ruleBook(settings.ttl);
    this.#book = new LeaseBook(settings.maxKeys, settings);
  }

  /** A store that has one never waits, so there is nothing to lease: it is only asked under other numbers. */
  shortWay(): ShortWay {
    const { one } = this.#inner.decide;
    return one === undefined ? {} : { one: (key, policy, cost) => one(key, this.#ruleFor(policy).shared, cost) };
  }

  shared<Item extends Check | Change>(items: readonly Item[]): readonly Item[] {
    return items.map((item) => ({ ...item, policy: this.#ruleFor(item.policy).shared }));
  }

  /** Of one check. */
  attempt(checks: readonly Check[]): MaybePromise<Verdicts> {
    const { key, policy, cost } = checks[0]!;
    const rule = this.#ruleFor(policy);
    const isWatched = rule.isLeased && cost > 0 && key.length <= MAX_KEY_LENGTH;
    if (!isWatched || this.#answersAtOnce >= ENOUGH_AT_ONCE) return this.#ask(checks, rule);

    const now = readMicros(this.#clock);
    const held = this.#book.find(key, rule, now);
    if (held.count(cost, now)) this.#book.isBusy(key);
    this.#giveBack(this.#book.collect(now));
    const block = held.spend(cost, now);
    if (held.hasEnded(now)) this.#giveBack(held.takeEnded(now));
    if (block === undefined) return this.#ask(checks, rule, held);
    if (block.units <= block.lowWater) this.#refill(held, now);
    return spentFrom(block, held);
  }

  /** The list is passed on where nothing in it changes: making another costs more than deciding. */
  #ask(checks: readonly Check[], { shared }: LeaseRule, held?: HeldKey): MaybePromise<Verdicts> {
    const answer = this.#inner.decide(shared === checks[0]!.policy ? checks : [{ ...checks[0]!, policy: shared }]);
    if (!isPromise(answer)) {
      if (this.#answersAtOnce < ENOUGH_AT_ONCE && answer.source === 'store') this.#answersAtOnce += 1;
      return answer;
    }
    this.#answersAtOnce = 0;
    return held === undefined ? answer : answer.then((told) => this.#learn(held, told));
  }

  #learn(held: HeldKey, told: Verdicts): Verdicts {
    if (told.source === 'store') {
      held.learn(told.verdicts[0]!.remaining, told.now);
      this.#refill(held, readMicros(this.#clock));
    }
    return told;
  }

  /** In the background, one request at a time for each key. One that is lost does not keep others away for longer than the ttl. */
  #refill(held: HeldKey, now: number): void {
    if (held.isDropped) return;
    const units = held.wanted(now);
    if (units === 0) return;
    held.askingUntil = now + this.#ttl;
    const { key, rule } = held;
    const check = { key, policy: rule.shared, cost: units };
    quietly(
      () => this.#inner.decide([check]),
      (told) => this.#receive(held, units, now, told),
    );
  }

  /** Only what the store itself has granted was counted: a fallback's "yes" was not. */
  #receive(held: HeldKey, units: number, sentAt: number, told: Verdicts): void {
    const verdict = told.verdicts[0]!;
    if (sentAt + this.#ttl === held.askingUntil) held.askingUntil = Number.NEGATIVE_INFINITY;
    if (told.source !== 'store' || held.isDropped) return;
    held.learn(verdict.remaining, told.now);
    if (!verdict.allowed) return;
    const time = Math.min(this.#ttl, held.rule.usableFor(told.now, verdict));
    const endsAt = sentAt + Math.floor(time * (1 - MOST_DRIFT)) - ROUNDING;
    held.add(units, { sentAt, endsAt, now: told.now, resetAfter: verdict.resetAfter });
    this.#book.isHolding(held);
  }

  #giveBack(refunds: readonly Change[]): void {
    if (refunds.length > 0) quietly(() => this.#inner.change(refunds));
  }

  /** Giving units back or ending a block takes nothing away from what is held here. The others concern it. */
  change(changes: readonly Change[]): MaybePromise<Verdicts> {
    const concerned = changes.filter(({ verb }) => verb === 'penalize' || verb === 'block').map(({ key }) => key);
    const refunds = concerned.flatMap((key) => this.#book.drop(key));
    const answer = this.#inner.change([...refunds, ...this.shared(changes)]);
    const finish = ({ now, verdicts, source }: Verdicts): Verdicts => {
      // What was granted while this was under way was granted before it.
      for (const key of concerned) this.#giveBack(this.#book.drop(key));
      return { now, verdicts: verdicts.slice(refunds.length), source };
    };
    return isPromise(answer) ? answer.then(finish) : finish(answer);
  }

  /** Nothing is given back to a key that is as good as new: it would be more than that. */
  forget(key: string, policies: readonly Policy[]): MaybePromise<void> {
    this.#book.drop(key);
    const done = this.#inner.forget(
      key,
      policies.map((policy) => this.#ruleFor(policy).shared),
    );
    return isPromise(done) ? done.then(() => void this.#book.drop(key)) : undefined;
  }
}

/**
 * As if the units of the block had been spent one by one when it was granted, and those that are left had not: with `now` and
 * `resetAfter` a refund finds what was charged, and gives back no more than is still missing because of it.
 */
function spentFrom({ units, now, resetAfter }: Block, { remaining, rule }: HeldKey): Verdicts {
  const reset = Math.max(0, Math.floor(resetAfter - units * rule.interval));
  return {
    now,
    verdicts: [{ allowed: true, remaining, retryAfter: 0, resetAfter: reset, delay: 0 }],
    source: 'lease',
  };
}

/** Nobody waits for what is done in the background. That the store fails is told to those who ask it themselves. */
function quietly<T>(act: () => MaybePromise<T>, then: (value: T) => void = ignore): void {
  try {
    const done = act();
    if (isPromise(done)) done.then(then).catch(ignore);
    else then(done);
  } catch {
    // As above.
  }
}

function ignore(): void {}

function checkOptions(options: LeaseOptions): Settings {
  checkOptionNames(options, ['ttl', 'nodes', 'maxUnits', 'minRate', 'horizon', 'maxKeys', 'clock'], 'leases');
  const { ttl = '100ms', nodes = 8, maxUnits = 10_000, minRate = 200, maxKeys = 10_000 } = options;
  const ttlMs = parseDuration(ttl, 'leases.ttl');
  const horizonMs = options.horizon === undefined ? ttlMs / 2 : parseDuration(options.horizon, 'leases.horizon');
  return {
    ttl: toMicros(ttlMs),
    horizon: toMicros(horizonMs),
    nodes: checkCount(nodes, 'leases.nodes'),
    maxUnits: checkCount(maxUnits, 'leases.maxUnits'),
    minRate: parseRate(minRate, 'leases.minRate') / MICROS_PER_SECOND,
    maxKeys: checkCount(maxKeys, 'leases.maxKeys'),
    clock: checkClock(options.clock ?? monotonicClock, 'leases.clock'),
  };
}
