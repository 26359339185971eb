/**
 * The most that each client had in any window, for windows that slide with every request: what a sliding window log counts. Requests come in the
 * order of their times, so one queue of those of the longest window serves all clients: a request is added to the counts of its client as it
 * comes, and taken out of each as it leaves the window. The queue has 12 bytes for a request, 20 with costs.
 */
import { wider } from '../logs/key-table.ts';

/** Counts by slot and window: what is in the window now, and the most that ever was. */
const NOW = 0;
const MOST = 1;
const PLACES = 2;

export class RecentUnits {
  /** Microseconds. */
  readonly #windows: readonly number[];
  #counts: Float64Array;
  /** Requests in the longest window: a ring, from the oldest number to the next free one. Places are numbers modulo its length. */
  #times = new Float64Array(1024);
  #clients = new Int32Array(1024);
  #costs: Float64Array | undefined;
  #next = 0;
  /** By window: the first request that is still in it. */
  readonly #first: Float64Array;

  constructor(windows: readonly number[]) {
    this.#windows = windows;
    this.#first = new Float64Array(windows.length);
    this.#counts = new Float64Array(64 * windows.length * PLACES);
  }

  /** Time has come so far: takes out what has left. `slotOf` is by client; one without a slot has nothing to take from. */
  advance(now: number, slotOf: Int32Array): void {
    const windows = this.#windows;
    const counts = this.#counts;
    const mask = this.#times.length - 1;
    for (let index = 0; index < windows.length; index += 1) {
      const until = now - windows[index]!;
      let first = this.#first[index]!;
      for (; first < this.#next && this.#times[first & mask]! <= until; first += 1) {
        const slot = slotOf[this.#clients[first & mask]!]!;
        const cost = this.#costs === undefined ? 1 : this.#costs[first & mask]!;
        if (slot >= 0) counts[(slot * windows.length + index) * PLACES]! -= cost;
      }
      this.#first[index] = first;
    }
  }

  /** A request of a client; call `advance` before. */
  add(client: number, now: number, cost: number): void {
    if (cost !== 1 && this.#costs === undefined) this.#costs = new Float64Array(this.#times.length).fill(1);
    const oldest = this.#first.reduce((least, first) => Math.min(least, first), this.#next);
    if (this.#next - oldest === this.#times.length) this.#grow();
    const at = this.#next & (this.#times.length - 1);
    this.#times[at] = now;
    this.#clients[at] = client;
    if (this.#costs !== undefined) this.#costs[at] = cost;
    this.#next += 1;
  }

  /** A slot spends: one more request of it is in every window. */
  spend(slot: number, cost: number): void {
    const counts = this.#counts;
    for (let index = 0; index < this.#windows.length; index += 1) {
      const at = (slot * this.#windows.length + index) * PLACES;
      const count = counts[at]! + cost;
      counts[at] = count;
      if (count > counts[at + MOST]!) counts[at + MOST] = count;
    }
  }

  /** A client gets a slot at its second request: the first one still counts in the windows that it has not left. */
  begin(slot: number, firstTime: number, cost: number, now: number): void {
    for (const [index, size] of this.#windows.entries()) {
      const at = (slot * this.#windows.length + index) * PLACES;
      this.#counts[at + NOW] = firstTime > now - size ? cost : 0;
      this.#counts[at + MOST] = cost;
    }
  }

  reserve(slots: number): void {
    this.#counts = wider(this.#counts, slots * this.#windows.length * PLACES);
  }

  /** The most that a slot had in a window. */
  most(slot: number, window: number): number {
    return this.#counts[(slot * this.#windows.length + window) * PLACES + MOST]!;
  }

  /** Twice the length, which stays a power of two, with everybody in the place of its number. */
  #grow(): void {
    const { length } = this.#times;
    this.#times = moved(this.#times, this.#next, length);
    this.#clients = moved(this.#clients, this.#next, length);
    if (this.#costs !== undefined) this.#costs = moved(this.#costs, this.#next, length);
  }
}

function moved<T extends Float64Array | Int32Array>(ring: T, next: number, length: number): T {
  const wide = new (ring.constructor as new (length: number) => T)(length * 2);
  for (let number = next - length; number < next; number += 1) {
    wide[number & (length * 2 - 1)] = ring[number & (length - 1)]!;
  }
  return wide;
}
