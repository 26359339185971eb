/** The clock of a server as this page knows it: what it is ahead of its own, learnt from answers. */
import type { Engine } from '../engine/engine.ts';

/** Less than this is the way of an answer, not another clock. */
const SAME_CLOCK = 1_000;

export class ServerClock {
  #skew = 0;

  now(): number {
    return Date.now() + this.#skew;
  }

  /** Half of the way there and back is the best guess of when it was read. */
  async read(engine: Engine, over: <T>(question: Promise<T>) => Promise<T>): Promise<void> {
    const asked = Date.now();
    const read = await over(engine.readClock());
    this.#skew = read - (asked + Date.now()) / 2;
  }

  /** Its clock counts: by how much this one was off is learnt from an answer that has just come. Says by how much it was set. */
  compare(at: number): number {
    const skew = at - Date.now();
    const change = skew - this.#skew;
    if (Math.abs(change) < SAME_CLOCK) return 0;
    this.#skew = skew;
    return change;
  }
}
