/** Limiters on engines that are not Redis: Sluice's store beside the peer's for the same engine, each as its README shows it. A fixed window of a day. */
import { createLimiter, fixedWindow } from 'sluice';
import { DAY_SECONDS } from './policies.mjs';

const LIMIT = 1_000_000;
const policy = fixedWindow({ limit: LIMIT, window: `${DAY_SECONDS}s` });

const sluice = (store) => {
  const limiter = createLimiter({ policy, store });
  return (key) => limiter.attempt(key);
};

/** Its constructors call back when the table is there. */
function flexible(Limiter, options) {
  return new Promise((resolve, reject) => {
    const limiter = new Limiter(
      { points: LIMIT, duration: DAY_SECONDS, tableName: 'flexible', ...options },
      (error) => {
        if (error) reject(error);
        else resolve((key) => limiter.consume(key));
      },
    );
  });
}

/** Engine -> name of a contender -> how it is opened, with the environment of the engine. The last one is the peer. */
export const ENGINES = {
  Postgres: {
    async 'Sluice, pg'({ DATABASE_URL }) {
      const { default: pg } = await import('pg');
      const { createTable, postgresStore } = await import('sluice/postgres');
      const pool = new pg.Pool({ connectionString: DATABASE_URL });
      await createTable(pool);
      return sluice(postgresStore(pool));
    },
    async 'Sluice, pg, durable: true'({ DATABASE_URL }) {
      const { default: pg } = await import('pg');
      const { createTable, postgresStore } = await import('sluice/postgres');
      const pool = new pg.Pool({ connectionString: DATABASE_URL });
      await createTable(pool, { table: 'sluice_durable' });
      return sluice(postgresStore(pool, { table: 'sluice_durable', durable: true }));
    },
    async 'Sluice, postgres'({ DATABASE_URL }) {
      const { default: postgres } = await import('postgres');
      const { createTable, postgresStore } = await import('sluice/postgres');
      const sql = postgres(DATABASE_URL, { onnotice: () => {} });
      await createTable(sql, { table: 'sluice_too' });
      return sluice(postgresStore(sql, { table: 'sluice_too' }));
    },
    async 'rate-limiter-flexible, RateLimiterPostgres, pg'({ DATABASE_URL }) {
      const { default: pg } = await import('pg');
      const { RateLimiterPostgres } = await import('rate-limiter-flexible');
      return flexible(RateLimiterPostgres, { storeClient: new pg.Pool({ connectionString: DATABASE_URL }) });
    },
  },
  SQLite: {
    async 'Sluice, node:sqlite'({ SQLITE_FILE }) {
      const { DatabaseSync } = await import('node:sqlite');
      const { sqliteStore } = await import('sluice/sqlite');
      return sluice(sqliteStore(withLog(new DatabaseSync(`${SQLITE_FILE}-1`))));
    },
    async 'Sluice, better-sqlite3'({ SQLITE_FILE }) {
      const { default: Database } = await import('better-sqlite3');
      const { sqliteStore } = await import('sluice/sqlite');
      return sluice(sqliteStore(withLog(new Database(`${SQLITE_FILE}-2`))));
    },
    async 'rate-limiter-flexible, RateLimiterSQLite, better-sqlite3'({ SQLITE_FILE }) {
      const { default: Database } = await import('better-sqlite3');
      const { RateLimiterSQLite } = await import('rate-limiter-flexible');
      const storeClient = withLog(new Database(`${SQLITE_FILE}-3`));
      return flexible(RateLimiterSQLite, { storeClient, storeType: 'better-sqlite3' });
    },
  },
  Upstash: {
    async Sluice({ UPSTASH_URL: url, UPSTASH_TOKEN: token }) {
      const { Redis } = await import('@upstash/redis');
      const { upstashStore } = await import('sluice/upstash');
      return sluice(upstashStore(new Redis({ url, token })));
    },
    async '@upstash/ratelimit'({ UPSTASH_URL: url, UPSTASH_TOKEN: token }) {
      const { Redis } = await import('@upstash/redis');
      const { Ratelimit } = await import('@upstash/ratelimit');
      const limiter = Ratelimit.fixedWindow(LIMIT, `${DAY_SECONDS} s`);
      const ratelimit = new Ratelimit({ redis: new Redis({ url, token }), limiter });
      return (key) => ratelimit.limit(key);
    },
  },
};

/** The same for all: without it each write would wait for the disk. */
function withLog(database) {
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
  return database;
}
