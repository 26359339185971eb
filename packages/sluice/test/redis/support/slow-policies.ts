/**
 * One policy of each kind in which nothing comes back while a test runs, so that what is admitted is a number and not a range.
 * Epoch windows are 36,500 days long: the next edge is in 2069.
 */
import {
  fixedWindow,
  gcra,
  leakyBucket,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../../../src/index.ts';
import type { Kind } from '../../support/random.ts';

const CENTURY = '36500d';

export function slowPolicies(limit: number): Readonly<Record<Kind, Policy>> {
  return {
    'fixed-window epoch': fixedWindow({ name: 'fixed epoch', limit, window: CENTURY }),
    'fixed-window first': fixedWindow({ name: 'fixed first', limit, window: '1h', align: 'first' }),
    'sliding-window-log': slidingWindowLog({ limit, window: '1h' }),
    'sliding-window-counter': slidingWindowCounter({ limit, window: CENTURY }),
    'token-bucket': tokenBucket({ capacity: limit, refillRate: '1/d' }),
    'leaky-bucket policing': leakyBucket({ name: 'policing', capacity: limit, leakRate: '1/d' }),
    'leaky-bucket shaping': leakyBucket({ name: 'shaping', capacity: limit, leakRate: '1/d', mode: 'shaping' }),
    gcra: gcra({ limit: 1, period: '1d', capacity: limit }),
  };
}
