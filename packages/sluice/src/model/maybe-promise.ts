/** Answers that may have come already. Whoever passes one on asks this, so that nothing is deferred that need not be. */
import type { MaybePromise } from './store.ts';

/** By its method and not by its class: a store of the user's may bring promises of its own kind. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | undefined)?.then === 'function';
}
