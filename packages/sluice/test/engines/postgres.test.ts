/** `sluice/postgres` on a real Postgres: the contract over both packages, eight processes, outages, what it costs, and what is left behind. */
import pg from 'pg';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type RunningPostgres, startPostgres } from '../../../../tools/servers/index.ts';
import {
  createTable,
  type PostgresClient,
  type PostgresOptions,
  postgresStore,
  postgresTable,
} from '../../src/engines/postgres/index.ts';
import { createLimiter, fixedWindow, tokenBucket } from '../../src/index.ts';
import { storeContract } from '../../src/testing/index.ts';
import { callsBy, expectInTable, major } from './support/measured.ts';
import { expectBoundedOutage } from './support/outage.ts';
import { allowedTogether, exactly } from './support/processes.ts';

let server: RunningPostgres;
let pool: pg.Pool;
let sql: postgres.Sql;
beforeAll(async () => {
  server = await startPostgres({ settings: { fsync: 'off' } });
  pool = poolOf(server);
  // Nothing here is about what is printed: a table that is there already is a notice.
  sql = postgres(server.url, { onnotice: () => undefined });
  await createTable(pool);
});
afterAll(async () => {
  await Promise.all([pool?.end(), sql?.end()]);
  await server?.stop();
});

function poolOf({ url }: RunningPostgres, config: pg.PoolConfig = {}): pg.Pool {
  const made = new pg.Pool({ connectionString: url, ...config });
  made.on('error', () => undefined);
  return made;
}

/** Nothing is about time but what says so. */
const PATIENT: PostgresOptions = { silence: '120s', deadline: '120s', denyCache: false };
const policy = tokenBucket({ capacity: 5, refillRate: '1/d' });

let prefixes = 0;
const newPrefix = (): string => {
  prefixes += 1;
  return `test ${prefixes}`;
};

describe.each<[string, () => PostgresClient]>([
  ['pg', () => pool],
  ['postgres', () => sql],
])('over %s', (_, client) => {
  for (const { name, run } of storeContract(({ clock }) =>
    postgresStore(client(), { clock, raw: true, prefix: newPrefix() }),
  )) {
    test(name, run);
  }

  test('as it is installed', async () => {
    const limiter = createLimiter({ policy, store: postgresStore(client(), { ...PATIENT, prefix: newPrefix() }) });
    const results = await Promise.all(Array.from({ length: 8 }, () => limiter.attempt('key')));
    expect(results.map(({ allowed }) => allowed)).toEqual([...Array(5).fill(true), ...Array(3).fill(false)]);
    expect(results.every(({ source }) => source === 'store')).toBe(true);
  });
});

test('eight processes are allowed exactly the limit', async () => {
  const spenders = Array.from({ length: 8 }, (_, index) => ({ engine: index % 2 === 0 ? 'pg' : 'postgres' }));
  const env = { DATABASE_URL: server.url };
  const told = await allowedTogether(spenders, env);
  expect(told).toEqual(exactly(8));
  const calls = await callsBy('pg', env);
  expect(await callsBy('postgres', env)).toEqual(calls);
  await expectInTable('Postgres', { allowed: told.allowed, calls, on: `PostgreSQL ${major(server.version)}` });
});

test('two processes that write serializable transactions are allowed exactly the limit', async () => {
  const options = '-c default_transaction_isolation=serializable';
  const pools = [poolOf(server, { options }), poolOf(server, { options })];
  const prefix = newPrefix();
  const limiters = pools.map((each) => createLimiter({ policy, store: postgresStore(each, { ...PATIENT, prefix }) }));
  const asked = Array.from({ length: 40 }, (_, index) => limiters[index % 2]!.attempt(`key ${index % 4}`));
  const allowed = (await Promise.all(asked)).filter((result) => result.allowed);
  expect(allowed).toHaveLength(4 * 5);
  await Promise.all(pools.map((each) => each.end()));
});

describe('what it costs', () => {
  /** The statements that were sent, by their first words. */
  function counted(): { client: PostgresClient; sent: string[] } {
    const sent: string[] = [];
    const client = {
      totalCount: 0,
      query: (config: { text: string; values: string[] }) => {
        sent.push(config.text.split(' ')[0]!);
        return pool.query(config);
      },
    };
    return { client, sent };
  }

  test('a denial is one read, an allowed attempt a read and a write', async () => {
    const { client, sent } = counted();
    const limiter = createLimiter({ policy, store: postgresStore(client, { ...PATIENT, prefix: newPrefix() }) });
    await limiter.attempt('key', { cost: 5 });
    expect(sent.splice(0)).toEqual(['SELECT', 'INSERT']);
    expect((await limiter.attempt('key')).allowed).toBe(false);
    expect(sent.splice(0)).toEqual(['SELECT']);
  });

  test('what comes in one turn shares its statements', async () => {
    const { client, sent } = counted();
    const limiter = createLimiter({ policy, store: postgresStore(client, { ...PATIENT, prefix: newPrefix() }) });
    await Promise.all(Array.from({ length: 30 }, (_, index) => limiter.attempt(`key ${index}`)));
    expect(sent).toEqual(['SELECT', 'INSERT']);
  });

  test('a hot key is one read and one write for all that wait', async () => {
    const { client, sent } = counted();
    const limiter = createLimiter({ policy, store: postgresStore(client, { ...PATIENT, prefix: newPrefix() }) });
    await Promise.all(Array.from({ length: 30 }, () => limiter.attempt('key')));
    // The first by itself, and then all others together.
    expect(sent).toEqual(['SELECT', 'INSERT', 'SELECT', 'INSERT']);
  });

  test('a write leaves the index alone', async () => {
    const table = 'hot';
    await createTable(pool, { table });
    // One connection: it tells its statistics when it is asked to.
    const one = poolOf(server, { max: 1 });
    const limiter = createLimiter({
      policy: fixedWindow({ limit: 1000, window: '1d' }),
      store: postgresStore(one, { ...PATIENT, table }),
    });
    for (let time = 0; time < 100; time += 1) await limiter.attempt('key');
    await one.query('SELECT pg_stat_force_next_flush()');
    const { rows } = await one.query(
      "SELECT n_tup_upd::int AS updated, n_tup_hot_upd::int AS hot FROM pg_stat_user_tables WHERE relname = 'hot'",
    );
    expect(rows[0].updated).toBe(99);
    expect(rows[0].hot).toBeGreaterThan(90);
    await one.end();
  });
});

test('a write waits for the disk only if it is asked to', async () => {
  const own = await startPostgres();
  const ownPool = poolOf(own);
  try {
    await createTable(ownPool);
    const limiterOf = (options: PostgresOptions) =>
      createLimiter({ policy, store: postgresStore(ownPool, { ...PATIENT, ...options }) });
    const [quick, durable] = [limiterOf({}), limiterOf({ durable: true })];
    // A commit that waits now waits for a replica that never comes.
    await ownPool.query("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    await ownPool.query('SELECT pg_reload_conf()');
    await vi.waitUntil(async () => {
      const { rows } = await ownPool.query('SHOW synchronous_standby_names');
      return rows[0].synchronous_standby_names === 'nobody';
    });
    const waiting = durable.attempt('durable');
    const isStuck = async (): Promise<boolean> => {
      const { rows } = await ownPool.query("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
      return rows.length > 0;
    };
    await vi.waitUntil(isStuck, { timeout: 60_000 });
    expect(await quick.attempt('quick')).toMatchObject({ remaining: 4, source: 'store' });
    expect(await isStuck()).toBe(true);
    await ownPool.query('ALTER SYSTEM RESET synchronous_standby_names');
    await ownPool.query('SELECT pg_reload_conf()');
    expect(await waiting).toMatchObject({ remaining: 4, source: 'store' });
  } finally {
    await ownPool.end();
    await own.stop();
  }
});

test('it goes by the clock of the server', async () => {
  const limiter = createLimiter({ policy, store: postgresStore(pool, { ...PATIENT, prefix: newPrefix() }) });
  await limiter.attempt('key', { cost: 5 });
  const own = Date.now();
  const spy = vi.spyOn(Date, 'now').mockReturnValue(own + 7 * 86_400_000);
  try {
    expect((await limiter.attempt('key')).allowed).toBe(false);
  } finally {
    spy.mockRestore();
  }
});

test('expired rows are removed by those who pass by, and no others', async () => {
  const table = 'swept';
  await createTable(pool, { table });
  await pool.query(
    `INSERT INTO swept SELECT 'old ' || n, ''::bytea, n, now() - interval '1 hour' FROM generate_series(1, 3000) n
     UNION ALL SELECT 'new ' || n, ''::bytea, n, now() + interval '1 hour' FROM generate_series(1, 500) n
     UNION ALL SELECT 'just now ' || n, ''::bytea, n, now() - interval '1 minute' FROM generate_series(1, 500) n`,
  );
  const limiter = createLimiter({
    policy: tokenBucket({ capacity: 1e6, refillRate: '1/s' }),
    store: postgresStore(pool, { ...PATIENT, table }),
  });
  const left = async (): Promise<Record<string, number>> => {
    const { rows } = await pool.query(
      "SELECT rtrim(key, ' 0123456789') AS kind, count(*)::int AS count FROM swept GROUP BY 1",
    );
    return Object.fromEntries(rows.map(({ kind, count }) => [kind, count]));
  };
  await vi.waitUntil(
    async () => {
      for (let time = 0; time < 10; time += 1) {
        await Promise.all(Array.from({ length: 32 }, (_, index) => limiter.attempt(`key ${index}`)));
      }
      return (await left()).old === undefined;
    },
    { timeout: 120_000, interval: 1 },
  );
  expect(await left()).toMatchObject({ new: 500, 'just now': 500 });
});

test('no two keys share a row, whatever characters they hold', async () => {
  const keys = [
    '',
    '%',
    '%0;',
    '\0',
    'a\0b',
    'ab',
    '\ud800',
    '\ud801',
    '\ufffd',
    '"',
    '\\',
    '{}',
    'NULL',
    "'",
    'é',
    'e\u0301',
  ];
  keys.push('x'.repeat(60_000), `${'x'.repeat(59_999)}y`, '😀'.repeat(400), `%${'a'.repeat(64)}`);
  const store = postgresStore(pool, { ...PATIENT, prefix: newPrefix() });
  const limiter = createLimiter({ policy, store });
  const first = await Promise.all(keys.map((key) => limiter.attempt(key)));
  expect(first.map(({ remaining }) => remaining)).toEqual(keys.map(() => 4));
  for (const key of keys) expect((await limiter.attempt(key)).remaining, JSON.stringify(key.slice(0, 20))).toBe(3);
});

test('keys can be kept as hashes', async () => {
  const prefix = newPrefix();
  const limiter = createLimiter({ policy, store: postgresStore(pool, { ...PATIENT, prefix, hashKeys: true }) });
  await limiter.attempt('ada@example.org');
  const { rows } = await pool.query('SELECT key FROM sluice WHERE key LIKE $1', [`${prefix}:%`]);
  expect(rows).toEqual([{ key: expect.stringMatching(/:%[\w-]{43,64}$/) }]);
});

test('behind a pooler that forgets what was prepared', async () => {
  const one = poolOf(server, { max: 1 });
  const limiter = createLimiter({ policy, store: postgresStore(one, { ...PATIENT, prefix: newPrefix() }) });
  expect((await limiter.attempt('key')).remaining).toBe(4);
  await one.query('DEALLOCATE ALL');
  expect(await limiter.attempt('key')).toMatchObject({ remaining: 3, source: 'store' });
  expect(await limiter.attempt('key')).toMatchObject({ remaining: 2, source: 'store' });
  await one.end();
});

test('the table: printed, made by several at the same time, in a schema, unlogged', async () => {
  expect(postgresTable()).toContain('CREATE TABLE IF NOT EXISTS "sluice" (');
  expect(postgresTable({ table: 'limits.Of-users', unlogged: true })).toContain(
    'CREATE UNLOGGED TABLE IF NOT EXISTS "limits"."Of-users" (',
  );
  await pool.query('CREATE SCHEMA limits');
  const options = { table: 'limits.Of-users', unlogged: true };
  await Promise.all(Array.from({ length: 6 }, (_, index) => createTable(index % 2 === 0 ? pool : sql, options)));
  const limiter = createLimiter({ policy, store: postgresStore(pool, { ...PATIENT, table: 'limits.Of-users' }) });
  expect((await limiter.attempt('key')).remaining).toBe(4);
});

describe('what no waiting mends is said, and no fallback answers', () => {
  const refused = (client: PostgresClient, options: PostgresOptions = {}): Promise<unknown> =>
    createLimiter({ policy, store: postgresStore(client, { ...PATIENT, ...options }) })
      .attempt('key')
      .catch((error: unknown) => error);

  test('no table', async () => {
    expect(await refused(pool, { table: 'nowhere' })).toMatchObject({
      code: 'SLUICE_STORE_REFUSES',
      message: expect.stringContaining('relation "nowhere" does not exist". Make the table first'),
    });
  });

  test('no rights', async () => {
    await pool.query('CREATE ROLE guest LOGIN');
    const guest = poolOf(server, { connectionString: server.url.replace('postgres@', 'guest@') });
    expect(await refused(guest)).toMatchObject({
      code: 'SLUICE_STORE_REFUSES',
      message: expect.stringContaining('GRANT SELECT, INSERT, UPDATE, DELETE'),
    });
    await guest.end();
  });

  test('no such database', async () => {
    const lost = poolOf(server, { connectionString: server.url.replace(/postgres$/, 'lost') });
    expect(await refused(lost)).toMatchObject({ message: expect.stringContaining('Check the name of the database') });
    await lost.end();
  });

  test('a replica', async () => {
    const reader = poolOf(server, { options: '-c default_transaction_read_only=on' });
    expect(await refused(reader)).toMatchObject({ message: expect.stringContaining('connect it to the primary') });
    await reader.end();
  });
});

test.each<[title: string, make: () => unknown, expected: object]>([
  [
    'no client',
    () => postgresStore(undefined as never),
    { code: 'SLUICE_INVALID_CLIENT', path: 'postgresStore(client)' },
  ],
  ['a text', () => postgresStore('postgres://localhost' as never), { code: 'SLUICE_INVALID_CLIENT' }],
  ['misspelt', () => postgresStore(pool, { tabel: 'a' } as never), { path: 'postgresStore.tabel' }],
  ['a table that is SQL', () => postgresStore(pool, { table: 'a; DROP TABLE b' }), { path: 'postgresStore.table' }],
  ['durable as text', () => postgresStore(pool, { durable: 'yes' as never }), { path: 'postgresStore.durable' }],
  [
    'a layer beside raw',
    () => postgresStore(pool, { raw: true, fallback: 'deny' }),
    { path: 'postgresStore.fallback' },
  ],
  ['a prefix that is none', () => postgresStore(pool, { prefix: 5 as never }), { path: 'postgresStore.prefix' }],
  ['no options', () => postgresStore(pool, null as never), { path: 'postgresStore' }],
  [
    'a deadline that is none',
    () => postgresStore(pool, { deadline: 'soon' as never }),
    { path: 'postgresStore.deadline' },
  ],
])('%s is an error where it is written', (_, make, expected) => {
  expect(make).toThrow(expect.objectContaining(expected));
});

test('stores over one pool and table keep the same states', () => {
  expect(postgresStore(pool).place).toBe(postgresStore(pool, { raw: true }).place);
  expect(postgresStore(pool).place).not.toBe(postgresStore(pool, { table: 'other' }).place);
  expect(postgresStore(pool).place).not.toBe(postgresStore(sql).place);
});

describe('an outage is bounded and loud, and ends by itself', () => {
  /** The default is 1 s of silence, counted while this process runs: on a busy machine a good deal longer by the clock on the wall. */
  const BOUND_MS = 20_000;

  test.each(['pg', 'postgres'] as const)('killed, over %s', async (name) => {
    const own = await startPostgres();
    const ownPool = poolOf(own);
    const ownSql = postgres(own.url, { onnotice: () => undefined });
    await createTable(ownPool);
    let start: (() => Promise<void>) | undefined;
    await expectBoundedOutage({
      store: postgresStore(name === 'pg' ? ownPool : ownSql),
      begin: async () => {
        start = await own.crash();
      },
      end: () => start!(),
      bound: BOUND_MS,
    });
    await Promise.all([ownPool.end(), ownSql.end({ timeout: 1 })]);
    await own.stop();
  });

  test('it hangs', async () => {
    const own = await startPostgres();
    const ownPool = poolOf(own);
    await createTable(ownPool);
    const backends = async (): Promise<number[]> =>
      (await ownPool.query('SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()')).rows.map(
        ({ pid }) => pid,
      );
    let stopped: number[] = [];
    await expectBoundedOutage({
      store: postgresStore(ownPool),
      begin: async () => {
        stopped = [...(await backends()), own.process.pid!];
        const { rows } = await ownPool.query('SELECT pg_backend_pid() AS pid');
        for (const pid of [...stopped, rows[0].pid as number]) process.kill(pid, 'SIGSTOP');
        stopped.push(rows[0].pid);
      },
      end: () => {
        for (const pid of stopped) process.kill(pid, 'SIGCONT');
      },
      bound: BOUND_MS,
    });
    await ownPool.end();
    await own.stop();
  });
});
