/**
 * Requests on their way through: sorted by time, counted, and decided by every scenario. It neither reads files nor knows a platform: the
 * command line and the lab's page push rows into it.
 */
import { wider } from '../logs/key-table.ts';
import { MOST_ROUTES } from '../logs/request-reader.ts';
import type { RowBuffer, RowColumns, Rows } from '../logs/rows.ts';
import { Sorter } from './sorter.ts';
import { Flow } from './tally.ts';

/** Takes rows in the order of their times. `clients` is how many there are so far. */
export interface RowTaker {
  decide(rows: RowBuffer, from: number, to: number, clients: number): void;
}

/** What a replay is made of. */
export interface ReplayOptions {
  /** Microseconds that a line may come too late. */
  readonly window: number;
  readonly has: RowColumns;
  readonly takers: readonly RowTaker[];
}

/** Sorts requests by time, counts them, and hands them to all that decide. */
export class Replay {
  requests = 0;
  units = 0;
  /** Microseconds. */
  first = Number.NaN;
  last = Number.NaN;
  /** By client. */
  requestsOf = new Uint32Array(1024);
  readonly requestsOfRoute = new Uint32Array(MOST_ROUTES + 1);
  readonly flow = new Flow();
  readonly sorter: Sorter;
  /** Called once, in order, for what a half of a log is compared with. */
  takers: readonly RowTaker[];
  /** One more than the largest number of a client so far. */
  clients = 0;

  constructor({ window, has, takers }: ReplayOptions) {
    this.takers = takers;
    this.sorter = new Sorter({ window, has, take: (rows, from, to) => this.#take(rows, from, to) });
  }

  push(source: number, rows: Rows, clients: number): void {
    this.clients = Math.max(this.clients, clients);
    if (rows.count > 0) this.sorter.push(source, rows);
  }

  #take(rows: RowBuffer, from: number, to: number): void {
    const { times, clients, costs, routes } = rows;
    if (this.requestsOf.length < this.clients) {
      this.requestsOf = wider(this.requestsOf, Math.max(this.clients, this.requestsOf.length * 1.5));
    }
    if (this.requests === 0) this.first = times[from]!;
    this.last = times[to - 1]!;
    this.requests += to - from;
    const { flow, requestsOf, requestsOfRoute } = this;
    for (let row = from; row < to; row += 1) {
      const cost = costs === undefined ? 1 : costs[row]!;
      this.units += cost;
      flow.add(times[row]!, cost);
      requestsOf[clients[row]!]! += 1;
      if (routes !== undefined && routes[row]! >= 0) requestsOfRoute[routes[row]!]! += 1;
    }
    for (const taker of this.takers) taker.decide(rows, from, to, this.clients);
  }

  /** Nothing more comes. */
  end(): void {
    this.flow.end();
  }
}
