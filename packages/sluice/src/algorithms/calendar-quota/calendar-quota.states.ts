/** What the states of a calendar quota say. */
import type { StateReader } from '../../model/state-reader.ts';
import { windowStates } from '../shared/layouts.ts';

export const states: readonly StateReader[] = [windowStates('q', 'calendar-quota', 'periodStart')];
