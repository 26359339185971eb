/**
 * `request.rateLimit` in Express, as a getter of Express's own requests like its `ip` and `path`. Express changes the prototype of every
 * request, which gives each a hidden class of its own: there a new property costs more than everything else a limit does.
 */
import type { RateLimitResult } from '../model/decision.ts';

interface Limited {
  rateLimit?: RateLimitResult | undefined;
}

const NAME = 'rateLimit';
const results = new WeakMap<object, unknown>();
/** The prototypes that requests came with, and whether what they inherit from has the getter. */
const known = new WeakMap<object, boolean>();
const withGetter = new WeakSet<object>();

export function setResult(request: Limited, result: RateLimitResult | undefined): void {
  const prototype: object = Object.getPrototypeOf(request);
  if (known.get(prototype) ?? prepare(prototype)) results.set(request, result);
  else request.rateLimit = result;
}

/** Where several apps are mounted in each other, a request goes from one to the next: what all of them inherit from has the getter. */
function prepare(prototype: object): boolean {
  let shared = prototype;
  while (Object.hasOwn(shared, 'app')) shared = Object.getPrototypeOf(shared);
  const isExpress = shared !== prototype && (withGetter.has(shared) || !(NAME in shared));
  if (isExpress && !withGetter.has(shared)) define(shared);
  known.set(prototype, isExpress);
  return isExpress;
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
