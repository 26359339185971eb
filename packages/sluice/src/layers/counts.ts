/** Options that count something. */
import { SluiceError } from '../model/errors.ts';

export function checkCount(count: unknown, path: string): number {
  if (Number.isSafeInteger(count) && (count as number) >= 1) return count as number;
  throw new SluiceError({
    code: 'SLUICE_INVALID_OPTION',
    path,
    expected: 'a whole number of at least 1',
    got: count,
  });
}
