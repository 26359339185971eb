/** What the states of a calendar quota say. The layout is that of calendar-quota.lua. */
import { MICROS_PER_SECOND } from '../../model/duration.ts';
import type { StateReader } from '../../model/state-reader.ts';
import { textNumbers, wholeNumber } from '../shared/layouts.ts';

export const states: readonly StateReader[] = [
  {
    code: 'q',
    kind: 'calendar-quota',
    /** Digits: start + count. Or text: start and count. */
    decode(value) {
      const packed = wholeNumber(value);
      return packed === undefined ? textNumbers(value, 2) : [packed - (packed % 1e6), packed % 1e6];
    },
    describe: (state) => ({ periodStart: state[0]! / MICROS_PER_SECOND, count: state[1] }),
    times: ['periodStart'],
  },
];
