/** The service on every kind of Redis there is: a cluster, behind sentinels, over TLS, with a password. All of them real. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type RunningCluster,
  type RunningSentinel,
  type RunningServer,
  startCluster,
  startSentinel,
  startServer,
} from '../../../tools/servers/index.ts';
import { eventually, type ServingProcess, serve } from './processes.ts';
import { run } from './run.ts';
import { ask, type Reply } from './support.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-topologies-'));
const config = join(folder, 'policies.yaml');
writeFileSync(config, 'policies:\n  api: { algorithm: fixed-window, limit: 100, window: 36500d }\n');
afterAll(() => rmSync(folder, { recursive: true }));

/** A long deadline: on a busy machine nothing is to be answered by anybody but Redis. */
const serving = (redis: string, more: readonly string[] = [], environment: Record<string, string> = {}) =>
  serve(['--no-lab', '--config', config, '--redis', redis, '--deadline', '10s', ...more], environment);
const attempt = (server: ServingProcess, key: string): Promise<Reply> =>
  ask(`${server.url}/v1/attempt`, { method: 'POST', body: JSON.stringify({ policy: 'api', key }) });

/** Until Redis answers this key itself again. A failover takes some seconds. */
async function answeredByStore(server: ServingProcess, key: string): Promise<Reply> {
  const endsAt = performance.now() + 30_000;
  for (;;) {
    const reply = await attempt(server, key);
    if (reply.body.source === 'store' || performance.now() > endsAt) return reply;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

describe('a cluster', () => {
  let cluster: RunningCluster;
  let address: string;
  beforeAll(async () => {
    cluster = await startCluster({ kind: 'redis' });
    // Some of its nodes are enough.
    const nodes = cluster.startupNodes.slice(0, 2).map(({ host, port }) => `${host}:${port}`);
    address = `redis+cluster://${nodes.join(',')}`;
  });
  afterAll(() => cluster.stop());

  test('two servers enforce one limit exactly, for keys in every slot', async () => {
    const servers = await Promise.all([serving(address), serving(address)]);
    expect(servers[0]!.greeting).toContain(`its state is on Redis at ${address}`);
    const keys = Array.from({ length: 3 }, (_, index) => `key ${index}`);
    const replies = await Promise.all(
      Array.from({ length: 390 }, (_, index) => attempt(servers[index % 2]!, keys[index % 3]!)),
    );
    for (const key of keys) {
      const own = replies.filter((_, index) => keys[index % 3] === key);
      expect(own).toHaveLength(130);
      expect(own.filter(({ body }) => body.allowed)).toHaveLength(100);
    }
    expect(new Set(replies.map(({ body }) => body.source))).not.toContain('fallback');
    expect((await ask(`${servers[0]!.url}/readyz`, {})).body).toMatchObject({ ready: true, store: 'up' });
    await Promise.all(servers.map((server) => server.stop()));
  });

  test('from the command line', async () => {
    const at = (...args: string[]) => run([...args, '--redis', address, '--config', config]);
    expect(await at('attempt', 'ann', '--policy', 'api')).toMatchObject({ code: 0, out: /99 of 100/ });
    for (const more of [[], ['--policy', 'api']]) {
      const { code, out } = await at('inspect', 'ann', '--json', ...more);
      expect([code, JSON.parse(out).states]).toMatchObject([
        0,
        [{ policy: 'api', state: { count: 1 }, left: { remaining: 99 } }],
      ]);
    }
  });

  test('a master is killed: the others go on, and its replica takes over with what was spent', async () => {
    const server = await serving(address);
    const keys = Array.from({ length: 12 }, (_, index) => `failover ${index}`);
    for (const key of keys) expect((await attempt(server, key)).body).toMatchObject({ remaining: 99, source: 'store' });
    const sizes = () => Promise.all(cluster.nodes.map((node) => node.command('DBSIZE')));
    const isCopied = (list: unknown[]): boolean => sum(list.slice(0, 3)) === sum(list.slice(3));
    expect(isCopied(await eventually(sizes, isCopied))).toBe(true);
    await cluster.nodes[0]!.stop();
    for (const key of keys) {
      const { body } = await answeredByStore(server, key);
      expect([key, body.source]).toEqual([key, 'store']);
      expect(body.remaining).toBeLessThan(99);
    }
    await server.stop();
  });
});

describe('behind sentinels', () => {
  let sentinel: RunningSentinel;
  beforeAll(async () => {
    sentinel = await startSentinel({ kind: 'redis' });
  });
  afterAll(() => sentinel.stop());

  test('the master, and after it is killed the next one, with what was spent', async () => {
    const { host, port } = sentinel.sentinels[0]!;
    const address = `redis+sentinel://${host}:${port}/${sentinel.masterName}`;
    const server = await serving(address);
    expect(server.greeting).toContain(`its state is on Redis at ${address}`);
    expect((await attempt(server, 'ann')).body).toMatchObject({ remaining: 99, source: 'store' });
    const at = (...args: string[]) => run([...args, '--redis', address, '--config', config]);
    expect(await at('peek', 'ann', '--policy', 'api')).toMatchObject({ code: 0, out: /99 of 100/ });
    expect(
      await eventually(
        () => sentinel.replica.command('DBSIZE'),
        (size) => size === 1,
      ),
    ).toBe(1);
    await sentinel.master.stop();
    const { body } = await answeredByStore(server, 'ann');
    expect(body.source).toBe('store');
    expect(body.remaining).toBeLessThan(99);
    await server.stop();
  });
});

describe('over TLS and with a password', () => {
  const tls = (name: string): string => fileURLToPath(new URL(`tls/${name}`, import.meta.url));
  const [ca, cert, key] = ['ca.pem', 'localhost.pem', 'localhost.key'].map(tls) as [string, string, string];
  let redis: RunningServer;
  let address: string;
  beforeAll(async () => {
    const port = await freePort();
    redis = await startServer({
      kind: 'redis',
      args: ['--tls-port', String(port), '--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', ca],
    });
    await redis.command('ACL', 'SETUSER', 'ann', 'on', '>secret', '~*', '&*', '+@all');
    address = `rediss://127.0.0.1:${port}`;
  });
  afterAll(() => redis.stop());

  test('by whoever the given certificate says, as one who shows its own', async () => {
    const environment = { SLUICE_REDIS_CA: ca, SLUICE_REDIS_CERT: cert, SLUICE_REDIS_KEY: key };
    const server = await serving(address, [], environment);
    expect((await attempt(server, 'ann')).body).toMatchObject({ remaining: 99, source: 'store' });
    await server.stop();
    const by = ['--redis', address, '--config', config, '--redis-ca', ca, '--redis-cert', cert, '--redis-key', key];
    expect(await run(['peek', 'ann', '--policy', 'api', ...by])).toMatchObject({ code: 0, out: /99 of 100/ });
  });

  test.each([
    ['nobody has signed', ['--redis-cert', cert, '--redis-key', key]],
    ['the server wants to see one too', ['--redis-ca', ca]],
  ])('a certificate that %s', async (_, flags) => {
    const { code } = await run(['peek', 'a', '--policy', 'api', '--redis', address, '--config', config, ...flags]);
    expect(code).toBe(3);
  });

  test('a password from the environment, a name in the address', async () => {
    const plain = `redis://ann@127.0.0.1:${redis.port}`;
    const server = await serving(plain, [], { SLUICE_REDIS_PASSWORD: 'secret' });
    expect(server.greeting).not.toContain('secret');
    expect((await attempt(server, 'bob')).body.source).toBe('store');
    await server.stop();
    const wrong = await run([
      'peek',
      'a',
      '--policy',
      'api',
      '--redis',
      plain,
      '--redis-password',
      'x',
      '--config',
      config,
    ]);
    expect([wrong.code, wrong.error]).toEqual([3, expect.stringMatching(/WRONGPASS|invalid username-password/)]);
  });
});

function sum(numbers: readonly unknown[]): number {
  return numbers.reduce<number>((total, number) => total + Number(number), 0);
}

/** Another one than startServer takes, for the second door of one server. */
function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
