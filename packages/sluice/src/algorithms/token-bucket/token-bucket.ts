/**
 * Token bucket: a bucket of `capacity` tokens refills at `refillRate`; an attempt takes `cost` of them if they are there.
 * Idle keys save up to a full bucket and may spend it at once. In any time t at most capacity + refillRate x t is admitted.
 * State: [tokens spent and not yet refilled, time]. What is spent is kept, not what is left: nothing spent means the same as no
 * state for every capacity, so a plan can be changed without minting or losing tokens. Twin: token-bucket.lua.
 */
import type { Algorithm } from '../../model/algorithm.ts';
import type { TokenBucketPolicy } from '../../model/policy.ts';
import { drainingStep, loweredLevel, raisedLevel } from '../shared/level.ts';

export const tokenBucketAlgorithm: Algorithm<TokenBucketPolicy> = {
  width: 2,
  transition: (state, now, cost, { capacity, refillRate }) => drainingStep(state, now, cost, capacity, refillRate),
  penalize: (state, now, cost, { capacity, refillRate }) => raisedLevel(state, now, cost, capacity, refillRate),
  refund: (state, now, cost, spent, { capacity, refillRate }) =>
    loweredLevel(state, now, cost, spent, capacity, refillRate),
};
