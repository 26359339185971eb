/** What the states of GCRA say. */
import { horizonReader } from '../shared/states.ts';

export const states = [horizonReader('g', 'gcra', 'theoreticalArrival')];
