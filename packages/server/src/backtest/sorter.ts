/**
 * Puts requests into the order of their times. Servers write a line when a response ends, so lines are a little out of order: rows wait until
 * nothing earlier can come, for as long as the window says. What comes later than that is counted, and decided at the time of the row before it.
 */
import { RowBuffer, type RowColumns, type Rows } from '../logs/rows.ts';

/** Rows that wait at most; beyond that the older half of them goes on. */
const MOST_WAITING = 2_000_000;

/** Takes rows from `from` to `to`, in order. */
export type TakeRows = (rows: RowBuffer, from: number, to: number) => void;

export interface SorterOptions {
  /** Microseconds that a line may come too late. */
  readonly window: number;
  readonly has: RowColumns;
  readonly take: TakeRows;
}

export class Sorter {
  /** Rows that came later than the window. */
  late = 0;
  readonly #window: number;
  readonly #take: TakeRows;
  #waiting: RowBuffer;
  #spare: RowBuffer;
  #isSorted = true;
  /** Everything before this has been handed on. */
  #released = Number.NEGATIVE_INFINITY;
  /** By source: its latest time so far. */
  readonly #frontiers: number[] = [];

  constructor({ window, has, take }: SorterOptions) {
    this.#window = window;
    this.#take = take;
    this.#waiting = new RowBuffer(has);
    this.#spare = new RowBuffer(has);
  }

  /** A source that rows come from: nothing is handed on that an open source may still precede. */
  open(): number {
    this.#frontiers.push(Number.NEGATIVE_INFINITY);
    return this.#frontiers.length - 1;
  }

  /** The open source that is furthest behind. */
  get behind(): number {
    let behind = -1;
    for (const [source, time] of this.#frontiers.entries()) {
      if (time < Number.POSITIVE_INFINITY && (behind < 0 || time < this.#frontiers[behind]!)) behind = source;
    }
    return behind;
  }

  /** Rows of a source; what their clients and routes are called here, where that differs. */
  push(source: number, rows: Rows, clients?: Int32Array, routes?: Int32Array): void {
    const waiting = this.#waiting;
    const { count } = rows;
    const before = waiting.count;
    waiting.reserve(before + count);
    let last = before === 0 ? Number.NEGATIVE_INFINITY : waiting.times[before - 1]!;
    let frontier = this.#frontiers[source]!;
    for (let row = 0; row < count; row += 1) {
      let time = rows.times[row]!;
      if (time < this.#released) {
        this.late += 1;
        time = this.#released;
      }
      if (time < last) this.#isSorted = false;
      if (time > frontier) frontier = time;
      last = time;
      waiting.times[before + row] = time;
      waiting.clients[before + row] = clients === undefined ? rows.clients[row]! : clients[rows.clients[row]!]!;
    }
    this.#frontiers[source] = frontier;
    copyRest(waiting, before, rows, routes);
    waiting.count = before + count;
    this.#release(Math.min(...this.#frontiers) - this.#window);
  }

  /** Nothing more comes from it. */
  close(source: number): void {
    this.#frontiers[source] = Number.POSITIVE_INFINITY;
    this.#release(Math.min(...this.#frontiers) - this.#window);
  }

  #release(until: number): void {
    const { count } = this.#waiting;
    if (count === 0 || (count < MOST_WAITING && until < this.#released)) return;
    if (!this.#isSorted) this.#sort();
    const { times } = this.#waiting;
    let ready = firstAfter(times, count, until);
    if (count >= MOST_WAITING && ready < count / 2) ready = count >> 1;
    if (ready === 0) return;
    this.#take(this.#waiting, 0, ready);
    this.#released = Math.max(this.#released, times[ready - 1]!);
    dropFirst(this.#waiting, ready);
  }

  #sort(): void {
    const order = orderOf(this.#waiting.times, this.#waiting.count);
    const sorted = this.#spare;
    permute(this.#waiting, order, sorted);
    this.#spare = this.#waiting;
    this.#spare.clear();
    this.#waiting = sorted;
    this.#isSorted = true;
  }
}

function copyRest(to: RowBuffer, at: number, rows: Rows, routes: Int32Array | undefined): void {
  const { count } = rows;
  if (to.costs !== undefined) {
    if (rows.costs === undefined) to.costs.fill(1, at, at + count);
    else to.costs.set(rows.costs.subarray(0, count), at);
  }
  if (to.spends !== undefined) to.spends.set(rows.spends!.subarray(0, count), at);
  if (to.routes !== undefined) {
    for (let row = 0; row < count; row += 1) {
      const route = rows.routes === undefined ? -1 : rows.routes[row]!;
      to.routes[at + row] = routes === undefined || route < 0 ? route : routes[route]!;
    }
  }
  if (to.lines !== undefined) to.lines.push(...rows.lines!);
}

/** How many times are at most that. */
function firstAfter(times: Float64Array, count: number, until: number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (times[middle]! <= until) low = middle + 1;
    else high = middle;
  }
  return low;
}

function dropFirst(rows: RowBuffer, dropped: number): void {
  const { count } = rows;
  for (const column of [rows.times, rows.clients, rows.routes, rows.costs, rows.spends]) {
    column?.copyWithin(0, dropped, count);
  }
  rows.lines?.splice(0, dropped);
  rows.count = count - dropped;
}

function permute(from: RowBuffer, order: Uint32Array, to: RowBuffer): void {
  const { count } = from;
  to.reserve(count);
  for (let row = 0; row < count; row += 1) {
    const was = order[row]!;
    to.times[row] = from.times[was]!;
    to.clients[row] = from.clients[was]!;
  }
  if (to.routes !== undefined) for (let row = 0; row < count; row += 1) to.routes[row] = from.routes![order[row]!]!;
  if (to.costs !== undefined) for (let row = 0; row < count; row += 1) to.costs[row] = from.costs![order[row]!]!;
  if (to.spends !== undefined) for (let row = 0; row < count; row += 1) to.spends[row] = from.spends![order[row]!]!;
  if (to.lines !== undefined) to.lines = Array.from(order, (was) => from.lines![was]!);
  to.count = count;
}

/**
 * The order of times: equal ones stay in the order they came. A natural merge sort: a log is a few long runs that are sorted already, and
 * whatever else it is, this takes no more than n log n steps.
 */
export function orderOf(times: Float64Array, count: number): Uint32Array {
  let order = new Uint32Array(count);
  for (let index = 0; index < count; index += 1) order[index] = index;
  let runs = runsOf(times, count);
  let other = new Uint32Array(count);
  while (runs.length > 2) {
    const merged: number[] = [];
    for (let run = 0; run < runs.length - 1; run += 2) {
      const start = runs[run]!;
      const middle = runs[run + 1]!;
      const end = runs[run + 2] ?? middle;
      mergeRuns(times, order, other, start, middle, end);
      merged.push(start);
    }
    merged.push(count);
    runs = merged;
    [order, other] = [other, order];
  }
  return order;
}

/** Where each run begins, and the end of the last. */
function runsOf(times: Float64Array, count: number): number[] {
  const runs = [0];
  for (let index = 1; index < count; index += 1) if (times[index]! < times[index - 1]!) runs.push(index);
  runs.push(count);
  return runs;
}

function mergeRuns(
  times: Float64Array,
  order: Uint32Array,
  to: Uint32Array,
  start: number,
  middle: number,
  end: number,
): void {
  let left = start;
  let right = middle;
  for (let at = start; at < end; at += 1) {
    const takesLeft = left < middle && (right >= end || times[order[left]!]! <= times[order[right]!]!);
    to[at] = order[takesLeft ? left : right]!;
    if (takesLeft) left += 1;
    else right += 1;
  }
}
