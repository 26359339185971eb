/**
 * Which store a limiter was made over. Limiters do not show it; whoever puts one in front of a server needs it to warn of two that are one
 * limit, and of one that several processes do not share.
 */
import type { Store } from './store.ts';

const stores = new WeakMap<object, Store>();

export function noteStore(limiter: object, store: Store): void {
  stores.set(limiter, store);
}

/** Undefined when it is no limiter of ours. */
export function storeOf(limiter: object): Store | undefined {
  return stores.get(limiter);
}
