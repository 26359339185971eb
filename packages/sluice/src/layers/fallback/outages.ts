/** From the first failure of a store to its next answer: told to hooks and, unless that is turned off, as a warning once each way. */
import type { Clock } from '../../model/clock.ts';
import { SluiceError } from '../../model/errors.ts';
import type { OnWarning } from '../../model/warnings.ts';
import { callHook, type Hook } from '../hooks.ts';

/** An outage has begun: the fallback answers from now on. */
export interface FallbackEvent {
  /** What the store failed with first. */
  readonly error: unknown;
  /** Unix time in seconds. */
  readonly since: number;
}

/** An outage has ended: the store answers again. */
export interface RecoveredEvent {
  /** Unix time in seconds at which the outage began. */
  readonly since: number;
  /** How many questions the fallback has answered in it. */
  readonly answered: number;
}

export interface OutageHooks {
  /** Called once for each outage, with its first error. */
  readonly onFallback?: Hook<FallbackEvent> | undefined;
  /** Called when the store has answered again. */
  readonly onRecovered?: Hook<RecoveredEvent> | undefined;
}

export class Outages {
  readonly #clock: Clock;
  readonly #hooks: OutageHooks;
  readonly #warn: OnWarning | undefined;
  /** What answers meanwhile, in words. */
  readonly #instead: string;
  #outage: { readonly since: number; answered: number } | undefined;
  #hasAnswered = false;

  constructor(clock: Clock, hooks: OutageHooks, warn: OnWarning | undefined, instead: string) {
    this.#clock = clock;
    this.#hooks = hooks;
    this.#warn = warn;
    this.#instead = instead;
  }

  count(error: unknown): void {
    if (this.#outage === undefined) {
      const since = this.#clock.now() / 1e3;
      this.#outage = { since, answered: 0 };
      this.#say('SLUICE_STORE_AWAY', this.#away(error), error);
      callHook(this.#hooks.onFallback, { error, since });
    }
    this.#outage.answered += 1;
  }

  /** The store has answered. */
  end(): void {
    this.#hasAnswered = true;
    if (this.#outage === undefined) return;
    const { since, answered } = this.#outage;
    this.#outage = undefined;
    const seconds = Math.max(0, this.#clock.now() / 1e3 - since).toFixed(1);
    this.#say(
      'SLUICE_STORE_BACK',
      `The store answers again after ${seconds} s; ${this.#instead} answered ${answered === 1 ? 'once' : `${answered} times`} meanwhile.`,
    );
    callHook(this.#hooks.onRecovered, { since, answered });
  }

  #away(error: unknown): string {
    const cause =
      error instanceof SluiceError ? error.sentence : error instanceof Error ? error.message : String(error);
    const since = this.#hasAnswered ? 'The store is away' : 'The store has not answered since the start';
    return `${since} (${cause.replace(/\.$/, '')}), so ${this.#instead} answers until it is back.`;
  }

  #say(code: 'SLUICE_STORE_AWAY' | 'SLUICE_STORE_BACK', message: string, cause?: unknown): void {
    if (this.#warn !== undefined) callHook(this.#warn, new SluiceError({ code, path: 'store', message, cause }));
  }
}
