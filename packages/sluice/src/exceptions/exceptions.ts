/**
 * Exceptions to limits while a program runs: keys, prefixes and networks that are exempt, denied, or have other numbers, until a moment and for a
 * reason. Processes share them by one document, which each of them reads again in the background. An attempt asks nobody for them.
 *
 * When the document cannot be read, the last known list stays in force, and a warning says so.
 */
import { type Clock, checkClock, monotonicClock, systemClock, type WakeAfter, wakeByTimer } from '../model/clock.ts';
import { type Duration, MICROS_PER_MS, parseDuration } from '../model/duration.ts';
import { mistaken, SluiceError } from '../model/errors.ts';
import { inBackground } from '../model/maybe-promise.ts';
import { checkCount, checkFunction, checkOptionNames } from '../model/options.ts';
import { emitWarning } from '../model/runtime.ts';
import type { Question, Store } from '../model/store.ts';
import type { OnWarning } from '../model/warnings.ts';
import { withExceptions } from './around.ts';
import { checkPort, type ExceptionsPort, entriesOf, localPort, newVersion, textOf } from './document.ts';
import {
  checkEntry,
  type ExceptionEntry,
  type ExceptionOptions,
  entryOf,
  isoOf,
  type OverrideOptions,
  type Subject,
  slotOf,
  subjectOf,
  untilOf,
} from './entry.ts';
import { Lookup } from './lookup.ts';

/** What `sharedExceptions` takes. */
export interface SharedExceptionsOptions {
  /** Where the list is. Default: in this process alone. */
  readonly port?: ExceptionsPort | undefined;
  /** How often the list is read again. Default: 500 ms. A change is seen everywhere after this time and one answer of the port. */
  readonly refresh?: Duration | undefined;
  /** How many exceptions there may be. Default: 10,000. */
  readonly maxEntries?: number | undefined;
  /** Called when the list cannot be read any more, and when it can again. Default: a warning of the runtime. */
  readonly onWarning?: OnWarning | undefined;
  /** For tests. Default: the system's. Its time decides when an exception ends. */
  readonly clock?: Clock | undefined;
  /** For tests. Default: timers that keep no process alive. */
  readonly wakeAfter?: WakeAfter | undefined;
}

/** Exceptions to limits. Made by `sharedExceptions`; give it to `createLimiter({ policy, store, exceptions })`. */
export interface Exceptions {
  /** Allows everything, and counts nothing. */
  exempt(subject: Subject, how?: Duration | ExceptionOptions): Promise<ExceptionEntry>;
  /** Denies everything. */
  deny(subject: Subject, how?: Duration | ExceptionOptions): Promise<ExceptionEntry>;
  /** Other numbers: `override('user:42', { capacity: 5000 }, { until: '2027-01-31T12:00:00Z' })`. What was spent stays spent. */
  override(
    subject: Subject,
    numbers: Readonly<Record<string, number | string>>,
    options?: Duration | OverrideOptions,
  ): Promise<ExceptionEntry>;
  /** Ends every exception of exactly this subject, and says how many there were. Blocks end with `limiter.unblock(key)`. */
  remove(subject: Subject): Promise<number>;
  /** All that hold now, as far as this process knows: those of a file first. */
  list(): readonly ExceptionEntry[];
  /** Those that hold for a key, the most specific first. */
  of(key: string): readonly ExceptionEntry[];
  /** Those of a file, instead of the ones before. They are not shared: every process reads its own file. */
  setFixed(entries: readonly unknown[]): void;
  /** Reads the list now. Rejects when it cannot be read. */
  refresh(): Promise<void>;
  /** Whether the list could be read the last time. */
  readonly isCurrent: boolean;
  /** A store with these exceptions. A limiter that is given them calls this. */
  around(store: Store): Store;
  /** Ends reading in the background. The last known list stays in force. */
  close(): void;
}

const DEFAULT_REFRESH = '500ms';
const DEFAULT_MAX_ENTRIES = 10_000;
/** Blocks are only listed, and anybody may cause them: they leave room for what people write. */
const MAX_BLOCKS = 1000;
/** Swaps that others were faster with. */
const MAX_TRIES = 32;
/** An answer that takes longer is none. */
const SILENCE_MS = 5000;

/**
 * Exceptions to limits while the program runs, shared by all processes with the same `port`.
 *
 * @example
 * const exceptions = sharedExceptions({ port: redisExceptions(runScriptWith(client)) });
 * const limiter = createLimiter({ policy, store: redisStore(client), exceptions });
 * await exceptions.exempt('user:42', { for: '1h', reason: 'load test' });
 */
export function sharedExceptions(options: SharedExceptionsOptions = {}): Exceptions {
  const names = ['port', 'refresh', 'maxEntries', 'onWarning', 'clock', 'wakeAfter'];
  checkOptionNames(options, names, 'sharedExceptions');
  checkFunction(options.onWarning, 'sharedExceptions.onWarning');
  const port = options.port === undefined ? localPort() : checkPort(options.port, 'sharedExceptions.port');
  return new SharedExceptions({
    port,
    nameOf: (key) => port.nameOf?.(key) ?? key,
    refreshMs: parseDuration(options.refresh ?? DEFAULT_REFRESH, 'sharedExceptions.refresh'),
    maxEntries: checkCount(options.maxEntries ?? DEFAULT_MAX_ENTRIES, 'sharedExceptions.maxEntries'),
    onWarning: options.onWarning ?? emitWarning,
    clock: checkClock(options.clock ?? systemClock, 'sharedExceptions.clock'),
    wakeAfter: options.wakeAfter ?? wakeByTimer,
    isShared: options.port !== undefined,
  });
}

interface Setup {
  readonly port: ExceptionsPort;
  readonly refreshMs: number;
  readonly maxEntries: number;
  readonly onWarning: OnWarning;
  readonly clock: Clock;
  readonly wakeAfter: WakeAfter;
  readonly isShared: boolean;
  nameOf(key: string): string;
}

class SharedExceptions implements Exceptions {
  readonly #setup: Setup;
  #fixed: readonly ExceptionEntry[] = [];
  #shared: readonly ExceptionEntry[] = [];
  #version: string | undefined;
  #lookup = new Lookup([]);
  #adopted = 0;
  #listedBlocks: ReadonlySet<string> = new Set();
  #isClosed = false;
  #isCurrent = true;
  #readSince = Number.NaN;
  #lastRead = monotonicClock.now();
  /** Blocks that are to be listed, or not any more, by key. */
  #blocks = new Map<string, ExceptionEntry | undefined>();

  constructor(setup: Setup) {
    this.#setup = setup;
    if (setup.isShared) this.#tick();
  }

  get isCurrent(): boolean {
    return this.#isCurrent;
  }

  exempt(subject: Subject, how?: Duration | ExceptionOptions): Promise<ExceptionEntry> {
    return this.#put('exempt', subject, how);
  }

  deny(subject: Subject, how?: Duration | ExceptionOptions): Promise<ExceptionEntry> {
    return this.#put('deny', subject, how);
  }

  override(subject: Subject, numbers: object, how?: Duration | OverrideOptions): Promise<ExceptionEntry> {
    return this.#put('override', subject, how, numbers);
  }

  async remove(subject: Subject): Promise<number> {
    const { key, prefix, network } = this.#named(subjectOf(subject, 'remove'));
    let removed = 0;
    await this.#change((entries) => {
      const rest = entries.filter((entry) => {
        const isOther = entry.key !== key || entry.prefix !== prefix || entry.network !== network;
        return isOther || entry.kind === 'block';
      });
      removed = entries.length - rest.length;
      return rest;
    });
    return removed;
  }

  list(): readonly ExceptionEntry[] {
    const now = this.#setup.clock.now();
    return [...this.#fixed, ...this.#shared].filter((entry) => now < untilOf(entry));
  }

  of(key: string): readonly ExceptionEntry[] {
    return this.#lookup.find(key, this.#setup.clock) ?? [];
  }

  setFixed(entries: readonly unknown[]): void {
    this.#fixed = entries.map((entry, index) => this.#named(checkEntry(entry, `exceptions[${index}]`)));
    this.#rebuild();
  }

  around(store: Store): Store {
    return withExceptions(store, {
      clock: this.#setup.clock,
      lookup: () => this.#lookup,
      blocked: (question) => this.#noteBlocks(question),
    });
  }

  close(): void {
    this.#isClosed = true;
  }

  async refresh(): Promise<void> {
    this.#readSince = monotonicClock.now();
    const adopted = this.#adopted;
    try {
      const { version, text = '' } = await this.#setup.port.read(this.#version);
      // What was read before a change of our own came through is older than what we know.
      const isNew = version !== this.#version && adopted === this.#adopted;
      if (isNew) this.#adopt(version === undefined ? [] : entriesOf(text), version);
    } catch (error) {
      this.#failed(error);
      throw error;
    }
    this.#succeeded();
  }

  async #put(
    kind: 'exempt' | 'deny' | 'override',
    subject: Subject,
    how: Duration | OverrideOptions | undefined,
    numbers?: object,
  ): Promise<ExceptionEntry> {
    const entry = this.#named(entryOf(kind, subject, how, this.#setup.clock.now(), numbers));
    await this.#change((entries) => [...entries.filter((other) => slotOf(other) !== slotOf(entry)), entry]);
    return entry;
  }

  /** Reads, changes and writes, until nobody else was faster. What has ended goes. */
  async #change(how: (entries: readonly ExceptionEntry[]) => readonly ExceptionEntry[]): Promise<void> {
    const { port, maxEntries, clock } = this.#setup;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      await this.refresh();
      const now = clock.now();
      const entries = how(this.#shared.filter((entry) => now < untilOf(entry)));
      if (entries.length > maxEntries) throw tooMany(maxEntries);
      const next = newVersion();
      const text = textOf(entries);
      if (!(await port.swap(text, next, this.#version))) continue;
      this.#adopt(entries, text === '' ? undefined : next);
      return;
    }
    throw new SluiceError({
      code: 'SLUICE_UNEXPECTED_REPLY',
      message: `The exceptions were changed by others ${MAX_TRIES} times while they were to be written. Try again.`,
    });
  }

  #adopt(entries: readonly ExceptionEntry[], version: string | undefined): void {
    this.#adopted += 1;
    this.#shared = entries;
    this.#version = version;
    this.#listedBlocks = new Set(entries.flatMap(({ kind, key }) => (kind === 'block' ? [key!] : [])));
    this.#rebuild();
  }

  /** What was said while the program runs comes before what stands in a file. */
  #rebuild(): void {
    this.#lookup = new Lookup([...this.#shared, ...this.#fixed], this.#setup.nameOf);
  }

  /** With its key as the document has it. */
  #named<About extends Pick<ExceptionEntry, 'key'>>(about: About): About {
    return about.key === undefined ? about : { ...about, key: this.#setup.nameOf(about.key) };
  }

  /** In the background, for ever: one question at a time, unless its answer does not come. */
  #tick(): void {
    if (this.#isClosed) return;
    this.#setup.wakeAfter(this.#setup.refreshMs, () => this.#tick());
    const isAsking = this.#readSince > this.#lastRead;
    if (isAsking && monotonicClock.now() - this.#readSince < SILENCE_MS) return;
    if (isAsking) this.#failed(new Error(`no answer for ${SILENCE_MS / 1e3} s`));
    void this.refresh()
      .then(() => this.#writeBlocks())
      .catch(() => {});
  }

  #failed(error: unknown): void {
    this.#lastRead = monotonicClock.now();
    if (!this.#isCurrent) return;
    this.#isCurrent = false;
    const { length } = this.list();
    this.#warn(
      'SLUICE_STORE_AWAY',
      `The exceptions cannot be read (${messageOf(error).replace(/\.$/, '')}), so the last known list (${length}) stays in force until they can.`,
    );
  }

  #succeeded(): void {
    this.#lastRead = monotonicClock.now();
    if (this.#isCurrent) return;
    this.#isCurrent = true;
    this.#warn('SLUICE_STORE_BACK', 'The exceptions can be read again.');
  }

  #warn(code: 'SLUICE_STORE_AWAY' | 'SLUICE_STORE_BACK', message: string): void {
    inBackground(() => this.#setup.onWarning(new SluiceError({ code, path: 'sharedExceptions', message })));
  }

  /** A block holds by the state of its key, for everybody and immediately. That it is listed may come later: with the next look. */
  #noteBlocks(question: Question): void {
    if (question.verb === 'forget') this.#noteEnd(question.key);
    if (question.verb !== 'change') return;
    for (const change of question.changes) {
      const { key, verb } = change;
      if (verb === 'unblock') this.#noteEnd(key);
      if (verb !== 'block' || key.length === 0 || key.length > 1024 || this.#blocks.size >= MAX_BLOCKS) continue;
      const until = isoOf(this.#setup.clock.now() + change.duration / MICROS_PER_MS);
      const entry = this.#named(checkEntry({ kind: 'block', key, until, reason: change.reason }, 'block'));
      this.#blocks.set(entry.key!, entry);
    }
    if (!this.#setup.isShared) inBackground(() => this.#writeBlocks());
  }

  #noteEnd(of: string): void {
    if (this.#blocks.size === 0 && this.#listedBlocks.size === 0) return;
    const key = this.#setup.nameOf(of);
    if (this.#blocks.has(key) || this.#listedBlocks.has(key)) this.#blocks.set(key, undefined);
  }

  async #writeBlocks(): Promise<void> {
    if (this.#blocks.size === 0) return;
    const noted = this.#blocks;
    this.#blocks = new Map();
    await this.#change((entries) => {
      const others = entries.filter(({ kind }) => kind !== 'block');
      const kept = entries.filter(({ kind, key }) => kind === 'block' && !noted.has(key!));
      const added = [...noted.values()].filter((entry) => entry !== undefined);
      return [...others, ...[...kept, ...added].slice(-MAX_BLOCKS)];
    });
  }
}

function tooMany(most: number): SluiceError {
  return mistaken(
    'SLUICE_INVALID_OPTION',
    'sharedExceptions.maxEntries',
    `There are ${most} exceptions, and no more are possible. Remove some, use a prefix or a network for many keys, or raise maxEntries of sharedExceptions.`,
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
