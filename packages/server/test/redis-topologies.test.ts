/** The service on every kind of Redis there is: a cluster, behind sentinels, over TLS, with a password. All of them real. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  findServer,
  freePort,
  type RunningCluster,
  type RunningSentinel,
  type RunningServer,
  randomPort,
  spawnServer,
  startCluster,
  startSentinel,
  startServer,
  stopper,
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
    cluster = await startCluster({ kind: 'redis', lostAfterMs: 2000 });
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
    sentinel = await startSentinel({ kind: 'redis', lostAfterMs: 1000 });
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

const tls = (name: string): string => fileURLToPath(new URL(`tls/${name}`, import.meta.url));
const [ca, cert, key] = ['ca.pem', 'localhost.pem', 'localhost.key'].map(tls) as [string, string, string];
const CERTIFICATES = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', ca];

describe('over TLS and with a password', () => {
  let redis: RunningServer;
  let address: string;
  beforeAll(async () => {
    const port = await freePort();
    redis = await startServer({
      kind: 'redis',
      args: ['--tls-port', String(port), ...CERTIFICATES],
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

describe('over TLS', () => {
  const stops: (() => Promise<void>)[] = [];
  afterAll(async () => {
    await Promise.all(stops.map((stop) => stop()));
  });

  /** With a door for TLS beside the plain one. */
  async function startSecured(...args: readonly string[]): Promise<{ node: RunningServer; securedPort: number }> {
    const securedPort = randomPort();
    const secured = ['--tls-port', String(securedPort), '--tls-replication', 'yes', ...CERTIFICATES];
    const node = await startServer({ kind: 'redis', args: [...secured, ...args] });
    stops.push(() => node.stop());
    return { node, securedPort };
  }

  async function expectShared(address: string): Promise<void> {
    const environment = { SLUICE_REDIS_CA: ca, SLUICE_REDIS_CERT: cert, SLUICE_REDIS_KEY: key };
    const at = (...args: string[]) => run([...args, '--redis', address, '--config', config], environment);
    const first = await eventually(
      () => at('attempt', 'ann', '--policy', 'api'),
      ({ code }) => code === 0,
    );
    expect(first).toMatchObject({ code: 0, out: /99 of 100/ });
    const server = await serving(address, [], environment);
    const keys = ['ann', 'bob', 'eve', 'dan', 'joe'];
    const replies = await Promise.all(keys.map((name) => attempt(server, name)));
    expect(replies.map(({ body }) => [body.source, body.remaining])).toEqual(
      keys.map((_, index) => ['store', index === 0 ? 98 : 99]),
    );
    await server.stop();
    const untrusted = await run(['peek', 'ann', '--policy', 'api', '--redis', address, '--config', config]);
    expect(untrusted.code).toBe(3);
  }

  test('a cluster, whose nodes are found by what the first one says', async () => {
    const args = ['--cluster-enabled', 'yes', '--tls-cluster', 'yes', '--cluster-node-timeout', '30000'];
    const nodes = await Promise.all(Array.from({ length: 3 }, () => startSecured(...args)));
    const ranges = [
      ['0', '5460'],
      ['5461', '10922'],
      ['10923', '16383'],
    ];
    for (const [index, { node, securedPort }] of nodes.entries()) {
      await node.command('CLUSTER', 'ADDSLOTSRANGE', ...ranges[index]!);
      await node.command('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
      await nodes[0]!.node.command('CLUSTER', 'MEET', node.host, String(securedPort));
    }
    const states = () => Promise.all(nodes.map(({ node }) => node.command('CLUSTER', 'INFO')));
    const isOk = (list: unknown[]): boolean => list.every((text) => String(text).includes('cluster_state:ok'));
    expect(isOk(await eventually(states, isOk))).toBe(true);
    await expectShared(`rediss+cluster://127.0.0.1:${nodes[0]!.securedPort}`);
    const sizes = await Promise.all(nodes.map(({ node }) => node.command('DBSIZE')));
    expect(sum(sizes)).toBe(5);
    expect(sizes.filter((size) => Number(size) > 0).length).toBeGreaterThan(1);
  });

  test('a master that sentinels know, who speak TLS too', async () => {
    const { node, securedPort } = await startSecured();
    const home = mkdtempSync(join(tmpdir(), 'sluice-sentinel-'));
    const [file, port] = [join(home, 'sentinel.conf'), randomPort()];
    const lines = [
      ...['port 0', `tls-port ${port}`, 'bind 127.0.0.1', 'tls-replication yes'],
      ...[`tls-cert-file ${cert}`, `tls-key-file ${key}`, `tls-ca-cert-file ${ca}`],
      `sentinel monitor sluice ${node.host} ${securedPort} 1`,
    ];
    writeFileSync(file, `${lines.join('\n')}\n`);
    const sentinel = spawnServer(await findServer('redis'), [file, '--sentinel'], home, join(home, 'sentinel.log'));
    stops.push(stopper(sentinel, home));
    await expectShared(`rediss+sentinel://127.0.0.1:${port}/sluice`);
  });
});

function sum(numbers: readonly unknown[]): number {
  return numbers.reduce<number>((total, number) => total + Number(number), 0);
}
