/**
 * One process of an application under traffic: attempts arrive by the clock, whether or not the earlier ones are answered, through
 * `redisStore(client)` as a user would write it. Everything that happens to it is noted and handed over at the end.
 *   in    { id, do: 'connect' | 'start' | 'recovered' | 'finish', ... }    answered with { id, result } or { id, error }
 */
import { createLimiter } from 'sluice';
import { now, watchLag } from './lag.mjs';
import { POLICIES, SOURCES } from './traffic.mjs';

const TICK_MS = 2;
const PATIENCE_MS = 5000;

const noted = {
  attempts: [],
  /** [when, how late]: what the process itself was late by. */
  lags: watchLag(),
  /** When the client had a connection. */
  readyAt: [],
  circuit: [],
  /** Codes, in the order they came. */
  warnings: [],
  unhandled: [],
  clientErrors: 0,
  mostQueued: 0,
};
let circuit = 'closed';
let changes = 0;
let client;
let limiters;

const CLIENTS = {
  async ioredis({ target, options, waits }) {
    const { Redis } = await import('ioredis');
    const { redisStore } = await import('sluice/ioredis');
    client = new Redis({ ...target, ...options });
    watch(client);
    if (waits) await client.ping();
    return (options) => redisStore(client, options);
  },
  async 'node-redis'({ target, options, waits }) {
    const { createClient, createSentinel } = await import('redis');
    const { redisStore } = await import('sluice/node-redis');
    const { name, sentinels, host, port } = target;
    client =
      sentinels === undefined
        ? createClient({ ...options, socket: { ...options?.socket, host, port } })
        : createSentinel({ name, sentinelRootNodes: sentinels, ...options });
    watch(client);
    const connected = client.connect();
    if (waits) await connected;
    else connected.catch(() => undefined);
    return (options) => redisStore(client, options);
  },
  /** It tells nothing about its connections. */
  async 'valkey-glide'({ target, options }) {
    const { GlideClient, Logger } = await import('@valkey/valkey-glide');
    const { redisStore } = await import('sluice/valkey-glide');
    Logger.init('off');
    client = await GlideClient.createClient({ addresses: [target], ...options });
    return (options) => redisStore(client, options);
  },
};

function watch(emitter) {
  emitter.on('ready', () => noted.readyAt.push(now()));
  emitter.on('error', () => {
    noted.clientErrors += 1;
  });
}

/** `waits`: for the connection, as a program does that needs its server to start. */
async function connect({ client: name, target, options, storeOptions, prefix, waits }) {
  const open = await CLIENTS[name]({ target, options, waits });
  const store = open({
    ...storeOptions,
    prefix,
    circuitBreaker: {
      onStateChange({ to }) {
        circuit = to;
        changes += 1;
        noted.circuit.push([now(), to]);
      },
    },
  });
  limiters = POLICIES.map((policy) => createLimiter({ policy, store }));
}

function attempt(which) {
  const startedAt = now();
  const changesBefore = changes;
  const record = { which, startedAt, tookMs: undefined, source: -1, allowed: false, resetAt: 0, refused: false };
  noted.attempts.push(record);
  const wasOpen = circuit !== 'closed';
  const answer = limiters[which].attempt('everyone');
  answer.then(
    ({ source, allowed, resetAt }) => {
      // While the outage is known nothing is sent. What was asked when it began or ended may have been.
      record.refused = wasOpen && changes === changesBefore;
      record.tookMs = now() - startedAt;
      record.source = SOURCES.indexOf(source);
      record.allowed = allowed;
      record.resetAt = resetAt;
    },
    (error) => {
      record.tookMs = now() - startedAt;
      record.error = String(error);
    },
  );
}

let stopTraffic = () => undefined;

/** `pattern` says which limiter each arrival asks, in turn. */
function start({ perSecond, pattern }) {
  const began = now();
  let arrived = 0;
  const timer = setInterval(() => {
    const time = now();
    for (; began + (arrived * 1000) / perSecond <= time; arrived += 1) attempt(pattern[arrived % pattern.length]);
    // What ioredis keeps; node-redis does not show its queue.
    const queued = (client.commandQueue?.length ?? 0) + (client.offlineQueue?.length ?? 0);
    if (queued > noted.mostQueued) noted.mostQueued = queued;
  }, TICK_MS);
  stopTraffic = () => clearInterval(timer);
}

/** Whether the store has answered an attempt that began after this moment. */
function recovered({ since }) {
  const store = SOURCES.indexOf('store');
  return noted.attempts.some(({ startedAt, source }) => startedAt >= since && source === store);
}

async function finish() {
  stopTraffic();
  const until = now() + PATIENCE_MS;
  while (noted.attempts.some(({ tookMs }) => tookMs === undefined) && now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return { ...noted, heapBytes: process.memoryUsage().heapUsed };
}

const HANDLERS = { connect, start, recovered, finish };

process.on('warning', ({ code }) => noted.warnings.push(code));
process.on('unhandledRejection', (error) => noted.unhandled.push(`unhandled rejection: ${error?.stack ?? error}`));
process.on('uncaughtException', (error) => noted.unhandled.push(`uncaught exception: ${error?.stack ?? error}`));
process.on('message', async ({ id, do: name, ...request }) => {
  try {
    process.send({ id, result: await HANDLERS[name](request) });
  } catch (error) {
    process.send({ id, error: String(error?.stack ?? error) });
  }
});
// The parent is gone: so is the reason to be here. An open connection would keep this process alive.
process.on('disconnect', () => process.exit());
process.send({ ready: true });
