/**
 * For hot keys: takes units from the store in blocks, and spends them here without asking. Off unless it is put in, and strict: a
 * block is counted in the store before the first of its units is spent, so however many processes do this, and whatever becomes of
 * them, of the network and of their clocks, no more is admitted than the policy allows. What keeps each algorithm's bound is in
 * the rules of the algorithms (`lease`).
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
import { type Clock, checkClock, monotonicClock, readMicros } from '../../model/clock.ts';
import {
  type Duration,
  MICROS_PER_SECOND,
  parseDuration,
  parseRate,
  type Rate,
  toMicros,
} from '../../model/duration.ts';
import { either, inBackground, type MaybePromise, proceed } from '../../model/maybe-promise.ts';
import { checkCount, checkOptionNames } from '../../model/options.ts';
import { type Policy, ruleOf } from '../../model/policy.ts';
import { decidedAt, decisionOf, exactMicros, resultOf, resultOfOne } from '../../model/result.ts';
import type { Answer, Attempt, Change, Changes, Question, Store } from '../../model/store.ts';
import { answerLike, attemptLike, attemptOf, checksOf } from '../../model/store.ts';
import { type Layer, layerOf } from '../layered.ts';
import { LeaseBook } from './book.ts';
import type { Block, HeldKey, Sizing } from './held.ts';
import { type Terms, termsBook } from './terms.ts';

/** What `leases` takes. */
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
/** As for the deny cache: a store that answers with values is left alone. */
const ENOUGH_VALUES = 100;
/** Longer keys are not kept, so that `maxKeys` bounds the memory too. */
const MAX_KEY_LENGTH = 1024;

/** For hot keys: takes units from the store in blocks, and spends them here without asking. Strict: never more than the policy allows. */
export function leases(options: LeaseOptions = {}): Layer {
  const settings = checkOptions(options);
  return layerOf('leases', (inner) => new Lessee(inner, settings).ask);
}

class Lessee {
  readonly #inner: Store;
  readonly #clock: Clock;
  readonly #ttl: number;
  readonly #termsFor: ReturnType<typeof termsBook>;
  readonly #book: LeaseBook;
  #values = 0;

  constructor(inner: Store, settings: Settings) {
    this.#inner = inner;
    this.#clock = settings.clock;
    this.#ttl = settings.ttl;
    this.#termsFor = termsBook(settings.ttl);
    this.#book = new LeaseBook(settings.maxKeys, settings);
  }

  readonly ask = (question: Question): MaybePromise<Answer> => {
    switch (question.verb) {
      case 'attempt':
        return isPlain(question) ? this.#attempt(question) : this.#askShared(question);
      case 'change':
        return this.#change(question);
      case 'forget':
        return this.#forget(question.key, question.policies);
      case 'history':
        // Of the policy's own window: what the store counts for longer has left it.
        return this.#inner.ask(question);
    }
  };

  #askShared(question: Attempt): MaybePromise<Answer> {
    const checks = checksOf(question);
    const shared = attemptLike(question, this.#shared(checks));
    return proceed(this.#inner.ask(shared), (answer) => withLimitsOf(checks, answer));
  }

  #shared<Item extends { readonly policy: Policy }>(items: readonly Item[]): readonly Item[] {
    return items.map((item) => ({ ...item, policy: this.#termsFor(item.policy).shared }));
  }

  /** Of one check. */
  #attempt(question: Attempt): MaybePromise<Answer> {
    const { key, policy, cost } = question;
    const terms = this.#termsFor(policy);
    const isWatched = terms.isLeased && cost > 0 && key.length <= MAX_KEY_LENGTH;
    if (!isWatched || this.#values >= ENOUGH_VALUES) return this.#ask(question, terms);

    const now = readMicros(this.#clock);
    const held = this.#book.find(key, terms, now);
    if (held.count(cost, now)) this.#book.isBusy(key);
    this.#giveBack(this.#book.collect(now));
    const block = held.spend(cost, now);
    if (held.hasEnded(now)) this.#giveBack(held.takeEnded(now));
    if (block === undefined) return this.#ask(question, terms, held);
    if (block.units <= block.lowWater) this.#refill(held, now);
    return spentFrom(block, held, policy);
  }

  /** The question is passed on where nothing in it changes: making another costs more than deciding. */
  #ask(question: Attempt, { shared }: Terms, held?: HeldKey): MaybePromise<Answer> {
    const isShared = shared === question.policy;
    const own = (told: Answer): Answer => (isShared ? told : withLimitsOf([question], told));
    return either<Answer, MaybePromise<Answer>>(
      this.#inner.ask(isShared ? question : { ...question, policy: shared }),
      (told) => {
        if (this.#values < ENOUGH_VALUES && told.source === 'store') this.#values += 1;
        return own(told);
      },
      (answer) => {
        this.#values = 0;
        return answer.then((told) => {
          if (held !== undefined) this.#learn(held, told);
          return own(told);
        });
      },
    );
  }

  #learn(held: HeldKey, told: Answer): void {
    if (told.source !== 'store') return;
    held.learn(told.remaining, decidedAt(told));
    this.#refill(held, readMicros(this.#clock));
  }

  /** In the background, one request at a time for each key. One that is lost does not keep others away for longer than the ttl. */
  #refill(held: HeldKey, now: number): void {
    if (held.isDropped) return;
    const units = held.wanted(now);
    if (units === 0) return;
    held.askingUntil = now + this.#ttl;
    const { key, terms } = held;
    const question = attemptOf([{ key, policy: terms.shared, cost: units }]);
    inBackground(
      () => this.#inner.ask(question),
      (told) => this.#receive(held, units, now, told),
    );
  }

  /** Only what the store itself has granted was counted: a fallback's "yes" was not. */
  #receive(held: HeldKey, units: number, sentAt: number, told: Answer): void {
    if (sentAt + this.#ttl === held.askingUntil) held.askingUntil = Number.NEGATIVE_INFINITY;
    if (told.source !== 'store' || held.isDropped) return;
    const storeNow = decidedAt(told);
    held.learn(told.remaining, storeNow);
    if (!told.allowed) return;
    const resetAfter = exactMicros(told.resetAfter);
    const time = Math.min(this.#ttl, held.terms.usableFor(storeNow, resetAfter));
    const endsAt = sentAt + Math.floor(time * (1 - MOST_DRIFT)) - ROUNDING;
    held.add(units, { sentAt, endsAt, now: storeNow, resetAfter });
    this.#book.isHolding(held);
  }

  #giveBack(refunds: readonly Change[]): void {
    if (refunds.length > 0) inBackground(() => this.#inner.ask({ verb: 'change', changes: refunds }));
  }

  /** Giving units back or ending a block takes nothing away from what is held here. The others concern it. */
  #change({ changes, settles }: Changes): MaybePromise<Answer> {
    const concerned = changes.filter(({ verb }) => verb === 'penalize' || verb === 'block').map(({ key }) => key);
    const refunds = concerned.flatMap((key) => this.#book.drop(key));
    // What a settlement depends on is no concern of what is held here.
    const own = settles === undefined ? refunds : [];
    if (own !== refunds) this.#giveBack(refunds);
    const all = { verb: 'change', changes: [...own, ...this.#shared(changes)], settles } as const;
    return proceed(this.#inner.ask(all), (answer) => {
      // What was granted while this was under way was granted before it.
      for (const key of concerned) this.#giveBack(this.#book.drop(key));
      const { decisions, source } = answer;
      return withLimitsOf(changes, answerLike(answer, resultOf(decisions.slice(own.length), source)));
    });
  }

  /** Nothing is given back to a key that was reset: it would be more than its limit. */
  #forget(key: string, policies: readonly Policy[]): MaybePromise<Answer> {
    this.#book.drop(key);
    const shared = policies.map((policy) => this.#termsFor(policy).shared);
    return proceed(this.#inner.ask({ verb: 'forget', key, policies: shared }), (answer) => {
      this.#book.drop(key);
      return answer;
    });
  }
}

/** The limit that people read is the policy's own. */
function withLimitsOf(items: readonly { readonly policy: Policy }[], answer: Answer): Answer {
  const decisions = answer.decisions.map((decision, index) => ({
    ...decision,
    limit: ruleOf(items[index]!.policy).limit,
  }));
  return answerLike(answer, resultOf(decisions, answer.source));
}

/** An attempt that a block may pay for. */
function isPlain({ and, dryRun, mark, least }: Attempt): boolean {
  return and.length === 0 && !dryRun && mark === undefined && least === undefined;
}

/**
 * As if the units of the block had been spent one by one when it was granted, and those that are left had not: with the moment and
 * `resetAfter` a refund finds what was charged, and gives back no more than is still missing because of it.
 */
function spentFrom({ units, now, resetAfter }: Block, { remaining, terms }: HeldKey, policy: Policy): Answer {
  const reset = Math.max(0, Math.floor(resetAfter - units * terms.interval));
  const spent = { allowed: true, remaining, retryAfter: 0, resetAfter: reset, delay: 0 };
  return resultOfOne(decisionOf(ruleOf(policy), now, spent), 'lease');
}

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
