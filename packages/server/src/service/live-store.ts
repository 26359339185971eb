/** Whether the store is there, and since when: known from its own answers, and from somebody who asks it. */

export interface StoreState {
  readonly state: 'up' | 'down';
  /** For how long it has been so, in seconds. */
  readonly secondsAgo: number;
}

/** Times are milliseconds on a clock that only goes on. */
export class LiveStore {
  #state: StoreState['state'] = 'up';
  #since: number;
  /** The first answer that was not its own, since its last own answer. */
  #firstFallback: number | undefined;

  constructor(startedAt: number) {
    this.#since = startedAt;
  }

  /** An answer, and whether it was the store's own. What others answer by right, as the deny cache does, is neither. */
  answered(source: string, now: number): void {
    if (source === 'store') this.#firstFallback = undefined;
    else if (isFallback(source)) this.#firstFallback ??= now;
  }

  /** Somebody has asked it just now. One late answer does not mean that it is away, so this decides. */
  looked(isUp: boolean, now: number): StoreState {
    const state = isUp ? 'up' : 'down';
    if (state !== this.#state) this.#since = isUp ? now : (this.#firstFallback ?? now);
    this.#state = state;
    return { state, secondsAgo: (now - this.#since) / 1e3 };
  }
}

/** Whether somebody else answered because the store did not. */
export function isFallback(source: string): boolean {
  return source === 'fallback' || source === 'fail-closed';
}
