/**
 * An open-addressing hash table in one buffer. A slot is the 64-bit hash of a key, when its state may be forgotten and the numbers
 * of the state, side by side, so that a key costs one trip to memory. A forgotten state is the same as no state, so its
 * slot is used again by whoever comes by.
 */
import type { Numbers } from '../model/algorithm.ts';

const SMALLEST = 8;
/** Above this share of taken slots probing gets slow, and the shard is rebuilt. */
const FULLEST = 0.65;
/** The share of taken slots after that. */
const REBUILT = 0.45;
/** Below this share memory is given back. */
const EMPTIEST = 0.125;
const HASHES = 2 ** 32;

export class Shard {
  /** Slots taken, those of states that may be forgotten included. */
  taken = 0;
  capacity = SMALLEST;
  readonly #width: number;
  /** Numbers in a slot: the hash counts as one, and takes two words. */
  readonly #stride: number;
  /** Both hash words of a slot are 0 when it is empty. */
  #words: Int32Array;
  #numbers: Float64Array;

  constructor(width: number) {
    this.#width = width;
    this.#stride = width + 2;
    this.#numbers = new Float64Array(SMALLEST * this.#stride);
    this.#words = new Int32Array(this.#numbers.buffer);
  }

  /** The slot of a hash, or -1. */
  find(low: number, high: number): number {
    const words = this.#words;
    const stride = this.#stride * 2;
    const { capacity } = this;
    for (let slot = homeOf(low, capacity); ; ) {
      const foundLow = words[slot * stride];
      const foundHigh = words[slot * stride + 1];
      if (foundLow === low && foundHigh === high) return slot;
      if (foundLow === 0 && foundHigh === 0) return -1;
      slot += 1;
      if (slot === capacity) slot = 0;
    }
  }

  isTaken(slot: number): boolean {
    const at = slot * this.#stride * 2;
    return this.#words[at] !== 0 || this.#words[at + 1] !== 0;
  }

  forgetAt(slot: number): number {
    return this.#numbers[slot * this.#stride + 1]!;
  }

  /** Copies the state of a slot out. */
  read(slot: number, state: Float64Array): void {
    const at = slot * this.#stride + 2;
    for (let i = 0; i < this.#width; i += 1) state[i] = this.#numbers[at + i]!;
  }

  write(slot: number, forgetAt: number, state: Numbers): void {
    const at = slot * this.#stride + 2;
    this.#numbers[at - 1] = forgetAt;
    for (let i = 0; i < this.#width; i += 1) this.#numbers[at + i] = state[i]!;
  }

  /** A slot for a hash that has none: that of a forgotten state on its way, or an empty one. */
  take(low: number, high: number, now: number): number {
    if (this.taken + 1 > this.capacity * FULLEST) this.#rebuild(now);
    let slot = homeOf(low, this.capacity);
    while (this.#isLive(slot, now)) slot = this.#after(slot);
    if (!this.isTaken(slot)) this.taken += 1;
    this.#words[slot * this.#stride * 2] = low;
    this.#words[slot * this.#stride * 2 + 1] = high;
    return slot;
  }

  /** Empties a slot and moves back those that had to probe past it, so that no search ends early and no mark is left. */
  remove(slot: number): void {
    let hole = slot;
    for (let next = this.#after(hole); this.isTaken(next); next = this.#after(next)) {
      const home = homeOf(this.#words[next * this.#stride * 2]!, this.capacity);
      if (this.#distance(home, next) < this.#distance(hole, next)) continue;
      this.#numbers.copyWithin(hole * this.#stride, next * this.#stride, (next + 1) * this.#stride);
      hole = next;
    }
    this.#words[hole * this.#stride * 2] = 0;
    this.#words[hole * this.#stride * 2 + 1] = 0;
    this.taken -= 1;
  }

  /** Removes the states that may be forgotten in a range of slots. */
  sweep(from: number, to: number, now: number): void {
    for (let slot = from; slot < to && slot < this.capacity; ) {
      if (this.isTaken(slot) && this.forgetAt(slot) <= now) this.remove(slot);
      else slot += 1;
    }
  }

  /** Gives memory back when little is left in it. */
  shrink(now: number): void {
    if (this.capacity > SMALLEST && this.taken < this.capacity * EMPTIEST) this.#rebuild(now);
  }

  #after(slot: number): number {
    return slot + 1 === this.capacity ? 0 : slot + 1;
  }

  /** Slots to go from one to another, past the end if need be. */
  #distance(from: number, to: number): number {
    return to >= from ? to - from : to - from + this.capacity;
  }

  /** Writes all live states into a buffer that leaves them room. Homes keep their order, so it runs through both from front to back. */
  #rebuild(now: number): void {
    const [numbers, words, slots] = [this.#numbers, this.#words, this.capacity];
    let live = 0;
    for (let slot = 0; slot < slots; slot += 1) if (this.#isLive(slot, now)) live += 1;
    this.capacity = Math.max(SMALLEST, Math.ceil((live + 1) / REBUILT));
    this.#numbers = new Float64Array(this.capacity * this.#stride);
    this.#words = new Int32Array(this.#numbers.buffer);
    this.taken = 0;
    for (let slot = 0; slot < slots; slot += 1) this.#adopt(numbers, words, slot, now);
  }

  #isLive(slot: number, now: number): boolean {
    return this.isTaken(slot) && this.forgetAt(slot) > now;
  }

  /** Takes a live state over from another buffer. By itself, because the engine compiles what is called often, not what runs long. */
  #adopt(numbers: Float64Array, words: Int32Array, slot: number, now: number): void {
    const from = slot * this.#stride;
    const [low, high] = [words[from * 2]!, words[from * 2 + 1]!];
    if ((low === 0 && high === 0) || numbers[from + 1]! <= now) return;
    const to = this.take(low, high, now) * this.#stride;
    for (let i = 1; i < this.#stride; i += 1) this.#numbers[to + i] = numbers[from + i]!;
  }
}

/** Where the search for a hash starts: its place among all hashes, as a slot. */
function homeOf(low: number, capacity: number): number {
  return Math.floor(((low >>> 0) / HASHES) * capacity);
}
