/**
 * The only timers of the limiter: an `acquire` that waits sleeps here. A timer of the runtimes may ring up to a millisecond early, and
 * cannot be set beyond 24 days. A sleep does neither: it counts in whole milliseconds, upwards, and goes on until the time has passed
 * on a clock that never steps back.
 */

import { type Clock, checkClock, LONGEST_TIMER_MS, monotonicClock } from '../model/clock.ts';
import { Kind } from '../model/errors.ts';
import { invalidOption } from '../model/options.ts';

/**
 * Resolves once so many milliseconds have passed, or as soon as the signal aborts. Never before, never rejects, and leaves neither a
 * timer nor a listener behind.
 */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/** How this process measures time and lets it pass. Both belong together: what sleeps is what the clock shows. */
export interface Timers {
  /** Measures how long something takes, in milliseconds; it never steps back. */
  readonly clock: Clock;
  readonly sleep: Sleep;
}

export const systemTimers: Timers = { clock: monotonicClock, sleep: sleepOnTimer };

async function sleepOnTimer(ms: number, signal: AbortSignal): Promise<void> {
  const endsAt = monotonicClock.now() + ms;
  for (let left = ms; left > 0 && !signal.aborted; left = endsAt - monotonicClock.now()) {
    await nap(Math.min(Math.ceil(left), LONGEST_TIMER_MS), signal);
  }
}

function nap(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    signal.addEventListener('abort', wake);
  });
}

export function checkTimers(timers: unknown, path: string): Timers {
  const { clock, sleep } = (timers ?? {}) as Partial<Timers>;
  if (typeof sleep === 'function') return { clock: checkClock(clock, `${path}.clock`), sleep };
  throw invalidOption(path, 'an object with a clock and sleep(ms, signal): Promise<void>', Kind.of(timers));
}
