/** Sample policies of the leaky bucket. */
import type { Samples } from '../../model/samples.ts';
import { leakyBucket } from './leaky-bucket.ts';

export const samples: readonly Samples[] = [
  {
    kind: 'leaky-bucket policing',
    policy: ({ capacity, rate }, name) => leakyBucket({ capacity, leakRate: rate, name }),
  },
  {
    kind: 'leaky-bucket shaping',
    policy: ({ capacity, rate }, name) => leakyBucket({ capacity, leakRate: rate, name, mode: 'shaping' }),
  },
];
