/**
 * What `redisStore(client)` is by itself: the store over Redis with everything around it that keeps a service answering when Redis does not
 * (health, local fallback), and that says "no" again without asking (deny cache). `raw: true` is the bare store.
 */
import { layered } from '../layers/layered.ts';
import type { Duration } from '../model/duration.ts';
import { checkFlag, checkOptionNames } from '../model/options.ts';
import type { Place, Store } from '../model/store.ts';
import { watchOf } from '../redis/clients/client-watch.ts';
import type { Connection } from '../redis/clients/connection.ts';
import { DEFAULT_PREFIX } from '../redis/keys.ts';
import { type RedisStoreOptions, redisStoreOver } from '../redis/redis-store.ts';
import { RedisHealth, type RunScript, scriptRunner } from '../redis/run-script.ts';
import { announcer } from './announce.ts';
import { waiting } from './replicas.ts';
import type { BreakerOptions, EngineStateChange, LayerOptions } from './store-layers.ts';
import { checkLayerOptions, healthOptionsOf, LAYER_OPTIONS, layersOf, refuseLayerOptions } from './store-layers.ts';

/** When commands that fail mean that Redis is away. */
export type RedisBreakerOptions = BreakerOptions;

/** A server of Redis that went away or came back. `open` means that it is not asked meanwhile. */
export type RedisStateChange = EngineStateChange;

/** How many replicas must have a decision before it is answered. */
export interface WaitForReplicas {
  readonly replicas: number;
  /** How long they may take. An attempt they have not confirmed by then counts as not answered by Redis. Default: 100 ms. */
  readonly timeout?: Duration | undefined;
}

/** What `redisStore` takes besides its client. */
export interface RedisOptions extends RedisStoreOptions, LayerOptions {
  /** Answers only once so many replicas have the decision (`WAIT`), so that a failover forgets nothing. One more round trip. Default: none. */
  readonly wait?: WaitForReplicas | undefined;
}

/** What differs between the functions that people call. */
interface Preset {
  readonly name: string;
  readonly silence: Duration;
}

const REDIS: Preset = { name: 'redisStore', silence: '250ms' };

export function redisStoreWith(connection: Connection, options: RedisOptions, preset = REDIS): Store {
  const { name } = preset;
  checkOptionNames(options, ['prefix', 'hashKeys', 'clock', 'raw', ...LAYER_OPTIONS, 'wait'], name);
  const { prefix, hashKeys, clock, raw = false } = options;
  checkFlag(raw, `${name}.raw`);
  const ofStates = { prefix, hashKeys, clock };
  watchOf(connection.client);
  if (raw) {
    refuseLayerOptions(options, [...LAYER_OPTIONS, 'wait'], name);
    return redisStoreOver(
      scriptRunner(connection.send),
      ofStates,
      connection.batches,
      placeOf(connection.client, prefix),
    );
  }
  checkLayerOptions(options, name);
  if (options.wait !== undefined) checkOptionNames(options.wait, ['replicas', 'timeout'], 'redisStore.wait');
  const health = healthOf(connection, options, preset);
  const run = waiting(scriptRunner(health.send), health.send, connection, options.wait);
  const bare = redisStoreOver(run, ofStates, connection.batches, placeOf(connection.client, prefix, run));
  return layered(bare, ...layersOf(options, health));
}

/** Stores over one client with one prefix keep the same states. */
const places = new WeakMap<object, Map<string, Place>>();

function placeOf(client: object, prefix: string | undefined, run?: RunScript): Place {
  const byPrefix = places.get(client) ?? new Map<string, Place>();
  places.set(client, byPrefix);
  const name = prefix ?? DEFAULT_PREFIX;
  const known = byPrefix.get(name);
  if (known !== undefined) return known;
  const announces = prefix === undefined && run !== undefined;
  const place = announces ? { isShared: true, announce: announcer(run, name) } : { isShared: true };
  byPrefix.set(name, place);
  return place;
}

function healthOf(connection: Connection, options: RedisOptions, { name, silence }: Preset): RedisHealth {
  const health = new RedisHealth(connection.send, {
    ...healthOptionsOf(options, name, silence),
    isConnecting: connection.isConnecting,
    nodeOf: connection.nodeOf,
  });
  watchOf(connection.client).onFailure((error) => health.clientFailed(error));
  return health;
}
