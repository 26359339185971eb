/**
 * Generic cell rate algorithm: each unit is due one interval (period / limit) after the one before it. An attempt may
 * come ahead of its time by at most `capacity` intervals. In any time t at most capacity + t / interval is admitted.
 * State: the theoretical arrival time of the next unit, as whole microsecond and fraction. Twin: gcra.lua.
 */
import type { Algorithm } from '../../model/algorithm.ts';
import { toMicros } from '../../model/duration.ts';
import type { GcraPolicy } from '../../model/policy.ts';
import { bookingStep, movedAway, movedBack } from '../shared/horizon.ts';

export const gcraAlgorithm: Algorithm<GcraPolicy> = {
  width: 2,
  transition: (state, now, cost, { limit, period, capacity }) =>
    bookingStep(state, now, cost, capacity, toMicros(period) / limit, false),
  penalize: (state, now, cost, { limit, period, capacity }) =>
    movedAway(state, now, cost, capacity, toMicros(period) / limit),
  refund: (state, now, cost, spent, { limit, period, capacity }) =>
    movedBack(state, now, cost, spent, capacity, toMicros(period) / limit, false),
};
