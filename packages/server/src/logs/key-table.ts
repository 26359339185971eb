/**
 * Numbers for texts: the first text that is seen is 0, the next new one 1, and so on. Texts are looked up by their bytes and kept in one
 * array, so a million clients are a few typed arrays that no garbage collector walks.
 */
import { textOf } from './line-format.ts';

const SLOTS = 1024;
/** Of the slots that are taken before the table grows. */
const MOST_LOAD = 0.6;

export class KeyTable {
  /** How many texts there are. */
  size = 0;
  #slots = new Int32Array(SLOTS).fill(-1);
  #mask = SLOTS - 1;
  #hashes = new Int32Array(SLOTS);
  /** By number: where its bytes begin; those of the next one are where they end. */
  #starts = new Uint32Array(SLOTS + 1);
  #bytes = new Uint8Array(SLOTS * 16);
  /** Differs from table to table, so that nobody can write a log whose keys all fall into one slot. */
  readonly #seed: number;
  /** Whether the text that was last asked for is new. */
  isNew = false;

  constructor(seed = 0) {
    this.#seed = (seed ^ 0x811c9dc5) | 0;
  }

  /** The number of a text. */
  idOf(bytes: Uint8Array, start: number, end: number): number {
    const hash = this.#hashOf(bytes, start, end);
    const id = this.#find(hash, bytes, start, end);
    this.isNew = id < 0;
    return id >= 0 ? id : this.#add(hash, bytes, start, end);
  }

  /** The number of a text that is known; -1 when it is not. */
  find(bytes: Uint8Array, start: number, end: number): number {
    return this.#find(this.#hashOf(bytes, start, end), bytes, start, end);
  }

  #hashOf(bytes: Uint8Array, start: number, end: number): number {
    let hash = this.#seed;
    for (let index = start; index < end; index += 1) hash = Math.imul(hash ^ bytes[index]!, 0x01000193);
    return hash ^ (hash >>> 15);
  }

  #find(hash: number, bytes: Uint8Array, start: number, end: number): number {
    const slots = this.#slots;
    const mask = this.#mask;
    const length = end - start;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const id = slots[slot]!;
      if (id < 0) return -1;
      if (this.#hashes[id] !== hash) continue;
      const from = this.#starts[id]!;
      if (this.#starts[id + 1]! - from !== length) continue;
      let same = 0;
      while (same < length && this.#bytes[from + same] === bytes[start + same]) same += 1;
      if (same === length) return id;
    }
  }

  #add(hash: number, bytes: Uint8Array, start: number, end: number): number {
    const id = this.size;
    this.size += 1;
    if (this.size >= this.#slots.length * MOST_LOAD) this.#grow();
    if (id + 1 >= this.#starts.length) this.#starts = wider(this.#starts, this.#starts.length * 2);
    const from = this.#starts[id]!;
    const after = from + end - start;
    if (after > this.#bytes.length) this.#bytes = wider(this.#bytes, Math.max(after, this.#bytes.length * 1.5));
    this.#bytes.set(bytes.subarray(start, end), from);
    this.#starts[id + 1] = after;
    this.#hashes[id] = hash;
    this.#place(id);
    return id;
  }

  #place(id: number): void {
    let slot = this.#hashes[id]! & this.#mask;
    while (this.#slots[slot]! >= 0) slot = (slot + 1) & this.#mask;
    this.#slots[slot] = id;
  }

  #grow(): void {
    const size = this.#slots.length * 2;
    this.#slots = new Int32Array(size).fill(-1);
    this.#mask = size - 1;
    this.#hashes = wider(this.#hashes, Math.ceil(size * MOST_LOAD) + 1);
    for (let id = 0; id < this.size - 1; id += 1) this.#place(id);
  }

  /** Forgets all texts: the next one is 0 again. */
  clear(): void {
    this.size = 0;
    this.#slots.fill(-1);
  }

  /** The text with this number. */
  textOf(id: number): string {
    return textOf(this.#bytes, this.#starts[id]!, this.#starts[id + 1]!);
  }

  /** The texts from a number on, one after the other, and where each ends: for another table that is to know them too. */
  after(id: number): { readonly bytes: Uint8Array; readonly ends: Uint32Array } {
    const from = this.#starts[id]!;
    const ends = this.#starts.slice(id + 1, this.size + 1).map((end) => end - from);
    return { bytes: this.#bytes.slice(from, this.#starts[this.size]), ends };
  }
}

/** A copy with more room. */
export function wider<T extends Int32Array | Uint32Array | Uint8Array | Float64Array>(array: T, length: number): T {
  const copy = new (array.constructor as new (length: number) => T)(Math.ceil(length));
  copy.set(array as never);
  return copy;
}
