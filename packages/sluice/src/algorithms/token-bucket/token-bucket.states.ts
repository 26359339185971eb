/** What the states of a token bucket say: tokens spent and not refilled, at a time. */
import { levelReader } from '../shared/states.ts';

export const states = [levelReader('t', 'token-bucket', 'spent')];
