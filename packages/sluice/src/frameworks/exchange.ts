/** One object for each call of an outermost handler. A request may be used again, as tests do, and is another request then. */

export interface Call {
  /** The same for all limits around one handler. */
  readonly exchange: object;
  /** The handler is done. */
  leave(): void;
}

const outer = new WeakMap<object, object>();

export function callOf(request: object): Call {
  const known = outer.get(request);
  if (known !== undefined) return { exchange: known, leave: () => undefined };
  const exchange = {};
  outer.set(request, exchange);
  return { exchange, leave: () => void outer.delete(request) };
}
