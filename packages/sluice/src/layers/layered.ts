/** A layer is a store around a store. It changes when, whether or by whom an attempt is answered, and never what a policy means. */
import { Kind, SluiceError } from '../model/errors.ts';
import { checkStore, type Store } from '../model/store.ts';

/**
 * Takes a store and gives one that behaves like it but for what the layer promises. A layer keeps what answers at once answering at
 * once: where the store inside gives an answer and no promise, so does the layer.
 */
export type Layer = (inner: Store) => Store;

/**
 * A store with layers around it, written from the inside out: the first layer stands next to the store, the last one is outermost and
 * sees every attempt first.
 */
export function layered(store: Store, ...layers: readonly Layer[]): Store {
  return layers.reduce<Store>(
    (inner, layer, index) => checkStore(checkLayer(layer, index)(inner), `layered(...)[${index + 1}]`),
    checkStore(store, 'layered(store)'),
  );
}

function checkLayer(layer: unknown, index: number): Layer {
  if (typeof layer === 'function') return layer as Layer;
  throw new SluiceError({
    code: 'SLUICE_INVALID_OPTION',
    path: `layered(...)[${index + 1}]`,
    expected: 'a layer, such as deadline() or denyCache()',
    got: Kind.of(layer),
  });
}
