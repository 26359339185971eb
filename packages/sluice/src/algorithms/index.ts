/** Every algorithm whose state is a few numbers, by name. To add one: add its folder, a line here, and one in redis/lua/algorithm.lua. */
import type { Algorithm } from '../model/algorithm.ts';
import type { AlgorithmName, Policy } from '../model/policy.ts';
import { fixedWindowAlgorithm } from './fixed-window/fixed-window.ts';
import { gcraAlgorithm } from './gcra/gcra.ts';
import { leakyBucketAlgorithm } from './leaky-bucket/leaky-bucket.ts';
import { slidingWindowCounterAlgorithm } from './sliding-window-counter/sliding-window-counter.ts';
import { tokenBucketAlgorithm } from './token-bucket/token-bucket.ts';

/** The sliding window log keeps a ring, not numbers, and has its own functions in its own folder. */
export type NumbersAlgorithmName = Exclude<AlgorithmName, 'sliding-window-log'>;

const ALGORITHMS: { readonly [Name in NumbersAlgorithmName]: Algorithm<Extract<Policy, { algorithm: Name }>> } = {
  'fixed-window': fixedWindowAlgorithm,
  'sliding-window-counter': slidingWindowCounterAlgorithm,
  'token-bucket': tokenBucketAlgorithm,
  'leaky-bucket': leakyBucketAlgorithm,
  gcra: gcraAlgorithm,
};

export function numbersAlgorithm(name: NumbersAlgorithmName): Algorithm {
  return ALGORITHMS[name] as Algorithm;
}
