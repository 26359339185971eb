/** The one limit that all rows share: so many units in a window, and how many of them may come at the same moment. */

export interface SharedLimit {
  readonly units: number;
  /** Milliseconds. */
  readonly window: number;
  /** Units at the same moment; how many wait, where requests wait. Windows have no such number: there it is the limit. */
  readonly burst: number;
}

export const INITIAL_LIMIT: SharedLimit = { units: 10, window: 10_000, burst: 10 };

/** What a row is held against: so many units in a window of so many milliseconds. */
export interface Meant {
  readonly units: number;
  readonly window: number;
}

/** A window lasts so long at normal speed, whatever it is on the lab's clock. */
export const WINDOW_LASTS_MS = 10_000;

/** How many milliseconds of the lab go by in one: so that 100 an hour is as alive as 10 in 10 s. */
export function timeScale({ window }: SharedLimit): number {
  return window / WINDOW_LASTS_MS;
}
