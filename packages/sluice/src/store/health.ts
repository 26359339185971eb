/**
 * Whether an engine is there, such as Redis or Postgres. As long as replies come, in whatever order and however late, it is, and attempts wait
 * for it. It is away when calls are pending and *nothing* has come for a while (`silence`), or when several calls in a row have failed. Where
 * there are several servers, that is known for each of them.
 *
 * Silence is counted only while this process really ran: a timer that rings late (a busy event loop, a throttled CPU, a long garbage collection)
 * counts as one that rang in time, and what has arrived meanwhile is read first. While the client connects for the first time nothing is
 * counted but the hard bound, `deadline`.
 *
 * While it is away every call is rejected immediately, and the calls that come along have it tried in the background, by a probe
 * that nobody waits for. A probe that is answered in time ends the outage. Nothing that may have been carried out is ever sent again.
 */
import type { Clock, WakeAfter } from '../model/clock.ts';
import { mistaken, type SluiceError } from '../model/errors.ts';
import { either, type MaybePromise } from '../model/maybe-promise.ts';
import { isStoreFault } from '../model/store.ts';

/** How an engine is tried, and what its errors mean. */
export interface EngineTraits {
  /** What it is called in sentences: `Redis`. */
  readonly name: string;
  /** A harmless call that shows whether the engine can be written to. */
  probe(key: string): MaybePromise<unknown>;
  /**
   * The error in a sentence, if it is one that no waiting mends: the engine refuses what Sluice needs, and goes on doing so until somebody
   * changes the setup. That is no outage, so no fallback answers. `hasSucceeded`: it did not refuse before.
   */
  refusalOf?(error: unknown, hasSucceeded: boolean): SluiceError | undefined;
  /** Whether an error says nothing about the health of the engine. */
  saysNothing?(error: unknown): boolean;
}

/** What the health of a server goes by. */
export interface HealthOptions {
  /** Milliseconds without any reply after which commands that wait are given up. Infinity: never. */
  readonly silenceMs: number;
  /** Milliseconds after which a command is given up although replies to others come. Infinity: never. */
  readonly deadlineMs: number;
  /** So many commands in a row that fail mean that the server is away. Infinity: never. */
  readonly failures: number;
  /** Milliseconds between two probes. */
  readonly retryMs: number;
  readonly clock: Clock;
  readonly wakeAfter: WakeAfter;
  /** Whether the client has not been connected yet and is about to be. */
  isConnecting(): boolean;
  /** Which server owns a key. */
  nodeOf(key: string): string;
  onChange(change: HealthChange): void;
}

export interface HealthChange {
  readonly isAway: boolean;
  /** The server, where there are several. */
  readonly node: string;
  /** Why it is away. */
  readonly error?: unknown;
}

/** Silence is looked for so many times in its length: the more often, the less of a busy machine's own lateness is counted. */
const LOOKS = 50;
/** A probe without an answer is given up after so many times the silence: its connection may be dead for good. */
const LOST_AFTER = 20;
/** Addresses come and go with failovers; more than this are not remembered. */
const MOST_NODES = 1024;

export class Health {
  readonly #options: HealthOptions;
  readonly #traits: EngineTraits;
  readonly #nodes = new Map<string, Node>();

  constructor(traits: EngineTraits, options: HealthOptions) {
    this.#traits = traits;
    this.#options = options;
  }

  /** Whether every server answers, and none has just failed. */
  get isWell(): boolean {
    for (const node of this.#nodes.values()) if (!node.isWell) return false;
    return true;
  }

  /** Makes a call to the server that owns `key`, unless it is away. What answers with a value still does; while it is away it throws. */
  call<T>(key: string, act: () => MaybePromise<T>): MaybePromise<T> {
    return this.#nodeOf(key).call(key, act);
  }

  /** The client could not connect: there is no need to wait for silence. */
  clientFailed(error: unknown): void {
    for (const node of this.#nodes.values()) node.clientFailed(error);
  }

  #nodeOf(key: string): Node {
    const name = this.#options.nodeOf(key);
    const known = this.#nodes.get(name);
    if (known !== undefined) return known;
    if (this.#nodes.size >= MOST_NODES) this.#nodes.clear();
    const node = new Node(name, this.#traits, this.#options);
    this.#nodes.set(name, node);
    return node;
  }
}

interface Pending {
  /** On the node's own count of time. */
  readonly since: number;
  reject(error: unknown): void;
}

/** One server. */
class Node {
  readonly #name: string;
  readonly #traits: EngineTraits;
  readonly #options: HealthOptions;
  readonly #pending = new Set<Pending>();
  readonly #look = (): void => this.#lookForSilence();
  /** Milliseconds that this process has run while something was pending. */
  #ran = 0;
  #lastLook = 0;
  #heardAt = 0;
  #isWatching = false;
  #failures = 0;
  #hasSucceeded = false;
  /** What everybody is rejected with while the server is away. */
  #away: SluiceError | undefined;
  #nextProbeAt = 0;
  #probeSentAt: number | undefined;

  constructor(name: string, traits: EngineTraits, options: HealthOptions) {
    this.#name = name;
    this.#traits = traits;
    this.#options = options;
  }

  get isWell(): boolean {
    return this.#away === undefined && this.#failures === 0;
  }

  call<T>(key: string, act: () => MaybePromise<T>): MaybePromise<T> {
    if (this.#away !== undefined) {
      this.#probe(key);
      // A probe that answers with a value may have ended the outage already.
      if (this.#away !== undefined) throw this.#away;
    }
    let reply: MaybePromise<T>;
    try {
      reply = act();
    } catch (error) {
      throw this.#failed(error);
    }
    return either<T, MaybePromise<T>>(reply, this.#succeeded, this.#wait);
  }

  readonly #wait = <T>(reply: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const pending: Pending = { since: this.#ran, reject };
      this.#watch(pending);
      reply.then(
        (value) => {
          this.#settled(pending);
          resolve(this.#succeeded(value));
        },
        (error: unknown) => {
          const isPending = this.#settled(pending);
          reject(isPending ? this.#failed(error) : error);
        },
      );
    });

  readonly #succeeded = <T>(value: T): T => {
    this.#hasSucceeded = true;
    this.#failures = 0;
    return value;
  };

  #watch(pending: Pending): void {
    this.#pending.add(pending);
    if (this.#isWatching || this.#options.silenceMs === Number.POSITIVE_INFINITY) return;
    this.#isWatching = true;
    this.#lastLook = this.#options.clock.now();
    this.#heardAt = this.#ran;
    this.#options.wakeAfter(this.#interval, this.#look);
  }

  get #interval(): number {
    return Math.max(1, this.#options.silenceMs / LOOKS);
  }

  /** Something was heard, be it an error. False when it was given up already. */
  #settled(pending: Pending): boolean {
    this.#heardAt = this.#ran;
    return this.#pending.delete(pending);
  }

  #lookForSilence(): void {
    const now = this.#options.clock.now();
    const { silenceMs, deadlineMs } = this.#options;
    // A timer that rang late did so because this process did not run.
    this.#ran += Math.min(now - this.#lastLook, this.#interval);
    this.#lastLook = now;
    if (this.#options.isConnecting()) this.#heardAt = this.#ran;
    if (this.#pending.size > 0 && this.#ran - this.#heardAt >= silenceMs) {
      this.#goAway(silent(this.#traits.name, silenceMs));
    }
    for (const pending of this.#pending) {
      if (this.#ran - pending.since < deadlineMs) break;
      this.#giveUp(pending, tooLate(this.#traits.name, deadlineMs));
    }
    this.#isWatching = this.#pending.size > 0;
    if (this.#isWatching) this.#options.wakeAfter(this.#interval, this.#look);
  }

  #giveUp(pending: Pending, error: SluiceError): void {
    this.#pending.delete(pending);
    pending.reject(error);
  }

  /** Gives the error that the caller is told. */
  #failed(error: unknown): unknown {
    if (this.#traits.saysNothing?.(error) || !isStoreFault(error)) return error;
    const refusal = this.#refusalOf(error);
    if (refusal !== undefined) return refusal;
    this.#failures += 1;
    if (this.#failures >= this.#options.failures) this.#goAway(failing(this.#traits.name, this.#failures, error));
    return error;
  }

  #refusalOf(error: unknown): SluiceError | undefined {
    return this.#traits.refusalOf?.(error, this.#hasSucceeded);
  }

  clientFailed(error: unknown): void {
    const refusal = this.#refusalOf(error);
    if (refusal !== undefined) for (const pending of [...this.#pending]) this.#giveUp(pending, refusal);
    else if (this.#away === undefined) this.#goAway(unreachable(this.#traits.name, error));
  }

  #goAway(error: SluiceError): void {
    const isNew = this.#away === undefined;
    this.#away = error;
    for (const pending of [...this.#pending]) this.#giveUp(pending, error);
    if (!isNew) return;
    this.#nextProbeAt = this.#options.clock.now();
    this.#probeSentAt = undefined;
    this.#options.onChange({ isAway: true, node: this.#name, error });
  }

  /** One at a time, and not too often. */
  #probe(key: string): void {
    const now = this.#options.clock.now();
    const isLost = this.#probeSentAt !== undefined && now - this.#probeSentAt > this.#patienceMs * LOST_AFTER;
    if (now < this.#nextProbeAt || (this.#probeSentAt !== undefined && !isLost)) return;
    this.#nextProbeAt = now + this.#options.retryMs;
    this.#probeSentAt = now;
    const stillAway = (error: unknown): void => {
      if (this.#probeSentAt !== now || this.#away === undefined) return;
      this.#probeSentAt = undefined;
      this.#away = this.#refusalOf(error) ?? this.#away;
    };
    const answered = (): void => {
      if (this.#away === undefined || this.#probeSentAt !== now) return;
      this.#probeSentAt = undefined;
      // One that waited in the client until there was a connection again says that there is one: the next one tells how good it is.
      if (this.#options.clock.now() - now > this.#patienceMs) {
        this.#nextProbeAt = 0;
        this.#probe(key);
      } else this.#comeBack();
    };
    try {
      either(this.#traits.probe(key), answered, (reply) => void reply.then(answered, stillAway));
    } catch (error) {
      stillAway(error);
    }
  }

  get #patienceMs(): number {
    return Math.min(this.#options.silenceMs, LONGEST_PATIENCE_MS);
  }

  #comeBack(): void {
    this.#away = undefined;
    this.#failures = 0;
    this.#hasSucceeded = true;
    this.#options.onChange({ isAway: false, node: this.#name });
  }
}

/** Where silence is never an outage, a probe still has to come back some time. */
const LONGEST_PATIENCE_MS = 1000;

function silent(name: string, silenceMs: number): SluiceError {
  return mistaken(
    'SLUICE_TIMEOUT',
    'store',
    `${name} has not answered for ${silenceMs} ms. Attempts that were sent may have been counted anyway.`,
  );
}

function tooLate(name: string, deadlineMs: number): SluiceError {
  return mistaken(
    'SLUICE_TIMEOUT',
    'store',
    `${name} did not answer within ${deadlineMs} ms, although it answers other calls. The attempt may have been counted anyway.`,
  );
}

function failing(name: string, failures: number, cause: unknown): SluiceError {
  const times = failures === 1 ? 'a failure' : `${failures} failures in a row`;
  return mistaken(
    'SLUICE_CIRCUIT_OPEN',
    'store',
    `${name} is not called after ${times}; it is tried again in the background. The last error: ${textOf(cause)}`,
    cause,
  );
}

function unreachable(name: string, cause: unknown): SluiceError {
  return mistaken('SLUICE_CIRCUIT_OPEN', 'store', `The client cannot connect to ${name}: ${textOf(cause)}`, cause);
}

/** What an error says, as a sentence. */
export function textOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
