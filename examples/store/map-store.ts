/**
 * A store of your own: two functions over whatever can read a value and swap it if it has not changed. `storeOver` does the rest: the
 * algorithms, several policies in one swap, queues for hot keys, and giving back what was spent when a later key says no.
 */
import type { Store } from 'sluice';
import { type StoreOverOptions, type SwapPort, storeOver } from 'sluice/store';
import { type Entry, type FarMap, NoReply } from './far-map.ts';

/** So often a call without a reply is sent again, before the attempt fails and a `fallback` layer may answer it. */
const MOST_SENDS = 50;

/** A store whose states are in `map`. */
export function mapStore(map: FarMap, options: StoreOverOptions = {}): Store {
  return storeOver(portOf(map), options);
}

function portOf(map: FarMap): SwapPort {
  return {
    async read(key) {
      // Reading twice changes nothing, so a lost reply only costs time.
      const { entry, now } = await untilAnswered(() => map.get(key));
      return { value: entry?.value, version: entry?.token, now };
    },
    async swap(key, next, expected, ttlMs) {
      const { now } = await untilAnswered(() => map.get(key));
      const entry = next && { value: next, token: crypto.randomUUID(), expires: now + ttlMs };
      return await swapOnce(map, key, entry, expected as string | undefined);
    },
  };
}

/**
 * A swap without a reply may have been carried out, and sending it again blindly would tell "not swapped" of a swap that was, so the attempt
 * would be counted twice. What stands under the key now tells: our token, it was; the old token, it was not. Anything else is somebody's
 * later swap, which hides ours: then nobody can know, and the attempt fails. It may have been counted, and is never counted twice.
 */
async function swapOnce(
  map: FarMap,
  key: string,
  next: Entry | undefined,
  expected: string | undefined,
): Promise<boolean> {
  for (let send = 1; ; send += 1) {
    try {
      return await map.compareAndSet(key, next, expected);
    } catch (error) {
      if (!(error instanceof NoReply) || send === MOST_SENDS) throw error;
      const { entry } = await untilAnswered(() => map.get(key));
      if (entry?.token === next?.token) return true;
      if (entry?.token !== expected) throw error;
    }
  }
}

async function untilAnswered<T>(call: () => Promise<T>): Promise<T> {
  for (let send = 1; ; send += 1) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof NoReply) || send === MOST_SENDS) throw error;
    }
  }
}
