/**
 * Every question is answered within a time, or rejects with SLUICE_TIMEOUT. Nothing is ever sent again: a question without an answer may have
 * been carried out, so it counts as carried out, and its late reply is dropped.
 *
 * All questions wait equally long, so they fall due in the order they came: one line and one timer serve all of them, and a question that is
 * answered costs no timer. The timer does not keep a program alive, and is not wound again once nobody waits.
 */
import { type Clock, checkClock, monotonicClock, type WakeAfter, wakeByTimer } from '../model/clock.ts';
import { type Duration, parseDuration } from '../model/duration.ts';
import { mistaken, type SluiceError } from '../model/errors.ts';
import { either, identity, type MaybePromise } from '../model/maybe-promise.ts';
import { checkFunction, checkOptionNames } from '../model/options.ts';
import type { Answer } from '../model/store.ts';
import { type Layer, layerOf } from './layered.ts';

/** What `deadline` takes. */
export interface DeadlineOptions {
  /** How long an answer may take. Default: 50 ms. */
  readonly timeout?: Duration | undefined;
  /** For tests and simulations. Default: a clock that never steps back. */
  readonly clock?: Clock | undefined;
  /** For tests and simulations, with the clock. Default: a timer. */
  readonly wakeAfter?: WakeAfter | undefined;
}

const DEFAULT_TIMEOUT = '50ms';

/** Every question is answered within `timeout`, or rejects with SLUICE_TIMEOUT. A store that answers with values cannot be late. */
export function deadline(options: DeadlineOptions = {}): Layer {
  checkOptionNames(options, ['timeout', 'clock', 'wakeAfter'], 'deadline');
  const { timeout = DEFAULT_TIMEOUT, clock = monotonicClock, wakeAfter = wakeByTimer } = options;
  const timeoutMs = parseDuration(timeout, 'deadline.timeout');
  checkClock(clock, 'deadline.clock');
  checkFunction(wakeAfter, 'deadline.wakeAfter');
  return layerOf('deadline', (inner) => {
    const line = new WaitingLine(timeoutMs, clock, wakeAfter);
    return (question) =>
      either<Answer, MaybePromise<Answer>>(inner.ask(question), identity, (answer) => line.wait(answer));
  });
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

export function timedOut(timeoutMs: number): SluiceError {
  return mistaken(
    'SLUICE_TIMEOUT',
    'store',
    `The store did not answer within ${timeoutMs} ms. The attempt may have been counted anyway.`,
  );
}
