/** Reads and swaps of rows: those of one turn of the event loop in one statement, and expired rows removed in small steps by those who pass by. */
import type { Stored, SwapPort } from '../../store/store-over.ts';
import { perTurn } from '../turns.ts';
import type { Query, Row } from './clients.ts';
import { arrayOf, bytesOf, hexOf, type Statements } from './statements.ts';

interface Swap {
  readonly key: string;
  readonly state: string;
  readonly expected: string | null;
  readonly ttlMs: number;
}

/** `statement` is watched; what is swept in the background is not, and says nothing about the server. */
export function postgresPort(statement: Query, background: Query, statements: Statements): SwapPort {
  const sweeper = new Sweeper(background, statements);
  const read = perTurn<string, Stored>(async (keys) => {
    const rows = await statement(statements.read, [arrayOf(keys)]);
    const stored: Stored[] = [];
    for (const row of rows) stored[(row.at as number) - 1] = storedOf(row);
    return stored;
  });
  const swap = perTurn<Swap, boolean>(async (swaps) => {
    const done = await swapAll(statement, statements.swap, swaps);
    sweeper.pass(done.size);
    return swaps.map(({ key }) => done.has(key));
  });
  return {
    read,
    swap: (key, next, expected, ttlMs) =>
      swap({
        key,
        // What is reset stays as an empty state for a while: see GRACE_MS.
        state: next === undefined ? '' : hexOf(next),
        expected: (expected as string | undefined) ?? null,
        ttlMs,
      }),
  };
}

function storedOf({ state, version, now }: Row): Stored {
  if (version === null) return { now: now as number };
  return { value: state === '' ? undefined : bytesOf(state as string), version, now: now as number };
}

/** The keys that were swapped. Nobody's were when the server undid the statement for the sake of another: they are read and tried again. */
async function swapAll(statement: Query, text: string, swaps: readonly Swap[]): Promise<ReadonlySet<unknown>> {
  const sorted = [...swaps].sort((one, other) => (one.key < other.key ? -1 : 1));
  try {
    const rows = await statement(text, [
      arrayOf(sorted.map(({ key }) => key)),
      arrayOf(sorted.map(({ state }) => state)),
      arrayOf(sorted.map(({ expected }) => expected)),
      arrayOf(sorted.map(({ ttlMs }) => String(ttlMs))),
    ]);
    return new Set(rows.map(({ key }) => key));
  } catch (error) {
    if (isUndone(error)) return new Set();
    throw error;
  }
}

/** A serialization failure or a deadlock: the statement was rolled back. */
export function isUndone(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return code === '40001' || code === '40P01';
}

/** After so many swaps, so many pages are looked through: several times as many rows as were written. */
const EVERY = 32;
const PAGES = 4;

class Sweeper {
  readonly #query: Query;
  readonly #statements: Statements;
  #swaps = 0;
  #page = 0;
  #isSweeping = false;

  constructor(query: Query, statements: Statements) {
    this.#query = query;
    this.#statements = statements;
  }

  pass(swaps: number): void {
    this.#swaps += swaps;
    if (this.#swaps < EVERY || this.#isSweeping) return;
    const pages = Math.min(PAGES * Math.floor(this.#swaps / EVERY), PAGES * 16);
    this.#swaps = 0;
    this.#isSweeping = true;
    this.#sweep(pages)
      .catch(() => undefined)
      .finally(() => {
        this.#isSweeping = false;
      });
  }

  async #sweep(pages: number): Promise<void> {
    const [from, to] = [this.#page, this.#page + pages];
    const [row] = await this.#query(this.#statements.sweep, [`(${from},0)`, `(${to},0)`]);
    const there = row!.pages as number;
    // The first look is at the first pages; from there on every process goes its own round.
    this.#page = from === 0 && there > to ? randomBelow(there) : to >= there ? 0 : to;
  }
}

function randomBelow(most: number): number {
  return crypto.getRandomValues(new Uint32Array(1))[0]! % most;
}
