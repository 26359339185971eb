/**
 * Waiting for a turn. The store decides when; this file only waits, in a line for each key. Where the store books a slot (shaping) the
 * place in line is given up to the next one at once, and the slot is waited for outside.
 *
 * Whoever goes before its turn is told at once. What the store had already granted is given back with the result in hand: exactly, where
 * the algorithm can, and otherwise it counts as spent.
 */

import { readMicros } from '../model/clock.ts';
import type { RateLimitResult } from '../model/decision.ts';
import { type Duration, MICROS_PER_MS, parseDuration, toMicros } from '../model/duration.ts';
import { Kind, type SluiceError, wrong } from '../model/errors.ts';
import { type MaybePromise, proceed } from '../model/maybe-promise.ts';
import { invalidOption } from '../model/options.ts';
import { type Policy, ruleOf } from '../model/policy.ts';
import { exactMicros } from '../model/result.ts';
import type { Store } from '../model/store.ts';
import { offAbort, onAbort } from './abort.ts';
import { refund } from './changes.ts';
import { type AttemptOptions, ask, type Core, called, checkKey, type WithContext } from './core.ts';
import type { Amounts } from './costs.ts';
import type { Line, Lines, Waiter } from './lines.ts';
import type { Timers } from './sleep.ts';

/** What `acquire` and `schedule` take besides the key. */
export interface AcquireOptions<Context> extends AttemptOptions<Context> {
  /** How long the turn may take to come. Default: as long as it takes. */
  readonly timeout?: Duration | undefined;
  /** Whoever aborts no longer waits. Once the turn has come it changes nothing. */
  readonly signal?: AbortSignal | undefined;
}

export interface WaitVerbs<Context> {
  /**
   * Waits until the key may spend this cost, and spends it: first come, first served within this limiter. Resolves with the result of the
   * attempt that was allowed, when it is time to act. Rejects on timeout, on abort, and at once when the cost can never fit.
   */
  acquire(key: string, ...options: WithContext<Context, AcquireOptions<Context>>): Promise<RateLimitResult>;
  /** The same around a function: waits, then calls it. Resolves and rejects as the function does. */
  schedule<T>(
    key: string,
    work: (result: RateLimitResult) => T | PromiseLike<T>,
    ...options: WithContext<Context, AcquireOptions<Context>>
  ): Promise<T>;
  /** How many wait for this key now, in this limiter. */
  waiting(key: string): number;
}

export function waitVerbs(core: Core<unknown>, lines: Lines): WaitVerbs<unknown> {
  return {
    acquire: (key, options) => acquire(core, lines, key, options, 'acquire'),
    async schedule(key, work, options) {
      checkWork(work, 'schedule');
      return work(await acquire(core, lines, key, options, 'schedule'));
    },
    waiting: (key) => lines.waiting(checkKey(key)),
  };
}

/** `onAsk` is called before each question to the store, with what it is about. */
export async function acquire<Context>(
  core: Core<Context>,
  lines: Lines,
  key: string,
  options: AcquireOptions<Context> | undefined,
  verb: string,
  onAsk?: (about: Pick<Request, 'policies' | 'amounts'>) => void,
): Promise<RateLimitResult> {
  return proceed(called(core, verb, ['cost', 'timeout', 'signal'], key, options), (request) => {
    const { policies, amounts } = request;
    return waitFor(
      core,
      lines,
      {
        ...request,
        key,
        ask: () => {
          onAsk?.(request);
          return ask(core.store, key, policies, amounts);
        },
      },
      verb,
    );
  });
}

/** What is waited for: an attempt that is asked for until it is allowed. */
interface Wanted {
  readonly key: string;
  readonly policies: readonly Policy[];
  readonly amounts: Amounts;
  readonly timeout?: Duration | undefined;
  readonly signal?: AbortSignal | undefined;
  ask(): MaybePromise<RateLimitResult>;
}

/** Waits in the line of its key. Rejects on timeout, on abort, and immediately when the cost can never fit. */
export async function waitFor<Context>(
  core: Core<Context>,
  lines: Lines,
  wanted: Wanted,
  verb: string,
): Promise<RateLimitResult> {
  const { key, policies, timeout, signal } = wanted;
  const timeoutMs = timeout === undefined ? undefined : parseDuration(timeout, `${verb}.timeout`);
  checkSignal(signal, `${verb}.signal`);
  const deadline = timeoutMs === undefined ? NEVER : readMicros(core.timers.clock) + toMicros(timeoutMs);
  if (signal?.aborted) throw aborted(signal);
  const line = lines.lineFor(key, policies);
  return new Promise((resolve, reject) => {
    new Turn(core, { ...wanted, timeoutMs, deadline, resolve, reject }, line);
  });
}

const NEVER = Number.POSITIVE_INFINITY;

interface Request extends Wanted {
  readonly timeoutMs: number | undefined;
  /** Microseconds on the limiter's own clock. */
  readonly deadline: number;
  resolve(result: RateLimitResult): void;
  reject(error: unknown): void;
}

/** One who waits, from the call to its end: a turn, an error, a timeout or an abort, whichever is first. */
class Turn implements Waiter {
  readonly #store: Store;
  readonly #timers: Timers;
  readonly #freed: (key: string) => void;
  readonly #line: Line;
  readonly #request: Request;
  /** Aborts at the end, so that no timer and no listener outlives it. */
  readonly #over = new AbortController();
  /** Aborts when there may be something to get before the sleep is over. */
  #nap = new AbortController();
  /** What the store has granted and is not used yet. */
  #granted: RateLimitResult | undefined;
  #givenBack: Promise<void> | undefined;

  constructor({ store, timers, freed }: Omit<Core<never>, 'policiesFor'>, request: Request, line: Line) {
    this.#store = store;
    this.#timers = timers;
    this.#freed = freed;
    this.#line = line;
    this.#request = request;
    const { signal, timeoutMs } = request;
    if (signal !== undefined) onAbort(signal, this.#abort);
    // A microsecond later, so that a turn that comes with the last moment is in time.
    if (timeoutMs !== undefined) {
      void this.#sleep(timeoutMs + 1 / MICROS_PER_MS).then(() => this.#fail(tooLate(timeoutMs)));
    }
    line.join(this);
  }

  isOver(): boolean {
    return this.#over.signal.aborted;
  }

  sleep(micros: number): Promise<void> {
    return this.#sleep(micros / MICROS_PER_MS, this.#nap);
  }

  wake(): void {
    this.#nap.abort();
  }

  async ask(): Promise<number | undefined> {
    const { timeoutMs } = this.#request;
    this.#nap = new AbortController();
    try {
      const result = await this.#request.ask();
      if (!result.allowed) return this.isOver() ? undefined : this.#waitFor(result);
      this.#granted = result;
      const micros = exactMicros(result.delay ?? 0);
      if (this.isOver()) this.#giveBack();
      else if (!this.#isInTime(micros)) this.#fail(tooLate(timeoutMs!, micros));
      else if (micros === 0) this.#succeed();
      // A slot that lies ahead is waited for outside of the line.
      else void this.#sleep(micros / MICROS_PER_MS).then(() => this.#succeed());
      // The line moves on when what nobody will use has come back.
      await this.#givenBack;
    } catch (error) {
      this.#fail(error);
    }
    return undefined;
  }

  /** Never 0: whoever is denied asks again later, or it would ask without end. */
  #waitFor({ retryAfter, limit, policy }: RateLimitResult): number | undefined {
    const { policies, amounts, timeoutMs } = this.#request;
    if (retryAfter === NEVER) {
      const cost = amounts[policies.findIndex(({ name }) => name === policy)]!;
      return this.#fail(neverFits(cost, limit, policy));
    }
    const micros = Math.max(1, exactMicros(retryAfter!));
    const recheck = Math.min(...policies.map((policy) => ruleOf(policy).permits?.recheck ?? NEVER));
    // What somebody gives back may be there at any moment before.
    if (recheck < NEVER) return Math.min(micros, recheck);
    return this.#isInTime(micros) ? micros : this.#fail(tooLate(timeoutMs!, micros));
  }

  #sleep(ms: number, until = this.#over): Promise<void> {
    return this.#timers.sleep(ms, until.signal);
  }

  #isInTime(micros: number): boolean {
    return micros === 0 || readMicros(this.#timers.clock) + micros <= this.#request.deadline;
  }

  readonly #abort = (): void => {
    this.#fail(aborted(this.#request.signal!));
  };

  #fail(error: unknown): undefined {
    this.#end(() => {
      this.#giveBack();
      this.#request.reject(error);
    });
  }

  /** The caller need not wait any more, so there is no delay to tell. */
  #succeed(): void {
    this.#end(() => this.#request.resolve({ ...this.#granted!, delay: null }));
  }

  #end(tell: () => void): void {
    if (this.isOver()) return;
    this.#over.abort();
    this.#nap.abort();
    const { signal } = this.#request;
    if (signal !== undefined) offAbort(signal, this.#abort);
    this.#line.leave(this);
    tell();
  }

  /** When that fails, or its answer is lost, it counts as spent. */
  #giveBack(): void {
    if (this.#granted === undefined) return;
    const { key, policies, amounts } = this.#request;
    this.#givenBack = refund(this.#store, key, policies, amounts, this.#granted).then(
      () => this.#freed(key),
      () => {},
    );
  }
}

/** By its shape and not by its class: other realms and older runtimes have one of their own. */
function checkSignal(signal: unknown, path: string): void {
  const { aborted, addEventListener } = (signal ?? {}) as Partial<AbortSignal>;
  if (signal === undefined || (typeof aborted === 'boolean' && typeof addEventListener === 'function')) return;
  throw invalidOption(path, 'an AbortSignal', Kind.of(signal));
}

export function checkWork(work: unknown, verb: string): void {
  if (typeof work === 'function') return;
  throw invalidOption(`${verb}(key, work)`, 'a function to call when it is its turn', Kind.of(work));
}

/** `cause` is the signal's reason. */
function aborted(signal: AbortSignal): SluiceError {
  const error = wrong('SLUICE_ABORTED', 'acquire.signal', 'a turn before the signal aborts', new Kind('none'));
  error.cause = signal.reason;
  return error;
}

function tooLate(timeoutMs: number, micros?: number): SluiceError {
  const got = micros === undefined ? 'none' : `one in ${micros / MICROS_PER_MS} ms at the earliest`;
  return wrong('SLUICE_ACQUIRE_TIMEOUT', 'acquire.timeout', `a turn within ${timeoutMs} ms`, new Kind(got));
}

function neverFits(cost: number, limit: number, policy: string): SluiceError {
  return wrong('SLUICE_NEVER_FITS', 'acquire.cost', `at most ${limit}, the limit of policy ${policy}`, cost);
}
