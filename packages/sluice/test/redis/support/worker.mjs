/**
 * One of several processes that spend from the same keys. It uses the built package by its public names, as an application would,
 * through the client it is told to use, and reports every answer it got.
 *   in    { id, connect: { name, client, shape, nodes } }    answered with { id, connected }
 *         { id, hammer: { connection, prefix, key, policies, costs, inFlight, lastsMicros } }    answered with { id, answers }
 *   out   { id, error } instead, when it failed; { ready } once at the start
 */
import { checkPolicy } from 'sluice';
import { attemptOf, decidedAt, verdictOf } from 'sluice/store';

const CLIENTS = {
  async ioredis(shape, nodes) {
    const { Cluster, Redis } = await import('ioredis');
    const { redisStore } = await import('sluice/ioredis');
    const client = shape === 'cluster' ? new Cluster(nodes) : new Redis(nodes[0].port, nodes[0].host);
    client.on('error', () => undefined);
    await client.ping();
    return (options) => redisStore(client, { ...options, raw: true });
  },
  async 'node-redis'(shape, nodes) {
    const { createClient, createCluster } = await import('redis');
    const { redisStore } = await import('sluice/node-redis');
    const urls = nodes.map(({ host, port }) => ({ url: `redis://${host}:${port}` }));
    const client = shape === 'cluster' ? createCluster({ rootNodes: urls }) : createClient(urls[0]);
    client.on('error', () => undefined);
    await client.connect();
    return (options) => redisStore(client, { ...options, raw: true });
  },
  async 'valkey-glide'(shape, addresses) {
    const { GlideClient, GlideClusterClient, Logger } = await import('@valkey/valkey-glide');
    const { redisStore } = await import('sluice/valkey-glide');
    Logger.init('off');
    const kind = shape === 'cluster' ? GlideClusterClient : GlideClient;
    const client = await kind.createClient({
      addresses,
      requestTimeout: 30_000,
      advancedConfiguration: { connectionTimeout: 30_000 },
    });
    return (options) => redisStore(client, { ...options, raw: true });
  },
};

const connections = new Map();

async function connect({ name, client, shape, nodes }) {
  connections.set(name, await CLIENTS[client](shape, nodes));
  return { connected: name };
}

/**
 * All costs in turn, with `inFlight` attempts on the way at any time: each cost once, or when `lastsMicros` is given again and again
 * until the server's clock says that so much time has passed since the first answer.
 */
async function hammer({ connection, prefix, key, policies, costs, inFlight, lastsMicros }) {
  const store = connections.get(connection)({ prefix });
  const checked = policies.map((policy) => checkPolicy(policy));
  const answers = [];
  let next = 0;
  const goesOn = () =>
    lastsMicros === undefined
      ? next < costs.length
      : answers.length === 0 || answers.at(-1).now - answers[0].now < lastsMicros;
  const lane = async () => {
    while (goesOn()) {
      const cost = costs[next % costs.length];
      next += 1;
      const answer = await store.ask(attemptOf(checked.map((policy) => ({ key, policy, cost }))));
      const now = decidedAt(answer.decisions[0]);
      const verdicts = answer.decisions.map(verdictOf);
      answers.push({ now, cost, verdicts });
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  return { answers };
}

process.on('message', async ({ id, connect: target, hammer: task }) => {
  try {
    process.send({ id, ...(target ? await connect(target) : await hammer(task)) });
  } catch (error) {
    process.send({ id, error: String(error?.stack ?? error) });
  }
});

// The parent is gone: so is the reason to be here. An open connection would keep this process alive.
process.on('disconnect', () => process.exit());
process.send({ ready: true });
