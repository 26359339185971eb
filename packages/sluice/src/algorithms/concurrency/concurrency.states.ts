/** What the states of a limit in flight say. The layout is that of concurrency.lua. */
import { MICROS_PER_SECOND } from '../../model/duration.ts';
import type { StateReader } from '../../model/state-reader.ts';
import { unexpectedState, viewOf } from '../shared/layouts.ts';

const HEADER_BYTES = 44;
const PERMIT_BYTES = 20;

export const states: readonly StateReader[] = [
  {
    code: 'n',
    kind: 'concurrency',
    decode(value) {
      if (value.length < HEADER_BYTES) throw unexpectedState(value);
      const view = viewOf(value);
      const [head, count] = [view.getUint32(32, true), view.getUint32(36, true)];
      if (head > count || HEADER_BYTES + count * PERMIT_BYTES > value.length) throw unexpectedState(value);
      const numbers = [view.getFloat64(8, true), view.getFloat64(16, true)];
      for (let index = head; index < count; index += 1) {
        const at = HEADER_BYTES + index * PERMIT_BYTES;
        const units = view.getUint32(at + 16, true);
        if (units > 0) numbers.push(view.getFloat64(at, true), view.getFloat64(at + 8, true), units);
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
