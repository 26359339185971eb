/** Which keys are blocked until when. Few are, so they are not in the tables of states, which then need not know of them. */
import type { Verdict } from '../model/store.ts';
import type { Table } from './table.ts';

/** Blocks that have ended are collected when there are this many, and then whenever there are twice as many as were left. */
const COLLECT_AT = 1024;

export class Blocks {
  /** By the table of the policy, because that is what tells the states of a key apart. */
  readonly #until = new Map<Table, Map<string, number>>();
  #size = 0;
  #collectAt = COLLECT_AT;

  get size(): number {
    return this.#size;
  }

  set(table: Table, key: string, until: number, now: number): void {
    if (this.#size >= this.#collectAt) this.#collect(now);
    let blocked = this.#until.get(table);
    if (blocked === undefined) {
      blocked = new Map();
      this.#until.set(table, blocked);
    }
    if (!blocked.has(key)) this.#size += 1;
    blocked.set(key, until);
  }

  delete(table: Table, key: string): void {
    if (this.#until.get(table)?.delete(key) === true) this.#size -= 1;
  }

  /** Microseconds until the key's block ends; 0 when it is not blocked. */
  wait(table: Table, key: string, now: number): number {
    return Math.max(0, (this.#until.get(table)?.get(key) ?? now) - now);
  }

  #collect(now: number): void {
    for (const [table, blocked] of this.#until) {
      for (const [key, until] of blocked) if (until <= now) this.delete(table, key);
    }
    this.#collectAt = Math.max(COLLECT_AT, this.#size * 2);
  }
}

/** What an attempt is told while the key is blocked: never yes, and not before the block ends. */
export function refused(retryAfter: number, resetAfter: number, wait: number): Verdict {
  const [retry, reset] = [Math.max(retryAfter, wait), Math.max(resetAfter, wait)];
  return { allowed: false, remaining: 0, retryAfter: retry, resetAfter: reset, delay: 0 };
}
