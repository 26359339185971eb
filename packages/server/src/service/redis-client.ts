/** A client for each kind of address, with options that fail fast: what cannot be sent now is decided without Redis, and must not be spent later as well. */
import type { ConnectionOptions } from 'node:tls';
import { Cluster, Redis, ReplyError } from 'ioredis';
import { parseRedisAddress, type RedisAddress } from './redis-address.ts';

export type RedisClient = Redis | Cluster;

export interface RedisConnection {
  /** As `redis-address.ts` has it. */
  readonly redis: string;
  /** Instead of one in the address. */
  readonly redisPassword?: string | undefined;
  readonly sentinelPassword?: string | undefined;
  /** For rediss: texts in PEM. Without `tlsCa`, whom Node trusts. */
  readonly tlsCa?: string | undefined;
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
  /** For commands that end: a connection that fails is not tried again. */
  readonly once?: boolean | undefined;
}

export const CONNECT_TIMEOUT_MS = 2000;

const FAIL_FAST = { autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 } as const;

/** How long to wait before the next try; null for none. */
function retryDelay({ once = false }: RedisConnection): (times: number) => number | null {
  return (times) => (once ? null : Math.min(50 * times, 1000));
}

/** Not connected yet. Throws for an address that is none. */
export function redisClient(connection: RedisConnection): RedisClient {
  const address = parseRedisAddress(connection.redis);
  const client = address.kind === 'cluster' ? clusterFor(address, connection) : serverFor(address, connection);
  // Without a listener ioredis prints each lost connection; what matters of it the fallback tells.
  return client.on('error', () => {});
}

/**
 * Also to every master of a cluster: a master is otherwise connected to by the first command for it, and that command fails, because nothing
 * waits for a connection here. Rejects with what was really wrong: ioredis itself only says that the connection is closed.
 */
export async function connectClient(client: RedisClient): Promise<void> {
  let reason: unknown;
  const note = (error: unknown): void => {
    reason = error;
  };
  client.on('error', note);
  try {
    await client.connect();
    // Of a database that is not there ioredis tells in passing, and goes on in another one.
    if (reason instanceof ReplyError) throw reason;
    if (client instanceof Cluster) await Promise.all(client.nodes('master').map((node) => node.ping()));
  } catch (error) {
    const { lastNodeError } = (reason ?? {}) as { lastNodeError?: unknown };
    throw lastNodeError ?? reason ?? error;
  } finally {
    client.off('error', note);
  }
}

function serverFor(address: RedisAddress, connection: RedisConnection): Redis {
  const { nodes, master, database } = address;
  const common = {
    ...commonOptions(address, connection),
    enableOfflineQueue: false,
    lazyConnect: true,
    db: database,
    retryStrategy: retryDelay(connection),
  };
  if (master === undefined) return new Redis({ ...common, host: nodes[0]!.host, port: nodes[0]!.port });
  const tls = tlsOptions(address, connection);
  return new Redis({
    ...common,
    sentinels: [...nodes],
    name: master,
    sentinelRetryStrategy: retryDelay(connection),
    ...(connection.sentinelPassword === undefined ? {} : { sentinelPassword: connection.sentinelPassword }),
    ...(tls === undefined ? {} : { enableTLSForSentinelMode: true, sentinelTLS: tls }),
  });
}

function clusterFor(address: RedisAddress, connection: RedisConnection): Cluster {
  return new Cluster([...address.nodes], {
    lazyConnect: true,
    enableOfflineQueue: false,
    clusterRetryStrategy: retryDelay(connection),
    // A command for a node that is gone fails, and the next one finds out who has its keys now.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    slotsRefreshInterval: 5000,
    redisOptions: commonOptions(address, connection),
    // A certificate names hosts, so with TLS they are not to be turned into addresses.
    ...(address.tls ? { dnsLookup: (host, done) => done(null, host) } : {}),
  });
}

function commonOptions(address: RedisAddress, connection: RedisConnection) {
  const password = connection.redisPassword ?? address.password;
  const tls = tlsOptions(address, connection);
  return {
    ...FAIL_FAST,
    connectTimeout: CONNECT_TIMEOUT_MS,
    ...(address.username === undefined ? {} : { username: address.username }),
    ...(password === undefined ? {} : { password }),
    ...(tls === undefined ? {} : { tls }),
  };
}

function tlsOptions({ tls }: RedisAddress, { tlsCa, tlsCert, tlsKey }: RedisConnection): ConnectionOptions | undefined {
  if (!tls) return undefined;
  return {
    ...(tlsCa === undefined ? {} : { ca: tlsCa }),
    ...(tlsCert === undefined ? {} : { cert: tlsCert }),
    ...(tlsKey === undefined ? {} : { key: tlsKey }),
  };
}
