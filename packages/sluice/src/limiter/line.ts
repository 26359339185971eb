/**
 * Those who wait for one key, first come, first served. Only the head of the line asks the store; when it is denied it sleeps exactly
 * as long as the store said and asks again, and everybody else waits behind it without asking. So a line costs the store one
 * question for each turn, however long it is, and nobody overtakes.
 */

/** One who waits in a line. */
export interface Waiter {
  /**
   * Asks for a turn. Resolves with how many microseconds to wait before asking again, or with undefined when there is nothing more to
   * ask. Never rejects.
   */
  ask(): Promise<number | undefined>;
  /** Resolves when that time has passed, or earlier: when woken, or when it has left. */
  sleep(micros: number): Promise<void>;
  wake(): void;
  /** It has got what it wanted, or has gone. */
  readonly isOver: boolean;
}

export class Line {
  /** In the order they came; the first one is asking or sleeping. Those who only wait for a slot that is theirs have left the queue. */
  readonly #queue = new Set<Waiter>();
  readonly #onEmpty: () => void;
  #isMoving = false;
  #waiting = 0;

  constructor(onEmpty: () => void) {
    this.#onEmpty = onEmpty;
  }

  /** All who have not got their turn yet: asking, sleeping or behind. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Whoever joins must leave once, when it is over. */
  join(waiter: Waiter): void {
    this.#waiting += 1;
    this.#queue.add(waiter);
    if (!this.#isMoving) void this.#move();
  }

  leave(waiter: Waiter): void {
    this.#waiting -= 1;
    this.#queue.delete(waiter);
    this.#tellIfEmpty();
  }

  /** Lets the head ask now, whatever it was told. */
  wakeHead(): void {
    this.#queue.values().next().value?.wake();
  }

  /** A set goes on to those who are added meanwhile, and leaves out those who are deleted. */
  async #move(): Promise<void> {
    this.#isMoving = true;
    for (const head of this.#queue) {
      await serve(head);
      this.#queue.delete(head);
    }
    this.#isMoving = false;
    this.#tellIfEmpty();
  }

  #tellIfEmpty(): void {
    if (this.#waiting === 0 && !this.#isMoving) this.#onEmpty();
  }
}

async function serve(head: Waiter): Promise<void> {
  let wait = await head.ask();
  while (wait !== undefined) {
    await head.sleep(wait);
    wait = head.isOver ? undefined : await head.ask();
  }
}
