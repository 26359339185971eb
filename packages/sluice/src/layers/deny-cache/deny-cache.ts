/**
 * Says "no" again without asking, as long as that and every number in it is exactly what the store would say.
 *
 * When is that? A denial of cost 1 means that nothing is left, so nobody, in whatever process, can spend from that policy before its
 * retryAfter has passed: the state stands still, and only time counts down. A denial of a larger cost proves less: others may spend what
 * is left, and something may come back before its retryAfter, so `remaining` and `retryAfter` may be different a moment later. So:
 * - A denial of cost 1 is repeated until its retryAfter, the shortest one if several policies deny.
 * - While it stands, larger costs are denied too, but when they fit only the store knows: each is asked for once and then repeated as well.
 * - Everything else is asked: cheaper attempts, dry runs, costs that never fit, larger costs without a denial of cost 1, and what is denied by
 *   a policy whose units come back whenever somebody gives them back (permits).
 *
 * The time is counted from before the attempt was sent, so it ends no later than the store's. What the store cannot have said is not
 * repeated: the answers of a fallback, for one. The decisions of other policies that did not deny are those of the moment they were made.
 *
 * Everything that is changed, reset or spent through this layer, also under other numbers, is forgotten here first. Capacity that another process gives back (a
 * refund, a reset, an unblock) is seen when the denial ends or has been repeated for `maxAge`: the one thing this layer gives up.
 */
import { type Clock, checkClock, monotonicClock, readMicros } from '../../model/clock.ts';
import { type Duration, parseDuration, toMicros } from '../../model/duration.ts';
import { either, identity, type MaybePromise } from '../../model/maybe-promise.ts';
import { checkCount, checkOptionNames } from '../../model/options.ts';
import { ruleOf } from '../../model/policy.ts';
import { type Answer, type Attempt, type Change, checksOf, type Question, type Store } from '../../model/store.ts';
import { type Layer, layerOf } from '../layered.ts';
import { Denials } from './denials.ts';
import { RecentKeys } from './recent-keys.ts';

/** What `denyCache` takes. */
export interface DenyCacheOptions {
  /** Denials kept at most. The oldest makes room: then the store is asked once more. Default: 10,000. */
  readonly maxKeys?: number | undefined;
  /** How long a denial is repeated at most before the store is asked again. Default: 10 s. */
  readonly maxAge?: Duration | undefined;
  /** For tests and simulations. Default: a clock that never steps back. */
  readonly clock?: Clock | undefined;
}

const DEFAULT_MAX_KEYS = 10_000;
const DEFAULT_MAX_AGE = '10s';

/**
 * A store that answers with values needs no cache, and reading the clock would cost as much as asking it. After so many such answers in a
 * row the clock is left alone, until the store has to be waited for again.
 */
const ENOUGH_VALUES = 100;

/** Repeats a denial without asking the store, for as long as it is exactly what the store would say. */
export function denyCache(options: DenyCacheOptions = {}): Layer {
  checkOptionNames(options, ['maxKeys', 'maxAge', 'clock'], 'denyCache');
  const maxKeys = checkCount(options.maxKeys ?? DEFAULT_MAX_KEYS, 'denyCache.maxKeys');
  const maxAge = toMicros(parseDuration(options.maxAge ?? DEFAULT_MAX_AGE, 'denyCache.maxAge'));
  const clock = checkClock(options.clock ?? monotonicClock, 'denyCache.clock');
  return layerOf('denyCache', (inner) => new DenyCache(inner, new Denials(maxKeys, maxAge), clock).ask);
}

/** What is known to be denied is no answer to one that may have been allowed before, or that takes what there is. */
function isRepeatable({ mark, least }: Attempt): boolean {
  return least === undefined && mark?.isNew !== false;
}

class DenyCache {
  readonly #inner: Store;
  readonly #denials: Denials;
  readonly #clock: Clock;
  readonly #changed = new RecentKeys();
  #values = 0;

  constructor(inner: Store, denials: Denials, clock: Clock) {
    this.#inner = inner;
    this.#denials = denials;
    this.#clock = clock;
  }

  readonly ask = (question: Question): MaybePromise<Answer> => {
    if (question.verb === 'change') {
      // Denials of policies that give permits are not kept, so what is given back of one changes none.
      if (question.changes.every(isOfPermit)) return this.#inner.ask(question);
      return this.#touching(
        question.changes.map(({ key }) => key),
        question,
      );
    }
    if (question.verb === 'forget') return this.#touching([question.key], question);
    if (question.verb === 'history' || question.dryRun) return this.#inner.ask(question);
    // Its denials are not kept, and there is nothing to learn from it.
    if (question.and.length === 0 && ruleOf(question.policy).permits !== undefined) return this.#inner.ask(question);
    if (!isRepeatable(question)) return this.#touching([question.key], question);
    return this.#attempt(question);
  };

  #attempt(question: Attempt): MaybePromise<Answer> {
    const hasDenials = this.#denials.all.size > 0;
    const isWatched = this.#values < ENOUGH_VALUES || hasDenials;
    if (!isWatched) return this.#askInner(question, Number.NaN);
    const sentAt = readMicros(this.#clock);
    const known = hasDenials ? this.#denials.find(checksOf(question), sentAt) : undefined;
    return known ?? this.#askInner(question, sentAt);
  }

  /** `sentAt` is NaN when nothing is to be learned from the answer. */
  #askInner(question: Attempt, sentAt: number): MaybePromise<Answer> {
    const since = this.#changed.noted;
    return either<Answer, MaybePromise<Answer>>(
      this.#inner.ask(question),
      (value) => {
        if (this.#values < ENOUGH_VALUES) this.#values += 1;
        return value;
      },
      (answer) => {
        this.#values = 0;
        return Number.isNaN(sentAt) ? answer : answer.then((told) => this.#learn(question, told, sentAt, since));
      },
    );
  }

  #learn(question: Attempt, answer: Answer, sentAt: number, since: number): Answer {
    // Most answers say yes while nothing is denied.
    if (answer.source !== 'store' || (answer.allowed && this.#denials.all.size === 0)) return answer;
    const checks = checksOf(question);
    const wasSpent = answer.decisions.every(({ allowed }) => allowed);
    this.#denials.answered(checks, wasSpent);
    const isChanged = !wasSpent && checks.some(({ key }) => this.#changed.has(key, since));
    if (!wasSpent && !isChanged) this.#denials.keep(checks, answer, sentAt);
    return answer;
  }

  /** Before and after: an attempt that is under way meanwhile may be answered by what was before. */
  #touching(keys: readonly string[], question: Question): MaybePromise<Answer> {
    const touch = (): void => {
      for (const key of keys) {
        this.#denials.forget(key);
        this.#changed.note(key);
      }
    };
    touch();
    return either<Answer, MaybePromise<Answer>>(this.#inner.ask(question), identity, (done) => done.finally(touch));
  }
}

function isOfPermit({ verb, policy }: Change): boolean {
  return (verb === 'refund' || verb === 'extend') && ruleOf(policy).permits !== undefined;
}
