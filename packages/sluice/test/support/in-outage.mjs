/**
 * Runs a block of the documentation as a program and asks its stores when its parent says so. What the block gets from `sluice/...` are the functions of
 * the built package; the stores that they make are remembered.
 */
import { createLimiter, fixedWindow } from 'sluice';
import * as layers from 'sluice/layers';

const policy = fixedWindow({ name: 'outage', limit: 1e6, window: '1d' });
/** A store that waits for nobody has no fallback of its own: it is asked through the layers that the block puts around it. */
const stores = new Set();

globalThis.kept = {
  redisStore: (make) => (client, options) => {
    const store = make(client, options);
    if (options?.raw !== true) stores.add(store);
    return store;
  },
  layered: (store, ...rest) => {
    const outer = layers.layered(store, ...rest);
    stores.delete(store);
    stores.add(outer);
    return outer;
  },
};

const ask = async () => {
  const answers = [...stores].map((store) => createLimiter({ policy, store }).attempt('outage'));
  return (await Promise.allSettled(answers)).map(({ value, reason }) => value?.source ?? String(reason));
};

process.on('message', async () => process.send(await ask()));
await import(process.argv[2]);
process.send('ready');
