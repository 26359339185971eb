/** What the states of a fixed window say. */
import type { StateReader } from '../../model/state-reader.ts';
import { windowStates } from '../shared/layouts.ts';

export const states: readonly StateReader[] = [windowStates('f', 'fixed-window', 'windowStart')];
