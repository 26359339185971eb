/**
 * Time is an argument. This file alone reads a clock; everything else is told what time it is. Its timers neither keep a program alive nor mistake a
 * pause of this program for silence of another.
 */
import { MICROS_PER_MS } from './duration.ts';
import { wrong } from './errors.ts';
import { atEndOfTurn } from './runtime.ts';

/** Milliseconds since the Unix epoch; may be fractional. */
export interface Clock {
  now(): number;
}

/** The clock of this machine: `Date.now()`, in milliseconds. */
export const systemClock: Clock = { now: () => Date.now() };

/** Milliseconds since some moment of its own: it never steps back, so it measures how long something takes and no dates. */
export const monotonicClock: Clock = { now: () => performance.now() };

const MOST_MS = Number.MAX_SAFE_INTEGER / MICROS_PER_MS;

/** A reading as whole microseconds. A clock that answers nonsense is an error, never a NaN in a decision. */
export function readMicros(clock: Clock): number {
  return microsOf(clock.now(), 'clock.now()');
}

/** The same of a time that something else has told, such as an engine. */
export function microsOf(ms: unknown, path: string): number {
  return Math.round(checkTime(ms, path) * MICROS_PER_MS);
}

function checkTime(ms: unknown, path: string): number {
  if (typeof ms === 'number' && ms >= 0 && ms <= MOST_MS) return ms;
  throw wrong('SLUICE_INVALID_CLOCK', path, 'milliseconds since the Unix epoch as a number of at least 0', ms);
}

export function checkClock(clock: unknown, path: string): Clock {
  if (typeof (clock as Clock | null)?.now === 'function') return clock as Clock;
  throw wrong('SLUICE_INVALID_CLOCK', path, 'an object with now(): number, in milliseconds', clock);
}

/** A clock that you move by hand. Made by `manualClock(ms)`. */
export interface ManualClock extends Clock {
  /** Sets the time, backwards too. */
  set(ms: number): void;
  /** Moves the time; a negative number steps back. */
  advance(ms: number): void;
}

/**
 * A clock that stands still until it is told to move: for tests and simulations. Milliseconds.
 *
 * @example
 * const clock = manualClock();
 * const limiter = createLimiter({ policy, store: memoryStore({ clock }) });
 * clock.advance(1000); // a second later
 */
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

/** Calls `wake` once, when about this many milliseconds have passed. */
export type WakeAfter = (ms: number, wake: () => void) => void;

/** A longer timer would ring immediately. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * When the timer rings, what has arrived is read first (`setImmediate`). Otherwise a pause of this program, such as a long garbage collection,
 * would hide replies that lie there unread.
 */
export function wakeByTimer(ms: number, wake: () => void): void {
  const timer: unknown = setTimeout(() => atEndOfTurn(wake), Math.min(Math.ceil(ms), LONGEST_TIMER_MS));
  (timer as { unref?: () => void }).unref?.();
}

/** The same for somebody who waits for it: it keeps the program alive until then. */
export function wakeForSure(ms: number, wake: () => void): void {
  setTimeout(wake, Math.min(Math.ceil(ms), LONGEST_TIMER_MS));
}
