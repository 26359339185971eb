/**
 * What the store in a SQLite file does, on any runtime that has one: run with the name of a package, prints the scenes that held. Each has a file of its
 * own.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { createLimiter, slidingWindowLog, tokenBucket } from 'sluice';
import { sqliteStore } from 'sluice/sqlite';
import { attemptOf } from 'sluice/store';
import { OPEN } from './open-store.mjs';

const [engine] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'sluice-sqlite-'));
const policy = tokenBucket({ name: 'scene', capacity: 5, refillRate: '1/d' });
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const SCENES = {
  async 'answers with values, through all layers'(open) {
    const { store } = await open({});
    const answer = store.ask(attemptOf([{ key: 'key', policy, cost: 5 }]));
    assert.equal(answer.remaining, 0);
    assert.equal(store.ask(attemptOf([{ key: 'key', policy, cost: 1 }])).allowed, false);
  },

  async 'waits for another writer, and the process goes on meanwhile'(open) {
    const { store } = await open({ deadline: '60s' });
    const limiter = createLimiter({ policy, store });
    await limiter.attempt('key');
    const { database: other } = await open({});
    other.exec('BEGIN IMMEDIATE');
    const asked = Promise.all(Array.from({ length: 6 }, () => limiter.attempt('key')));
    let ticks = 0;
    while (ticks < 5) {
      await sleep(1);
      ticks += 1;
    }
    other.exec('COMMIT');
    const answers = await asked;
    assert.deepEqual(
      answers.map(({ allowed, source }) => [allowed, source]),
      [...Array(4).fill([true, 'store']), ...Array(2).fill([false, 'store'])],
    );
  },

  async 'an outage is bounded and loud, and ends by itself'(open) {
    const codes = [];
    const listen = ({ code }) => String(code).startsWith('SLUICE_') && codes.push(code);
    process.on('warning', listen);
    const { store } = await open({ deadline: '200ms' });
    const limiter = createLimiter({ policy: tokenBucket({ capacity: 100, refillRate: '1/d' }), store });
    assert.equal((await limiter.attempt('key', { cost: 10 })).remaining, 90);
    const { database: other } = await open({});
    other.exec('BEGIN EXCLUSIVE');
    for (let time = 0; time < 12; time += 1) {
      const { source, remaining } = await limiter.attempt('key');
      assert.deepEqual([source, remaining], ['fallback', 89 - time]);
    }
    other.exec('COMMIT');
    while ((await limiter.attempt('key')).source !== 'store') await sleep(20);
    while (codes.length < 2) await sleep(5);
    assert.deepEqual(codes, ['SLUICE_STORE_AWAY', 'SLUICE_STORE_BACK']);
    process.off('warning', listen);
  },

  async 'an attempt on several keys is all or nothing'(open) {
    const { store } = await open({});
    const limiter = createLimiter({ policy, store });
    await limiter.attempt('empty', { cost: 5 });
    const checks = (...keys) => attemptOf(keys.map((key) => ({ key, policy, cost: 1 })));
    assert.equal(store.ask(checks('full', 'empty')).allowed, false);
    assert.equal((await limiter.peek('full')).remaining, 5);
    assert.equal(store.ask(checks('full', 'other')).allowed, true);
    assert.equal((await limiter.peek('other')).remaining, 4);
  },

  async 'expired rows are removed by those who pass by, and no others'(open) {
    const { store, database } = await open({});
    const limiter = createLimiter({ policy: slidingWindowLog({ limit: 1e6, window: '1d' }), store });
    await limiter.attempt('first');
    const insert = database.prepare('INSERT INTO sluice (key, state, expires) VALUES (?, ?, ?)');
    for (let row = 0; row < 2000; row += 1) {
      insert.run(`old ${row}`, new Uint8Array(1), 1);
      if (row % 10 === 0) insert.run(`new ${row}`, new Uint8Array(1), Date.now() + 1e7);
    }
    const count = (like) =>
      Number(database.prepare('SELECT count(*) AS rows FROM sluice WHERE key LIKE ?').get(like).rows);
    for (let time = 0; count('old %') > 0; time += 1) {
      assert.ok(time < 64 * 20, 'too many are left');
      await limiter.attempt('first');
    }
    assert.equal(count('new %'), 200);
    assert.equal(count('sluice:first'), 1);
  },

  async 'what was reset is gone'(open) {
    const { store, database } = await open({});
    const limiter = createLimiter({ policy, store });
    await limiter.attempt('key');
    await limiter.reset('key');
    assert.equal(Number(database.prepare('SELECT count(*) AS rows FROM sluice').get().rows), 0);
    assert.equal((await limiter.attempt('key')).remaining, 4);
  },

  async 'no two keys share a row'(open) {
    const { store } = await open({});
    const limiter = createLimiter({ policy, store });
    const keys = [
      '',
      '%',
      '\0',
      'a\0b',
      'a',
      '\ud800',
      '\ud801',
      '\ufffd',
      "'",
      'x'.repeat(9000),
      `${'x'.repeat(8999)}y`,
    ];
    for (const key of keys) assert.equal((await limiter.attempt(key)).remaining, 4, JSON.stringify(key.slice(0, 9)));
    for (const key of keys) assert.equal((await limiter.attempt(key)).remaining, 3, JSON.stringify(key.slice(0, 9)));
  },

  async 'a file that cannot be written is said, and no fallback answers'(open) {
    const { database } = await open({});
    database.exec('CREATE TABLE sluice (key TEXT NOT NULL UNIQUE, state BLOB NOT NULL, expires INTEGER NOT NULL)');
    database.exec('PRAGMA query_only = 1');
    const limiter = createLimiter({ policy, store: sqliteStore(database) });
    await assert.rejects(limiter.attempt('key'), {
      code: 'SLUICE_STORE_REFUSES',
      message: /Open the file for writing/,
    });
  },

  async 'what is wrong is said where it is written'(open) {
    const { database } = await open({});
    assert.throws(() => sqliteStore(undefined), { code: 'SLUICE_INVALID_CLIENT' });
    assert.throws(() => sqliteStore('limits.db'), { code: 'SLUICE_INVALID_CLIENT' });
    assert.throws(() => sqliteStore(database, { table: 'a; b' }), { path: 'sqliteStore.table' });
    assert.throws(() => sqliteStore(database, { tabel: 'a' }), { path: 'sqliteStore.tabel' });
    assert.throws(() => sqliteStore(database, { deadline: 'soon' }), { path: 'sqliteStore.deadline' });
    assert.equal(sqliteStore(database).place, sqliteStore(database, { raw: true }).place);
  },
};

const held = [];
for (const [title, scene] of Object.entries(SCENES)) {
  const env = { SQLITE_FILE: join(folder, `${held.length}.db`) };
  const opened = [];
  await scene(async (options) => {
    opened.push(await OPEN[engine](env, { denyCache: false, ...options }));
    return opened.at(-1);
  });
  for (const { close } of opened) close();
  held.push(title);
}
rmSync(folder, { recursive: true });
console.log(JSON.stringify(held));
