/** Answers that may have come already. Every layer asks this once for each attempt, so that nothing is deferred that need not be. */
import type { MaybePromise } from '../model/store.ts';

/** By its method and not by its class: a store of the user's may bring promises of its own kind. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | undefined)?.then === 'function';
}
