/**
 * Whether Redis is there. As long as replies come, in whatever order and however late, it is, and attempts wait for it. It is away when
 * commands are pending and *nothing* has come for a while (`silence`), or when several commands in a row have failed. In a cluster that is
 * known for each node.
 *
 * Silence is counted only while this process really ran: a timer that rings late (a busy event loop, a throttled CPU, a long garbage collection)
 * counts as one that rang in time, and what has arrived meanwhile is read first. While the client connects for the first time nothing is
 * counted but the hard bound, `deadline`.
 *
 * While it is away every command is rejected immediately, and the commands that come along have it tried in the background, by a probe
 * that nobody waits for: a write that is gone a millisecond later. A probe that is answered in time ends the outage. Nothing that may have
 * been carried out is ever sent again.
 */
import type { Clock } from '../model/clock.ts';
import { SluiceError } from '../model/errors.ts';
import { isStoreFault } from '../model/store.ts';
import type { WakeAfter } from '../model/timer.ts';
import { isRefusal, refusalOf } from './refusals.ts';
import type { SendCommand } from './run-script.ts';
import { PROBE } from './scripts.ts';

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
  readonly #send: SendCommand;
  readonly #nodes = new Map<string, Node>();

  constructor(send: SendCommand, options: HealthOptions) {
    this.#send = send;
    this.#options = options;
  }

  /** Whether every server answers, and none has just failed. */
  get isWell(): boolean {
    for (const node of this.#nodes.values()) if (!node.isWell) return false;
    return true;
  }

  readonly send: SendCommand = (words, key) => this.#nodeOf(key).send(words, key);

  /** The client could not connect: there is no need to wait for silence. */
  clientFailed(error: unknown): void {
    for (const node of this.#nodes.values()) node.clientFailed(error);
  }

  #nodeOf(key: string): Node {
    const name = this.#options.nodeOf(key);
    const known = this.#nodes.get(name);
    if (known !== undefined) return known;
    if (this.#nodes.size >= MOST_NODES) this.#nodes.clear();
    const node = new Node(name, this.#send, this.#options);
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
  readonly #send: SendCommand;
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

  constructor(name: string, send: SendCommand, options: HealthOptions) {
    this.#name = name;
    this.#send = send;
    this.#options = options;
  }

  get isWell(): boolean {
    return this.#away === undefined && this.#failures === 0;
  }

  send(words: string[], key: string): Promise<unknown> {
    if (this.#away !== undefined) {
      this.#probe(key);
      return Promise.reject(this.#away);
    }
    return new Promise((resolve, reject) => {
      const pending: Pending = { since: this.#ran, reject };
      this.#watch(pending);
      this.#send(words, key).then(
        (reply) => {
          this.#settled(pending);
          this.#hasSucceeded = true;
          this.#failures = 0;
          resolve(reply);
        },
        (error: unknown) => {
          const isPending = this.#settled(pending);
          reject(isPending ? this.#failed(error) : error);
        },
      );
    });
  }

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
      this.#goAway(silent(silenceMs));
    }
    for (const pending of this.#pending) {
      if (this.#ran - pending.since < deadlineMs) break;
      this.#giveUp(pending, tooLate(deadlineMs));
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
    if (isNotNow(error) || !isStoreFault(error)) return error;
    if (isRefusal(error, this.#hasSucceeded)) return refusalOf(error);
    this.#failures += 1;
    if (this.#failures >= this.#options.failures) this.#goAway(failing(this.#failures, error));
    return error;
  }

  clientFailed(error: unknown): void {
    if (isRefusal(error, this.#hasSucceeded)) {
      const refusal = refusalOf(error);
      for (const pending of [...this.#pending]) this.#giveUp(pending, refusal);
    } else if (this.#away === undefined) this.#goAway(unreachable(error));
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
      if (isRefusal(error, this.#hasSucceeded)) this.#away = refusalOf(error);
    };
    this.#send(['EVAL', PROBE, '1', `${key}~`], `${key}~`).then(() => {
      if (this.#away === undefined || this.#probeSentAt !== now) return;
      this.#probeSentAt = undefined;
      // One that waited in the client until there was a connection again says that there is one: the next one tells how good it is.
      if (this.#options.clock.now() - now > this.#patienceMs) {
        this.#nextProbeAt = 0;
        this.#probe(key);
      } else this.#comeBack();
    }, stillAway);
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

/** The server does not know the script yet, which says nothing about its health: the caller sends it whole. */
function isNotNow(error: unknown): boolean {
  return error instanceof Error && /NOSCRIPT|NoScriptError/.test(error.message);
}

function silent(silenceMs: number): SluiceError {
  return new SluiceError({
    code: 'SLUICE_TIMEOUT',
    path: 'store',
    message: `Redis has not answered anything for ${silenceMs} ms. What was sent may have been counted all the same.`,
  });
}

function tooLate(deadlineMs: number): SluiceError {
  return new SluiceError({
    code: 'SLUICE_TIMEOUT',
    path: 'store',
    message: `Redis did not answer within ${deadlineMs} ms, though it answers others. The attempt may have been counted all the same.`,
  });
}

function failing(failures: number, cause: unknown): SluiceError {
  const times = failures === 1 ? 'a failure' : `${failures} failures in a row`;
  return new SluiceError({
    code: 'SLUICE_CIRCUIT_OPEN',
    path: 'store',
    message: `Redis is left alone after ${times}, and tried again in the background. The last one: ${textOf(cause)}`,
    cause,
  });
}

function unreachable(cause: unknown): SluiceError {
  return new SluiceError({
    code: 'SLUICE_CIRCUIT_OPEN',
    path: 'store',
    message: `The client cannot connect to Redis: ${textOf(cause)}`,
    cause,
  });
}

/** What an error says, as a sentence. */
export function textOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
