/**
 * Puts requests into the order of their times. Servers write a line when a response ends, so lines are a little out of order: rows wait until
 * nothing earlier can come, for as long as the window says. What comes later than that is counted, and decided at the time of the row before it.
 */
import { RowBuffer, type RowColumns, type Rows } from '../logs/rows.ts';

/** Rows that wait at most; beyond that the older half of them goes on. */
const MOST_WAITING = 2_000_000;

const COLUMNS = ['times', 'clients', 'routes', 'costs', 'spends'] as const;

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
  /** So many of the rows that wait are in order, and the earliest time of those after them. */
  #sorted = 0;
  #earliest = Number.POSITIVE_INFINITY;
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

  /** A source that rows come from, from about a time on: nothing is handed on that an open source may still precede. */
  open(from = Number.NEGATIVE_INFINITY): number {
    this.#frontiers.push(from);
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

  /** Rows of a source. */
  push(source: number, rows: Rows): void {
    const waiting = this.#waiting;
    const { count } = rows;
    const before = waiting.count;
    waiting.reserve(before + count);
    let last = before === 0 ? Number.NEGATIVE_INFINITY : waiting.times[before - 1]!;
    let sorted = this.#sorted;
    let earliest = this.#earliest;
    let frontier = this.#frontiers[source]!;
    for (let row = 0; row < count; row += 1) {
      let time = rows.times[row]!;
      if (time < this.#released) {
        this.late += 1;
        time = this.#released;
      }
      if (time >= last && sorted === before + row) sorted += 1;
      else if (time < earliest) earliest = time;
      if (time > frontier) frontier = time;
      last = time;
      waiting.times[before + row] = time;
    }
    this.#frontiers[source] = frontier;
    this.#sorted = sorted;
    this.#earliest = earliest;
    copyRest(waiting, before, rows);
    waiting.count = before + count;
    this.#release(this.#safe());
  }

  /** Nothing more comes from it. */
  close(source: number): void {
    this.#frontiers[source] = Number.POSITIVE_INFINITY;
    this.#release(this.#safe());
  }

  /** Nothing earlier than this is expected. */
  #safe(): number {
    return this.#frontiers.reduce((least, time) => Math.min(least, time), Number.POSITIVE_INFINITY) - this.#window;
  }

  #release(until: number): void {
    const { count } = this.#waiting;
    if (count === 0 || (count < MOST_WAITING && until < this.#released)) return;
    if (this.#sorted < count) this.#sort();
    const { times } = this.#waiting;
    let ready = firstAfter(times, count, until);
    if (count >= MOST_WAITING && ready < count / 2) ready = count >> 1;
    if (ready === 0) return;
    this.#take(this.#waiting, 0, ready);
    this.#released = Math.max(this.#released, times[ready - 1]!);
    dropFirst(this.#waiting, ready);
    this.#sorted = this.#waiting.count;
  }

  /** Only from where the first of the new rows belongs. */
  #sort(): void {
    const waiting = this.#waiting;
    const { count, times } = waiting;
    const from = firstAfter(times, this.#sorted, this.#earliest);
    permute(waiting, from, orderOf(times.subarray(from, count), count - from), this.#spare);
    this.#sorted = count;
    this.#earliest = Number.POSITIVE_INFINITY;
  }
}

function copyRest(to: RowBuffer, at: number, rows: Rows): void {
  const { count } = rows;
  to.clients.set(rows.clients.subarray(0, count), at);
  if (to.costs !== undefined) {
    if (rows.costs === undefined) to.costs.fill(1, at, at + count);
    else to.costs.set(rows.costs.subarray(0, count), at);
  }
  if (to.spends !== undefined) to.spends.set(rows.spends!.subarray(0, count), at);
  if (to.routes !== undefined) {
    if (rows.routes === undefined) to.routes.fill(-1, at, at + count);
    else to.routes.set(rows.routes.subarray(0, count), at);
  }
  for (const line of rows.lines ?? []) to.lines?.push(line);
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
  for (const name of COLUMNS) rows[name]?.copyWithin(0, dropped, count);
  rows.lines?.splice(0, dropped);
  rows.count = count - dropped;
}

/** Puts the rows from `from` on into an order. */
function permute(rows: RowBuffer, from: number, order: Uint32Array, spare: RowBuffer): void {
  spare.reserve(order.length);
  for (const name of COLUMNS) {
    const column = rows[name];
    const sorted = spare[name];
    if (column === undefined || sorted === undefined) continue;
    for (let row = 0; row < order.length; row += 1) sorted[row] = column[from + order[row]!]!;
    column.set(sorted.subarray(0, order.length) as never, from);
  }
  const moved = rows.lines?.splice(from);
  if (moved !== undefined) for (const was of order) rows.lines!.push(moved[was]!);
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
