/**
 * Somebody answers when the store does not: nobody is let down by an exception in the middle of a request. Who answered is in the
 * result's `source`, the first error of an outage goes to a hook, and an outage ends with the next answer of the store. Mistakes of a
 * caller still reject. A store that hangs does not fail: that needs a deadline inside.
 *
 * What a fallback cannot pretend: `forget` and `history` reject while the store is away, because there is nothing to answer that would
 * be true.
 */
import { type Clock, checkClock, systemClock } from '../model/clock.ts';
import { type Duration, parseDuration, toMicros } from '../model/duration.ts';
import { SluiceError } from '../model/errors.ts';
import { isPromise } from '../model/maybe-promise.ts';
import { checkOptionNames } from '../model/options.ts';
import { checkStore, type MaybePromise, type ShortWay, type Store, type Verdicts } from '../model/store.ts';
import { DEFAULT_RETRY_AFTER } from './circuit-breaker.ts';
import { answering, FAILS_CLOSED } from './fixed-answers.ts';
import { callHook, checkHook, type Hook } from './hooks.ts';
import type { Layer } from './layered.ts';
import { checkShare, shareOf } from './share.ts';
import { answerOf, withShortWay } from './short-way.ts';
import { isStoreFault } from './store-fault.ts';

export interface FallbackOptions {
  /** Everything is allowed, nothing is, or another store decides, such as `memoryStore()`. */
  readonly to: 'allow' | 'deny' | Store;
  /**
   * With a store: the part of each limit and rate that it may grant, above 0 and at most 1. Default: 1, the full limit for this
   * instance of the program; with n of them, 1 / n keeps the sum at the limit.
   */
  readonly share?: number | undefined;
  /** When to come back, for those who are refused only because the store is away. Default: 1 s. */
  readonly retryAfter?: Duration | undefined;
  /** Told once for each outage. */
  readonly onFallback?: Hook<FallbackEvent> | undefined;
  /** Told when the store has answered again. */
  readonly onRecovered?: Hook<RecoveredEvent> | undefined;
  /** For tests and simulations. Default: the system's clock. */
  readonly clock?: Clock | undefined;
}

export interface FallbackEvent {
  /** What the store failed with first. */
  readonly error: unknown;
  /** Unix time in seconds. */
  readonly since: number;
}

export interface RecoveredEvent {
  /** Unix time in seconds at which the outage began. */
  readonly since: number;
  /** How many calls the fallback has answered in it. */
  readonly answered: number;
}

export function fallback(options: FallbackOptions): Layer {
  const { instead, answersAtOnce, clock, onFallback, onRecovered } = checkOptions(options);
  return (inner) => {
    checkStore(inner, 'fallback(...)(store)');
    const outages = new Outages(clock, onFallback, onRecovered);

    /** What was asked, of the other store, unless the caller is to blame. */
    const rescued = (error: unknown, ask: () => MaybePromise<Verdicts>): MaybePromise<Verdicts> => {
      if (!isStoreFault(error)) throw error;
      outages.count(error);
      const answer = ask();
      return isPromise(answer) ? answer.then(asFallback) : asFallback(answer);
    };

    const decide: Store['decide'] = (checks, options) => {
      let answer: MaybePromise<Verdicts>;
      try {
        answer = inner.decide(checks, options);
      } catch (error) {
        return rescued(error, () => instead.decide(checks, options));
      }
      if (isPromise(answer)) {
        return answer.then(outages.end, (error) => rescued(error, () => instead.decide(checks, options)));
      }
      return outages.end(answer);
    };
    const { one } = inner.decide;
    const rescuedOne: ShortWay['one'] = (key, policy, cost) => {
      try {
        return outages.end(one!(key, policy, cost));
      } catch (error) {
        return answerOf(rescued(error, () => instead.decide([{ key, policy, cost }])));
      }
    };

    return {
      // A short way must end at once, whoever answers in the end.
      decide: withShortWay(decide, answersAtOnce ? one && rescuedOne : undefined),
      change(changes) {
        let answer: MaybePromise<Verdicts>;
        try {
          answer = inner.change(changes);
        } catch (error) {
          return rescued(error, () => instead.change(changes));
        }
        if (isPromise(answer))
          return answer.then(outages.end, (error) => rescued(error, () => instead.change(changes)));
        return outages.end(answer);
      },
      forget(key, policies) {
        const both = [instead.forget(key, policies), inner.forget(key, policies)];
        return both.some(isPromise) ? Promise.all(both).then(() => undefined) : undefined;
      },
      history: (key, policy) => inner.history(key, policy),
    };
  };
}

/** From the first failure to the next success. */
class Outages {
  readonly #clock: Clock;
  readonly #onFallback: Hook<FallbackEvent> | undefined;
  readonly #onRecovered: Hook<RecoveredEvent> | undefined;
  #outage: { readonly since: number; answered: number } | undefined;

  constructor(
    clock: Clock,
    onFallback: Hook<FallbackEvent> | undefined,
    onRecovered: Hook<RecoveredEvent> | undefined,
  ) {
    this.#clock = clock;
    this.#onFallback = onFallback;
    this.#onRecovered = onRecovered;
  }

  count(error: unknown): void {
    if (this.#outage === undefined) {
      const since = this.#clock.now() / 1e3;
      this.#outage = { since, answered: 0 };
      callHook(this.#onFallback, { error, since });
    }
    this.#outage.answered += 1;
  }

  /** The store has answered. A function and not a method, so that it can be handed to a promise as it is. */
  readonly end = <T>(answer: T): T => {
    if (this.#outage !== undefined) {
      const { since, answered } = this.#outage;
      this.#outage = undefined;
      callHook(this.#onRecovered, { since, answered });
    }
    return answer;
  };
}

function asFallback({ now, verdicts, source }: Verdicts): Verdicts {
  return { now, verdicts, source: source === FAILS_CLOSED ? source : 'fallback' };
}

interface Settings extends Pick<FallbackOptions, 'onFallback' | 'onRecovered'> {
  readonly instead: Store;
  readonly answersAtOnce: boolean;
  readonly clock: Clock;
}

function checkOptions(options: FallbackOptions): Settings {
  checkOptionNames(options, ['to', 'share', 'retryAfter', 'onFallback', 'onRecovered', 'clock'], 'fallback');
  const { to, share, retryAfter = DEFAULT_RETRY_AFTER, onFallback, onRecovered, clock = systemClock } = options;
  checkHook(onFallback, 'fallback.onFallback');
  checkHook(onRecovered, 'fallback.onRecovered');
  checkClock(clock, 'fallback.clock');
  const retryMicros = toMicros(parseDuration(retryAfter, 'fallback.retryAfter'));
  const instead =
    to === 'allow' || to === 'deny'
      ? answering(to, clock, retryMicros)
      : shareOf(checkTarget(to), checkShare(share ?? 1, 'fallback.share'), retryMicros);
  if (typeof to === 'string' && share !== undefined) throw shareOfNothing(share);
  const answersAtOnce = typeof to === 'string' || to.decide.one !== undefined;
  return { instead, answersAtOnce, clock, onFallback, onRecovered };
}

function checkTarget(to: unknown): Store {
  if (typeof to === 'object') return checkStore(to, 'fallback.to');
  throw new SluiceError({
    code: 'SLUICE_INVALID_OPTION',
    path: 'fallback.to',
    expected: "'allow', 'deny' or a store, such as memoryStore()",
    got: to,
  });
}

function shareOfNothing(share: unknown): SluiceError {
  return new SluiceError({
    code: 'SLUICE_INVALID_OPTION',
    path: 'fallback.share',
    expected: 'no share: only a store can grant a part of a limit',
    got: share,
  });
}
