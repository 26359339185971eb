/**
 * An attempt whose reply was lost with its connection was spent once, and stays spent once: no client may send it again when it has
 * connected anew, whatever it does with other commands.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { GlideClient, Logger } from '@valkey/valkey-glide';
import { Cluster, Redis } from 'ioredis';
import { createClient, createCluster } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type RunningCluster,
  type RunningProxy,
  type RunningServer,
  startCluster,
  startProxy,
  startServer,
} from '../../../../tools/servers/index.ts';
import { waitUntil } from '../../../../tools/servers/wait-until.ts';
import { createLimiter, fixedWindow, type Store } from '../../src/index.ts';
import * as ioredis from '../../src/presets/ioredis.ts';
import * as nodeRedis from '../../src/presets/node-redis.ts';
import * as valkeyGlide from '../../src/presets/valkey-glide.ts';
import { GLIDE_TIMEOUT } from './support/topologies.ts';

/** GLIDE prints each error that it also throws. */
Logger.init('off');

interface Connection {
  readonly store: Store;
  close(): void;
}

interface Address {
  readonly host: string;
  readonly port: number;
}
/** Where a server says it is, and the proxy in front of it. */
type Addresses = Readonly<Record<string, Address>>;

const overIoredis = (client: Redis | Cluster): Connection => ({
  store: ioredis.redisStore(
    client.on('error', () => undefined),
    { raw: true },
  ),
  close: () => client.disconnect(),
});

const overNodeRedis = async (
  client: nodeRedis.NodeRedisClient & { connect(): Promise<unknown>; destroy(): void },
): Promise<Connection> => {
  await client.connect();
  return { store: nodeRedis.redisStore(client, { raw: true }), close: () => client.destroy() };
};

const SINGLE: Readonly<Record<string, (address: Address) => Promise<Connection>>> = {
  ioredis: async ({ port }) => overIoredis(new Redis(port)),
  'ioredis with a prefix for keys': async ({ port }) => overIoredis(new Redis(port, { keyPrefix: 'ours:' })),
  'ioredis with automatic pipelines': async ({ port }) => overIoredis(new Redis(port, { enableAutoPipelining: true })),
  'node-redis': async (socket) => overNodeRedis(createClient({ socket: { ...socket } }).on('error', () => undefined)),
  async 'valkey-glide'(address) {
    const client = await GlideClient.createClient({ addresses: [address], ...GLIDE_TIMEOUT });
    return { store: valkeyGlide.redisStore(client, { raw: true }), close: () => client.close() };
  },
};

const CLUSTER: Readonly<Record<string, (addresses: Addresses) => Promise<Connection>>> = {
  'ioredis cluster': async (natMap) => overIoredis(new Cluster(Object.values(natMap), { natMap })),
  async 'node-redis cluster'(nodeAddressMap) {
    // Copies, because it writes into those of the root nodes that they are not to reconnect.
    const rootNodes = Object.values(nodeAddressMap).map((address) => ({ socket: { ...address } }));
    return overNodeRedis(createCluster({ rootNodes, nodeAddressMap }).on('error', () => undefined));
  },
};

/** Few enough for one call with every client, so that all of them are carried out or none. */
const ATTEMPTS = 16;
const policy = fixedWindow({ limit: 1_000_000, window: '1d' });

interface Way {
  readonly servers: readonly RunningServer[];
  readonly proxies: readonly RunningProxy[];
  readonly connection: Connection;
}

async function expectSpentOnce({ servers, proxies, connection }: Way): Promise<void> {
  const limiter = createLimiter({ policy, store: connection.store });
  const key = `key ${Math.random()}`;
  const attempts = () => Array.from({ length: ATTEMPTS }, () => limiter.attempt(key));
  // So that the server knows the script of a batch: one that it does not know it does not carry out.
  const before = (await Promise.all(attempts())).at(-1)!;
  const callsBefore = await callsOf(servers);

  for (const proxy of proxies) proxy.hold('replies');
  const lost = attempts().map((answer) =>
    answer.then(
      () => 'answered',
      () => 'rejected',
    ),
  );
  await waitUntil('the server has carried them out', async () => (await callsOf(servers)) > callsBefore);
  for (const proxy of proxies) proxy.reset();
  for (const proxy of proxies) proxy.pass();

  expect(await Promise.all(lost)).toEqual(lost.map(() => 'rejected'));
  const after = await firstAnswer(() => limiter.attempt(key));
  expect(before.remaining - after.remaining).toBe(ATTEMPTS + 1);
}

describe('a single server', () => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await startServer({ kind: 'redis' });
  });
  afterAll(() => server.stop());

  it.each(Object.keys(SINGLE))('%s rejects what has lost its reply, and does not send it again', async (name) => {
    const proxy = await startProxy(server);
    const connection = await SINGLE[name]!({ host: proxy.host, port: proxy.port });
    await expectSpentOnce({ servers: [server], proxies: [proxy], connection });
    connection.close();
    await proxy.stop();
  });
});

describe('a cluster', () => {
  let cluster: RunningCluster;
  beforeAll(async () => {
    cluster = await startCluster({ kind: 'redis' });
  });
  afterAll(() => cluster.stop());

  it.each(Object.keys(CLUSTER))('%s rejects what has lost its reply, and does not send it again', async (name) => {
    const proxies = await Promise.all(cluster.nodes.map((node) => startProxy(node)));
    const addresses = cluster.nodes.map(({ host, port }, index) => {
      const proxy = proxies[index]!;
      return [`${host}:${port}`, { host: proxy.host, port: proxy.port }] as const;
    });
    const connection = await CLUSTER[name]!(Object.fromEntries(addresses));
    await expectSpentOnce({ servers: cluster.nodes, proxies, connection });
    connection.close();
    await Promise.all(proxies.map((proxy) => proxy.stop()));
  });
});

async function callsOf(servers: readonly RunningServer[]): Promise<number> {
  const statistics = await Promise.all(servers.map(({ command }) => command('INFO', 'commandstats')));
  const calls = [...statistics.join().matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)];
  return calls.reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Of a client that has to connect first: attempts that it does not send are not spent. */
async function firstAnswer<T>(attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch {
      await sleep(20);
    }
  }
}
