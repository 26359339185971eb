/** Token bucket. */
import { type Kind, numberIn } from '../kind.ts';
import { tokenBucketPicture } from '../pictures/token-bucket.ts';
import { rateWords } from '../rates.ts';
import { bucketKind, capacityText } from './buckets.ts';

export const tokenBucketKind: Kind = {
  ...bucketKind('refillRate', 'Refill rate'),
  id: 'token-bucket',
  algorithm: 'token-bucket',
  title: 'Token bucket',
  short: 'Token bucket',
  tradeOff: 'Bursts first, then a steady rate',
  steps: [
    'The bucket starts full of tokens.',
    'Each request takes one; without a whole token it is denied.',
    'Tokens come back at a steady rate, up to what the bucket holds.',
    'So after a pause a client may send its whole capacity at the same moment.',
    'The most in any time is the capacity, and what comes back in that time.',
  ],
  knownFrom: 'AWS API Gateway, Stripe',
  burst: 'the capacity after a pause, then the rate',
  bestFor: 'APIs for people: bursts welcome, average held',
  factory: 'tokenBucket',
  shapes: false,
  fixed: {},
  defaults: {},
  picture: tokenBucketPicture,
  summary: (numbers) => `${capacityText(numbers)} at once, ${rateWords(numberIn(numbers, 'refillRate'))} back`,
  why: () => 'no whole token left',
};
