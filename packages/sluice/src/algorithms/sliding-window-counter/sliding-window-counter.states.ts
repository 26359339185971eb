/** What the states of a sliding window counter say. The layout is that of sliding-window-counter.lua. */
import { MICROS_PER_SECOND } from '../../model/duration.ts';
import type { StateReader } from '../../model/state-reader.ts';
import { textNumbers, wholeNumber } from '../shared/layouts.ts';

export const states: readonly StateReader[] = [
  {
    code: 'c',
    kind: 'sliding-window-counter',
    /** Digits: start + 1000 x previous + current. Or text: start, current, previous. */
    decode(value) {
      const packed = wholeNumber(value);
      if (packed === undefined) return textNumbers(value, 3);
      const counts = packed % 1e6;
      return [packed - counts, counts % 1e3, Math.floor(counts / 1e3)];
    },
    describe: (state) => ({ windowStart: state[0]! / MICROS_PER_SECOND, current: state[1], previous: state[2] }),
    times: ['windowStart'],
  },
];
