/**
 * The table and the four statements. Values go as text, arrays as Postgres writes them: every package sends text, and none has to know a type.
 *
 * A version grows by one with every write of a row, and begins with the time at which the row was made, times 1024. So no version comes back when
 * a row is made again, and a row that another process has just made is never taken for one that this process has read.
 */
import { Kind } from '../../model/errors.ts';
import { invalidOption } from '../../model/options.ts';

/** What `postgresTable` and `createTable` take. */
export interface PostgresTableOptions {
  /** Its name, with a schema before it if you like: `limits.sluice`. Default: `sluice`. */
  readonly table?: string | undefined;
  /** An unlogged table: several times faster to write, and empty after a crash of the server. Default: false. */
  readonly unlogged?: boolean | undefined;
}

export const DEFAULT_TABLE = 'sluice';

/** As SQL writes it: each part in quotes, so that case and hyphens are kept. */
export function quotedTable(table: unknown, path: string): string {
  const parts = typeof table === 'string' ? table.split('.') : [];
  const isFine = parts.length >= 1 && parts.length <= 2 && parts.every((part) => /^[\w$-]{1,63}$/.test(part));
  if (isFine) return parts.map((part) => `"${part}"`).join('.');
  throw invalidOption(
    path,
    'the name of a table: letters, digits, _, - and $, and a schema before it if you like',
    table,
  );
}

/**
 * The SQL that makes the table, for your migrations.
 *
 * @example
 * console.log(postgresTable()); // CREATE TABLE IF NOT EXISTS "sluice" (...
 */
export function postgresTable(options: PostgresTableOptions = {}): string {
  const { table = DEFAULT_TABLE, unlogged = false } = options;
  if (typeof unlogged !== 'boolean') throw invalidOption('postgresTable.unlogged', 'true or false', Kind.of(unlogged));
  // Half of a page is left free, and nothing but the key is indexed: then a write of a row leaves the index alone.
  return `CREATE ${unlogged ? 'UNLOGGED ' : ''}TABLE IF NOT EXISTS ${quotedTable(table, 'postgresTable.table')} (
  key text COLLATE "C" PRIMARY KEY,
  state bytea NOT NULL,
  version bigint NOT NULL,
  expires timestamptz NOT NULL
) WITH (fillfactor = 50);`;
}

export interface Statements {
  /** Keys -> a row for each: its place among them, state, version, the server's time, and whether it can only be read. */
  readonly read: string;
  /** Keys, states, versions that were read, milliseconds to keep -> the keys that were swapped. */
  readonly swap: string;
  /** From a page to a page -> how many pages there are. */
  readonly sweep: string;
  readonly probe: string;
}

/**
 * A row is removed only when it has been expired for a while. So a swap that was decided on it and is still under way finds it, and what it finds is
 * of another version. What was reset is an empty state for so long.
 */
export const GRACE_MS = 600_000;

/** In the statement itself, for its own transaction alone: a pooler may hand the connection to somebody else after it. */
const WITHOUT_THE_DISK = "(SELECT set_config('synchronous_commit', 'off', true)) AS quick,\n  ";

/** `durable`: whether a write is answered only when it is on the disk of the server. */
export function statementsOf(table: string, durable: boolean): Statements {
  const name = quotedTable(table, 'postgresStore.table');
  return {
    // One look into the index for each key, also while the planner believes that the table is empty.
    read: `SELECT n.at::int AS at, encode(s.state, 'hex') AS state, s.version::text AS version,
  (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now, current_setting('transaction_read_only') AS read_only
FROM unnest($1::text::text[]) WITH ORDINALITY AS n(key, at)
LEFT JOIN LATERAL (SELECT state, version FROM ${name} WHERE key = n.key OFFSET 0) AS s ON true`,
    // In the order of the keys, as everybody does: two that write the same rows never wait for each other.
    swap: `INSERT INTO ${name} AS s (key, state, version, expires)
SELECT n.key, decode(n.state, 'hex'),
  COALESCE(n.expected::bigint + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1024),
  clock_timestamp() + n.lasts::float8 * interval '1 millisecond'
FROM ${durable ? '' : WITHOUT_THE_DISK}unnest($1::text::text[], $2::text::text[], $3::text::text[], $4::text::text[]) AS n(key, state, expected, lasts)
ON CONFLICT (key) DO UPDATE SET state = excluded.state, version = excluded.version, expires = excluded.expires
WHERE s.version = excluded.version - 1
RETURNING s.key AS key`,
    // By pages, which needs no index on the time: that would have to be written with every attempt. Rows in use are left for another time.
    sweep: `WITH gone AS (
  DELETE FROM ${name} WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM ${name} WHERE ctid >= $1::text::tid AND ctid < $2::text::tid
      AND expires < clock_timestamp() - interval '${GRACE_MS} milliseconds'
    FOR UPDATE SKIP LOCKED))
  RETURNING 1)
SELECT (pg_relation_size('${name}'::regclass) / current_setting('block_size')::int)::int AS pages, count(*)::int AS gone FROM gone`,
    // A write that changes nothing: a server that was demoted answers all reads.
    probe: `DELETE FROM ${name} WHERE key IS NULL`,
  };
}

/** As Postgres writes an array of texts. */
export function arrayOf(texts: readonly (string | null)[]): string {
  return `{${texts.map((text) => (text === null ? 'NULL' : `"${text.replace(/[\\"]/g, '\\$&')}"`)).join(',')}}`;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

export function hexOf(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += HEX[byte];
  return text;
}

export function bytesOf(hex: string): Uint8Array {
  const bytes = new Uint8Array(hex.length / 2);
  for (let at = 0, from = 0; at < bytes.length; at += 1, from += 2) {
    bytes[at] = (digitOf(hex.charCodeAt(from)) << 4) | digitOf(hex.charCodeAt(from + 1));
  }
  return bytes;
}

/** Postgres writes small letters. */
function digitOf(code: number): number {
  return code < 0x3a ? code - 0x30 : code - 0x57;
}
