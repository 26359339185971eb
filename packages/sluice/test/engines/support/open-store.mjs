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

/** Notes each call of these methods of a client. */
export function counted(client, names, calls) {
  for (const name of names) {
    const own = client[name].bind(client);
    client[name] = (...args) => {
      calls.push(name);
      return own(...args);
    };
  }
  return client;
}

/** Statements of SQLite that read or write; those around them are of the transaction. */
function countedStatements(database, calls) {
  const prepare = database.prepare.bind(database);
  database.prepare = (text) => {
    const statement = prepare(text);
    return /^\s*(SELECT|INSERT|UPDATE|DELETE)/i.test(text)
      ? counted(statement, ['get', 'run', 'all'], calls)
      : statement;
  };
  return database;
}

/** Calls of Deno KV: what is chained to an atomic operation goes with its commit. */
function countedKv(kv, calls) {
  const atomic = kv.atomic.bind(kv);
  kv.atomic = () => counted(atomic(), ['commit'], calls);
  return counted(kv, ['get'], calls);
}

/** `calls` gets the name of each call that goes to the engine. */
export const OPEN = {
  async redis({ REDIS_URL }, options, calls = []) {
    const { Redis } = await import('ioredis');
    const { redisStore } = await import('sluice/ioredis');
    const client = counted(new Redis(REDIS_URL), ['sendCommand'], calls);
    return { store: redisStore(client, options), close: () => client.disconnect() };
  },
  async pg({ DATABASE_URL }, options, calls = []) {
    const { default: pg } = await import('pg');
    const { postgresStore } = await import('sluice/postgres');
    const pool = new pg.Pool({ connectionString: DATABASE_URL });
    pool.on('error', () => {});
    counted(pool, ['query'], calls);
    return { store: postgresStore(pool, options), close: () => pool.end() };
  },
  async postgres({ DATABASE_URL }, options, calls = []) {
    const { default: postgres } = await import('postgres');
    const { postgresStore } = await import('sluice/postgres');
    const sql = counted(postgres(DATABASE_URL), ['unsafe'], calls);
    return { store: postgresStore(sql, options), close: () => sql.end() };
  },
  async 'node:sqlite'({ SQLITE_FILE }, options, calls = []) {
    const { DatabaseSync } = await import('node:sqlite');
    const { sqliteStore } = await import('sluice/sqlite');
    const database = countedStatements(await withLog(new DatabaseSync(SQLITE_FILE)), calls);
    return { store: sqliteStore(database, options), close: () => database.close(), database };
  },
  async 'better-sqlite3'({ SQLITE_FILE }, options, calls = []) {
    const { default: Database } = await import('better-sqlite3');
    const { sqliteStore } = await import('sluice/sqlite');
    const database = countedStatements(await withLog(new Database(SQLITE_FILE)), calls);
    return { store: sqliteStore(database, options), close: () => database.close(), database };
  },
  async 'bun:sqlite'({ SQLITE_FILE }, options, calls = []) {
    const { Database } = await import('bun:sqlite');
    const { sqliteStore } = await import('sluice/sqlite');
    const database = countedStatements(await withLog(new Database(SQLITE_FILE)), calls);
    return { store: sqliteStore(database, options), close: () => database.close(), database };
  },
  async upstash({ UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token }, options, calls = []) {
    const { Redis } = await import('@upstash/redis');
    const { upstashStore } = await import('sluice/upstash');
    counted(globalThis, ['fetch'], calls);
    return { store: upstashStore(new Redis({ url, token }), options), close: () => {} };
  },
  async sharded({ REDIS_URLS }, options, calls = []) {
    const { Redis } = await import('ioredis');
    const { redisStore } = await import('sluice/ioredis');
    const { sharded } = await import('sluice/layers');
    const clients = REDIS_URLS.split(' ').map((url) => counted(new Redis(url), ['sendCommand'], calls));
    const store = sharded(clients.map((client) => redisStore(client, { ...options, prefix: 'shared' })));
    return { store, close: () => clients.map((client) => client.disconnect()) };
  },
  async 'deno-kv'({ KV_FILE }, options, calls = []) {
    const { denoKvStore } = await import('sluice/deno-kv');
    const kv = countedKv(await opened(KV_FILE), calls);
    return { store: denoKvStore(kv, options), close: () => kv.close(), kv };
  },
};
