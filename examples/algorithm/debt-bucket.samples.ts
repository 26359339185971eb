/** Sample policies for `storeContract`, and for comparing the twins. */
import type { Samples } from 'sluice/testing';
import { debtBucket } from './debt-bucket.ts';

const DEBT = 5;
const CENTURY_MS = 36_500 * 86_400_000;

/** Whole microseconds, and everything that is owed is back within a century: no policy may be slower. */
function intervalMs(capacity: number, rate: number): number {
  const micros = Math.max(1, Math.round(1_000_000 / rate));
  return Math.min(micros / 1000, Math.floor(CENTURY_MS / (capacity + DEBT)));
}

export const debtSamples: readonly Samples[] = [
  {
    kind: 'debt-bucket',
    debt: DEBT,
    policy: ({ capacity, rate }, name) => debtBucket({ capacity, debt: DEBT, every: intervalMs(capacity, rate), name }),
  },
];
