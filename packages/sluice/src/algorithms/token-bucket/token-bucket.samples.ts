/** Sample policies of the token bucket. */
import type { Samples } from '../../model/samples.ts';
import { tokenBucket } from './token-bucket.ts';

export const samples: readonly Samples[] = [
  { kind: 'token-bucket', policy: ({ capacity, rate }, name) => tokenBucket({ capacity, refillRate: rate, name }) },
];
