/**
 * Who is limited, said in one line. Every helper writes what kind of key it is in front (`ip:`, `user:`, ...) and `combine`
 * escapes its separator, so keys of different helpers never meet, whatever a client sends. Where two spellings may mean one
 * thing they become one key: a client must not gain a fresh limit by spelling.
 */
import { Kind, wrong } from '../model/errors.ts';
import { checkOptionNames, invalidOption } from '../model/options.ts';
import { type ByIpOptions, byIp } from './by-ip.ts';
import { lacking, lacksOf, saysNothing } from './missing.ts';
import { pathReadings } from './path-readings.ts';
import type { Key, RequestView } from './request-view.ts';

/**
 * The value of a header as a key. It is only as good as the header: put it behind whatever checks the value, or a client makes itself a
 * new key with each new value. A request without the header gets a 401, or the status of the option `missing`.
 *
 * @example
 * rateLimit({ policy, key: byHeader('x-api-key'), missing: 400 })
 */
export function byHeader(name: string): Key {
  if (typeof name !== 'string' || !/^[\w!#$%&'*+.^`|~-]+$/.test(name)) {
    throw invalidOption('byHeader(name)', 'the name of a header', name);
  }
  const header = name.toLowerCase();
  if (header === 'x-forwarded-for' || header === 'forwarded') {
    throw invalidOption('byHeader(name)', 'byIp({ trustedProxies }) instead: clients can write this header', name);
  }
  const label = `header:${header}:`;
  return lacking<Key>((view) => labelled(label, view.header(header)), `the header ${header}`);
}

/** What tells one user from another; undefined, null or '' when nobody is logged in. */
export type UserId = string | number | bigint | null | undefined;

/**
 * Whoever is logged in. Nobody is when the function returns undefined, null or '': that is a 401, or the status of the option `missing`.
 *
 * @example
 * rateLimit({ policy, key: byUser((request) => request.user?.id) })
 */
export function byUser<Native = unknown>(userOf: (request: Native, view: RequestView<Native>) => UserId): Key<Native> {
  if (typeof userOf !== 'function') throw invalidOption('byUser(fn)', 'a function', Kind.of(userOf));
  const key: Key<Native> = (view) => labelled('user:', textOf(userOf(view.native as Native, view)));
  return lacking(key, 'a user who is logged in');
}

function textOf(id: unknown): string | undefined {
  if (id === undefined || id === null) return undefined;
  if (typeof id === 'string') return id;
  if (typeof id === 'bigint' || Number.isFinite(id)) return String(id);
  throw wrong(
    'SLUICE_INVALID_HTTP_KEY',
    'byUser(fn)',
    'the id of a user as a string or number, or undefined when nobody is logged in',
    id instanceof Promise ? id : Kind.of(id),
  );
}

function labelled(label: string, value: string | undefined): string | undefined {
  return value === undefined || value === '' ? undefined : label + value;
}

/** Method and route. By the pattern where the adapter knows it, by the path where not: then each id in a path is a route. */
export function byRoute(): Key {
  return ({ method, route, path }) => {
    const verb = method === 'HEAD' ? 'GET' : method.toUpperCase();
    return route === undefined ? `path:${verb} ${pathReadings(path).at(-1)}` : `route:${verb} ${route}`;
  };
}

/**
 * All of them together: one limit for each combination. It says nothing as soon as one of them says nothing.
 *
 * @example
 * rateLimit({ policy, key: combine(byIp(), byRoute()) })
 */
export function combine<Native = unknown>(...keys: readonly Key<Native>[]): Key<Native> {
  checkKeys(keys, 'combine(...)');
  const key: Key<Native> = (view, warn) => {
    const parts: string[] = [];
    for (const key of keys) {
      const part = saidBy(key(view, warn), 'combine(...)');
      if (part === undefined) return undefined;
      parts.push(part.replace(/[%|]/g, encodeURIComponent));
    }
    return `all:${parts.join('|')}`;
  };
  return lacking(key, (view) => {
    const silent = keys.find((part) => saysNothing(part(view)));
    return silent === undefined ? [] : lacksOf(silent, view);
  });
}

/**
 * The first that knows who is calling.
 *
 * @example
 * rateLimit({ policy, key: firstOf(byHeader('x-api-key'), byIp()) })
 */
export function firstOf<Native = unknown>(...keys: readonly Key<Native>[]): Key<Native> {
  checkKeys(keys, 'firstOf(...)');
  const key: Key<Native> = (view, warn) => {
    for (const key of keys) {
      const found = saidBy(key(view, warn), 'firstOf(...)');
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return lacking(key, (view) => keys.flatMap((one) => lacksOf(one, view)));
}

function saidBy(key: unknown, path: string): string | undefined {
  if (saysNothing(key)) return undefined;
  if (typeof key === 'string') return key;
  throw wrong(
    'SLUICE_INVALID_HTTP_KEY',
    path,
    'functions that return the caller as a string, not as a promise; only the `key` of a whole limit may be async',
    key,
  );
}

function checkKeys(keys: readonly unknown[], path: string): void {
  if (keys.length > 0 && keys.every((key) => typeof key === 'function')) return;
  throw invalidOption(path, 'one key function or more, such as byIp() and byRoute()', keys);
}

/**
 * For callers who are not logged in: address, route and user agent, so that the many people behind one address are not one
 * client. A client may write any user agent, so all of them fall into a few kinds: that many shares of the limit, and not
 * more, are in reach of one address.
 */
export function anonymous(options: ByIpOptions = {}): Key {
  checkOptionNames(options, ['trustedProxies', 'ipv6Subnet', 'header'], 'anonymous');
  return combine(byIp(options), byRoute(), (view) => `agent:${kindOfAgent(view.header('user-agent') ?? '')}`);
}

/** Which of these functions was given as a key itself, and how to call it: `key: byIp` for `key: byIp()`. */
export function uncalled(key: unknown): { readonly name: string; readonly call: string } | undefined {
  return FACTORIES.find(({ make }) => make === key);
}

const FACTORIES: readonly { readonly make: unknown; readonly name: string; readonly call: string }[] = [
  { make: byIp, name: 'byIp', call: 'byIp()' },
  { make: byHeader, name: 'byHeader', call: "byHeader('x-api-key')" },
  { make: byUser, name: 'byUser', call: 'byUser((request) => request.user?.id)' },
  { make: byRoute, name: 'byRoute', call: 'byRoute()' },
  { make: anonymous, name: 'anonymous', call: 'anonymous()' },
  { make: combine, name: 'combine', call: 'combine(byIp(), byRoute())' },
  { make: firstOf, name: 'firstOf', call: "firstOf(byHeader('x-api-key'), byIp())" },
];

/** A power of two. */
const AGENT_KINDS = 16;

/** FNV-1a. It need not be secret: knowing it, a client reaches all kinds and still not more. */
function kindOfAgent(agent: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < agent.length; at++) hash = Math.imul(hash ^ agent.charCodeAt(at), 0x01000193);
  return ((hash >>> 16) ^ (hash >>> 8) ^ hash) & (AGENT_KINDS - 1);
}
