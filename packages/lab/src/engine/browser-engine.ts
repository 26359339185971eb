/** The library itself, in this page: a limiter and a memory store for each row, all on one clock that goes where it is told. */
import { createLimiter, type Limiter, manualClock, memoryStore, type Permit, type RateLimitResult } from 'sluice';
import type { Charge, Row } from '../model/row.ts';
import type { Answer } from '../trace/answers.ts';
import type { Arrival, RowId } from '../trace/trace.ts';
import type { Answered, Engine } from './engine.ts';

/** A place that a request keeps while it runs. */
interface Held {
  readonly until: number;
  release(): void;
}

interface Seat {
  readonly charges: readonly Charge[];
  readonly limiter: Limiter;
}

export class BrowserEngine implements Engine {
  readonly kind = 'browser';
  readonly name = 'This page';
  readonly isVirtual = true;
  readonly raw: Engine['raw'] = new Map();
  readonly commands: Engine['commands'] = new Map();
  readonly #clock = manualClock(0);
  #seats = new Map<RowId, Seat>();
  /** Places to be given back, in the order of their times. */
  #held: Held[] = [];

  /** The memory store decides at once, so the clock can move on before the promises are read. */
  async ask(arrivals: readonly Arrival[], clients: readonly string[], rows: readonly Row[]): Promise<Answered[]> {
    const answered = arrivals.map(async ({ at, client, cost, only }) => {
      this.#moveTo(at);
      const promises = rows.map((row) =>
        only === undefined || only === row.id ? this.#attempt(row, clients[client]!, cost) : undefined,
      );
      return { at, client, cost, answers: await Promise.all(promises) };
    });
    return Promise.all(answered);
  }

  /** Arrivals through one row from the start: what its answers would have been under another policy, whose limiter is a new one. */
  async replay(row: Row, arrivals: readonly Arrival[], clients: readonly string[]): Promise<readonly Answer[]> {
    const answers = arrivals.map(({ at, client, cost }) => {
      this.#moveTo(at);
      return this.#attempt(row, clients[client]!, cost);
    });
    return Promise.all(answers);
  }

  async reset(): Promise<void> {
    this.#seats = new Map();
    this.#held = [];
  }

  async readClock(): Promise<number> {
    return this.#clock.now();
  }

  /** On the way, whatever is done gives back its place at its time. */
  #moveTo(at: number): void {
    while (this.#held[0] !== undefined && this.#held[0].until <= at) {
      const { until, release } = this.#held.shift()!;
      this.#clock.set(until);
      release();
    }
    this.#clock.set(at);
  }

  /** Several policies are one attempt: all of them are spent from, or none. */
  #attempt(row: Row, key: string, units: number): Promise<RateLimitResult> {
    const limiter = this.#limiterOf(row);
    if (row.holdsMs !== undefined) return this.#enter(limiter, key, row.holdsMs);
    const entries = row.charges.map(({ policy, of }) => ({ key, policy, cost: of === 'units' ? units : 1 }));
    return entries.length === 1 ? limiter.attempt(key, { cost: entries[0]!.cost }) : limiter.attempt(entries);
  }

  /** An attempt whose place is given back when the request is done, where it has one. */
  async #enter(limiter: Limiter, key: string, holdsMs: number): Promise<RateLimitResult> {
    const until = this.#clock.now() + holdsMs;
    // The memory store answers synchronously.
    const result = limiter.attempt.atOnce!(key) as RateLimitResult;
    const permit = result.allowed
      ? (limiter.permitOf(key, result, { heartbeat: false }) as Permit | undefined)
      : undefined;
    if (permit !== undefined) {
      this.#held.push({ until, release: () => void permit.release() });
      this.#held.sort((one, other) => one.until - other.until);
    }
    return result;
  }

  #limiterOf({ id, charges }: Row): Limiter {
    const seat = this.#seats.get(id);
    if (seat?.charges === charges) return seat.limiter;
    const policies = charges.map(({ policy }) => policy);
    const limiter = createLimiter({ policies, store: memoryStore({ clock: this.#clock, maxKeys: 100 }) });
    this.#seats.set(id, { charges, limiter });
    return limiter;
  }
}
