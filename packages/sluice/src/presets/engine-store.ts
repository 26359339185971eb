/**
 * What the store of an engine is as people install it: a bare store whose calls are watched, with the layers of `redisStore(client)` around it. An
 * engine gives its client, what its errors mean, and the bare store.
 */
import { layered } from '../layers/layered.ts';
import { checkClock } from '../model/clock.ts';
import type { Duration } from '../model/duration.ts';
import type { MaybePromise } from '../model/maybe-promise.ts';
import { checkFlag, checkOptionNames, invalidOption } from '../model/options.ts';
import type { Place, Store } from '../model/store.ts';
import { type EngineTraits, Health } from '../store/health.ts';
import type { LayerOptions } from './store-layers.ts';
import { checkLayerOptions, healthOptionsOf, LAYER_OPTIONS, layersOf, refuseLayerOptions } from './store-layers.ts';

/** What the store of every engine takes besides its client. */
export interface EngineOptions extends LayerOptions {
  /** Goes before every key, so that several applications can share an engine. Default: `sluice`. */
  readonly prefix?: string | undefined;
  /** Stores a SHA-256 of the key instead of the key, so that no personal data is in the engine. Default: false. */
  readonly hashKeys?: boolean | undefined;
}

/** Makes a call to the engine, which is watched: what is late or fails counts. */
export type WatchedCall = <T>(act: () => MaybePromise<T>) => MaybePromise<T>;

/** An engine, for `engineStore`. */
export interface Engine {
  /** The function that people call: `postgresStore`. */
  readonly name: string;
  /** Stores over the same client, in the same `space`, with the same prefix keep the same states. */
  readonly client: object;
  readonly space?: string | undefined;
  readonly traits: EngineTraits;
  /** Names of the options that only this engine has. */
  readonly ownOptions?: readonly string[] | undefined;
  /** Default: 1 s. */
  readonly silence?: Duration | undefined;
  /** The bare store. */
  store(call: WatchedCall, place: Place): Store;
}

const DEFAULT_SILENCE = '1s';

export function engineStore(engine: Engine, options: EngineOptions): Store {
  const { name, ownOptions = [] } = engine;
  checkOptionNames(options, ['prefix', 'hashKeys', 'clock', 'raw', ...ownOptions, ...LAYER_OPTIONS], name);
  const { prefix = 'sluice', clock, raw = false } = options;
  if (typeof prefix !== 'string' || prefix.length > MOST_PREFIX) {
    throw invalidOption(`${name}.prefix`, `text of at most ${MOST_PREFIX} characters`, prefix);
  }
  checkFlag(options.hashKeys, `${name}.hashKeys`);
  checkFlag(raw, `${name}.raw`);
  if (clock !== undefined) checkClock(clock, `${name}.clock`);
  const place = placeOf(engine, prefix);
  if (raw) {
    refuseLayerOptions(options, LAYER_OPTIONS, name);
    return engine.store((act) => act(), place);
  }
  checkLayerOptions(options, name);
  const health = new Health(engine.traits, healthOptionsOf(options, name, engine.silence ?? DEFAULT_SILENCE));
  const bare = engine.store((act) => health.call('', act), place);
  return layered(bare, ...layersOf(options, health));
}

const MOST_PREFIX = 128;

const places = new WeakMap<object, Map<string, Place>>();

function placeOf({ client, space = '' }: Engine, prefix: string): Place {
  const known = places.get(client) ?? new Map<string, Place>();
  places.set(client, known);
  const name = JSON.stringify([space, prefix]);
  const place = known.get(name) ?? { isShared: true };
  known.set(name, place);
  return place;
}
