/** A Map as an engine that can read a value and swap it: what `storeOver` needs, and nothing else. */
import type { SwapPort } from '../../src/store/index.ts';

export function mapPort(values = new Map<string, { value: Uint8Array; version: number }>()): SwapPort {
  let versions = 0;
  return {
    read: (key) => values.get(key),
    swap(key, next, expected) {
      if (values.get(key)?.version !== expected) return false;
      versions += 1;
      if (next === undefined) values.delete(key);
      else values.set(key, { value: next, version: versions });
      return true;
    },
  };
}
