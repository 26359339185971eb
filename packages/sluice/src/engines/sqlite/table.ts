/** The table of limits in a SQLite file, and the statements on it. They are the same for `node:sqlite`, `better-sqlite3` and `bun:sqlite`. */
import { Kind, wrong } from '../../model/errors.ts';
import { invalidOption } from '../../model/options.ts';

/** What Sluice uses of a connection: `DatabaseSync` of `node:sqlite`, or `Database` of `better-sqlite3` and `bun:sqlite`. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
}

/** What Sluice uses of a statement that was prepared. */
export interface SqliteStatement {
  // biome-ignore lint/suspicious/noExplicitAny: each package has its own types of values.
  get(...values: any[]): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  run(...values: any[]): { readonly changes: number | bigint };
}

export const DEFAULT_TABLE = 'sluice';

export function checkDatabase(database: unknown): SqliteDatabase {
  const { exec, prepare } = (database ?? {}) as Partial<SqliteDatabase>;
  if (typeof exec === 'function' && typeof prepare === 'function') return database as SqliteDatabase;
  throw wrong(
    'SLUICE_INVALID_CLIENT',
    'sqliteStore(database)',
    'a DatabaseSync of node:sqlite, or a Database of better-sqlite3 or bun:sqlite',
    Kind.of(database),
  );
}

/** After so many writes, so many rows are looked through. */
const EVERY = 64;
const ROWS = 256;

/** Rows of states. Everything is synchronous, and throws what the package throws. */
export class LimitsTable {
  readonly #database: SqliteDatabase;
  readonly #name: string;
  #statements: ReturnType<typeof statementsOf> | undefined;
  #writes = 0;
  /** Rows up to this one have been looked through in this round. */
  #sweptTo = 0;

  constructor(database: SqliteDatabase, table: unknown) {
    if (typeof table !== 'string' || !/^[\w$-]{1,63}$/.test(table)) {
      throw invalidOption('sqliteStore.table', 'the name of a table: letters, digits, _, - and $', table);
    }
    this.#database = database;
    this.#name = `"${table}"`;
  }

  read(key: string): Uint8Array | undefined {
    const row = this.#ready().read.get(key) as { readonly state: Uint8Array } | null | undefined;
    return row?.state;
  }

  /** Writes a state if the one that stands there is still `expected`, byte for byte, and says whether it did. Undefined is none. */
  swap(key: string, next: Uint8Array | undefined, expected: Uint8Array | undefined, expires: number): boolean {
    const { insert, update, remove } = this.#ready();
    const { changes } =
      next === undefined
        ? remove.run(key, expected)
        : expected === undefined
          ? insert.run(key, next, expires)
          : update.run(next, expires, key, expected);
    return Number(changes) === 1;
  }

  /** Nobody else writes until it has returned, and everything that it wrote is there or nothing is. */
  transaction<T>(act: () => T): T {
    this.#ready();
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const value = act();
      this.#database.exec('COMMIT');
      return value;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  #rollBack(): void {
    try {
      this.#database.exec('ROLLBACK');
    } catch {
      // The error that ended the transaction may have rolled it back.
    }
  }

  /** Removes expired rows, a few at a time, when enough was written. What was written before stays written when this fails. */
  sweepSometimes(now: number): void {
    this.#writes += 1;
    if (this.#writes < EVERY) return;
    this.#writes = 0;
    try {
      this.#sweep(now);
    } catch {
      // Another process has the file: there will be another time.
    }
  }

  #sweep(now: number): void {
    const { last, sweep } = this.#ready();
    const { row } = last.get(this.#sweptTo, ROWS) as { readonly row: number | null };
    if (row !== null) sweep.run(this.#sweptTo, row, now);
    this.#sweptTo = row ?? 0;
  }

  #ready(): ReturnType<typeof statementsOf> {
    if (this.#statements !== undefined) return this.#statements;
    // Those who wait for a lock wait in JavaScript, where this process goes on meanwhile.
    this.#database.exec('PRAGMA busy_timeout = 0');
    this.#database.exec(
      `CREATE TABLE IF NOT EXISTS ${this.#name} (key TEXT NOT NULL UNIQUE, state BLOB NOT NULL, expires INTEGER NOT NULL)`,
    );
    this.#statements = statementsOf(this.#database, this.#name);
    return this.#statements;
  }
}

function statementsOf(database: SqliteDatabase, table: string) {
  return {
    read: database.prepare(`SELECT state FROM ${table} WHERE key = ?`),
    insert: database.prepare(`INSERT INTO ${table} (key, state, expires) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`),
    update: database.prepare(`UPDATE ${table} SET state = ?, expires = ? WHERE key = ? AND state = ?`),
    remove: database.prepare(`DELETE FROM ${table} WHERE key = ? AND state = ?`),
    last: database.prepare(
      `SELECT max(rowid) AS row FROM (SELECT rowid FROM ${table} WHERE rowid > ? ORDER BY rowid LIMIT ?)`,
    ),
    sweep: database.prepare(`DELETE FROM ${table} WHERE rowid > ? AND rowid <= ? AND expires < ?`),
  };
}

/** Another connection holds the lock: it passes. Each package says so in its own way. */
export function isBusy(error: unknown): boolean {
  const { code, errcode, errno } = (error ?? {}) as { code?: unknown; errcode?: unknown; errno?: unknown };
  const SQLITE_BUSY = 5;
  const isBusyNumber = (number: unknown): boolean => typeof number === 'number' && (number & 0xff) === SQLITE_BUSY;
  return String(code).startsWith('SQLITE_BUSY') || isBusyNumber(errcode) || isBusyNumber(errno);
}
