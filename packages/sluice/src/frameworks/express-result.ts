/**
 * `request.rateLimit` in Express, as a getter of Express's own requests like its `ip` and `path`. Express changes the prototype of every
 * request, which gives each a hidden class of its own: a new property on it makes another class, and more garbage (docs/decisions/0018).
 */
import type { RequestResult } from '../http/gate.ts';

interface Limited {
  rateLimit?: RequestResult | undefined;
}

const NAME = 'rateLimit';
const results = new WeakMap<object, unknown>();
/** The prototypes that requests came with, and whether what they inherit from has the getter. */
const known = new WeakMap<object, boolean>();
const withGetter = new WeakSet<object>();

export function setResult(request: Limited, result: RequestResult | undefined): void {
  const prototype: object = Object.getPrototypeOf(request);
  if (known.get(prototype) ?? prepare(prototype)) results.set(request, result);
  else request.rateLimit = result;
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
      return results.get(this);
    },
    set(this: object, value: unknown) {
      results.set(this, value);
    },
  });
}
