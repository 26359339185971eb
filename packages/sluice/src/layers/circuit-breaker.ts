/**
 * A store that keeps failing is left alone for a while: the circuit opens, and every call rejects at once with SLUICE_CIRCUIT_OPEN
 * without touching it. When the time is over, the next call goes through as a probe, alone; its success closes the circuit. There is no
 * timer: the calls that come along do it. Mistakes of a caller say nothing about the store and never count.
 */
import { type Clock, checkClock, monotonicClock } from '../model/clock.ts';
import { type Duration, parseDuration } from '../model/duration.ts';
import { Kind, SluiceError } from '../model/errors.ts';
import { isPromise } from '../model/maybe-promise.ts';
import { checkOptionNames } from '../model/options.ts';
import { type Answer, checkStore, type MaybePromise, type ShortWay, type Store } from '../model/store.ts';
import { checkCount } from './counts.ts';
import { callHook, checkHook, type Hook } from './hooks.ts';
import type { Layer } from './layered.ts';
import { withShortWay } from './short-way.ts';
import { isStoreFault } from './store-fault.ts';

export interface CircuitBreakerOptions {
  /** So many failures in a row open the circuit. Default: 5. */
  readonly failures?: number | undefined;
  /** How long it stays open before a call is let through as a probe. Default: 1 s. */
  readonly retryAfter?: Duration | undefined;
  readonly onStateChange?: Hook<CircuitChange> | undefined;
  /** For tests and simulations. Default: a clock that never steps back. */
  readonly clock?: Clock | undefined;
}

export type CircuitState = Circuit['state'];

export interface CircuitChange {
  readonly from: CircuitState;
  readonly to: CircuitState;
  /** What the store failed with last, when the circuit opens. */
  readonly error?: unknown;
}

type Circuit =
  | { readonly state: 'closed'; readonly failures: number }
  /** `until` is when a probe may go, in milliseconds on the breaker's clock; `refusal` is what callers get until then. */
  | { readonly state: 'open'; readonly until: number; readonly refusal: SluiceError }
  /** A probe is on its way. One that has not come back at `until` gives way to another: a lost probe must not lock the circuit. */
  | { readonly state: 'half-open'; readonly until: number; readonly refusal: SluiceError };

const CLOSED: Circuit = { state: 'closed', failures: 0 };
export const DEFAULT_RETRY_AFTER = '1s';

interface Settings {
  readonly failures: number;
  readonly retryAfterMs: number;
  readonly clock: Clock;
  readonly onStateChange: Hook<CircuitChange> | undefined;
}

export function circuitBreaker(options: CircuitBreakerOptions = {}): Layer {
  const settings = checkOptions(options);
  return (inner) => {
    checkStore(inner, 'circuitBreaker(...)(store)');
    const breaker = new Breaker(settings);
    const call = <T>(ask: () => MaybePromise<T>): MaybePromise<T> => {
      const era = breaker.enter();
      try {
        return breaker.watch(ask(), era);
      } catch (error) {
        throw breaker.failed(error, era);
      }
    };
    // As `call`, without a function for each attempt.
    const decide: Store['decide'] = (checks, options) => {
      const era = breaker.enter();
      try {
        return breaker.watch(inner.decide(checks, options), era);
      } catch (error) {
        throw breaker.failed(error, era);
      }
    };
    const { one } = inner.decide;
    const watchedOne: ShortWay['one'] = (key, policy, cost) => {
      const era = breaker.enter();
      try {
        return breaker.watch(one!(key, policy, cost), era) as Answer;
      } catch (error) {
        throw breaker.failed(error, era);
      }
    };
    return {
      decide: withShortWay(decide, one && watchedOne),
      change: (changes) => call(() => inner.change(changes)),
      forget: (key, policies) => call(() => inner.forget(key, policies)),
      history: (key, policy) => call(() => inner.history(key, policy)),
    };
  };
}

class Breaker {
  readonly #settings: Settings;
  #circuit: Circuit = CLOSED;
  /** Counts changes of state: what comes back from a call of an earlier era says nothing about this one. */
  #era = 0;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Throws for those who may not pass; the others are told the era they belong to. */
  enter(): number {
    if (this.#circuit !== CLOSED) this.#becomeProbe(this.#circuit);
    return this.#era;
  }

  watch<T>(answer: MaybePromise<T>, era: number): MaybePromise<T> {
    if (isPromise(answer)) return this.#watchLater(answer, era);
    if (this.#circuit !== CLOSED) this.#succeeded(era);
    return answer;
  }

  #watchLater<T>(answer: Promise<T>, era: number): Promise<T> {
    return answer.then(
      (value) => {
        if (this.#circuit !== CLOSED) this.#succeeded(era);
        return value;
      },
      (error) => {
        throw this.failed(error, era);
      },
    );
  }

  /** Only one call at a time may find out whether the store is back. */
  #becomeProbe(circuit: Circuit): void {
    if (circuit.state === 'closed') return;
    const { until, refusal } = circuit;
    const now = this.#settings.clock.now();
    if (now < until) throw refusal;
    this.#become({ state: 'half-open', until: now + this.#settings.retryAfterMs, refusal });
  }

  #succeeded(era: number): void {
    if (era === this.#era) this.#become(CLOSED);
  }

  /** Gives the error back, to be thrown on. */
  failed(error: unknown, era: number): unknown {
    if (era === this.#era) this.#count(error);
    return error;
  }

  #count(error: unknown): void {
    const circuit = this.#circuit;
    if (isStoreFault(error)) {
      const failures = circuit.state === 'closed' ? circuit.failures + 1 : this.#settings.failures;
      if (failures < this.#settings.failures) this.#circuit = { state: 'closed', failures };
      else this.#open(error, this.#settings.clock.now() + this.#settings.retryAfterMs);
    } else if (circuit.state === 'half-open') {
      // A mistake of the caller proved nothing: the next call is the probe.
      this.#open(circuit.refusal.cause, this.#settings.clock.now());
    }
  }

  #open(error: unknown, until: number): void {
    this.#become({ state: 'open', until, refusal: refusalAfter(error, this.#settings.failures) }, error);
  }

  #become(circuit: Circuit, error?: unknown): void {
    const from = this.#circuit.state;
    this.#circuit = circuit;
    if (from === 'closed' && circuit.state === 'closed') return;
    this.#era += 1;
    if (from === circuit.state) return;
    callHook(this.#settings.onStateChange, {
      from,
      to: circuit.state,
      ...(circuit.state === 'open' ? { error } : {}),
    });
  }
}

/** One for all calls while the circuit is open: making an error costs more than refusing. */
function refusalAfter(cause: unknown, failures: number): SluiceError {
  const refusal = new SluiceError({
    code: 'SLUICE_CIRCUIT_OPEN',
    path: 'store',
    expected: `a store that has not just failed ${failures === 1 ? 'once' : `${failures} times in a row`}`,
    got: new Kind('one that has, and is not asked before the next probe'),
  });
  refusal.cause = cause;
  return refusal;
}

function checkOptions(options: CircuitBreakerOptions): Settings {
  checkOptionNames(options, ['failures', 'retryAfter', 'onStateChange', 'clock'], 'circuitBreaker');
  const { failures = 5, retryAfter = DEFAULT_RETRY_AFTER, clock = monotonicClock, onStateChange } = options;
  checkHook(onStateChange, 'circuitBreaker.onStateChange');
  return {
    failures: checkCount(failures, 'circuitBreaker.failures'),
    retryAfterMs: parseDuration(retryAfter, 'circuitBreaker.retryAfter'),
    clock: checkClock(clock, 'circuitBreaker.clock'),
    onStateChange,
  };
}
