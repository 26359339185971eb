/** The only timers of this folder. Whoever waits can be called off, and whoever is done leaves no timer behind. */

/** Waits that many milliseconds, or rejects with the signal's reason as soon as it aborts. */
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>;

export const sleep: Sleep = (ms, signal) =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });

/** Beyond this a timer of the runtimes overflows and fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export interface TimeLimit {
  readonly signal: AbortSignal;
  /** The work is done: the signal will not abort any more. */
  lift(): void;
}

/** A signal that aborts with that reason when the time is up. */
export function timeLimit(ms: number, reasonOf: () => unknown): TimeLimit {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(reasonOf()), ms);
  return { signal: controller.signal, lift: () => clearTimeout(timer) };
}
