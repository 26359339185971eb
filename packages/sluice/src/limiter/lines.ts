/**
 * Those who wait: a line for each key and set of policies, as long as somebody waits in it. First come, first served. Only the head of a line asks
 * the store; when it is denied it sleeps exactly as long as the store said and asks again, and everybody else waits behind it without asking. So a
 * line costs the store one question for each turn, however long it is, and nobody overtakes.
 */
import { Kind, wrong } from '../model/errors.ts';
import { checkCount } from '../model/options.ts';
import { type Policy, ruleOf } from '../model/policy.ts';

const DEFAULT_QUEUE_LIMIT = 10_000;

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
  isOver(): boolean;
}

export interface Line {
  /** Whoever joins must leave once, when it is over. */
  join(waiter: Waiter): void;
  leave(waiter: Waiter): void;
}

interface OpenLine extends Line {
  /** What tells the states of its policies apart. */
  readonly identity: string;
  /** In the order they came; the first one is asking or sleeping. Those who only wait for a slot that is theirs have left the queue. */
  readonly queue: Set<Waiter>;
  /** All who have not got their turn yet: asking, sleeping or behind. */
  waiting: number;
}

export class Lines {
  readonly #byKey = new Map<string, OpenLine[]>();
  readonly #queueLimit: number;

  constructor(queueLimit: unknown = DEFAULT_QUEUE_LIMIT) {
    this.#queueLimit = checkCount(queueLimit, 'createLimiter.queueLimit');
  }

  #of(key: string): readonly OpenLine[] {
    return this.#byKey.get(key) ?? [];
  }

  waiting(key: string): number {
    return this.#of(key).reduce((sum, { waiting }) => sum + waiting, 0);
  }

  /** Lets the heads ask now, whatever they were told. */
  wakeHeads(key: string): void {
    for (const { queue } of this.#of(key)) queue.values().next().value?.wake();
  }

  /** The line to join. One that is full cannot be joined. */
  lineFor(key: string, policies: readonly Policy[]): Line {
    const identity = policies.map((policy) => ruleOf(policy).identity).join('\n');
    const open = this.#of(key).find((line) => line.identity === identity);
    if (open === undefined) return this.#open(key, identity);
    if (open.waiting < this.#queueLimit) return open;
    throw wrong('SLUICE_QUEUE_FULL', 'acquire', `at most ${this.#queueLimit} waiting for a key`, new Kind('one more'));
  }

  #open(key: string, identity: string): Line {
    const queue = new Set<Waiter>();
    let isMoving = false;
    const closeIfEmpty = (): void => {
      if (line.waiting > 0 || isMoving) return;
      const others = this.#of(key).filter((other) => other !== line);
      if (others.length > 0) this.#byKey.set(key, others);
      else this.#byKey.delete(key);
    };
    /** A set goes on to those who are added meanwhile, and leaves out those who are deleted. */
    const move = async (): Promise<void> => {
      isMoving = true;
      for (const head of queue) {
        for (let wait = await head.ask(); wait !== undefined; ) {
          await head.sleep(wait);
          wait = head.isOver() ? undefined : await head.ask();
        }
        queue.delete(head);
      }
      isMoving = false;
      closeIfEmpty();
    };
    const line: OpenLine = {
      identity,
      queue,
      waiting: 0,
      join(waiter) {
        line.waiting += 1;
        queue.add(waiter);
        if (!isMoving) void move();
      },
      leave(waiter) {
        line.waiting -= 1;
        queue.delete(waiter);
        closeIfEmpty();
      },
    };
    this.#byKey.set(key, [...this.#of(key), line]);
    return line;
  }
}
