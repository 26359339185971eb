/**
 * Waiting for a turn. The store decides when; this file only waits, in a line for each key. Where the store books a slot (shaping) the
 * place in line is given up to the next one at once, and the slot is waited for outside.
 *
 * Whoever goes before its turn is told at once. What the store had already granted is given back with the result in hand: exactly, where
 * the algorithm can, and otherwise it counts as spent.
 */
import { checkCost, checkKey } from '../model/attempt.ts';
import { readMicros } from '../model/clock.ts';
import type { RateLimitResult } from '../model/decision.ts';
import { type Duration, MICROS_PER_MS, parseDuration, toMicros } from '../model/duration.ts';
import { Kind, type Mistake, SluiceError } from '../model/errors.ts';
import { checkOptionNames } from '../model/options.ts';
import type { Policy } from '../model/policy.ts';
import { offAbort, onAbort } from './abort.ts';
import { refund } from './changes.ts';
import { type AttemptOptions, ask, type Core } from './core.ts';
import type { Line, Waiter } from './line.ts';
import type { Lines } from './lines.ts';
import { exactMicros } from './spent.ts';

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
  acquire(key: string, options?: AcquireOptions<Context>): Promise<RateLimitResult>;
  /** The same around a function: waits, then calls it. Resolves and rejects as the function does. */
  schedule<T>(
    key: string,
    work: (result: RateLimitResult) => T | PromiseLike<T>,
    options?: AcquireOptions<Context>,
  ): Promise<T>;
  /** How many wait for this key now, in this limiter. */
  waiting(key: string): number;
}

export function waitVerbs<Context>(core: Core<Context>, lines: Lines): WaitVerbs<Context> {
  return {
    acquire: (key, options) => acquire(core, lines, key, options, 'acquire'),
    async schedule(key, work, options) {
      checkWork(work);
      return work(await acquire(core, lines, key, options, 'schedule'));
    },
    waiting: (key) => lines.waiting(checkKey(key)),
  };
}

async function acquire<Context>(
  core: Core<Context>,
  lines: Lines,
  key: string,
  options: AcquireOptions<Context> = {},
  verb: string,
): Promise<RateLimitResult> {
  checkOptionNames(options, ['cost', 'timeout', 'signal', 'context'], verb);
  const { cost = 1, timeout, signal, context } = options;
  checkKey(key);
  checkCost(cost);
  const timeoutMs = timeout === undefined ? undefined : parseDuration(timeout, `${verb}.timeout`);
  checkSignal(signal, `${verb}.signal`);
  const policies = core.policiesFor(context);
  const deadline = timeoutMs === undefined ? NEVER : readMicros(core.timers.clock) + toMicros(timeoutMs);
  if (signal?.aborted) throw aborted(signal);
  const line = lines.lineFor(key, policies);
  return new Promise((resolve, reject) => {
    const request = { key, policies, cost, timeoutMs, deadline, signal, resolve, reject };
    new Acquisition(core, line, request).start();
  });
}

const NEVER = Number.POSITIVE_INFINITY;

interface Request {
  readonly key: string;
  readonly policies: readonly Policy[];
  readonly cost: number;
  readonly timeoutMs: number | undefined;
  /** Microseconds on the limiter's own clock. */
  readonly deadline: number;
  readonly signal: AbortSignal | undefined;
  resolve(result: RateLimitResult): void;
  reject(error: unknown): void;
}

/** One who waits, from the call to its end: a turn, an error, a timeout or an abort, whichever is first. */
class Acquisition<Context> implements Waiter {
  readonly #core: Core<Context>;
  readonly #line: Line;
  readonly #request: Request;
  /** Aborts at the end, so that no timer and no listener outlives it. */
  readonly #over = new AbortController();
  readonly #abort = (): void => this.#fail(aborted(this.#request.signal!));
  /** Aborts when there may be something to get before the sleep is over. */
  #nap = new AbortController();
  /** What the store has granted and is not used yet. */
  #granted: RateLimitResult | undefined;
  #givenBack: Promise<void> | undefined;

  constructor(core: Core<Context>, line: Line, request: Request) {
    this.#core = core;
    this.#line = line;
    this.#request = request;
  }

  get isOver(): boolean {
    return this.#over.signal.aborted;
  }

  start(): void {
    const { signal, timeoutMs } = this.#request;
    if (signal !== undefined) onAbort(signal, this.#abort);
    if (timeoutMs !== undefined) this.#startTimeout(timeoutMs);
    this.#line.join(this);
  }

  /** A microsecond later, so that a turn that comes with the last moment is in time. */
  #startTimeout(timeoutMs: number): void {
    const timeUp = this.#core.timers.sleep(timeoutMs + 1 / MICROS_PER_MS, this.#over.signal);
    void timeUp.then(() => this.#fail(tooLate(timeoutMs)));
  }

  async ask(): Promise<number | undefined> {
    const { key, policies, cost } = this.#request;
    this.#nap = new AbortController();
    try {
      const result = await ask(this.#core.store, key, policies, cost);
      return result.allowed ? await this.#grant(result) : this.#waitFor(result);
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
  }

  sleep(micros: number): Promise<void> {
    return this.#core.timers.sleep(micros / MICROS_PER_MS, this.#nap.signal);
  }

  wake(): void {
    this.#nap.abort();
  }

  /** Never 0: whoever is denied asks again later, or it would ask without end. */
  #waitFor({ retryAfter, limit, policy }: RateLimitResult): number | undefined {
    if (this.isOver) return undefined;
    if (retryAfter === Number.POSITIVE_INFINITY) {
      this.#fail(neverFits(this.#request.cost, limit, policy));
      return undefined;
    }
    const micros = Math.max(1, exactMicros(retryAfter!));
    if (this.#isInTime(micros)) return micros;
    this.#fail(tooLate(this.#request.timeoutMs!, micros));
    return undefined;
  }

  /** The line moves on when what nobody will use has come back. A slot that lies ahead is waited for outside of it. */
  async #grant(result: RateLimitResult): Promise<undefined> {
    this.#granted = result;
    const micros = result.delay === null ? 0 : exactMicros(result.delay);
    if (this.isOver) this.#giveBack();
    else if (!this.#isInTime(micros)) this.#fail(tooLate(this.#request.timeoutMs!, micros));
    else if (micros === 0) this.#succeed();
    else void this.#core.timers.sleep(micros / MICROS_PER_MS, this.#over.signal).then(() => this.#succeed());
    await this.#givenBack;
  }

  #isInTime(micros: number): boolean {
    if (micros === 0 || this.#request.deadline === NEVER) return true;
    return readMicros(this.#core.timers.clock) + micros <= this.#request.deadline;
  }

  /** The caller need not wait any more, so there is no delay to tell. */
  #succeed(): void {
    if (this.isOver) return;
    this.#end();
    this.#request.resolve({ ...this.#granted!, delay: null });
  }

  #fail(error: unknown): void {
    if (this.isOver) return;
    this.#end();
    this.#giveBack();
    this.#request.reject(error);
  }

  #end(): void {
    const { signal } = this.#request;
    this.#over.abort();
    this.#nap.abort();
    if (signal !== undefined) offAbort(signal, this.#abort);
    this.#line.leave(this);
  }

  /** When that fails, or its answer is lost, it counts as spent. */
  #giveBack(): void {
    if (this.#granted === undefined) return;
    const { key, policies, cost } = this.#request;
    this.#givenBack = refund(this.#core.store, key, policies, cost, this.#granted).then(
      () => this.#core.freed(key),
      () => {},
    );
  }
}

/** By its shape and not by its class: other realms and older runtimes have one of their own. */
function checkSignal(signal: unknown, path: string): void {
  const { aborted, addEventListener } = (signal ?? {}) as Partial<AbortSignal>;
  if (signal === undefined || (typeof aborted === 'boolean' && typeof addEventListener === 'function')) return;
  throw named('SLUICE_INVALID_OPTION', path, 'an AbortSignal', Kind.of(signal));
}

function checkWork(work: unknown): void {
  if (typeof work === 'function') return;
  throw named('SLUICE_INVALID_OPTION', 'schedule(key, work)', 'a function to call when it is its turn', Kind.of(work));
}

/** `cause` is the signal's reason. */
function aborted(signal: AbortSignal): SluiceError {
  const error = named('SLUICE_ABORTED', 'acquire.signal', 'a turn before the signal aborts', new Kind('none'));
  error.cause = signal.reason;
  return error;
}

function tooLate(timeoutMs: number, micros?: number): SluiceError {
  const got = micros === undefined ? 'none' : `one in ${micros / MICROS_PER_MS} ms at the earliest`;
  return named('SLUICE_ACQUIRE_TIMEOUT', 'acquire.timeout', `a turn within ${timeoutMs} ms`, new Kind(got));
}

function neverFits(cost: number, limit: number, policy: string): SluiceError {
  return named('SLUICE_NEVER_FITS', 'acquire.cost', `at most ${limit}, the limit of policy ${policy}`, cost);
}

function named(code: Mistake['code'], path: string, expected: string, got: unknown): SluiceError {
  return new SluiceError({ code, path, expected, got });
}
