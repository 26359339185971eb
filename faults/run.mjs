/** One fault after another: calm traffic, the fault, until all have recovered, calm again; then everything is counted. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { createLimiter } from 'sluice';
import { redisStore } from 'sluice/ioredis';
import { runnerImport } from 'vite';
import { keepsInTime } from './frameworks.mjs';
import { judge } from './judge.mjs';
import { now } from './lag.mjs';
import { startProcesses } from './processes.mjs';
import { COUNT, PATTERN, PER_SECOND, POLICIES } from './traffic.mjs';

const SERVERS = fileURLToPath(new URL('../tools/servers/index.ts', import.meta.url));

/** One for each process, unless a fault says otherwise. */
export const CLIENTS = ['ioredis', 'node-redis', 'valkey-glide'];

const CALM_MS = 2000;
const RECOVERY_PATIENCE_MS = 20_000;
/** For what a client still sends though nobody waits for it. */
const SETTLE_MS = 1000;

export async function runFaults({ faults, frameworks }, progress) {
  const { module: servers } = await runnerImport(SERVERS);
  const results = [];
  for (const fault of faults) {
    progress(`${fault.name}: ${fault.title}`);
    const result = await runFault(fault, servers);
    for (const { promise, broken } of result.promises) {
      if (broken !== undefined) progress(`  BROKEN  ${promise}: ${broken}`);
    }
    results.push(result);
  }
  const byFramework = [];
  for (const framework of frameworks) {
    progress(`${framework}: SIGSTOP under HTTP requests`);
    const result = await keepsInTime(framework, servers);
    for (const broken of result.broken) progress(`  BROKEN  ${broken}`);
    byFramework.push(result);
  }
  const { version } = await servers.findServer('redis');
  return { results, byFramework, clients: CLIENTS, serverVersion: version };
}

/**
 * `servers` is what tools/servers exports. `failedProbes` is how many probes may fail to find the server back: none, but on a machine so
 * busy that the server itself may need longer than the silence that counts as an outage.
 */
export async function runFault(fault, servers, { calmMs = CALM_MS, failedProbes = 0 } = {}) {
  const world = await WORLDS[fault.through](servers);
  const processes = await startProcesses(fault.clients ?? CLIENTS);
  const prefix = `faults-${randomUUID()}`;
  try {
    const waits = world.server !== undefined;
    const { storeOptions } = fault;
    await processes.connect((name) => ({
      target: world.target,
      prefix,
      waits,
      storeOptions,
      options: fault.options?.[name],
    }));
    await processes.start({ perSecond: PER_SECOND, pattern: PATTERN });
    if (waits) await sleep(calmMs);
    const beganAt = now();
    await fault.strike(world);
    const backAt = now();
    await untilRecovered(processes, backAt);
    await sleep(calmMs);
    const notes = await processes.finish();
    await sleep(SETTLE_MS);
    const counted = await unitsCounted(world, prefix);
    const evidence = await fault.evidence?.(world);
    return judge({ fault, notes, beganAt, backAt, counted, evidence, perSecond: PER_SECOND, failedProbes });
  } finally {
    await processes.stop();
    await world.stop();
  }
}

async function untilRecovered(processes, since) {
  const until = now() + RECOVERY_PATIENCE_MS;
  while (now() < until && !(await processes.haveRecovered(since))) await sleep(50);
}

/** What Redis says was spent under the policy that denies nothing. */
async function unitsCounted({ server }, prefix) {
  const client = new Redis(server.port, server.host);
  const policy = POLICIES[COUNT];
  const limiter = createLimiter({ policy, store: redisStore(client, { raw: true, prefix }) });
  const { remaining } = await limiter.peek('everyone');
  client.disconnect();
  return policy.limit - remaining;
}

/** How the clients reach a server: `target` is what they connect to, `server` what is behind it. */
const WORLDS = {
  async nothing(servers) {
    const startServer = (port) => servers.startServer({ kind: 'redis', port });
    const server = await startServer();
    const admin = quietClient(server);
    const world = {
      server,
      startServer,
      admin,
      target: addressOf(server),
      async stop() {
        admin.disconnect();
        await Promise.all([server.stop(), world.server.stop()]);
      },
    };
    return world;
  },
  async 'nothing yet'(servers) {
    // A port that is free, and stays so for a while.
    const { port, host, stop } = await servers.startServer({ kind: 'redis' });
    await stop();
    const world = {
      startServer: () => servers.startServer({ kind: 'redis', port }),
      target: { host, port },
      stop: () => world.server?.stop(),
    };
    return world;
  },
  async proxy(servers) {
    const server = await servers.startServer({ kind: 'redis' });
    const proxy = await servers.startProxy(addressOf(server));
    return {
      server,
      proxy,
      target: addressOf(proxy),
      async stop() {
        await proxy.stop();
        await server.stop();
      },
    };
  },
  async sentinel(servers) {
    const options = { kind: 'redis', lostAfterMs: 1000 };
    const { master, replica, masterName, sentinels, stop } = await servers.startSentinel(options);
    const world = {
      server: master,
      replica,
      target: { name: masterName, sentinels: [...sentinels] },
      startServer: (port, of) =>
        servers.startServer({ kind: 'redis', port, args: ['--replicaof', `${of.host} ${of.port}`] }),
      async stop() {
        await world.old?.stop();
        await stop();
      },
    };
    return world;
  },
};

function quietClient({ host, port }) {
  return new Redis(port, host).on('error', () => undefined);
}

function addressOf({ host, port }) {
  return { host, port };
}
