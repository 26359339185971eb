/** Which keys are blocked until when. Few are, so they are not in the tables of states, which then need not know of them. */
import type { Verdict } from '../model/store.ts';
import type { Table } from './table.ts';

/** Blocks that have ended are collected after so many new ones, or as many as there are left if that is more. */
const COLLECT_AFTER = 1024;

export class Blocks {
  /** By the table of the policy, because that is what tells the states of a key apart. */
  readonly #until = new Map<Table, Map<string, number>>();
  readonly #most: number;
  #size = 0;
  #untilCollect = COLLECT_AFTER;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#size;
  }

  /** Whether there are blocks of a table; those that have ended and were not collected yet included. */
  has(table: Table): boolean {
    return this.#until.has(table);
  }

  /** Says whether an older block had to go because there were too many. */
  set(table: Table, key: string, until: number, now: number): boolean {
    const isNew = this.#until.get(table)?.has(key) !== true;
    const isFull = isNew && !this.#hasRoom(now);
    if (isFull) this.#dropOld();
    if (isNew) this.#size += 1;
    const blocked = this.#until.get(table) ?? new Map<string, number>();
    this.#until.set(table, blocked.set(key, until));
    return isFull;
  }

  delete(table: Table, key: string): void {
    const blocked = this.#until.get(table);
    if (blocked?.delete(key) !== true) return;
    this.#size -= 1;
    if (blocked.size === 0) this.#until.delete(table);
  }

  /** Microseconds until the key's block ends; 0 when it is not blocked. */
  wait(table: Table, key: string, now: number): number {
    return Math.max(0, (this.#until.get(table)?.get(key) ?? now) - now);
  }

  #hasRoom(now: number): boolean {
    this.#untilCollect -= 1;
    if (this.#untilCollect <= 0) this.#collect(now);
    return this.#size < this.#most;
  }

  #collect(now: number): void {
    for (const [table, blocked] of this.#until) {
      for (const [key, until] of blocked) if (until <= now) this.delete(table, key);
    }
    this.#untilCollect = Math.max(COLLECT_AFTER, this.#size);
  }

  #dropOld(): void {
    for (const [table, blocked] of this.#until) {
      const { value: key, done } = blocked.keys().next();
      if (done !== true) {
        this.delete(table, key);
        return;
      }
    }
  }
}

/** What an attempt is told while the key is blocked: never yes, and not before the block ends. */
export function refused(retryAfter: number, resetAfter: number, wait: number): Verdict {
  const [retry, reset] = [Math.max(retryAfter, wait), Math.max(resetAfter, wait)];
  return { allowed: false, remaining: 0, retryAfter: retry, resetAfter: reset, delay: 0 };
}
