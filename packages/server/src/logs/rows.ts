/** Requests as columns of numbers: a row is a request. Columns grow, and are handed from worker to worker without being copied. */
import { wider } from './key-table.ts';

/** Plain arrays of one block of a log. */
export interface Rows {
  readonly count: number;
  /** Whole microseconds since 1970. */
  readonly times: Float64Array;
  /** Numbers of clients. */
  readonly clients: Int32Array;
  /** IPv4 addresses, where the number of a client is `PACKED`. */
  readonly addresses?: Int32Array | undefined;
  /** Numbers of routes; -1 for a line without a path. */
  readonly routes: Int32Array | undefined;
  /** Undefined: every request costs 1. */
  readonly costs: Float64Array | undefined;
  /** What the rules of a config spend for it, by number; -1 for nothing. */
  readonly spends: Int32Array | undefined;
  /** The lines themselves, where they are wanted. */
  readonly lines: readonly string[] | undefined;
}

/** Which columns there are besides times and clients. */
export interface RowColumns {
  readonly routes: boolean;
  readonly costs: boolean;
  readonly spends: boolean;
  readonly lines: boolean;
  readonly addresses?: boolean | undefined;
}

/** Columns that grow. */
export class RowBuffer implements Rows {
  count = 0;
  times = new Float64Array(1024);
  clients = new Int32Array(1024);
  addresses: Int32Array | undefined;
  routes: Int32Array | undefined;
  costs: Float64Array | undefined;
  spends: Int32Array | undefined;
  lines: string[] | undefined;

  constructor(has: RowColumns) {
    this.addresses = has.addresses === true ? new Int32Array(1024) : undefined;
    this.routes = has.routes ? new Int32Array(1024) : undefined;
    this.costs = has.costs ? new Float64Array(1024) : undefined;
    this.spends = has.spends ? new Int32Array(1024) : undefined;
    this.lines = has.lines ? [] : undefined;
  }

  /** Room for one more row. */
  reserve(rows: number): void {
    if (rows <= this.times.length) return;
    const length = Math.max(rows, this.times.length * 2);
    this.times = wider(this.times, length);
    this.clients = wider(this.clients, length);
    if (this.addresses !== undefined) this.addresses = wider(this.addresses, length);
    if (this.routes !== undefined) this.routes = wider(this.routes, length);
    if (this.costs !== undefined) this.costs = wider(this.costs, length);
    if (this.spends !== undefined) this.spends = wider(this.spends, length);
  }

  clear(): void {
    this.count = 0;
    if (this.lines !== undefined) this.lines = [];
  }
}
