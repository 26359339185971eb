/**
 * An attempt whose reply was lost with its connection was spent once, and stays spent once: no client may send it again when it has
 * connected anew, whatever it does with other commands.
 */
import { GlideClient, Logger } from '@valkey/valkey-glide';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningProxy, type RunningServer, startProxy, startServer } from '../../../../tools/servers/index.ts';
import { waitUntil } from '../../../../tools/servers/wait-until.ts';
import { createLimiter, fixedWindow, type Store } from '../../src/index.ts';
import * as ioredis from '../../src/redis/clients/ioredis.ts';
import * as nodeRedis from '../../src/redis/clients/node-redis.ts';
import * as valkeyGlide from '../../src/redis/clients/valkey-glide.ts';

/** GLIDE prints each error that it also throws. */
Logger.init('off');

interface Connection {
  readonly store: Store;
  close(): void;
}

const CLIENTS: Readonly<Record<string, (port: number) => Promise<Connection>>> = {
  async ioredis(port) {
    const client = new Redis(port).on('error', () => undefined);
    return { store: ioredis.redisStore(client, { raw: true }), close: () => client.disconnect() };
  },
  async 'ioredis with a prefix for keys'(port) {
    const client = new Redis(port, { keyPrefix: 'ours:' }).on('error', () => undefined);
    return { store: ioredis.redisStore(client, { raw: true }), close: () => client.disconnect() };
  },
  async 'ioredis with automatic pipelines'(port) {
    const client = new Redis(port, { enableAutoPipelining: true }).on('error', () => undefined);
    return { store: ioredis.redisStore(client, { raw: true }), close: () => client.disconnect() };
  },
  async 'node-redis'(port) {
    const client = createClient({ url: `redis://127.0.0.1:${port}` }).on('error', () => undefined);
    await client.connect();
    return { store: nodeRedis.redisStore(client, { raw: true }), close: () => client.destroy() };
  },
  async 'valkey-glide'(port) {
    const client = await GlideClient.createClient({ addresses: [{ host: '127.0.0.1', port }], requestTimeout: 30_000 });
    return { store: valkeyGlide.redisStore(client, { raw: true }), close: () => client.close() };
  },
};

/** Few enough for one call with every client, so that all of them are carried out or none. */
const ATTEMPTS = 16;
const policy = fixedWindow({ limit: 1_000_000, window: '1d' });

let server: RunningServer;
beforeAll(async () => {
  server = await startServer({ kind: 'redis' });
});
afterAll(() => server.stop());

describe.each(Object.keys(CLIENTS))('%s', (name) => {
  let proxy: RunningProxy;
  let connection: Connection;
  beforeAll(async () => {
    proxy = await startProxy(server);
    connection = await CLIENTS[name]!(proxy.port);
  });
  afterAll(async () => {
    connection.close();
    await proxy.stop();
  });

  it('spends once what was carried out and lost its reply, and tells the caller', async () => {
    const limiter = createLimiter({ policy, store: connection.store });
    const key = `key of ${name}`;
    const attempts = () => Array.from({ length: ATTEMPTS }, () => limiter.attempt(key));
    // So that the server knows the script of a batch: one that it does not know it does not carry out.
    const before = (await Promise.all(attempts())).at(-1)!;
    const callsBefore = await callsOf(server);

    proxy.hold('replies');
    const lost = attempts().map((answer) =>
      answer.then(
        () => 'answered',
        () => 'rejected',
      ),
    );
    await waitUntil('the server has carried them out', async () => (await callsOf(server)) > callsBefore);
    proxy.reset();
    proxy.pass();

    expect(await Promise.all(lost)).toEqual(lost.map(() => 'rejected'));
    const after = await firstAnswer(() => limiter.attempt(key));
    expect(before.remaining - after.remaining).toBe(ATTEMPTS + 1);
  });
});

async function callsOf({ command }: RunningServer): Promise<number> {
  const statistics = String(await command('INFO', 'commandstats'));
  return [...statistics.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce(
    (sum, [, calls]) => sum + Number(calls),
    0,
  );
}

/** Of a client that has to connect first: attempts that it does not send are not spent. */
async function firstAnswer<T>(attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
