/** A server that may forget what was spent is noticed, through every client, and one that may not is left in peace. */
import { GlideClient, GlideClusterClient, Logger } from '@valkey/valkey-glide';
import { Cluster, Redis } from 'ioredis';
import { createClient, createClientPool, createCluster, createSentinel } from 'redis';
import { afterAll, describe, expect, it } from 'vitest';
import type { SluiceError } from '../../src/index.ts';
import * as ioredis from '../../src/presets/ioredis.ts';
import * as nodeRedis from '../../src/presets/node-redis.ts';
import * as valkeyGlide from '../../src/presets/valkey-glide.ts';
import { GLIDE_TIMEOUT, SERVER_KINDS, type Servers, serversOf } from './support/topologies.ts';

/** GLIDE prints each error that it also throws. */
Logger.init('off');

type Client = { close(): unknown; check(): Promise<SluiceError[]> };

const quiet = <T extends { on(event: 'error', listener: () => void): unknown }>(client: T): T => {
  client.on('error', () => undefined);
  return client;
};
const overIoredis = (client: Redis | Cluster): Client => ({
  check: () => ioredis.checkServer(quiet(client)),
  close: () => client.disconnect(),
});
const overNodeRedis = async (
  client: nodeRedis.NodeRedisClient & { connect(): Promise<unknown>; destroy(): void | Promise<void> },
): Promise<Client> => {
  await client.connect();
  return { check: () => nodeRedis.checkServer(client), close: () => client.destroy() };
};
const overGlide = (client: GlideClient | GlideClusterClient): Client => ({
  check: () => valkeyGlide.checkServer(client),
  close: () => client.close(),
});

const CLIENTS: Readonly<Record<string, (servers: Servers) => Promise<Client>>> = {
  ioredis: async (servers) => overIoredis(new Redis((await servers.single()).port)),
  'ioredis cluster': async (servers) => overIoredis(new Cluster([...(await servers.cluster()).startupNodes])),
  'node-redis': async (servers) => overNodeRedis(quiet(createClient({ url: (await servers.single()).url }))),
  'node-redis pool': async (servers) => overNodeRedis(quiet(createClientPool({ url: (await servers.single()).url }))),
  'node-redis cluster': async (servers) =>
    overNodeRedis(quiet(createCluster({ rootNodes: (await servers.cluster()).nodes.map(({ url }) => ({ url })) }))),
  async 'node-redis sentinel'(servers) {
    const { masterName, sentinels } = await servers.sentinel();
    return overNodeRedis(quiet(createSentinel({ name: masterName, sentinelRootNodes: [...sentinels] })));
  },
  async 'valkey-glide'(servers) {
    const { host, port } = await servers.single();
    return overGlide(await GlideClient.createClient({ addresses: [{ host, port }], ...GLIDE_TIMEOUT }));
  },
  async 'valkey-glide cluster'(servers) {
    const addresses = [...(await servers.cluster()).startupNodes];
    return overGlide(await GlideClusterClient.createClient({ addresses, ...GLIDE_TIMEOUT }));
  },
};

async function configure(servers: Servers, maxmemory: string, policy: string): Promise<void> {
  const { master, replica } = await servers.sentinel();
  for (const server of [await servers.single(), ...(await servers.cluster()).nodes, master, replica]) {
    await server.command('CONFIG', 'SET', 'maxmemory', maxmemory);
    await server.command('CONFIG', 'SET', 'maxmemory-policy', policy);
  }
}

describe.each(SERVER_KINDS)('%s', (kind) => {
  const servers = serversOf(kind);
  afterAll(() => servers.stop());

  it.each(Object.keys(CLIENTS))('%s is told what the server would forget', async (name) => {
    const client = await CLIENTS[name]!(servers);
    for (const policy of ['allkeys-lru', 'allkeys-random', 'volatile-lru', 'volatile-lfu', 'volatile-ttl']) {
      await configure(servers, '1gb', policy);
      expect(await client.check()).toMatchObject([
        {
          code: 'SLUICE_FORGETFUL_SERVER',
          path: 'maxmemory-policy',
          sentence: expect.stringContaining(`maxmemory-policy ${policy}`),
        },
      ]);
    }
    await configure(servers, '1gb', 'noeviction');
    expect(await client.check()).toEqual([]);
    await configure(servers, '0', 'allkeys-lru');
    expect(await client.check()).toEqual([]);
    client.close();
  });

  it('rejects when the server may not be asked', async () => {
    const server = await servers.single();
    await server.command('ACL', 'SETUSER', 'limited', 'on', '>secret', '~*', '+@all', '-info');
    const client = quiet(new Redis(server.port, { username: 'limited', password: 'secret', enableReadyCheck: false }));
    await expect(ioredis.checkServer(client)).rejects.toThrow(/NOPERM|permission/);
    client.disconnect();
  });
});
