/** A layer is a store around a store. It changes when, whether or by whom an attempt is answered, and never what a policy means. */
import { Kind } from '../model/errors.ts';
import { invalidOption } from '../model/options.ts';
import { around, checkStore, type Store } from '../model/store.ts';

/**
 * Takes a store and gives one that behaves like it but for what the layer promises. Where the store inside answers with a value and no
 * promise, so does the layer.
 */
export type Layer = (inner: Store) => Store;

/**
 * A store with layers around it, written from the inside out: the first layer stands next to the store, the last one is outermost and
 * sees every attempt first.
 *
 * @example
 * const store = layered(storeOver(port), deadline({ timeout: '1s' }), fallback({ to: memoryStore() }));
 */
export function layered(store: Store, ...layers: readonly Layer[]): Store {
  return layers.reduce<Store>(
    (inner, layer, index) => checkStore(checkLayer(layer, index)(inner), `layered(...)[${index + 1}]`),
    checkStore(store, 'layered(store)'),
  );
}

/** A layer that is made of a function: for each store it is put around, how to answer. `name` is what its user calls it. */
export function layerOf(name: string, askOver: (inner: Store) => Store['ask']): Layer {
  return (inner) => around(checkStore(inner, `${name}(...)(store)`), askOver(inner));
}

function checkLayer(layer: unknown, index: number): Layer {
  if (typeof layer === 'function') return layer as Layer;
  throw invalidOption(`layered(...)[${index + 1}]`, 'a layer, such as deadline() or denyCache()', Kind.of(layer));
}
