/**
 * `request.rateLimit` in Express, as a getter of Express's own requests like its `ip` and `path`. Express changes the prototype of every
 * request, which gives each a hidden class of its own: a new property on it makes another class, and more garbage. So the result is kept on
 * a list that each request of Node has to itself, its raw headers, by a symbol, where nobody who goes through the list meets it
 * (docs/decisions/0049).
 */
import type { RateLimitResult } from '../model/decision.ts';

interface Limited {
  rateLimit?: RateLimitResult | undefined;
}

interface Keeper {
  [RESULT]?: unknown;
}

const NAME = 'rateLimit';
const RESULT = Symbol('rateLimit');
/** Of requests that are no request of Node, as in tests. */
const results = new WeakMap<object, unknown>();
/** The prototypes that requests came with, and whether what they inherit from has the getter. */
const known = new WeakMap<object, boolean>();
const withGetter = new WeakSet<object>();

export function setResult(request: Limited, result: RateLimitResult | undefined): void {
  const prototype: object = Object.getPrototypeOf(request);
  if (known.get(prototype) ?? prepare(prototype)) keep(request, result);
  else request.rateLimit = result;
}

function keeperOf(request: object): Keeper | undefined {
  const { rawHeaders } = request as { readonly rawHeaders?: unknown };
  return Array.isArray(rawHeaders) ? (rawHeaders as Keeper) : undefined;
}

function keep(request: object, result: unknown): void {
  const keeper = keeperOf(request);
  if (keeper === undefined) results.set(request, result);
  else keeper[RESULT] = result;
}

/** Where several apps are mounted in each other, a request goes from one to the next: what all of them inherit from has the getter. */
function prepare(prototype: object): boolean {
  let shared = prototype;
  while (Object.hasOwn(shared, 'app')) shared = Object.getPrototypeOf(shared);
  // Without Express there is nothing in between, and a property that is somebody else's stays theirs.
  if (shared !== prototype && !(NAME in shared)) define(shared);
  const hasGetter = withGetter.has(shared);
  known.set(prototype, hasGetter);
  return hasGetter;
}

function define(shared: object): void {
  withGetter.add(shared);
  Object.defineProperty(shared, NAME, {
    configurable: true,
    enumerable: true,
    get(this: object) {
      const keeper = keeperOf(this);
      return keeper === undefined ? results.get(this) : keeper[RESULT];
    },
    set(this: object, value: unknown) {
      keep(this, value);
    },
  });
}
