/** `sluice/deno-kv`: the store in Deno KV, by its atomic check and set. */

import { wakeForSure } from '../../model/clock.ts';
import { Kind, wrong } from '../../model/errors.ts';
import { invalidOption } from '../../model/options.ts';
import type { Store } from '../../model/store.ts';
import { type EngineOptions, engineStore } from '../../presets/engine-store.ts';
import { type SwapPort, storeOver } from '../../store/store-over.ts';
import { nameMaker } from '../names.ts';

export type { BreakerOptions, EngineStateChange } from '../../presets/store-layers.ts';

/** What Sluice uses of `await Deno.openKv()`. */
export interface DenoKv {
  // biome-ignore lint/suspicious/noExplicitAny: keys and values have types of Deno.
  get(key: any): Promise<{ readonly value: any; readonly versionstamp: string | null }>;
  atomic(): DenoKvAtomic;
}

/** What Sluice uses of `kv.atomic()`. */
export interface DenoKvAtomic {
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  check(...checks: any[]): this;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  set(key: any, value: any, options?: { expireIn?: number }): this;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  delete(key: any): this;
  commit(): Promise<{ readonly ok: boolean }>;
}

/** What `denoKvStore` takes besides its database. */
export type DenoKvOptions = EngineOptions;

/** A key of Deno KV has at most 2 kB. */
const MOST_CHARACTERS = 400;

/**
 * A store in Deno KV. Exact for all processes that share the database: a state is written only if it is still the one that was decided on. A denial is one
 * read, an allowed attempt a read and a write. When the database is away, this process answers from its own memory, with a warning.
 *
 * @example
 * const kv = await Deno.openKv();
 * const limiter = createLimiter({ policy: tokenBucket({ capacity: 100, refillRate: 10 }), store: denoKvStore(kv) });
 */
export function denoKvStore(kv: DenoKv, options: DenoKvOptions = {}): Store {
  if (typeof kv?.get !== 'function' || typeof kv.atomic !== 'function') {
    throw wrong('SLUICE_INVALID_CLIENT', 'denoKvStore(kv)', 'what `await Deno.openKv()` gives', Kind.of(kv));
  }
  if (typeof options !== 'object' || options === null) {
    throw invalidOption('denoKvStore', 'an object of options', Kind.of(options));
  }
  const { prefix = 'sluice', clock } = options;
  return engineStore(
    {
      name: 'denoKvStore',
      client: kv,
      traits: { name: 'Deno KV', probe: () => kv.atomic().delete([prefix, '%']).commit() },
      store(call, place) {
        const nameOf = nameMaker({ ...options, prefix: '' }, MOST_CHARACTERS);
        const keyOf = (key: string): string[] => [prefix, nameOf(key)];
        const port: SwapPort = {
          async read(key) {
            const { value, versionstamp } = await whenFree(() => kv.get(keyOf(key)));
            return versionstamp === null ? undefined : { value: value as Uint8Array, version: versionstamp };
          },
          async swap(key, next, expected, ttlMs) {
            const name = keyOf(key);
            const { ok } = await whenFree(() => {
              const checked = kv.atomic().check({ key: name, versionstamp: (expected as string | undefined) ?? null });
              return (
                next === undefined ? checked.delete(name) : checked.set(name, next, { expireIn: ttlMs })
              ).commit();
            });
            return ok;
          },
        };
        const store = storeOver(
          { read: (key) => call(() => port.read(key)), swap: (...swap) => call(() => port.swap(...swap)) },
          { prefix: '', clock },
        );
        return { place, ask: (question) => store.ask(question) };
      },
    },
    options,
  );
}

const PAUSE_MS = 5;
const TRIES = 200;

/** On one machine the database is a file, which another process may be writing to: nothing was carried out then. */
async function whenFree<T>(act: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await act();
    } catch (error) {
      if (tries === TRIES || !(error instanceof Error && error.message.includes('database is locked'))) throw error;
      await new Promise<void>((resolve) => wakeForSure(PAUSE_MS, resolve));
    }
  }
}
