/** Engines that are not Redis: the same fixed window on Postgres, in a SQLite file and over Upstash's REST API, beside the peer's store for each. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { runnerImport } from 'vite';
import { count, micros, millis, ratio, spread } from '../report/format.mjs';
import { atLeast } from '../report/reach.mjs';

const SIZES = { quick: { rounds: 5, sliceMs: 300, warmMs: 500 }, full: { rounds: 9, sliceMs: 600, warmMs: 1000 } };
const KEYS = 10_000;
const IN_FLIGHT = [64, 1];
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const tools = async (path) => (await runnerImport(here(`../../tools/${path}`))).module;
const run = promisify(execFile);

export const group = {
  title: 'Postgres, SQLite and Upstash',
  about: "a fixed window on other engines beside rate-limiter-flexible's and Upstash's own stores",
  place: 75,
  async run({ quick, progress }) {
    const size = quick ? SIZES.quick : SIZES.full;
    const cells = [];
    for (const [engine, start] of Object.entries(SERVERS)) {
      progress.group(`engines, ${engine}`);
      const { env, pid, version, program = process.execPath, stop } = await start();
      try {
        const task = JSON.stringify({ engine, env, pid, size, keys: KEYS, inFlight: IN_FLIGHT });
        const { stdout } = await run(program, [here('../measure/engines-worker.mjs'), task]);
        for (const cell of JSON.parse(stdout)) cells.push({ engine, version, ...cell });
      } finally {
        await stop();
      }
    }
    return {
      tables: cells.map(tableOf),
      headlines: cells.filter(({ inFlight }) => inFlight === 64).map(headlineOf),
      behind: cells.flatMap(behindOf),
      reach: [reachOf(cells)],
      cells,
    };
  },
};

const SERVERS = {
  async Postgres() {
    const server = await (await tools('servers/index.ts')).startPostgres();
    return {
      env: { DATABASE_URL: server.url },
      pid: server.process.pid,
      version: server.version,
      stop: () => server.stop(),
    };
  },
  async SQLite() {
    const { installRuntimes, RUNTIMES } = await tools('runtimes/index.ts');
    await installRuntimes();
    const { program } = RUNTIMES.find(({ name }) => name === 'Node 22');
    const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
    const stop = () => rm(folder, { recursive: true, force: true });
    return { env: { SQLITE_FILE: join(folder, 'limits.db') }, version: 'on Node 22, WAL', program, stop };
  },
  async Upstash() {
    const redis = await (await tools('servers/index.ts')).startServer({ kind: 'redis' });
    const front = await (await tools('servers/upstash-front.ts')).startUpstashFront(redis.url);
    const stop = async () => {
      await front.stop();
      await redis.stop();
    };
    return { env: { UPSTASH_URL: front.url, UPSTASH_TOKEN: front.token }, version: 'front on this machine', stop };
  },
};

function tableOf({ engine, version, inFlight, rows }) {
  return {
    title: `${engine} (${version}), ${inFlight} in flight, ${count(KEYS)} keys`,
    columns: ['', 'checks/s', 'min-max', 'times the peer', 'p50 ms', 'p99 ms', 'CPU us', 'server CPU us'],
    rows: rows.map((row) => [
      ...[row.name, count(row.perSecond.median), spread(row.perSecond, count), ratio(row.vs)],
      ...[millis(row.p50Ms.median), millis(row.p99Ms.median), micros(row.cpu.median), micros(row.serverCpu.median)],
    ]),
    notes: [`The peer is ${rows.at(-1).name}. All checks are allowed, and each is a write.`, ...(NOTES[engine] ?? [])],
  };
}

const NOTES = {
  Postgres: [
    'CPU is of this process and of all processes of the server. Sluice does not wait for the disk of the server unless it is `durable`: a crash forgets the attempts of its last second at most.',
  ],
};

const PLACES = { Postgres: 20, SQLite: 21, Upstash: 22 };

function headlineOf({ engine, rows }) {
  const [own, peer] = [rows[0], rows.at(-1)];
  return {
    place: PLACES[engine],
    what: `Checks a second on ${engine}, 64 at a time`,
    sluice: count(own.perSecond.median),
    peer: count(peer.perSecond.median),
    of: peer.name.split(',')[0],
    ratio: own.vs,
    means: 'What one process gets out of the engine it has already',
  };
}

const WHY = {
  Postgres:
    'An attempt is a read and a write, so that the rules are in TypeScript alone; the peer counts in one statement',
  SQLite: 'An attempt is a read and a write',
  Upstash: 'One request for each',
};

/** Where a row of ours is behind the peer. */
function behindOf({ engine, inFlight, rows }) {
  return rows
    .filter(({ name, vs }) => name.startsWith('Sluice') && vs < 0.95)
    .map(({ name, vs }) => ({
      what: `Checks a second on ${engine}, ${inFlight} at a time (${name})`,
      ratio: vs,
      why: WHY[engine],
    }));
}

function reachOf(cells) {
  const { rows } = cells.find(({ engine, inFlight }) => engine === 'Postgres' && inFlight === 64);
  const isDefault = ({ name }) => name.startsWith('Sluice') && !name.includes('durable');
  const own = rows.filter(isDefault).map(({ name, vs }) => [name, vs]);
  return atLeast('Postgres, 64 in flight: checks/s, times RateLimiterPostgres', 3, own);
}
