/**
 * How a program of its own opens the store of an engine, by the environment: run by processes that share it, on any runtime. `options` are those of
 * the store.
 */
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
};
