/** What the states of a leaky bucket say. */
import { horizonReader, levelReader } from '../shared/states.ts';

export const states = [
  levelReader('p', 'leaky-bucket policing', 'level'),
  horizonReader('s', 'leaky-bucket shaping', 'nextFree'),
];
