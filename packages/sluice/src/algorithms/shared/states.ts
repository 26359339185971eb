/** What the states of levels and horizons say. The layouts are those of level.lua and horizon.lua. */
import { MICROS_PER_SECOND } from '../../model/duration.ts';
import type { StateReader } from '../../model/state-reader.ts';
import { doublesOf, wholeNumber, wholeNumbers } from './layouts.ts';

/** `name` is what the level is of: what a token bucket has spent, what a leaky bucket holds. */
export function levelReader(code: string, kind: string, name: string): StateReader {
  return {
    code,
    kind,
    decode(value) {
      // A whole level: the time, and three digits.
      const digits = wholeNumbers(value, 3);
      return digits === undefined ? doublesOf(value, 'l', 2) : [digits[1]!, digits[0]!];
    },
    describe: (state) => ({ [name]: state[0], at: state[1]! / MICROS_PER_SECOND }),
    times: ['at'],
  };
}

/** `name` is what people call the moment. */
export function horizonReader(code: string, kind: string, name: string): StateReader {
  return {
    code,
    kind,
    decode(value) {
      const whole = wholeNumber(value);
      return whole === undefined ? doublesOf(value, 'f', 2) : [whole, 0];
    },
    describe: (state) => ({ [name]: (state[0]! + state[1]!) / MICROS_PER_SECOND }),
    times: [name],
  };
}
