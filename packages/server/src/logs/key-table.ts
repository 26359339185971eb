/**
 * Numbers for texts: the first text that is seen is 0, the next new one 1, and so on. Texts are looked up by their bytes and kept in one
 * array, so a million clients are a few typed arrays that no garbage collector walks. An IPv4 address, which is what most texts are, is
 * looked up as one number of 32 bits.
 */
import { textOf } from './line-format.ts';

const SLOTS = 1024;
/** Of the slots that are taken before the table grows. */
const MOST_LOAD = 0.6;
/** What a table that packs addresses answers for one: the number is in `address`. */
export const PACKED = -2;
/** Marks the slot of an address. There are fewer texts than this. */
const IS_ADDRESS = 1 << 30;
const ID = IS_ADDRESS - 1;
const LONGEST_ADDRESS = 15;
const DOT = 46;
const ZERO = 48;

export class KeyTable {
  /** How many texts there are. */
  size = 0;
  /** Whether the text that was last asked for is new. */
  isNew = false;
  /** The IPv4 address that was last asked for, as 32 bits. */
  address = 0;
  /** Two places for each slot: the number of a text, -1 for none, and its hash. */
  #slots = new Int32Array(SLOTS * 2).fill(-1);
  #mask = SLOTS - 1;
  /** By number: where its bytes begin; those of the next one are where they end. */
  #starts = new Uint32Array(SLOTS + 1);
  #bytes = new Uint8Array(SLOTS * 16);
  /** Differs from table to table, so that nobody can write a log whose keys all fall into one slot. */
  readonly #seed: number;
  readonly #packs: boolean;

  /** `packs`: addresses get no number here, because another table will number them. */
  constructor(seed = 0, packs = false) {
    this.#seed = (seed ^ 0x811c9dc5) | 0;
    this.#packs = packs;
  }

  /** The number of a text; `PACKED` for an IPv4 address in a table that packs them. */
  idOf(bytes: Uint8Array, start: number, end: number): number {
    if (this.isAddress(bytes, start, end)) return this.idOfThat();
    const hash = this.#hashOf(bytes, start, end);
    const id = this.#find(hash, bytes, start, end);
    this.isNew = id < 0;
    return id >= 0 ? id : this.#add(hash, bytes, start, end);
  }

  /** The number of the IPv4 address that `isAddress` has found. */
  idOfThat(): number {
    this.isNew = false;
    return this.#packs ? PACKED : this.idOfAddress(this.address);
  }

  /** The number of an IPv4 address. */
  idOfAddress(address: number): number {
    const hash = mixed(address ^ this.#seed);
    const id = this.#findAddress(hash);
    this.isNew = id < 0;
    return id >= 0 ? id : this.#addAddress(hash, address);
  }

  #findAddress(hash: number): number {
    const slots = this.#slots;
    const mask = this.#mask;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const id = slots[slot * 2]!;
      if (id < 0) return -1;
      // No two addresses have the same hash.
      if (slots[slot * 2 + 1] === hash && (id & IS_ADDRESS) !== 0) return id & ID;
    }
  }

  /** The number of a text that is known; -1 when it is not. */
  find(bytes: Uint8Array, start: number, end: number): number {
    if (this.isAddress(bytes, start, end)) return this.#findAddress(mixed(this.address ^ this.#seed));
    return this.#find(this.#hashOf(bytes, start, end), bytes, start, end);
  }

  /** Whether it is four numbers as everybody writes them; then they are in `address`. */
  isAddress(bytes: Uint8Array, start: number, end: number): boolean {
    if (end - start > LONGEST_ADDRESS) return false;
    let address = 0;
    let part = 0;
    let digits = 0;
    let dots = 0;
    for (let at = start; at < end; at += 1) {
      const digit = bytes[at]! - ZERO;
      if (digit === DOT - ZERO) {
        if (digits === 0 || dots === 3) return false;
        address = (address << 8) | part;
        dots += 1;
        part = 0;
        digits = 0;
        continue;
      }
      if (digit < 0 || digit > 9 || (digits > 0 && part === 0)) return false;
      part = part * 10 + digit;
      digits += 1;
      if (part > 255) return false;
    }
    if (dots !== 3 || digits === 0) return false;
    this.address = (address << 8) | part;
    return true;
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
      const id = slots[slot * 2]!;
      if (id < 0) return -1;
      if (slots[slot * 2 + 1] !== hash || (id & IS_ADDRESS) !== 0) continue;
      const from = this.#starts[id]!;
      if (this.#starts[id + 1]! - from !== length) continue;
      let same = 0;
      while (same < length && this.#bytes[from + same] === bytes[start + same]) same += 1;
      if (same === length) return id;
    }
  }

  #add(hash: number, bytes: Uint8Array, start: number, end: number): number {
    const id = this.#newId(end - start);
    let at = this.#starts[id]!;
    for (let index = start; index < end; index += 1, at += 1) this.#bytes[at] = bytes[index]!;
    this.#starts[id + 1] = at;
    this.#place(id, hash);
    return id;
  }

  #addAddress(hash: number, address: number): number {
    const id = this.#newId(LONGEST_ADDRESS);
    const bytes = this.#bytes;
    let at = this.#starts[id]!;
    for (let shift = 24; shift >= 0; shift -= 8) {
      const part = (address >>> shift) & 255;
      if (part > 99) bytes[at++] = ZERO + Math.floor(part / 100);
      if (part > 9) bytes[at++] = ZERO + (Math.floor(part / 10) % 10);
      bytes[at++] = ZERO + (part % 10);
      if (shift > 0) bytes[at++] = DOT;
    }
    this.#starts[id + 1] = at;
    this.#place(id | IS_ADDRESS, hash);
    return id;
  }

  /** A number with room for so many bytes. */
  #newId(length: number): number {
    const id = this.size;
    this.size += 1;
    if (this.size >= (this.#mask + 1) * MOST_LOAD) this.#grow();
    if (id + 1 >= this.#starts.length) this.#starts = wider(this.#starts, this.#starts.length * 1.5);
    const after = this.#starts[id]! + length;
    if (after > this.#bytes.length) this.#bytes = wider(this.#bytes, Math.max(after, this.#bytes.length * 1.5));
    return id;
  }

  #place(id: number, hash: number): void {
    let slot = hash & this.#mask;
    while (this.#slots[slot * 2]! >= 0) slot = (slot + 1) & this.#mask;
    this.#slots[slot * 2] = id;
    this.#slots[slot * 2 + 1] = hash;
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Int32Array(old.length * 2).fill(-1);
    this.#mask = old.length - 1;
    for (let at = 0; at < old.length; at += 2) if (old[at]! >= 0) this.#place(old[at]!, old[at + 1]!);
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

/** Each number to another one, so that neighbours are far apart. */
function mixed(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

/** A copy with more room. */
export function wider<T extends Int32Array | Uint32Array | Uint8Array | Float64Array>(array: T, length: number): T {
  const copy = new (array.constructor as new (length: number) => T)(Math.ceil(length));
  copy.set(array as never);
  return copy;
}
