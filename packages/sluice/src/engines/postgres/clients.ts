/**
 * One way to run a statement, over `pg` and what has the same `query(text, values)`, and over `postgres`.
 *
 * Statements are prepared where the package can do that: to plan one costs the server more than to run it. Behind a pooler that hands its connections
 * to others after each transaction, a statement that was prepared is gone, or there already. Nothing has run then, so it is sent again whole, and
 * from then on all are.
 */
import { Kind, wrong } from '../../model/errors.ts';
import { sha256 } from '../../redis/sha256.ts';

/** What Sluice uses of a `pg` pool or client, and of what is like it. */
export interface PgClient {
  // biome-ignore lint/suspicious/noExplicitAny: each package has its own overloads and rows.
  query(text: any, values?: any): Promise<{ rows: any[] }>;
}

/** What Sluice uses of `sql` of the `postgres` package. */
export interface PostgresJsClient {
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  unsafe(text: string, values?: any, options?: any): PromiseLike<any>;
}

/** A client of Postgres: `Pool` of `pg` and its like, or `sql` of `postgres`. */
export type PostgresClient = PgClient | PostgresJsClient;

export type Row = Readonly<Record<string, unknown>>;

/** Runs one statement. All values are text, so that no package has to know a type. */
export type Query = (text: string, values: readonly string[]) => Promise<readonly Row[]>;

/** Runs one, prepared if that is asked for. */
type Run = (text: string, values: readonly string[], isPrepared: boolean) => Promise<readonly Row[]>;

export function queryOf(client: PostgresClient, path: string): Query {
  const run = runnerOf(client, path);
  let isPrepared = true;
  return async (text, values) => {
    if (!isPrepared || values.length === 0) return run(text, values, false);
    try {
      return await run(text, values, true);
    } catch (error) {
      if (!isAboutPreparing(error)) throw error;
      isPrepared = false;
      return run(text, values, false);
    }
  };
}

function runnerOf(client: PostgresClient, path: string): Run {
  if (typeof (client as PostgresJsClient | undefined)?.unsafe === 'function') {
    const sql = client as PostgresJsClient;
    return async (text, values, isPrepared) => await sql.unsafe(text, [...values], { prepare: isPrepared });
  }
  if (typeof (client as PgClient | undefined)?.query !== 'function') {
    throw wrong('SLUICE_INVALID_CLIENT', path, 'a Pool of `pg`, or `sql` of `postgres`', Kind.of(client));
  }
  const pool = client as PgClient;
  if (!takesNames(client)) return async (text, values) => (await pool.query(text, [...values])).rows;
  return async (text, values, isPrepared) => {
    const name = isPrepared ? { name: nameOf(text) } : {};
    return (await pool.query({ ...name, text, values: [...values] })).rows;
  };
}

/** A pool of `pg` says how many clients it has, a client of it where it is connected to. What is only like them may not know names. */
function takesNames(client: object): boolean {
  return 'totalCount' in client || 'connectionParameters' in client;
}

const names = new Map<string, string>();

/** The same for the same text, so that all stores of a process share it. */
function nameOf(text: string): string {
  const name = names.get(text) ?? `sluice_${sha256(text).slice(0, 16)}`;
  names.set(text, name);
  return name;
}

/** It is gone, or there already. */
function isAboutPreparing(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === '26000' || code === '42P05';
}
