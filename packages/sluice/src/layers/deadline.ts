/**
 * Every call is answered within a time, or rejects with SLUICE_TIMEOUT. Nothing is ever sent again: a call without an answer may have
 * been carried out, so it counts as carried out, and its late reply is dropped.
 *
 * All calls wait equally long, so they fall due in the order they came: one line and one timer serve all of them, and a call that is
 * answered costs no timer. The timer does not keep a program alive, and is not wound again once nobody waits.
 */
import { type Clock, checkClock, monotonicClock } from '../model/clock.ts';
import { type Duration, parseDuration } from '../model/duration.ts';
import { Kind, SluiceError } from '../model/errors.ts';
import { isPromise } from '../model/maybe-promise.ts';
import { checkOptionNames } from '../model/options.ts';
import { checkStore, type MaybePromise } from '../model/store.ts';
import { checkHook } from './hooks.ts';
import type { Layer } from './layered.ts';
import { withShortWay } from './short-way.ts';

/** Calls `wake` once, when about this many milliseconds have passed. */
export type WakeAfter = (ms: number, wake: () => void) => void;

export interface DeadlineOptions {
  /** How long an answer may take. Default: 50 ms. */
  readonly timeout?: Duration | undefined;
  /** For tests and simulations. Default: a clock that never steps back. */
  readonly clock?: Clock | undefined;
  /** For tests and simulations, with the clock. Default: a timer. */
  readonly wakeAfter?: WakeAfter | undefined;
}

const DEFAULT_TIMEOUT = '50ms';

export function deadline(options: DeadlineOptions = {}): Layer {
  checkOptionNames(options, ['timeout', 'clock', 'wakeAfter'], 'deadline');
  const { timeout = DEFAULT_TIMEOUT, clock = monotonicClock, wakeAfter = wakeByTimer } = options;
  const timeoutMs = parseDuration(timeout, 'deadline.timeout');
  checkClock(clock, 'deadline.clock');
  checkHook(wakeAfter, 'deadline.wakeAfter');

  return (inner) => {
    checkStore(inner, 'deadline(...)(store)');
    const line = new WaitingLine(timeoutMs, clock, wakeAfter);
    const inTime = <T>(answer: MaybePromise<T>): MaybePromise<T> => (isPromise(answer) ? line.wait(answer) : answer);
    return {
      // Whoever has a short way is never late.
      decide: withShortWay((checks, options) => inTime(inner.decide(checks, options)), inner.decide.one),
      change: (changes) => inTime(inner.change(changes)),
      forget: (key, policies) => inTime(inner.forget(key, policies)),
      history: (key, policy) => inTime(inner.history(key, policy)),
    };
  };
}

interface Waiting {
  /** Milliseconds on the line's clock. */
  readonly dueAt: number;
  reject(error: unknown): void;
}

/** Those who wait, the longest waiting first. */
class WaitingLine {
  readonly #waiting = new Set<Waiting>();
  readonly #timeoutMs: number;
  readonly #clock: Clock;
  readonly #wakeAfter: WakeAfter;
  readonly #expire = (): void => this.#rejectDue();
  #isWound = false;

  constructor(timeoutMs: number, clock: Clock, wakeAfter: WakeAfter) {
    this.#timeoutMs = timeoutMs;
    this.#clock = clock;
    this.#wakeAfter = wakeAfter;
  }

  /** The handlers stay on the answer when it comes too late: a late rejection is dropped, not unhandled. */
  wait<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { dueAt: this.#clock.now() + this.#timeoutMs, reject };
      this.#waiting.add(waiting);
      this.#wind(this.#timeoutMs);
      answer.then(
        (value) => {
          this.#waiting.delete(waiting);
          resolve(value);
        },
        (error) => {
          this.#waiting.delete(waiting);
          reject(error);
        },
      );
    });
  }

  #wind(ms: number): void {
    if (this.#isWound) return;
    this.#isWound = true;
    this.#wakeAfter(ms, this.#expire);
  }

  #rejectDue(): void {
    this.#isWound = false;
    const now = this.#clock.now();
    let error: SluiceError | undefined;
    for (const waiting of this.#waiting) {
      if (waiting.dueAt > now) {
        this.#wind(waiting.dueAt - now);
        return;
      }
      this.#waiting.delete(waiting);
      error ??= timedOut(this.#timeoutMs);
      waiting.reject(error);
    }
  }
}

/** A longer one would ring at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * When the timer rings, what has arrived is read first (`setImmediate`), and then the overdue are refused. Otherwise a pause of this
 * program, such as a garbage collection longer than the timeout, would refuse calls whose answers lie there unread.
 */
function wakeByTimer(ms: number, wake: () => void): void {
  const timer: unknown = setTimeout(() => afterReading(wake), Math.min(Math.ceil(ms), LONGEST_TIMER_MS));
  (timer as { unref?: () => void }).unref?.();
}

const { setImmediate: afterReading = (task: () => void): void => task() } = globalThis as {
  setImmediate?: (task: () => void) => void;
};

function timedOut(timeoutMs: number): SluiceError {
  return new SluiceError({
    code: 'SLUICE_TIMEOUT',
    path: 'store',
    expected: `an answer within ${timeoutMs} ms`,
    got: new Kind('none'),
  });
}
