/** What the states of a limit in flight say. The layout is that of concurrency.lua. */
import { MICROS_PER_SECOND } from '../../model/duration.ts';
import type { StateReader } from '../../model/state-reader.ts';
import { unexpectedState, viewOf } from '../shared/layouts.ts';

const HEADER_BYTES = 24;
const PERMIT_BYTES = 20;

export const states: readonly StateReader[] = [
  {
    code: 'n',
    kind: 'concurrency',
    decode(value) {
      const count = (value.length - HEADER_BYTES) / PERMIT_BYTES;
      if (!Number.isInteger(count) || count < 0) throw unexpectedState(value);
      const view = viewOf(value);
      const numbers = [view.getFloat64(8, true), view.getFloat64(16, true)];
      for (let at = HEADER_BYTES; at < value.length; at += PERMIT_BYTES) {
        numbers.push(view.getFloat64(at, true), view.getFloat64(at + 8, true), view.getUint32(at + 16, true));
      }
      return numbers;
    },
    describe(state) {
      const permits = Array.from({ length: (state.length - 2) / 3 }, (_, index) => ({
        until: state[3 + index * 3]! / MICROS_PER_SECOND,
        units: state[4 + index * 3],
      }));
      return { permits };
    },
    times: [],
    blockedUntil: (value) => viewOf(value).getFloat64(0, true),
  },
];
