/**
 * The bare store on a SQLite file. It answers synchronously while the file is free. While another process writes, questions stand in line, this
 * process goes on, and all that stand there are answered in one transaction as soon as the file is free.
 *
 * A question about one key is a read and, if something changes, a write that happens only if the row is still what was read. One that was too late for
 * that, and one about several keys, is an immediate transaction: so attempts on several keys are all or nothing here.
 */

import type { WakeAfter } from '../../model/clock.ts';
import { type Clock, readMicros } from '../../model/clock.ts';
import { MICROS_PER_MS } from '../../model/duration.ts';
import type { MaybePromise } from '../../model/maybe-promise.ts';
import type { Rule } from '../../model/rule.ts';
import type { Numbers, Step } from '../../model/step.ts';
import { type Answer, isStoreFault, type Place, type Question, type Store } from '../../model/store.ts';
import { answer, type States } from '../../store/states.ts';
import { keysOf } from '../../store/store-over.ts';
import { KeyStates } from '../../store/values.ts';
import { isBusy, type LimitsTable } from './table.ts';

interface Waiting {
  readonly question: Question;
  /** Milliseconds on a clock that never steps back. */
  readonly giveUpAt: number;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

export interface SqliteStoreOptions {
  readonly place: Place;
  nameOf(key: string): string;
  /** Of decisions. */
  readonly clock: Clock;
  /** Of waiting. */
  readonly stopwatch: Clock;
  readonly wakeAfter: WakeAfter;
  /** The longest a question waits for the file, in milliseconds. */
  readonly patienceMs: number;
}

/** How long to wait before the file is tried again, in milliseconds: longer each time. */
const PAUSES = [1, 1, 2, 3, 5, 8, 10];

export class SqliteStore implements Store {
  readonly place: Place;
  readonly #table: LimitsTable;
  readonly #options: SqliteStoreOptions;
  #line: Waiting[] = [];
  #tries = 0;

  constructor(table: LimitsTable, options: SqliteStoreOptions) {
    this.place = options.place;
    this.#table = table;
    this.#options = options;
  }

  ask(question: Question): MaybePromise<Answer> {
    // Those who came before go first.
    if (this.#line.length > 0) return this.#standInLine(question);
    try {
      const [key, ...others] = keysOf(question);
      const quick = others.length === 0 ? this.#askOne(key!, question) : undefined;
      return quick ?? this.#table.transaction(() => this.#askHere(question));
    } catch (error) {
      if (!isBusy(error)) throw error;
      return this.#standInLine(question);
    }
  }

  /** Undefined when another process was faster. */
  #askOne(key: string, question: Question): Answer | undefined {
    const name = this.#options.nameOf(key);
    const now = readMicros(this.#options.clock);
    const stored = this.#table.read(name);
    const states = new KeyStates(stored);
    const given = answer(states, question, now);
    return !states.isChanged || this.#write(name, states, stored, now) ? given : undefined;
  }

  /** Inside of a transaction. */
  #askHere(question: Question): Answer {
    const now = readMicros(this.#options.clock);
    const rows = new Map(
      keysOf(question).map((key) => {
        const name = this.#options.nameOf(key);
        const stored = this.#table.read(name);
        return [key, { name, stored, states: new KeyStates(stored) }] as const;
      }),
    );
    const given = answer(new StatesByKey((key) => rows.get(key)!.states), question, now);
    for (const { name, stored, states } of rows.values()) {
      if (states.isChanged) this.#write(name, states, stored, now);
    }
    return given;
  }

  #write(name: string, states: KeyStates, stored: Uint8Array | undefined, now: number): boolean {
    const next = states.value(now);
    if (next === undefined && stored === undefined) return true;
    const expires = next === undefined ? 0 : Math.ceil((now + next.lasts) / MICROS_PER_MS);
    const isWritten = this.#table.swap(name, next?.bytes, stored, expires);
    if (isWritten) this.#table.sweepSometimes(Math.floor(now / MICROS_PER_MS));
    return isWritten;
  }

  #standInLine(question: Question): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const giveUpAt = this.#options.stopwatch.now() + this.#options.patienceMs;
      this.#line.push({ question, giveUpAt, resolve, reject });
      if (this.#line.length === 1) this.#wait();
    });
  }

  #wait(): void {
    const pause = PAUSES[Math.min(this.#tries, PAUSES.length - 1)]!;
    this.#tries += 1;
    this.#options.wakeAfter(pause, () => this.#serveLine());
  }

  /** All that wait, in one transaction. */
  #serveLine(): void {
    const line = this.#line;
    try {
      const answers = this.#table.transaction(() => line.map(({ question }) => this.#askInLine(question)));
      this.#line = [];
      this.#tries = 0;
      for (const [index, { resolve, reject }] of line.entries()) {
        const given = answers[index]!;
        if (given instanceof Error) reject(given);
        else resolve(given);
      }
    } catch (error) {
      this.#giveUp(error, isBusy(error) ? this.#options.stopwatch.now() : Number.POSITIVE_INFINITY);
    }
  }

  /** A mistake of one caller, which is found before anything is written, is no reason to undo what the others have spent. */
  #askInLine(question: Question): Answer | Error {
    try {
      return this.#askHere(question);
    } catch (error) {
      if (isStoreFault(error)) throw error;
      return error as Error;
    }
  }

  /** Those whose time is over. The others wait on. */
  #giveUp(error: unknown, now: number): void {
    const line = this.#line;
    this.#line = line.filter(({ giveUpAt }) => giveUpAt > now);
    for (const { giveUpAt, reject } of line) if (giveUpAt <= now) reject(error);
    if (this.#line.length > 0) this.#wait();
    else this.#tries = 0;
  }
}

/** The states of several keys. */
class StatesByKey implements States {
  readonly #of: (key: string) => KeyStates;

  constructor(of: (key: string) => KeyStates) {
    this.#of = of;
  }

  read(key: string, rule: Rule, now: number): Numbers | undefined {
    return this.#of(key).read(key, rule, now);
  }

  write(key: string, rule: Rule, now: number, step: Step): void {
    this.#of(key).write(key, rule, now, step);
  }

  remove(key: string, rule: Rule, now: number): void {
    this.#of(key).remove(key, rule, now);
  }

  blockedUntil(key: string, rule: Rule): number {
    return this.#of(key).blockedUntil(key, rule);
  }

  block(key: string, rule: Rule, until: number, now: number): void {
    this.#of(key).block(key, rule, until, now);
  }

  marked(key: string, id: string, now: number): Numbers | undefined {
    return this.#of(key).marked(key, id, now);
  }

  mark(key: string, id: string, numbers: number[] | undefined, until: number, now: number): boolean {
    return this.#of(key).mark(key, id, numbers, until, now);
  }
}
