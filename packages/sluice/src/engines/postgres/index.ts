/** `sluice/postgres`: the store on a table of Postgres (14 and later), over `pg` and `postgres`. */
import { Kind, type SluiceError } from '../../model/errors.ts';
import type { MaybePromise } from '../../model/maybe-promise.ts';
import { checkFlag, checkOptionNames, invalidOption } from '../../model/options.ts';
import type { Store } from '../../model/store.ts';
import { type EngineOptions, engineStore } from '../../presets/engine-store.ts';
import { watchOf } from '../../redis/clients/client-watch.ts';
import { storeOver } from '../../store/store-over.ts';
import { nameMaker } from '../names.ts';
import { refusalOf } from '../refusals.ts';
import { type PostgresClient, type Query, queryOf, type Row } from './clients.ts';
import { isUndone, postgresPort } from './port.ts';
import { DEFAULT_TABLE, type PostgresTableOptions, postgresTable, statementsOf } from './statements.ts';

export type { BreakerOptions, EngineStateChange } from '../../presets/store-layers.ts';
export type { PgClient, PostgresClient, PostgresJsClient } from './clients.ts';
export { type PostgresTableOptions, postgresTable } from './statements.ts';

/** What `postgresStore` takes besides its client. */
export interface PostgresOptions extends EngineOptions {
  /** The table that `postgresTable` made, with a schema before it if you like. Default: `sluice`. */
  readonly table?: string | undefined;
  /**
   * Whether a write is answered only when it is on the disk of the server, and of its synchronous replicas. Default: false: limits are exact while the
   * server runs, and a crash of it forgets the attempts of its last second at most, as Redis does with its append-only file.
   */
  readonly durable?: boolean | undefined;
}

/** An index holds no more of a text than about 2,700 bytes. */
const MOST_CHARACTERS = 512;

/**
 * A store on a table of Postgres, on the server's clock. Exact for all processes that share the server. A denial is one read, an allowed attempt a
 * read and a write; what comes in one turn of the event loop shares them. When the server is away, this process answers from its own memory,
 * with a warning. Make the table with `postgresTable()` in your migrations, or with `createTable(client)`.
 *
 * @example
 * const pool = new Pool({ connectionString: process.env.DATABASE_URL });
 * await createTable(pool);
 * const limiter = createLimiter({ policy: tokenBucket({ capacity: 100, refillRate: 10 }), store: postgresStore(pool) });
 */
export function postgresStore(client: PostgresClient, options: PostgresOptions = {}): Store {
  if (typeof options !== 'object' || options === null) {
    throw invalidOption('postgresStore', 'an object of options', Kind.of(options));
  }
  const { table = DEFAULT_TABLE, durable = false, clock } = options;
  checkFlag(durable, 'postgresStore.durable');
  const query = queryOf(client, 'postgresStore(client)');
  const statements = statementsOf(table, durable);
  watchOf(client, 'Postgres', 'postgresStore(client)');
  return engineStore(
    {
      name: 'postgresStore',
      client,
      space: table,
      ownOptions: ['table', 'durable'],
      traits: { name: 'Postgres', probe: () => query(statements.probe, []), refusalOf: refusal, saysNothing: isUndone },
      store(call, place) {
        const watched: Query = async (text, values) => call(async () => checkWritable(await query(text, values)));
        const port = postgresPort(watched, query, statements);
        const nameOf = nameMaker(options, MOST_CHARACTERS);
        const store = storeOver(
          {
            read: (key) => port.read(nameOf(key)),
            swap: (key, ...rest): MaybePromise<boolean> => port.swap(nameOf(key), ...rest),
          },
          { prefix: '', clock },
        );
        return { place, ask: (question) => store.ask(question) };
      },
    },
    options,
  );
}

/**
 * Makes the table, unless it is there. Needs the right to create tables; in a deployment that does not have it, put the text of `postgresTable()`
 * into your migrations.
 */
export async function createTable(client: PostgresClient, options: PostgresTableOptions = {}): Promise<void> {
  checkOptionNames(options, ['table', 'unlogged'], 'createTable');
  const query = queryOf(client, 'createTable(client)');
  try {
    await query(postgresTable(options), []);
  } catch (error) {
    // Two processes that make it at the same time: one of them has.
    if (!ALREADY_THERE.has((error as { code?: string }).code ?? '')) throw error;
  }
}

const ALREADY_THERE: ReadonlySet<string> = new Set(['42P07', '42710', '23505']);

/** Codes of Postgres, and what to do about each. */
const CURES: Readonly<Record<string, string>> = {
  '42P01': 'Make the table first: put postgresTable() into your migrations, or call createTable(client) once.',
  '42703': 'The table is not one that postgresTable() makes: give postgresStore a `table` of its own.',
  '42501': 'Allow the user of the client: GRANT SELECT, INSERT, UPDATE, DELETE on the table.',
  '28P01': 'Check the user name and the password of the client.',
  '28000': 'Check the user name of the client, and whether the server lets it in from here.',
  '3D000': 'Check the name of the database.',
  '25006': 'The client talks to a replica, which cannot be written to: connect it to the primary.',
};

/** During a failover a server that was written to a moment ago is a replica for a while: that passes. */
const PASSES = '25006';

/** A replica answers reads, and would deny what the primary allows again. */
function checkWritable(rows: readonly Row[]): readonly Row[] {
  if (rows[0]?.read_only !== 'on') return rows;
  throw Object.assign(new Error('the server, or this connection, is read-only'), { code: PASSES });
}

function refusal(error: unknown, hasSucceeded: boolean): SluiceError | undefined {
  const code = String((error as { code?: unknown } | null)?.code);
  if (hasSucceeded && code === PASSES) return undefined;
  const cure = Object.hasOwn(CURES, code) ? CURES[code] : undefined;
  return cure === undefined ? undefined : refusalOf('Postgres', error, cure);
}
