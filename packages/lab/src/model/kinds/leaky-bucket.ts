/** The leaky bucket, in its two modes. */
import { type Kind, numberIn } from '../kind.ts';
import { leakyBucketPicture } from '../pictures/leaky-bucket.ts';
import { queuePicture } from '../pictures/queue.ts';
import { rateWords } from '../rates.ts';
import { bucketKind, capacityText } from './buckets.ts';

const LEAKY = {
  ...bucketKind('leakRate', 'Leak rate'),
  algorithm: 'leaky-bucket',
  factory: 'leakyBucket',
  defaults: { mode: 'policing' },
} as const;

export const policingKind: Kind = {
  ...LEAKY,
  id: 'leaky-bucket-policing',
  title: 'Leaky bucket, policing',
  short: 'Leaky, policing',
  tradeOff: 'A token bucket, upside down',
  steps: [
    'The bucket starts empty; each request pours 1 in.',
    'It leaks at a steady rate.',
    'A request that would make it overflow is denied.',
    'What is in the bucket is what is missing from a token bucket: the answers are the same.',
  ],
  knownFrom: 'nginx limit_req with nodelay',
  burst: 'the capacity after a pause, then the rate',
  bestFor: 'The same, for those who think in queues',
  shapes: false,
  fixed: { mode: 'policing' },
  picture: leakyBucketPicture,
  summary: (numbers) => `holds ${capacityText(numbers)}, leaks ${rateWords(numberIn(numbers, 'leakRate'))}`,
  why: () => 'it would overflow',
};

export const shapingKind: Kind = {
  ...LEAKY,
  id: 'leaky-bucket-shaping',
  title: 'Leaky bucket, shaping',
  short: 'Leaky, shaping',
  tradeOff: 'A queue: requests wait their turn',
  steps: [
    'Slots lie evenly apart on the time line.',
    'Each request takes the next free slot, and waits for it.',
    'When as many wait as the queue holds, the next one is denied.',
    'So the backend gets requests one at a time, never a burst.',
  ],
  knownFrom: 'nginx limit_req, Shopify’s API, network traffic shaping',
  burst: 'one at a time; the others wait for their slot',
  bestFor: 'Fragile backends, webhooks, partner APIs',
  shapes: true,
  fixed: { mode: 'shaping' },
  picture: queuePicture,
  summary: (numbers) => `${capacityText(numbers)} in line, ${rateWords(numberIn(numbers, 'leakRate'))}`,
  why: () => 'the queue is full',
};
