/** Timers that neither keep a program alive nor mistake a pause of this program for silence of another. */

import { atEndOfTurn } from './runtime.ts';

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
