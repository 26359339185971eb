/**
 * An open-addressing hash table in one buffer. A slot is the 64-bit hash of a key, when its state may be forgotten and the numbers
 * of the state, side by side, so that a key costs one trip to memory. A forgotten state is the same as no state, so its
 * slot is used again by whatever key comes by. States without a fixed width are lists beside the buffer.
 */
import type { Numbers } from '../model/step.ts';

const SMALLEST = 8;
/** Above this share of taken slots probing gets slow, and the shard is rebuilt. */
const FULLEST = 0.65;
/** The share of taken slots after that. */
const REBUILT = 0.45;
/** Below this share memory is given back. */
const EMPTIEST = 0.125;
const HASHES = 2 ** 32;
/** Bytes of a list besides its numbers, about. */
const LIST_BYTES = 48;

/** What all shards of a store hold together. */
export interface Held {
  states: number;
  bytes: number;
}

export class Shard {
  /** How many bits of the hash its keys have in common. */
  declare readonly depth: number;
  /** Slots taken, those of states that may be forgotten included. */
  taken = 0;
  capacity = 0;
  /** After a `find` without success: the slot that a new key may take. */
  free = 0;
  /** The states themselves where they have no fixed width. */
  declare readonly lists: (number[] | undefined)[] | undefined;
  /** By which of the table's rules a state was written. */
  rules = new Uint8Array(0);
  readonly #held: Held;
  readonly #width: number;
  /** Numbers in a slot: the hash counts as one, and takes two words. */
  readonly #stride: number;
  /** Both hash words of a slot are 0 when it is empty. */
  #words = new Int32Array(0);
  #numbers = new Float64Array(0);

  constructor(width: number, held: Held, depth: number) {
    this.depth = depth;
    this.#width = width;
    this.#stride = width + 2;
    this.#held = held;
    this.lists = width === 0 ? [] : undefined;
    this.resize(SMALLEST);
  }

  /** The slot of a hash, or -1. */
  find(low: number, high: number, now: number): number {
    const words = this.#words;
    const stride = this.#stride;
    const { capacity } = this;
    let free = -1;
    for (let slot = homeOf(low, capacity); ; ) {
      const at = slot * stride;
      const foundLow = words[at * 2];
      const foundHigh = words[at * 2 + 1];
      if (foundLow === low && foundHigh === high) return slot;
      if (foundLow === 0 && foundHigh === 0) {
        this.free = free < 0 ? slot : free;
        return -1;
      }
      if (free < 0 && this.#numbers[at + 1]! <= now) free = slot;
      slot += 1;
      if (slot === capacity) slot = 0;
    }
  }

  /** Whether one more key needs a rebuild first. */
  get isFull(): boolean {
    return this.taken + 1 > this.capacity * FULLEST;
  }

  /** Gives the free slot of the last `find` to this hash. */
  claim(low: number, high: number): number {
    const slot = this.free;
    if (this.holds(slot, 0, 0)) this.#count(1);
    else this.setList(slot, undefined);
    this.#setHash(slot, low, high);
    return slot;
  }

  #setHash(slot: number, low: number, high: number): void {
    const at = slot * this.#stride * 2;
    this.#words[at] = low;
    this.#words[at + 1] = high;
  }

  /** Whether this hash is in the slot; 0 and 0: whether it is empty. */
  holds(slot: number, low: number, high: number): boolean {
    const at = slot * this.#stride * 2;
    return this.#words[at] === low && this.#words[at + 1] === high;
  }

  forgetAt(slot: number): number {
    return this.#numbers[slot * this.#stride + 1]!;
  }

  /** Copies the state of a slot out. */
  read(slot: number, state: Float64Array): void {
    const at = slot * this.#stride + 2;
    for (let i = 0; i < this.#width; i += 1) state[i] = this.#numbers[at + i]!;
  }

  write(slot: number, forgetAt: number, rule: number, state: Numbers): void {
    const at = slot * this.#stride + 2;
    this.#numbers[at - 1] = forgetAt;
    this.rules[slot] = rule;
    for (let i = 0; i < this.#width; i += 1) this.#numbers[at + i] = state[i]!;
  }

  /** A list may have changed in place since its bytes were counted. */
  setList(slot: number, list: number[] | undefined, bytesBefore = bytesOf(this.lists?.[slot])): void {
    if (this.lists === undefined) return;
    this.#held.bytes += bytesOf(list) - bytesBefore;
    this.lists[slot] = list;
  }

  /** Empties a slot and moves back those that had to probe past it, so that no search ends early and no mark is left. */
  remove(slot: number): void {
    const { capacity, lists } = this;
    this.setList(slot, undefined);
    let hole = slot;
    for (let next = slot; ; ) {
      next = (next + 1) % capacity;
      if (this.holds(next, 0, 0)) break;
      const home = homeOf(this.#words[next * this.#stride * 2]!, capacity);
      if ((next - home + capacity) % capacity < (next - hole + capacity) % capacity) continue;
      this.#numbers.copyWithin(hole * this.#stride, next * this.#stride, (next + 1) * this.#stride);
      this.rules[hole] = this.rules[next]!;
      if (lists !== undefined) lists[hole] = lists[next];
      hole = next;
    }
    this.#setHash(hole, 0, 0);
    if (lists !== undefined) lists[hole] = undefined;
    this.#count(-1);
  }

  #count(states: number): void {
    this.taken += states;
    this.#held.states += states;
  }

  /** Removes the states that may be forgotten in a range of slots. */
  sweep(from: number, to: number, now: number): void {
    for (let slot = from; slot < to && slot < this.capacity; ) {
      if (this.forgetAt(slot) <= now && !this.holds(slot, 0, 0)) this.remove(slot);
      else slot += 1;
    }
  }

  /** Room for one more key: what may be forgotten goes, and if that is not enough the shard grows. */
  makeRoom(now: number): void {
    this.sweep(0, this.capacity, now);
    if (this.taken + 1 > this.capacity * REBUILT) this.rebuild(now);
  }

  /** Gives memory back when little is left in it. */
  shrink(now: number): void {
    if (this.capacity > SMALLEST && this.taken < this.capacity * EMPTIEST) this.rebuild(now);
  }

  /** Writes all live states into buffers that leave them room: its own, or those of two shards that take a part each. */
  rebuild(now: number, into: readonly Shard[] = [this], shardOf: (high: number) => Shard = () => this): void {
    this.sweep(0, this.capacity, now);
    const [numbers, words, rules, lists] = [this.#numbers, this.#words, this.rules, this.lists?.slice()];
    const live: { readonly slot: number; readonly shard: Shard }[] = [];
    for (let slot = 0; slot < this.capacity; slot += 1) {
      if (!this.holds(slot, 0, 0)) live.push({ slot, shard: shardOf(words[slot * this.#stride * 2 + 1]!) });
      this.setList(slot, undefined);
    }
    this.resize(0);
    for (const shard of into) {
      const count = live.filter((each) => each.shard === shard).length;
      shard.resize(Math.max(SMALLEST, Math.ceil((count + 1) / REBUILT)));
    }
    for (const { slot, shard } of live) shard.#adopt(numbers, words, slot, rules[slot]!, lists?.[slot]);
  }

  /** Empty, with so many slots. */
  resize(capacity: number): void {
    this.#held.bytes += (capacity - this.capacity) * (this.#stride * 8 + 1);
    this.#count(-this.taken);
    this.capacity = capacity;
    this.#numbers = new Float64Array(capacity * this.#stride);
    this.#words = new Int32Array(this.#numbers.buffer);
    this.rules = new Uint8Array(capacity);
    if (this.lists !== undefined) this.lists.length = 0;
  }

  /** Takes a state over from another buffer. A method of its own, so that V8 compiles it early. */
  #adopt(numbers: Float64Array, words: Int32Array, slot: number, rule: number, list: number[] | undefined): void {
    const stride = this.#stride;
    const from = slot * stride;
    this.find(words[from * 2]!, words[from * 2 + 1]!, Number.NEGATIVE_INFINITY);
    const to = this.free;
    this.#numbers.set(numbers.subarray(from, from + stride), to * stride);
    this.rules[to] = rule;
    this.setList(to, list);
    this.#count(1);
  }
}

export function bytesOf(list: number[] | undefined): number {
  return list === undefined ? 0 : LIST_BYTES + list.length * 8;
}

/** Where the search for a hash starts: its place among all hashes, as a slot. */
function homeOf(low: number, capacity: number): number {
  return Math.floor(((low >>> 0) / HASHES) * capacity);
}
