/**
 * The burst curve of a log: for each rate, the capacity a bucket needs so that it never denies a client. One pass is enough, because the smallest
 * capacity that never denies is the highest level that the client's own traffic reaches in a bucket that leaks at that rate. For windows it is
 * the most that the rule ever counts at a time. The arithmetic is that of the rules, so what is found here holds there to the unit.
 */
import { wider } from '../logs/key-table.ts';
import type { RowBuffer } from '../logs/rows.ts';
import { RecentUnits } from './recent-units.ts';
import type { RowTaker } from './replay.ts';

const MICROS = 1e6;
/** As the rules have them: what counts as a whole unit. */
const UNIT_TOLERANCE = 1e-9;
const TIME_TOLERANCE = 0.1;
/** Longer windows than this get no log: it would keep every request of them. */
const LONGEST_LOG = 3600 * MICROS;

/** What each client needs, at each rate and for each window. */
export class BurstCurve implements RowTaker {
  /** Units a second. */
  readonly rates: Float64Array;
  /** Microseconds. */
  readonly windows: Float64Array;
  readonly #tolerances: Float64Array;
  /** Clients with one request so far have no slot: their time and cost say everything. */
  #slotOf = new Int32Array(1024).fill(-1);
  #firstTime = new Float64Array(1024);
  #firstCost = new Float64Array(1024);
  #isKnown = new Uint8Array(1024);
  #slots = 0;
  /** By slot: when its levels were measured, and then for each rate its level, and the capacity it needs. */
  #since = new Float64Array(64);
  #levels: Float64Array;
  #capacities: Float64Array;
  /** For windows that slide with every request; they come first among the windows. */
  readonly #recent: RecentUnits;
  /** By slot and window: when it opened, the count in it, the count before it, and the limits that a fixed and a sliding window need. */
  #counts: Float64Array;

  constructor(rates: readonly number[], windows: readonly number[]) {
    this.rates = Float64Array.from(rates);
    this.windows = Float64Array.from(windows);
    this.#tolerances = this.rates.map((rate) => Math.min(UNIT_TOLERANCE, (TIME_TOLERANCE * rate) / MICROS));
    this.#levels = new Float64Array(64 * rates.length);
    this.#capacities = new Float64Array(64 * rates.length);
    this.#counts = new Float64Array(64 * windows.length * COUNTS);
    this.#recent = new RecentUnits(windows.filter((size) => size <= LONGEST_LOG));
  }

  decide(rows: RowBuffer, from: number, to: number, clients: number): void {
    this.#reserve(clients);
    const { times, clients: ids, costs } = rows;
    for (let row = from; row < to; row += 1) {
      const cost = costs === undefined ? 1 : costs[row]!;
      // A look spends nothing, and is never denied.
      if (cost > 0) this.#add(ids[row]!, times[row]!, cost);
      else if (this.#isKnown[ids[row]!] === 0) this.#begin(ids[row]!, times[row]!, 0);
    }
  }

  #begin(client: number, time: number, cost: number): void {
    this.#isKnown[client] = 1;
    this.#firstTime[client] = time;
    this.#firstCost[client] = cost;
  }

  #add(client: number, time: number, cost: number): void {
    const recent = this.#recent;
    recent.advance(time, this.#slotOf);
    recent.add(client, time, cost);
    if (this.#isKnown[client] === 0) {
      this.#begin(client, time, cost);
      return;
    }
    let slot = this.#slotOf[client]!;
    if (slot < 0) {
      slot = this.#newSlot();
      this.#slotOf[client] = slot;
      this.#since[slot] = this.#firstTime[client]!;
      if (this.#firstCost[client]! > 0) this.#spend(slot, this.#firstTime[client]!, this.#firstCost[client]!);
      recent.begin(slot, this.#firstTime[client]!, this.#firstCost[client]!, time);
    }
    this.#spend(slot, time, cost);
    recent.spend(slot, cost);
  }

  #spend(slot: number, now: number, cost: number): void {
    const { rates } = this;
    const levels = this.#levels;
    const capacities = this.#capacities;
    const elapsed = now - this.#since[slot]!;
    this.#since[slot] = now;
    const base = slot * rates.length;
    for (let index = 0; index < rates.length; index += 1) {
      const tolerance = this.#tolerances[index]!;
      let left = levels[base + index]! - (elapsed * rates[index]!) / MICROS;
      if (left <= tolerance) left = 0;
      levels[base + index] = left + cost;
      if (left > capacities[base + index]! - cost + tolerance)
        capacities[base + index] = fitting(left, cost, tolerance);
    }
    this.#count(slot, now, cost);
  }

  #count(slot: number, now: number, cost: number): void {
    const counts = this.#counts;
    const { windows } = this;
    for (let index = 0; index < windows.length; index += 1) {
      const size = windows[index]!;
      const at = (slot * windows.length + index) * COUNTS;
      const opened = now - (now % size);
      if (counts[at]! !== opened) {
        counts[at + PREVIOUS] = counts[at]! === opened - size ? counts[at + CURRENT]! : 0;
        counts[at + CURRENT] = 0;
        counts[at] = opened;
      }
      const current = counts[at + CURRENT]! + cost;
      counts[at + CURRENT] = current;
      if (current > counts[at + FIXED]!) counts[at + FIXED] = current;
      const sliding = current + faded(size, counts[at + PREVIOUS]!, now - opened);
      if (sliding > counts[at + SLIDING]!) counts[at + SLIDING] = sliding;
    }
  }

  #newSlot(): number {
    const slot = this.#slots;
    this.#slots += 1;
    if (slot >= this.#since.length) {
      const length = Math.ceil(slot * 1.5);
      this.#since = wider(this.#since, length);
      this.#levels = wider(this.#levels, length * this.rates.length);
      this.#capacities = wider(this.#capacities, length * this.rates.length);
      this.#counts = wider(this.#counts, length * this.windows.length * COUNTS);
      this.#recent.reserve(length);
    }
    return slot;
  }

  #reserve(clients: number): void {
    const { length } = this.#isKnown;
    if (clients <= length) return;
    const wide = Math.ceil(Math.max(clients, length * 1.5));
    this.#slotOf = wider(this.#slotOf, wide).fill(-1, length);
    this.#firstTime = wider(this.#firstTime, wide);
    this.#firstCost = wider(this.#firstCost, wide);
    this.#isKnown = wider(this.#isKnown, wide);
  }

  /** The capacities that clients need at a rate, smallest first. */
  capacities(rate: number): Float64Array {
    return this.#sorted((slot) => this.#capacities[slot * this.rates.length + rate]!);
  }

  /** The limits that clients need in windows of a length, smallest first. */
  limits(window: number, kind: 'fixed' | 'sliding' | 'log'): Float64Array {
    if (kind === 'log') return this.#sorted((slot) => this.#recent.most(slot, window));
    const place = kind === 'fixed' ? FIXED : SLIDING;
    return this.#sorted((slot) => this.#counts[(slot * this.windows.length + window) * COUNTS + place]!);
  }

  /** How many of the windows have a log: the first ones. */
  get logs(): number {
    return this.windows.filter((size) => size <= LONGEST_LOG).length;
  }

  #sorted(needOf: (slot: number) => number): Float64Array {
    const needs: number[] | Float64Array = new Float64Array(this.#isKnown.length);
    let count = 0;
    for (let client = 0; client < this.#isKnown.length; client += 1) {
      if (this.#isKnown[client] === 0) continue;
      const slot = this.#slotOf[client]!;
      needs[count] = slot < 0 ? this.#firstCost[client]! : needOf(slot);
      count += 1;
    }
    return needs.slice(0, count).sort();
  }
}

/** Places in the counts of a window. */
const CURRENT = 1;
const PREVIOUS = 2;
const FIXED = 3;
const SLIDING = 4;
const COUNTS = 5;

/** The smallest whole capacity that takes a cost on top of what is left. */
function fitting(left: number, cost: number, tolerance: number): number {
  let capacity = Math.ceil(left + cost - tolerance);
  while (left > capacity - cost + tolerance) capacity += 1;
  while (left <= capacity - 1 - cost + tolerance) capacity -= 1;
  return capacity;
}

/** What the sliding window counter still counts of the window before. */
function faded(size: number, count: number, elapsed: number): number {
  const tolerance = Math.min(UNIT_TOLERANCE, (TIME_TOLERANCE * count) / size);
  return count === 0 ? 0 : Math.floor((count * (size - elapsed)) / size + tolerance);
}
