/**
 * Leaky bucket: attempts pour `cost` into a bucket of `capacity` that leaks at `leakRate`.
 * Policing refuses what would overflow. State: [level, time].
 * Shaping lets it in and says when it will leak out: the caller waits `delay` and the output is smooth at the leak rate,
 * whoever sends and however many they are. State: [next free time, whole microsecond and fraction].
 * In any time t at most capacity + leakRate x t is admitted; shaped output never exceeds one unit per 1 / leakRate.
 * Twins: leaky-bucket-policing.lua and leaky-bucket-shaping.lua.
 */
import type { Algorithm } from '../../model/algorithm.ts';
import { MICROS_PER_SECOND } from '../../model/duration.ts';
import type { LeakyBucketPolicy } from '../../model/policy.ts';
import { bookingStep, movedAway, movedBack } from '../shared/horizon.ts';
import { drainingStep, loweredLevel, raisedLevel } from '../shared/level.ts';

export const leakyBucketAlgorithm: Algorithm<LeakyBucketPolicy> = {
  width: 2,
  transition: (state, now, cost, { capacity, leakRate, mode }) =>
    mode === 'shaping'
      ? bookingStep(state, now, cost, capacity, MICROS_PER_SECOND / leakRate, true)
      : drainingStep(state, now, cost, capacity, leakRate),
  penalize: (state, now, cost, { capacity, leakRate, mode }) =>
    mode === 'shaping'
      ? movedAway(state, now, cost, capacity, MICROS_PER_SECOND / leakRate)
      : raisedLevel(state, now, cost, capacity, leakRate),
  refund: (state, now, cost, spent, { capacity, leakRate, mode }) =>
    mode === 'shaping'
      ? movedBack(state, now, cost, spent, capacity, MICROS_PER_SECOND / leakRate, true)
      : loweredLevel(state, now, cost, spent, capacity, leakRate),
};
