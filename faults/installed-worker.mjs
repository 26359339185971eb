/**
 * One process of an application as it is installed: the README's lines, a cold start, the defaults. It spends from every policy at the same
 * moment, and says how much was allowed and who answered.
 *   argv   the client package, the server's URL
 *   in     { key, policies, attempts }    out    { admitted: [...], sources: {...} }, or { error }
 */
import { checkPolicy, createLimiter } from 'sluice';

const CLIENTS = {
  /** It connects while the first attempts wait. */
  async ioredis(url) {
    const { Redis } = await import('ioredis');
    const { redisStore } = await import('sluice/ioredis');
    const client = new Redis(url);
    client.on('error', (error) => console.error('redis:', error.message));
    return redisStore(client);
  },
  async 'node-redis'(url) {
    const { createClient } = await import('redis');
    const { redisStore } = await import('sluice/node-redis');
    const client = createClient({ url });
    client.on('error', (error) => console.error('redis:', error.message));
    await client.connect();
    return redisStore(client);
  },
};

const [name, url] = process.argv.slice(2);
const store = await CLIENTS[name](url);

process.on('message', async ({ key, policies, attempts }) => {
  try {
    const sources = {};
    const admitted = await Promise.all(
      policies.map(async (data) => {
        const limiter = createLimiter({ policy: checkPolicy(data), store });
        const results = await Promise.all(Array.from({ length: attempts }, () => limiter.attempt(key)));
        for (const { source } of results) sources[source] = (sources[source] ?? 0) + 1;
        return results.filter(({ allowed }) => allowed).length;
      }),
    );
    process.send({ admitted, sources });
  } catch (error) {
    process.send({ error: String(error?.stack ?? error) });
  }
});
process.on('disconnect', () => process.exit());
process.send({ ready: true });
