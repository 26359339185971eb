/**
 * A store over anything that can read a value and swap it if it has not changed: a database, a key-value service, a file.
 *
 * All states of a key are one value, so an attempt under several policies is one swap, and a denied attempt only reads. Attempts on a key that
 * come while a swap of it is under way are decided together by the next one: a hot key costs a process one swap at a time, however many
 * wait. An attempt on several keys is decided key by key, in the order it was written, and what was spent is given back when a later
 * key says no, as across the slots of a Redis cluster.
 *
 * A swap that was lost to another process is tried again, so often and no more. A swap whose answer is lost may have been carried out, so
 * it counts as carried out and is never tried again.
 */
import { type Clock, checkClock, microsOf, readMicros, systemClock } from '../model/clock.ts';
import { MICROS_PER_MS } from '../model/duration.ts';
import { Kind, mistaken, type SluiceError } from '../model/errors.ts';
import { either, identity, type MaybePromise, proceed } from '../model/maybe-promise.ts';
import { checkCount, checkFlag, checkOptionNames, invalidOption } from '../model/options.ts';
import { type Answer, checksOf, type Question, type Store } from '../model/store.ts';
import { changeAcross, decideAcross } from './across-keys.ts';
import { answer } from './states.ts';
import { KeyStates } from './values.ts';

/** What was read of a key. */
export interface Stored {
  /** Undefined when there is none. */
  readonly value?: Uint8Array | undefined;
  /** Anything that tells this value from what may stand there later: handed back with the swap. */
  readonly version?: unknown;
  /** The engine's own time in milliseconds since the Unix epoch, if it tells one: then all processes share it. May be fractional. */
  readonly now?: number | undefined;
}

/** What `storeOver` needs of an engine: two functions, which may answer with values or with promises. */
export interface SwapPort {
  /** The value of a key; undefined, or without a `value`, when there is none. It must be the latest that was written. */
  read(key: string): MaybePromise<Stored | undefined>;
  /**
   * Writes the value, if what stands there is still of the `expected` version (undefined: if nothing does), and says whether it did. It is to be
   * kept for `ttlMs` milliseconds at least, and may be forgotten then. `next` is undefined to delete it.
   */
  swap(key: string, next: Uint8Array | undefined, expected: unknown, ttlMs: number): MaybePromise<boolean>;
}

/** What `storeOver` takes besides its port. */
export interface StoreOverOptions {
  /** Goes before every key. Default: `sluice:`. */
  readonly prefix?: string | undefined;
  /** For tests, and for engines that do not tell the time. Default: the system's clock. */
  readonly clock?: Clock | undefined;
  /** How often a swap is tried that others were faster with. Default: 64. */
  readonly tries?: number | undefined;
  /** Whether other processes see the states. Default: true. */
  readonly isShared?: boolean | undefined;
}

const DEFAULT_TRIES = 64;

/**
 * A store over an engine that can read a value and swap it if it has not changed.
 *
 * @example
 * const values = new Map<string, { value: Uint8Array; version: number }>();
 * let versions = 0; // none ever comes back, also not for a key that was deleted
 * const store = storeOver({
 *   read: (key) => values.get(key),
 *   swap(key, next, expected) {
 *     if (values.get(key)?.version !== expected) return false;
 *     if (next === undefined) values.delete(key);
 *     else values.set(key, { value: next, version: (versions += 1) });
 *     return true;
 *   },
 * });
 */
export function storeOver(port: SwapPort, options: StoreOverOptions = {}): Store {
  checkOptionNames(options, ['prefix', 'clock', 'tries', 'isShared'], 'storeOver');
  if (typeof port?.read !== 'function' || typeof port.swap !== 'function') {
    throw invalidOption(
      'storeOver(port)',
      'an object with read(key) and swap(key, next, expected, ttlMs)',
      Kind.of(port),
    );
  }
  const { prefix = 'sluice:', clock, tries = DEFAULT_TRIES, isShared = true } = options;
  if (typeof prefix !== 'string') throw invalidOption('storeOver.prefix', 'text that goes before every key', prefix);
  if (clock !== undefined) checkClock(clock, 'storeOver.clock');
  checkFlag(isShared, 'storeOver.isShared');
  return new SwapStore(port, prefix, clock, checkCount(tries, 'storeOver.tries'), { isShared });
}

interface Waiting {
  readonly question: Question;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

class SwapStore implements Store {
  readonly place: { readonly isShared: boolean };
  readonly #port: SwapPort;
  readonly #prefix: string;
  readonly #clock: Clock | undefined;
  readonly #tries: number;
  /** Keys on which a swap is under way, and the questions that came meanwhile. */
  readonly #busy = new Map<string, Waiting[]>();

  constructor(
    port: SwapPort,
    prefix: string,
    clock: Clock | undefined,
    tries: number,
    place: { readonly isShared: boolean },
  ) {
    this.#port = port;
    this.#prefix = prefix;
    this.#clock = clock;
    this.#tries = tries;
    this.place = place;
  }

  ask(question: Question): MaybePromise<Answer> {
    const keys = keysOf(question);
    if (keys.length > 1) return this.#askAcross(question, keys);
    const key = keys[0]!;
    const queue = this.#busy.get(key);
    if (queue !== undefined) {
      return new Promise((resolve, reject) => queue.push({ question, resolve, reject }));
    }
    return this.#round(key, [question], (answers) => answers[0]!) as MaybePromise<Answer>;
  }

  /** Decides questions on one key together, and then those that have come meanwhile. */
  #round<T>(
    key: string,
    questions: readonly Question[],
    onAnswers: (answers: (Answer | Error)[]) => T,
  ): MaybePromise<T> {
    this.#busy.set(key, []);
    const done = (answers: (Answer | Error)[]): T => {
      this.#next(key);
      return onAnswers(answers);
    };
    let answers: MaybePromise<(Answer | Error)[]>;
    try {
      answers = this.#swapUntilDone(key, questions, this.#tries);
    } catch (error) {
      this.#next(key);
      throw error;
    }
    return proceed(
      answers,
      (values) => unwrapped(done(values)),
      (error) => {
        this.#next(key);
        throw error;
      },
    );
  }

  #next(key: string): void {
    const waiting = this.#busy.get(key)!;
    this.#busy.delete(key);
    if (waiting.length === 0) return;
    const settle = (answers: (Answer | Error)[]): void => {
      for (const [index, { resolve, reject }] of waiting.entries()) {
        const value = answers[index]!;
        if (value instanceof Error) reject(value);
        else resolve(value);
      }
    };
    const fail = (error: unknown): void => {
      for (const { reject } of waiting) reject(error);
    };
    try {
      const questions = waiting.map(({ question }) => question);
      either(this.#round(key, questions, settle), identity, (done) => void done.catch(fail));
    } catch (error) {
      fail(error);
    }
  }

  #swapUntilDone(key: string, questions: readonly Question[], triesLeft: number): MaybePromise<(Answer | Error)[]> {
    const name = this.#prefix + key;
    return proceed(this.#port.read(name), (stored) => {
      const now = this.#nowOf(stored);
      const states = new KeyStates(stored?.value);
      const answers = questions.map((question) => answerOrError(states, question, now));
      if (!states.isChanged) return answers;
      const next = states.value(now);
      const ttlMs = next === undefined ? 0 : Math.ceil(next.lasts / MICROS_PER_MS);
      return proceed(this.#port.swap(name, next?.bytes, stored?.version, ttlMs), (isSwapped) => {
        if (isSwapped) return answers;
        if (triesLeft <= 1) throw contended(this.#tries);
        return this.#swapUntilDone(key, questions, triesLeft - 1);
      });
    });
  }

  #nowOf(stored: Stored | undefined): number {
    if (this.#clock !== undefined) return readMicros(this.#clock);
    return stored?.now === undefined ? readMicros(systemClock) : microsOf(stored.now, 'read(key).now');
  }

  async #askAcross(question: Question, keys: readonly string[]): Promise<Answer> {
    if (question.verb === 'attempt') {
      const checks = checksOf(question);
      const groups = keys.map((key) => checks.flatMap((check, index) => (check.key === key ? [index] : [])));
      return decideAcross(this, question, groups);
    }
    if (question.verb !== 'change') throw new Error('only attempts and changes can be about several keys');
    return changeAcross(this, question.changes, keys);
  }
}

function answerOrError(states: KeyStates, question: Question, now: number): Answer | Error {
  try {
    return answer(states, question, now);
  } catch (error) {
    return error as Error;
  }
}

function unwrapped<T>(value: T): T {
  if (value instanceof Error) throw value;
  return value;
}

export function keysOf(question: Question): readonly string[] {
  switch (question.verb) {
    case 'attempt':
      return question.and.length === 0 ? [question.key] : [...new Set(checksOf(question).map(({ key }) => key))];
    case 'change':
      return [...new Set(question.changes.map(({ key }) => key))];
    default:
      return [question.key];
  }
}

function contended(tries: number): SluiceError {
  return mistaken(
    'SLUICE_TIMEOUT',
    'store',
    `Other processes changed this key first, ${tries} times in a row. Nothing was counted.`,
  );
}
