/**
 * The two Redis clients behind one narrow shape, each with its default options: what a user gets who configures nothing. So is Sluice's
 * store, with all its layers; a run in which others than Redis answered fails. The bare one is for what measures the scripts.
 */
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { sluice } from '../library.mjs';

const { redisStore: ioredisStore } = await sluice('/ioredis');
const { redisStore: nodeRedisStore } = await sluice('/node-redis');

export const CLIENTS = {
  ioredis: {
    async connect(port) {
      const client = new Redis(port, '127.0.0.1');
      await client.ping();
      return client;
    },
    close: (client) => client.disconnect(),
    store: (client) => ioredisStore(client),
    bareStore: (client) => ioredisStore(client, { raw: true }),
    command: (client, ...words) => client.call(...words),
    ping: (client) => client.ping(),
    incr: (client, key) => client.incr(key),
    evalsha: (client, sha, key) => client.evalsha(sha, 1, key),
    eval: (client, script, key, args) => client.eval(script, 1, key, ...args),
  },
  'node-redis': {
    async connect(port) {
      const client = createClient({ url: `redis://127.0.0.1:${port}` });
      // Without a listener a lost connection would end the process instead of failing the check that noticed it.
      client.on('error', () => undefined);
      await client.connect();
      return client;
    },
    close: (client) => client.destroy(),
    store: (client) => nodeRedisStore(client),
    bareStore: (client) => nodeRedisStore(client, { raw: true }),
    command: (client, ...words) => client.sendCommand(words.map(String)),
    ping: (client) => client.ping(),
    incr: (client, key) => client.incr(key),
    evalsha: (client, sha, key) => client.evalSha(sha, { keys: [key] }),
    eval: (client, script, key, args) => client.eval(script, { keys: [key], arguments: args }),
  },
};
