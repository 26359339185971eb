/** Limits of single routes, for frameworks that know their routes by name: they start from common options and differ in some. */
import { byIp } from '../http/by-ip.ts';
import { lackingAs } from '../http/missing.ts';
import { memoryStore } from '../memory/memory-store.ts';
import { invalidOption } from '../model/options.ts';
import { checkStore, type Store } from '../model/store.ts';
import type { RateLimitOptions } from './options.ts';

interface StoreOption {
  readonly store?: Store | undefined;
}

/** One for all limits that are given as policies, also when nobody gave it: a route that differs in its cost alone spends from the common limit. */
export function checkStoreOption({ store }: StoreOption, path: string): Store {
  return store === undefined ? memoryStore() : checkStore(store, `${path}.store`);
}

export function checkRouteLimit(own: unknown, path: string): void {
  if (typeof own !== 'object' || own === null) throw invalidOption(path, 'options, or false for no limit', own);
}

/** What a route gives goes before what is common. A limit of its own replaces the common one, however that was given. */
export function routeOptions<Native, Context>(
  common: RateLimitOptions<Native, Context>,
  own: RateLimitOptions<Native, Context>,
  name: string,
): RateLimitOptions<Native, Context> {
  if (!hasLimit(own)) return { ...common, ...own };
  const { limiter: _limiter, policy: _policy, policies: _policies, ...rest } = common;
  const merged = { ...rest, ...own };
  return own.limiter === undefined ? { ...merged, key: keyAt(name, merged.key) } : merged;
}

/** Null is a mistake to be told, as elsewhere: taken for none it would turn every limit off. */
export function hasLimit<Native, Context>({ limiter, policy, policies }: RateLimitOptions<Native, Context>): boolean {
  return limiter !== undefined || policy !== undefined || policies !== undefined;
}

type KeyOf<Native> = NonNullable<RateLimitOptions<Native>['key']>;

/** The same policy at two routes is two limits, also in a store that both share. */
function keyAt<Native>(name: string, key: KeyOf<Native> = byIp() as KeyOf<Native>): KeyOf<Native> {
  const prefix = `at:${name.replace(/[%|]/g, encodeURIComponent)}|`;
  const atRoute: KeyOf<Native> = async (view, warn) => {
    const who = await key(view, warn);
    return typeof who === 'string' && who !== '' ? prefix + who : who;
  };
  return lackingAs(atRoute, key);
}
