/**
 * A store that keeps failing is left alone for a while: the circuit opens, and every question rejects immediately with SLUICE_CIRCUIT_OPEN
 * without touching it. When the time is over, the next call goes through as a probe, alone; its success closes the circuit. There is no
 * timer: the calls that come along do it. Mistakes of a caller say nothing about the store and never count.
 */
import { type Clock, checkClock, monotonicClock } from '../model/clock.ts';
import { type Duration, parseDuration } from '../model/duration.ts';
import { mistaken, type SluiceError } from '../model/errors.ts';
import { asking } from '../model/maybe-promise.ts';
import { checkCount, checkOptionNames } from '../model/options.ts';
import { isStoreFault } from '../model/store.ts';
import { callHook, checkHook, type Hook } from './hooks.ts';
import { type Layer, layerOf } from './layered.ts';

/** What `circuitBreaker` takes. */
export interface CircuitBreakerOptions {
  /** So many failures in a row open the circuit. Default: 5. */
  readonly failures?: number | undefined;
  /** How long it stays open before a call is let through as a probe. Default: 1 s. */
  readonly retryAfter?: Duration | undefined;
  readonly onStateChange?: Hook<CircuitChange> | undefined;
  /** For tests and simulations. Default: a clock that never steps back. */
  readonly clock?: Clock | undefined;
}

/** Closed: all is well. Open: the store is not asked. Half-open: one call tries it. */
export type CircuitState = Circuit['state'];

/** A circuit that has opened or closed. */
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

/** Leaves a store that keeps failing alone for a while: questions reject with SLUICE_CIRCUIT_OPEN, and one at a time goes through as a probe. */
export function circuitBreaker(options: CircuitBreakerOptions = {}): Layer {
  const settings = checkOptions(options);
  return layerOf('circuitBreaker', (inner) => {
    const breaker = new Breaker(settings);
    return (question) => {
      const era = breaker.enter();
      return asking(
        inner,
        question,
        (answer) => breaker.succeeded(answer, era),
        (error) => {
          throw breaker.failed(error, era);
        },
      );
    };
  });
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

  succeeded<T>(answer: T, era: number): T {
    if (this.#circuit !== CLOSED && era === this.#era) this.#become(CLOSED);
    return answer;
  }

  /** Only one call at a time may find out whether the store is back. */
  #becomeProbe(circuit: Circuit): void {
    if (circuit.state === 'closed') return;
    const { until, refusal } = circuit;
    const now = this.#settings.clock.now();
    if (now < until) throw refusal;
    this.#become({ state: 'half-open', until: now + this.#settings.retryAfterMs, refusal });
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
    const { failures, retryAfterMs } = this.#settings;
    this.#become({ state: 'open', until, refusal: refusalAfter(error, failures, retryAfterMs) }, error);
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

/** One for all questions while the circuit is open: making an error costs more than refusing. */
function refusalAfter(cause: unknown, failures: number, retryAfterMs: number): SluiceError {
  const times = failures === 1 ? 'a failure' : `${failures} failures in a row`;
  return mistaken(
    'SLUICE_CIRCUIT_OPEN',
    'store',
    `The circuit is open after ${times}; the store is tried again within ${retryAfterMs / 1e3} s.`,
    cause,
  );
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
