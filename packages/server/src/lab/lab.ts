/**
 * The lab as the server has it: its page, the demo routes, and the engines its page plays on. It keeps its state apart from that of the limits, in a
 * store of its own in memory and under a prefix of its own on Redis, so that nobody who plays can reach a real limit.
 */
import { Cluster } from 'ioredis';
import { memoryStore, type Store } from 'sluice';
import { redisStore } from 'sluice/ioredis';
import { errorText, type Log } from '../service/log.ts';
import type { Paths } from '../service/openapi.ts';
import { addressText, parseRedisAddress } from '../service/redis-address.ts';
import { CONNECT_TIMEOUT_MS, type RedisClient, type RedisConnection, redisClient } from '../service/redis-client.ts';
import type { Route } from '../service/routes.ts';
import type { Beside } from '../service/service.ts';
import { within } from '../service/within.ts';
import { demoRoutes } from './demo.ts';
import type { Engine } from './engine.ts';
import { engineRoutes } from './engine-routes.ts';
import { type InstantClock, instantClock } from './instant-clock.ts';
import { memoryEngine } from './memory-engine.ts';
import { type Page, pageRoutes } from './page.ts';
import { LAB_PATHS } from './paths.ts';
import { redisEngine } from './redis-engine.ts';
import { Sessions } from './sessions.ts';

/** What `openLab` takes. */
export interface LabOptions extends Partial<RedisConnection> {
  /** Of the limits. The lab's own is made of it. */
  readonly prefix?: string | undefined;
  /** As `findPage` finds it. Without one the routes are served alone. */
  readonly page?: Page | undefined;
  readonly maxSessions?: number | undefined;
  /** How long Redis may take before an engine says that it does not answer, in milliseconds. Default: 10 s. */
  readonly patienceMs?: number | undefined;
  /** Default: memory of its own. For tests. */
  readonly demoStore?: Store | undefined;
}

/** The lab's routes beside those of the service. */
export interface Lab extends Beside {
  readonly hasPage: boolean;
  close(): void;
}

/** Players can wait: what they see should be what Redis said. */
const DEADLINE = '1s';
const MAX_STATES_IN_MEMORY = 100_000;

/** Opens the lab: its page, and the engines that its sessions run on. */
export async function openLab(options: LabOptions, log: Log): Promise<Lab> {
  const { page } = options;
  const sessions = new Sessions(options.maxSessions);
  const client = options.redis === undefined ? undefined : await connected({ ...options, redis: options.redis }, log);
  const prefix = `${options.prefix ?? 'sluice'}-lab`;
  const clock = instantClock();
  const demoStore =
    options.demoStore ?? (client === undefined ? memoryOfTheLab(clock) : storeOn(client, prefix, clock));
  const { engines, missing } = enginesOn(client, prefix, options, clock);
  const routes = [
    ...demoRoutes(demoStore, clock, sessions),
    ...engineRoutes(engines, missing, sessions),
    ...(page === undefined ? [] : pageRoutes(page)),
  ];
  return { routes, paths: pathsOf(routes), hasPage: page !== undefined, close: () => client?.disconnect() };
}

/** Without a page there is none to describe. */
function pathsOf(routes: readonly Route[]): Paths {
  const isServed = (path: string): boolean => routes.some((route) => route.path === path.replace(/\{(\w+)\}/, ':$1'));
  return Object.fromEntries(Object.entries(LAB_PATHS).filter(([path]) => isServed(path)));
}

function memoryOfTheLab(clock: InstantClock) {
  return memoryStore({ clock, maxKeys: MAX_STATES_IN_MEMORY });
}

function enginesOn(
  client: RedisClient | undefined,
  prefix: string,
  { redis, patienceMs }: LabOptions,
  clock: InstantClock,
) {
  const memory = memoryEngine(memoryOfTheLab(clock), clock);
  if (client instanceof Cluster)
    return { engines: [memory], missing: { redis: 'looking into a cluster is not supported' } };
  if (client === undefined || redis === undefined) {
    return { engines: [memory], missing: { redis: 'the server was started without --redis' } };
  }
  const description = addressText(parseRedisAddress(redis));
  const engines: Engine[] = [memory, redisEngine({ client, prefix, description, patienceMs })];
  return { engines, missing: {} };
}

function storeOn(client: RedisClient, prefix: string, clock: InstantClock): Store {
  return redisStore(client, { prefix, deadline: DEADLINE, fallback: memoryOfTheLab(clock), warnings: false });
}

/** A connection of its own. Redis need not be there yet. */
async function connected(connection: RedisConnection, log: Log): Promise<RedisClient> {
  const client = redisClient(connection);
  await within(CONNECT_TIMEOUT_MS, client.connect()).catch((error) => {
    log.warn('Redis does not answer the lab yet; the lab uses it as soon as it does', { error: errorText(error) });
  });
  return client;
}
