/** How often workers died lately. One that dies is replaced; when they keep dying, something is wrong that no new one mends. */

/** So many deaths within so long end the server. */
export const [MOST_DEATHS, WITHIN_MS] = [5, 60_000];

export class Deaths {
  readonly #now: () => number;
  readonly #times: number[] = [];

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** One more. Returns whether it is one too many. */
  add(): boolean {
    const now = this.#now();
    this.#times.push(now);
    while (this.#times[0]! <= now - WITHIN_MS) this.#times.shift();
    return this.#times.length >= MOST_DEATHS;
  }
}
