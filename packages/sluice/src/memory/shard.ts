/**
 * A small open-addressing hash table in two typed arrays: 64-bit hashes, and for each of them when its state may be forgotten
 * and the numbers of the state. A forgotten state is the same as no state, so its slot is used again by whoever comes by.
 */
import type { Numbers } from '../model/algorithm.ts';
import type { Hash } from './hash.ts';

const SMALLEST = 8;
/** Above this share of taken slots probing gets slow, and the shard is rebuilt. */
const FULLEST = 0.75;
/** Below this share memory is given back. */
const EMPTIEST = 0.125;

export class Shard {
  /** Slots taken, those of states that may be forgotten included. */
  taken = 0;
  readonly #width: number;
  readonly #stride: number;
  #mask = SMALLEST - 1;
  /** Two words of hash for each slot; both 0 when it is empty. */
  #hashes = new Int32Array(SMALLEST * 2);
  #slots: Float64Array;

  constructor(width: number) {
    this.#width = width;
    this.#stride = width + 1;
    this.#slots = new Float64Array(SMALLEST * this.#stride);
  }

  get capacity(): number {
    return this.#mask + 1;
  }

  /** The slot of a hash, or -1. */
  find({ low, high }: Hash): number {
    const hashes = this.#hashes;
    const mask = this.#mask;
    for (let slot = low & mask; ; slot = (slot + 1) & mask) {
      const foundLow = hashes[slot * 2];
      const foundHigh = hashes[slot * 2 + 1];
      if (foundLow === low && foundHigh === high) return slot;
      if (foundLow === 0 && foundHigh === 0) return -1;
    }
  }

  isTaken(slot: number): boolean {
    return this.#hashes[slot * 2] !== 0 || this.#hashes[slot * 2 + 1] !== 0;
  }

  forgetAt(slot: number): number {
    return this.#slots[slot * this.#stride]!;
  }

  state(slot: number): Numbers {
    const at = slot * this.#stride;
    const slots = this.#slots;
    return this.#width === 2 ? [slots[at + 1]!, slots[at + 2]!] : [slots[at + 1]!, slots[at + 2]!, slots[at + 3]!];
  }

  write(slot: number, forgetAt: number, state: Numbers): void {
    const at = slot * this.#stride;
    this.#slots[at] = forgetAt;
    for (let i = 0; i < this.#width; i += 1) this.#slots[at + 1 + i] = state[i]!;
  }

  /** A slot for a hash that has none: that of a forgotten state on its way, or an empty one. */
  take({ low, high }: Hash, now: number): number {
    if (this.taken + 1 > this.capacity * FULLEST) this.#rebuild(now);
    let slot = low & this.#mask;
    while (this.isTaken(slot) && this.forgetAt(slot) > now) slot = (slot + 1) & this.#mask;
    if (!this.isTaken(slot)) this.taken += 1;
    this.#hashes[slot * 2] = low;
    this.#hashes[slot * 2 + 1] = high;
    return slot;
  }

  /** Empties a slot and moves back those that had to probe past it, so that no search ends early and no mark is left. */
  remove(slot: number): void {
    const mask = this.#mask;
    let hole = slot;
    for (let next = (hole + 1) & mask; this.isTaken(next); next = (next + 1) & mask) {
      const home = this.#hashes[next * 2]! & mask;
      if (((next - home) & mask) < ((next - hole) & mask)) continue;
      this.#move(next, hole);
      hole = next;
    }
    this.#hashes[hole * 2] = 0;
    this.#hashes[hole * 2 + 1] = 0;
    this.taken -= 1;
  }

  /** Removes every state that may be forgotten, and gives memory back when little is left. */
  sweep(now: number): void {
    for (let slot = 0; slot < this.capacity; ) {
      if (this.isTaken(slot) && this.forgetAt(slot) <= now) this.remove(slot);
      else slot += 1;
    }
    if (this.capacity > SMALLEST && this.taken < this.capacity * EMPTIEST) this.#rebuild(now);
  }

  #move(from: number, to: number): void {
    this.#hashes[to * 2] = this.#hashes[from * 2]!;
    this.#hashes[to * 2 + 1] = this.#hashes[from * 2 + 1]!;
    this.#slots.copyWithin(to * this.#stride, from * this.#stride, (from + 1) * this.#stride);
  }

  /** Writes all live states into arrays of a size that leaves them half empty. */
  #rebuild(now: number): void {
    const [hashes, slots, capacity] = [this.#hashes, this.#slots, this.capacity];
    const live: number[] = [];
    for (let slot = 0; slot < capacity; slot += 1) {
      if (this.isTaken(slot) && this.forgetAt(slot) > now) live.push(slot);
    }
    const size = capacityFor(live.length + 1);
    this.#mask = size - 1;
    this.#hashes = new Int32Array(size * 2);
    this.#slots = new Float64Array(size * this.#stride);
    this.taken = 0;
    for (const slot of live) {
      const to = this.take({ low: hashes[slot * 2]!, high: hashes[slot * 2 + 1]! }, now);
      this.#slots.set(slots.subarray(slot * this.#stride, (slot + 1) * this.#stride), to * this.#stride);
    }
  }
}

function capacityFor(count: number): number {
  let capacity = SMALLEST;
  while (capacity < count * 2) capacity *= 2;
  return capacity;
}
