/** `redisStore(client)` as people set it up, rightly and wrongly, on real servers: what is refused says so, what is away is said aloud. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Cluster, Redis } from 'ioredis';
import { createClient, createCluster } from 'redis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type RunningServer, startCluster, startServer } from '../../../../tools/servers/index.ts';
import { createLimiter, fixedWindow, type SluiceError, type Store, tokenBucket } from '../../src/index.ts';
import { redisStore as overIoredis } from '../../src/presets/ioredis.ts';
import { redisStore as overNodeRedis } from '../../src/presets/node-redis.ts';
import { commandsDuring } from './support/server-statistics.ts';

let server: RunningServer;
const closing: (() => unknown)[] = [];
let warnings: SluiceError[] = [];
const onWarning = (warning: Error): void => {
  warnings.push(warning as SluiceError);
};

beforeAll(async () => {
  server = await startServer({ kind: 'redis' });
});
afterAll(() => server.stop());
beforeEach(() => {
  warnings = [];
  process.on('warning', onWarning);
});
afterEach(async () => {
  process.off('warning', onWarning);
  for (const close of closing.splice(0)) await close();
});

const policy = tokenBucket({ capacity: 5, refillRate: '1/h' });
const attempt = (store: Store) => createLimiter({ policy, store }).attempt('someone');

/** A turn of the event loop: warnings are emitted in the next one. */
const turn = () => new Promise((resolve) => setImmediate(resolve));
const codes = () => warnings.map(({ code }) => code);

function ioredis(options: object): Redis {
  const client = new Redis({ port: server.port, ...options });
  closing.push(() => client.disconnect());
  return client;
}

function nodeRedis(options: object) {
  const client = createClient({ url: server.url, ...options });
  closing.push(() => client.destroy());
  return client;
}

describe('what no waiting mends rejects with a sentence, and no fallback answers', () => {
  beforeAll(async () => {
    await server.command('ACL', 'SETUSER', 'weak', 'on', '>secret', '~*', '+@all', '-evalsha', '-eval');
    await server.command('ACL', 'SETUSER', 'reader', 'on', '>secret', '~*', '+@all', '-set', '-incrby', '-setrange');
    await server.command('ACL', 'SETUSER', 'elsewhere', 'on', '>secret', '~other:*', '+@all');
  });

  test.each(['weak', 'reader', 'elsewhere'])('no permission: %s', async (username) => {
    for (const store of [
      overIoredis(ioredis({ username, password: 'secret' })),
      overNodeRedis(await nodeRedis({ username, password: 'secret' }).connect()),
    ]) {
      await expect(attempt(store)).rejects.toMatchObject({
        code: 'SLUICE_STORE_REFUSES',
        kind: 'mistake',
        sentence: expect.stringContaining('+evalsha +eval'),
      });
    }
    expect(codes()).not.toContain('SLUICE_STORE_AWAY');
  });

  test('the commands that the sentence names are enough', async () => {
    const commands = [
      'evalsha',
      'eval',
      'time',
      'get',
      'set',
      'setrange',
      'getrange',
      'incrby',
      'pexpireat',
      'pexpire',
    ];
    const rights = [...commands, 'pttl', 'mget', 'del'].map((command) => `+${command}`);
    // What clients send by themselves when they connect.
    const ofClients = ['+ping', '+info', '+hello', '+client', '+select'];
    await server.command('ACL', 'SETUSER', 'enough', 'on', '>secret', '~sluice:*', '-@all', ...rights, ...ofClients);
    const limiter = createLimiter({ policy, store: overIoredis(ioredis({ username: 'enough', password: 'secret' })) });
    for (let times = 0; times < 3; times += 1) await limiter.attempt('enough');
    await Promise.all(Array.from({ length: 10 }, (_, index) => limiter.attempt(`enough ${index}`)));
    await limiter.block('enough', '1m');
    await limiter.unblock('enough');
    await limiter.penalize('enough');
    const { source } = await limiter.refund('enough');
    await limiter.reset('enough');
    expect(source).toBe('store');
  });

  test('a wrong password', async () => {
    const guarded = await startServer({ kind: 'redis' });
    closing.push(() => guarded.stop());
    await guarded.command('CONFIG', 'SET', 'requirepass', 'secret');
    const wrong = { port: guarded.port, password: 'wrong' };
    const connecting = nodeRedis({ url: guarded.url, password: 'wrong' });
    connecting.on('error', () => undefined);
    connecting.connect().catch(() => undefined);
    for (const store of [overIoredis(ioredis(wrong)), overNodeRedis(connecting)]) {
      await expect(attempt(store)).rejects.toMatchObject({
        code: 'SLUICE_STORE_REFUSES',
        sentence: expect.stringContaining('password'),
      });
    }
  });

  test('a key that another program uses', async () => {
    await server.command('LPUSH', 'sluice:{someone}2t:mine', 'not a state');
    const mine = tokenBucket({ name: 'mine', capacity: 5, refillRate: 1 });
    const limiter = createLimiter({ policy: mine, store: overIoredis(ioredis({})) });
    const several = await Promise.allSettled(['someone', 'other', 'someone'].map((key) => limiter.attempt(key)));
    expect(several.map((one) => (one.status === 'fulfilled' ? one.value.source : one.reason.code))).toEqual([
      'SLUICE_STORE_REFUSES',
      'store',
      'SLUICE_STORE_REFUSES',
    ]);
    await expect(limiter.attempt('someone')).rejects.toMatchObject({ code: 'SLUICE_STORE_REFUSES' });
  });

  test('a replica', async () => {
    const replica = await startServer({ kind: 'redis', args: ['--replicaof', `${server.host} ${server.port}`] });
    closing.push(() => replica.stop());
    const store = overIoredis(ioredis({ port: replica.port }));
    await expect(attempt(store)).rejects.toMatchObject({ sentence: expect.stringContaining('primary') });
  });

  test('a client that was never connected', async () => {
    const store = overNodeRedis(createClient({ url: server.url }));
    for (let times = 0; times < 10; times += 1) {
      await expect(attempt(store)).rejects.toMatchObject({
        code: 'SLUICE_INVALID_CLIENT',
        sentence: expect.stringContaining('await client.connect()'),
      });
    }
  });
});

describe('an outage is said aloud, once each way', () => {
  test.each(['ioredis', 'node-redis'])('%s', async (name) => {
    const own = await startServer({ kind: 'redis' });
    closing.push(() => own.stop());
    const store =
      name === 'ioredis'
        ? overIoredis(ioredis({ port: own.port }))
        : overNodeRedis(await nodeRedis({ url: own.url }).connect());
    const limiter = createLimiter({ policy, store });
    expect((await limiter.attempt('someone')).source).toBe('store');
    process.kill(own.pid, 'SIGSTOP');
    for (let times = 0; times < 5; times += 1) expect((await limiter.attempt('other')).source).toBe('fallback');
    process.kill(own.pid, 'SIGCONT');
    await expect.poll(async () => (await limiter.attempt('third')).source).toBe('store');
    await turn();
    expect(codes()).toEqual(['SLUICE_STORE_AWAY', 'SLUICE_STORE_BACK']);
    expect(warnings[0]!.message).toContain('the memory of this process');
  });

  test('since the start', async () => {
    const gone = await startServer({ kind: 'redis' });
    await gone.stop();
    const store = overIoredis(ioredis({ port: gone.port }));
    expect((await attempt(store)).source).toBe('fallback');
    await turn();
    const [first] = warnings.filter(({ code }) => code === 'SLUICE_STORE_AWAY');
    expect(first!.message).toContain('has not answered since the start');
    expect(first!.message).toContain('ECONNREFUSED');
  });

  test('and not with warnings: false', async () => {
    const gone = await startServer({ kind: 'redis' });
    await gone.stop();
    const client = ioredis({ port: gone.port });
    client.on('error', () => undefined);
    expect((await attempt(overIoredis(client, { warnings: false }))).source).toBe('fallback');
    await turn();
    expect(codes()).toEqual([]);
  });

  test('a key goes on from what Redis last said of it', async () => {
    const own = await startServer({ kind: 'redis' });
    closing.push(() => own.stop());
    const limiter = createLimiter({ policy, store: overIoredis(ioredis({ port: own.port })) });
    for (let times = 0; times < 3; times += 1) await limiter.attempt('seen');
    process.kill(own.pid, 'SIGSTOP');
    const told = [];
    for (let times = 0; times < 4; times += 1) told.push(await limiter.attempt('seen'));
    expect(told.map(({ allowed, source }) => [allowed, source])).toEqual([
      [true, 'fallback'],
      [true, 'fallback'],
      [false, 'fallback'],
      [false, 'fallback'],
    ]);
    expect((await limiter.attempt('never seen', { cost: 5 })).allowed).toBe(true);
    process.kill(own.pid, 'SIGCONT');
  });
});

describe("the client's errors do not end the program", () => {
  test.each(['ioredis', 'node-redis'])('%s, with nobody who listens', async (name) => {
    const own = await startServer({ kind: 'redis' });
    const client = name === 'ioredis' ? ioredis({ port: own.port }) : nodeRedis({ url: own.url });
    const store =
      name === 'ioredis'
        ? overIoredis(client as Redis)
        : overNodeRedis(await (client as never as ReturnType<typeof nodeRedis>).connect());
    const limiter = createLimiter({ policy, store });
    expect((await limiter.attempt('someone')).source).toBe('store');
    const closed = once(client, 'error');
    await own.stop();
    await closed;
    expect((await limiter.attempt('someone')).source).toBe('fallback');
    await turn();
    const [heard] = warnings.filter(({ code }) => code === 'SLUICE_CLIENT_ERROR');
    // `once` above listens too, so only what comes later is unheard.
    await expect.poll(() => codes().includes('SLUICE_CLIENT_ERROR') || heard !== undefined).toBe(true);
  });
});

describe('a cluster of which one server hangs', () => {
  test.each(['ioredis', 'node-redis'])('%s: keys of the others are decided by their servers', async (name) => {
    const cluster = await startCluster({ kind: 'redis' });
    closing.push(() => cluster.stop());
    let store: Store;
    if (name === 'ioredis') {
      const client = new Cluster([...cluster.startupNodes]);
      closing.push(() => client.disconnect());
      store = overIoredis(client);
    } else {
      const client = createCluster({ rootNodes: cluster.nodes.map(({ url }) => ({ url })) });
      closing.push(() => client.destroy());
      store = overNodeRedis(await client.connect());
    }
    const roomy = fixedWindow({ limit: 1e6, window: '36500d' });
    const limiter = createLimiter({ policy: roomy, store });
    const keys = Array.from({ length: 60 }, (_, index) => `key ${index}`);
    const sources = async () =>
      (await Promise.all(keys.map((key) => limiter.attempt(key)))).map(({ source }) => source);
    expect(new Set(await sources())).toEqual(new Set(['store']));
    const [hung] = cluster.nodes;
    const owned = new Set<string>();
    for (const key of keys) {
      const [node] = (await hung!.command('CLUSTER', 'KEYSLOT', `sluice:{${key}}`).then(async (slot) => {
        const slots = (await hung!.command('CLUSTER', 'SLOTS')) as [number, number, [string, number]][];
        return slots.filter(([from, to]) => Number(slot) >= from && Number(slot) <= to).map(([, , [, port]]) => port);
      })) as [number];
      if (node === hung!.port) owned.add(key);
    }
    expect(owned.size).toBeGreaterThan(0);
    process.kill(hung!.pid, 'SIGSTOP');
    const first = await sources();
    const later = await sources();
    process.kill(hung!.pid, 'SIGCONT');
    for (const told of [first, later]) {
      for (const [index, key] of keys.entries()) {
        expect([key, told[index]]).toEqual([key, owned.has(key) ? 'fallback' : 'store']);
      }
    }
    await turn();
    expect(codes().filter((code) => code === 'SLUICE_STORE_AWAY')).toHaveLength(1);
  });
});

describe('two applications on one Redis with the default prefix', () => {
  const script = fileURLToPath(new URL('support/announcing.mjs', import.meta.url));
  const run = (name: string, prefix = '') =>
    promisify(execFile)(process.execPath, [script, server.url, prefix], {
      env: { ...process.env, npm_package_name: name },
    });

  test('are told of the limit they share', async () => {
    await server.command('FLUSHALL');
    expect((await run('shop')).stderr).toBe('');
    expect((await run('shop')).stderr, 'the same application again').toBe('');
    const { stderr } = await run('blog');
    expect(stderr).toContain('SLUICE_SHARED_STATE');
    expect(stderr).toContain('Another application (shop) keeps the limit "api"');
    expect((await run('blog', 'blog')).stderr, 'with a prefix of its own').toBe('');
  });

  test('started by a script, a new release is the same application', async () => {
    await server.command('FLUSHALL');
    const { npm_package_name: _, ...env } = process.env;
    const folder = await mkdtemp(join(tmpdir(), 'sluice-releases-'));
    const start = async (place: string): Promise<string> => {
      await mkdir(join(folder, place), { recursive: true });
      const file = join(folder, place, 'server.mjs');
      await writeFile(file, `await import(${JSON.stringify(pathToFileURL(script).href)});`);
      return (await promisify(execFile)(process.execPath, [file, server.url, ''], { env })).stderr;
    };
    expect(await start('shop/releases/20261118')).toBe('');
    expect(await start('shop/releases/20261119')).toBe('');
    expect(await start('shop/releases/0a1b2c3d')).toBe('');
    expect(await start('blog/releases/20261118')).toContain('SLUICE_SHARED_STATE');
    await rm(folder, { recursive: true });
  });
});

describe('options are refused as they were written', () => {
  test.each<[options: object, sentence: string]>([
    [{ fallback: 'memory' }, `redisStore.fallback: expected 'local', 'allow', 'deny', a store or false, got "memory".`],
    [{ fallbackShare: 8 }, 'redisStore.fallbackShare: expected a number above 0 and at most 1, got 8.'],
    [{ leases: true }, 'redisStore.leases: expected leases() of sluice/layers, called, got true.'],
    [
      { circuitBreaker: 5 },
      'redisStore.circuitBreaker: expected false, or an object with failures, retryAfter, onStateChange, got 5.',
    ],
    [
      { circuitBreaker: 'no' },
      'redisStore.circuitBreaker: expected false, or an object with failures, retryAfter, onStateChange, got "no".',
    ],
    [{ denyCache: 100 }, 'redisStore.denyCache: expected false, or an object with maxKeys, maxAge, got 100.'],
    [{ silence: 'long' }, 'redisStore.silence: expected a positive number of milliseconds'],
    [{ keyPrefix: 'x' }, 'redisStore: unknown option `keyPrefix`.'],
    [{ prefx: 'x' }, 'redisStore: unknown option `prefx`. Did you mean `prefix`?'],
    [{ raw: true, fallback: 'deny' }, 'redisStore: `fallback` has no effect with `raw: true`'],
    [{ wait: 1 }, 'redisStore.wait: expected an object of options (replicas, timeout), got a number.'],
    [
      { fallback: 'deny', fallbackShare: 0.5 },
      'redisStore.fallbackShare: expected no share beside fallback: deny, got 0.5.',
    ],
  ])('%j', (options, sentence) => {
    const client = new Redis({ lazyConnect: true });
    expect(() => overIoredis(client, options)).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^SLUICE_/) }),
    );
    expect(() => overIoredis(client, options)).toThrow(sentence);
  });
});

test('WAIT: an answer that no replica has confirmed is none of the store', async () => {
  const alone = await startServer({ kind: 'redis' });
  closing.push(() => alone.stop());
  const client = ioredis({ port: alone.port });
  const limiter = createLimiter({ policy, store: overIoredis(client, { wait: { replicas: 1, timeout: '20ms' } }) });
  expect((await limiter.attempt('someone')).source).toBe('fallback');
  // That no replica confirms is known now: others do not wait to find it out again, but for one from time to time.
  const startedAt = performance.now();
  const { wait = 0, evalsha = 0 } = await commandsDuring([alone], async () => {
    for (let attempt = 0; attempt < 200; attempt += 1) {
      expect((await limiter.attempt('someone')).source).toBe('fallback');
    }
  });
  const tries = 1 + (performance.now() - startedAt) / 500;
  expect(wait).toBeLessThanOrEqual(tries);
  expect(evalsha).toBeLessThanOrEqual(tries);
  const replica = await startServer({ kind: 'redis', args: ['--replicaof', `${alone.host} ${alone.port}`] });
  closing.push(() => replica.stop());
  await expect.poll(async () => (await limiter.attempt('other')).source, { timeout: 20_000 }).toBe('store');
  expect(await replica.command('EXISTS', 'sluice:{other}2t5,1H')).toBe(1);
});
