/** What an attempt may name: keys and costs, checked before anything is spent. */
import { Kind, SluiceError } from './errors.ts';

/** Long enough for any real identity, short enough that a caller cannot fill a store with a few keys. */
export const MAX_KEY_LENGTH = 65_536;

export function checkKey(key: unknown, path = 'key'): string {
  if (typeof key === 'string' && key.length <= MAX_KEY_LENGTH) return key;
  throw new SluiceError({
    code: 'SLUICE_INVALID_KEY',
    path,
    expected: `a string of at most ${MAX_KEY_LENGTH} characters`,
    got: typeof key === 'string' ? new Kind(`a string of ${key.length} characters`) : key,
  });
}

export function checkCost(cost: unknown, path = 'cost'): number {
  if (Number.isSafeInteger(cost) && (cost as number) >= 0) return cost as number;
  throw new SluiceError({
    code: 'SLUICE_INVALID_COST',
    path,
    expected: `a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`,
    got: cost,
  });
}
