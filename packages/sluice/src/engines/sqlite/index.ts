/** `sluice/sqlite`: the store in a SQLite file, over `node:sqlite` (Node 22 and later), `better-sqlite3` and `bun:sqlite`. */
import { monotonicClock, systemClock, wakeForSure } from '../../model/clock.ts';
import { parseDuration } from '../../model/duration.ts';
import { Kind, type SluiceError } from '../../model/errors.ts';
import { invalidOption } from '../../model/options.ts';
import type { Store } from '../../model/store.ts';
import { type EngineOptions, engineStore } from '../../presets/engine-store.ts';
import { nameMaker } from '../names.ts';
import { refusalOf } from '../refusals.ts';
import { SqliteStore } from './sqlite-store.ts';
import { checkDatabase, DEFAULT_TABLE, LimitsTable, type SqliteDatabase } from './table.ts';

export type { BreakerOptions, EngineStateChange } from '../../presets/store-layers.ts';
export type { SqliteDatabase, SqliteStatement } from './table.ts';

/** What `sqliteStore` takes besides its database. */
export interface SqliteOptions extends EngineOptions {
  /** The table that holds the limits. It is made when it is not there. Default: `sluice`. */
  readonly table?: string | undefined;
}

const DEFAULT_DEADLINE = '2s';
const MOST_CHARACTERS = 1024;

/**
 * A store in a SQLite file. It answers synchronously, and is exact for all processes that open the file. While another process writes, an attempt
 * waits, and this process goes on; after `deadline` it is answered from memory, with a warning. Give it a connection of its own: it sets
 * `busy_timeout` on it to 0.
 *
 * @example
 * const database = new DatabaseSync('limits.db');
 * database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
 * const limiter = createLimiter({ policy: tokenBucket({ capacity: 100, refillRate: 10 }), store: sqliteStore(database) });
 */
export function sqliteStore(database: SqliteDatabase, options: SqliteOptions = {}): Store {
  if (typeof options !== 'object' || options === null) {
    throw invalidOption('sqliteStore', 'an object of options', Kind.of(options));
  }
  const { table = DEFAULT_TABLE, clock = systemClock, deadline = DEFAULT_DEADLINE } = options;
  const limits = new LimitsTable(checkDatabase(database), table);
  const patienceMs = deadline === false ? Number.POSITIVE_INFINITY : parseDuration(deadline, 'sqliteStore.deadline');
  return engineStore(
    {
      name: 'sqliteStore',
      client: database,
      space: table,
      ownOptions: ['table'],
      // A file is silent as long as another process writes to it: that is what `deadline` is for.
      silence: deadline === false ? DEFAULT_DEADLINE : deadline,
      traits: { name: 'SQLite', probe: () => limits.transaction(() => undefined), refusalOf: refusal },
      store(call, place) {
        const nameOf = nameMaker(options, MOST_CHARACTERS);
        const store = new SqliteStore(limits, {
          ...{ place, nameOf, clock, stopwatch: monotonicClock, wakeAfter: wakeForSure, patienceMs },
        });
        return { place, ask: (question) => call(() => store.ask(question)) };
      },
    },
    options,
  );
}

/** Numbers and names of SQLite's results, and what to do about each. */
const CURES: readonly (readonly [number: number, name: string, cure: string])[] = [
  [8, 'SQLITE_READONLY', 'Open the file for writing, and let this user write it and its folder.'],
  [14, 'SQLITE_CANTOPEN', 'Check the path of the file, and let this user write its folder.'],
  [26, 'SQLITE_NOTADB', 'The file is no SQLite database: open another one.'],
];

function refusal(error: unknown): SluiceError | undefined {
  const { code, errcode, errno } = (error ?? {}) as { code?: unknown; errcode?: unknown; errno?: unknown };
  const number = Number(errcode ?? errno) & 0xff;
  const found = CURES.find(([own, name]) => own === number || String(code).startsWith(name));
  return found === undefined ? undefined : refusalOf('SQLite', error, found[2]);
}
