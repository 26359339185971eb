/** Time is an argument. This file alone reads a clock; everything else is told what time it is. */
import { MICROS_PER_MS } from './duration.ts';
import { SluiceError } from './errors.ts';

/** Milliseconds since the Unix epoch; may be fractional. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** Milliseconds since some moment of its own: it never steps back, so it measures how long something takes and no dates. */
export const monotonicClock: Clock = { now: () => performance.now() };

/** A reading as whole microseconds. A clock that answers nonsense is an error, never a NaN in a decision. */
export function readMicros(clock: Clock): number {
  return toTime(checkTime(clock.now(), 'clock.now()'));
}

function toTime(ms: number): number {
  return Math.round(ms * MICROS_PER_MS);
}

function checkTime(ms: unknown, path: string): number {
  if (typeof ms === 'number' && ms >= 0 && toTime(ms) <= Number.MAX_SAFE_INTEGER) return ms;
  throw new SluiceError({
    code: 'SLUICE_INVALID_CLOCK',
    path,
    expected: 'milliseconds since the Unix epoch as a number of at least 0',
    got: ms,
  });
}

export function checkClock(clock: unknown, path: string): Clock {
  if (typeof (clock as Clock | null)?.now === 'function') return clock as Clock;
  throw new SluiceError({
    code: 'SLUICE_INVALID_CLOCK',
    path,
    expected: 'an object with now(): number, in milliseconds',
    got: clock,
  });
}

export interface ManualClock extends Clock {
  /** Sets the time, backwards too. */
  set(ms: number): void;
  /** Moves the time; a negative number steps back. */
  advance(ms: number): void;
}

/** A clock that stands still until it is told to move: for tests and simulations. Milliseconds. */
export function manualClock(startMs = 0): ManualClock {
  let ms = checkTime(startMs, 'manualClock(ms)');
  return {
    now: () => ms,
    set: (to) => {
      ms = checkTime(to, 'manualClock.set(ms)');
    },
    advance: (by) => {
      ms = checkTime(typeof by === 'number' ? ms + by : by, 'manualClock.advance(ms)');
    },
  };
}
