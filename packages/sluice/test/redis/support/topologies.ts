/**
 * Every way to reach a server: each client package, on a single server, a cluster and behind Sentinel, on Redis and on Valkey.
 * A test that says "through every client" walks this table; a new client is a line in it.
 */
import { GlideClient, GlideClusterClient, Logger } from '@valkey/valkey-glide';
import { Cluster, Redis } from 'ioredis';
import { createClient, createClientPool, createCluster, createSentinel } from 'redis';
import {
  type RunningCluster,
  type RunningSentinel,
  type RunningServer,
  type ServerKind,
  startCluster,
  startSentinel,
  startServer,
} from '../../../../../tools/servers/index.ts';
import type { Store } from '../../../src/index.ts';
import * as ioredis from '../../../src/presets/ioredis.ts';
import * as nodeRedis from '../../../src/presets/node-redis.ts';
import * as valkeyGlide from '../../../src/presets/valkey-glide.ts';
import type { RedisStoreOptions } from '../../../src/redis/redis-store.ts';
import type { RunScript } from '../../../src/redis/run-script.ts';

export const SERVER_KINDS = ['redis', 'valkey'] as const satisfies readonly ServerKind[];

export type Shape = 'single' | 'cluster' | 'sentinel';

/** The servers of one kind. Each shape is started when it is first asked for, and then shared by all that ask. */
export interface Servers {
  single(): Promise<RunningServer>;
  cluster(): Promise<RunningCluster>;
  sentinel(): Promise<RunningSentinel>;
  stop(): Promise<void>;
}

export interface Connection {
  readonly run: RunScript;
  /** The bare store: what is under test is Redis, not what answers in its place. */
  store(options?: RedisStoreOptions): Store;
  close(): Promise<void>;
}

export interface Topology {
  readonly title: string;
  readonly kind: ServerKind;
  readonly shape: Shape;
  connect(servers: Servers): Promise<Connection>;
}

export function serversOf(kind: ServerKind): Servers {
  const started: Promise<{ stop(): Promise<void> }>[] = [];
  const once = <T extends { stop(): Promise<void> }>(start: () => Promise<T>): (() => Promise<T>) => {
    let running: Promise<T> | undefined;
    return () => {
      if (running === undefined) {
        running = start();
        started.push(running);
      }
      return running;
    };
  };
  return {
    single: once(() => startServer({ kind })),
    cluster: once(() => startCluster({ kind })),
    sentinel: once(() => startSentinel({ kind })),
    async stop() {
      await Promise.all(started.map(async (running) => (await running).stop()));
    },
  };
}

/** GLIDE prints each error that it also throws. */
Logger.init('off');

/** GLIDE gives up after 250 ms by default, and to connect after 2 s, which a busy test machine can need for nothing at all. */
export const GLIDE_TIMEOUT = { requestTimeout: 30_000, advancedConfiguration: { connectionTimeout: 30_000 } };

/** A client that nobody listens to ends the process at its first error; the failing command tells the test just as well. */
function quiet<T extends { on(event: 'error', listener: () => void): unknown }>(client: T): T {
  client.on('error', () => undefined);
  return client;
}

async function overIoredis(client: Redis | Cluster): Promise<Connection> {
  await client.ping();
  return {
    run: ioredis.runScriptWith(client),
    store: (options) => ioredis.redisStore(client, { ...options, raw: true }),
    close: async () => client.disconnect(),
  };
}

type NodeRedisFamily = nodeRedis.NodeRedisClient & { connect(): Promise<unknown>; destroy(): void | Promise<void> };

async function overNodeRedis(client: NodeRedisFamily): Promise<Connection> {
  await client.connect();
  return {
    run: nodeRedis.runScriptWith(client),
    store: (options) => nodeRedis.redisStore(client, { ...options, raw: true }),
    close: async () => client.destroy(),
  };
}

function overGlide(client: GlideClient | GlideClusterClient): Connection {
  return {
    run: valkeyGlide.runScriptWith(client),
    store: (options) => valkeyGlide.redisStore(client, { ...options, raw: true }),
    close: async () => client.close(),
  };
}

const CONNECTIONS: Readonly<Record<string, { shape: Shape; connect(servers: Servers): Promise<Connection> }>> = {
  'node-redis client': {
    shape: 'single',
    connect: async (servers) => overNodeRedis(quiet(createClient({ url: (await servers.single()).url }))),
  },
  'node-redis pool': {
    shape: 'single',
    connect: async (servers) => overNodeRedis(quiet(createClientPool({ url: (await servers.single()).url }))),
  },
  'node-redis cluster': {
    shape: 'cluster',
    async connect(servers) {
      const { nodes } = await servers.cluster();
      return overNodeRedis(quiet(createCluster({ rootNodes: nodes.map(({ url }) => ({ url })) })));
    },
  },
  'node-redis sentinel': {
    shape: 'sentinel',
    async connect(servers) {
      const { masterName, sentinels } = await servers.sentinel();
      return overNodeRedis(quiet(createSentinel({ name: masterName, sentinelRootNodes: [...sentinels] })));
    },
  },
  'ioredis client': {
    shape: 'single',
    connect: async (servers) => overIoredis(quiet(new Redis((await servers.single()).port))),
  },
  'ioredis cluster': {
    shape: 'cluster',
    connect: async (servers) => overIoredis(quiet(new Cluster([...(await servers.cluster()).startupNodes]))),
  },
  'ioredis sentinel': {
    shape: 'sentinel',
    async connect(servers) {
      const { masterName, sentinels } = await servers.sentinel();
      return overIoredis(quiet(new Redis({ name: masterName, sentinels: [...sentinels] })));
    },
  },
  'valkey-glide client': {
    shape: 'single',
    async connect(servers) {
      const { host, port } = await servers.single();
      return overGlide(await GlideClient.createClient({ addresses: [{ host, port }], ...GLIDE_TIMEOUT }));
    },
  },
  'valkey-glide cluster': {
    shape: 'cluster',
    async connect(servers) {
      const addresses = [...(await servers.cluster()).startupNodes];
      return overGlide(await GlideClusterClient.createClient({ addresses, ...GLIDE_TIMEOUT }));
    },
  },
};

export const TOPOLOGIES: readonly Topology[] = SERVER_KINDS.flatMap((kind) =>
  Object.entries(CONNECTIONS).map(([client, { shape, connect }]) => ({
    title: `${client} on ${kind}`,
    kind,
    shape,
    connect,
  })),
);
