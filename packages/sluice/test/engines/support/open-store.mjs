/**
 * How a program of its own opens the store of an engine, by the environment: run by processes that share it, on any runtime. `options` are those of
 * the store.
 */
const WAL = 'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL';

/** Those that start at the same time may find the file locked by the one that turns on the log. */
async function withLog(database) {
  for (;;) {
    try {
      database.exec(WAL);
      return database;
    } catch (error) {
      if (!/locked/.test(error.message)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

/** As above. */
async function opened(file) {
  for (;;) {
    try {
      return await globalThis.Deno.openKv(file);
    } catch (error) {
      if (!/locked/.test(error.message)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

export const OPEN = {
  async pg({ DATABASE_URL }, options) {
    const { default: pg } = await import('pg');
    const { postgresStore } = await import('sluice/postgres');
    const pool = new pg.Pool({ connectionString: DATABASE_URL });
    pool.on('error', () => {});
    return { store: postgresStore(pool, options), close: () => pool.end() };
  },
  async postgres({ DATABASE_URL }, options) {
    const { default: postgres } = await import('postgres');
    const { postgresStore } = await import('sluice/postgres');
    const sql = postgres(DATABASE_URL);
    return { store: postgresStore(sql, options), close: () => sql.end() };
  },
  async 'node:sqlite'({ SQLITE_FILE }, options) {
    const { DatabaseSync } = await import('node:sqlite');
    const { sqliteStore } = await import('sluice/sqlite');
    const database = await withLog(new DatabaseSync(SQLITE_FILE));
    return { store: sqliteStore(database, options), close: () => database.close(), database };
  },
  async 'better-sqlite3'({ SQLITE_FILE }, options) {
    const { default: Database } = await import('better-sqlite3');
    const { sqliteStore } = await import('sluice/sqlite');
    const database = await withLog(new Database(SQLITE_FILE));
    return { store: sqliteStore(database, options), close: () => database.close(), database };
  },
  async 'bun:sqlite'({ SQLITE_FILE }, options) {
    const { Database } = await import('bun:sqlite');
    const { sqliteStore } = await import('sluice/sqlite');
    const database = await withLog(new Database(SQLITE_FILE));
    return { store: sqliteStore(database, options), close: () => database.close(), database };
  },
  async upstash({ UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token }, options) {
    const { Redis } = await import('@upstash/redis');
    const { upstashStore } = await import('sluice/upstash');
    return { store: upstashStore(new Redis({ url, token }), options), close: () => {} };
  },
  async sharded({ REDIS_URLS }, options) {
    const { Redis } = await import('ioredis');
    const { redisStore } = await import('sluice/ioredis');
    const { sharded } = await import('sluice/layers');
    const clients = REDIS_URLS.split(' ').map((url) => new Redis(url));
    const store = sharded(clients.map((client) => redisStore(client, { ...options, prefix: 'shared' })));
    return { store, close: () => clients.map((client) => client.disconnect()) };
  },
  async 'deno-kv'({ KV_FILE }, options) {
    const { denoKvStore } = await import('sluice/deno-kv');
    const kv = await opened(KV_FILE);
    return { store: denoKvStore(kv, options), close: () => kv.close(), kv };
  },
};
