/**
 * An open-addressing hash table in one buffer. A slot is the 64-bit hash of a key, when its state may be forgotten and the numbers
 * of the state, side by side, so that a key costs one trip to memory. A forgotten state is the same as no state, so its
 * slot is used again: by its own key, or by another that comes by. States without a fixed width are lists beside the buffer.
 */
import { type Clock, readMicros } from '../model/clock.ts';
import { answerOf } from '../model/result.ts';
import type { Rule } from '../model/rule.ts';
import { MAX_WIDTH, type Numbers, type Step } from '../model/step.ts';
import type { Answer } from '../model/store.ts';
import type { KeyHash } from './hash.ts';

const SMALLEST = 8;
/** Above this share of taken slots probing gets slow, and the shard is rebuilt. */
const FULLEST = 0.7;
/** The share of taken slots after that. */
const REBUILT = 0.53;
/** Below this share memory is given back. */
const EMPTIEST = 0.125;
const HASHES = 2 ** 32;
/** Bytes of a list besides its numbers, about. */
const LIST_BYTES = 48;

/** The state that a rule is shown. Nothing here waits, so one serves all. */
const STATE = /* @__PURE__ */ new Float64Array(MAX_WIDTH);

/** What all shards of a store hold together. */
export interface Held {
  states: number;
  bytes: number;
  /** Each newcomer may sweep once, and those that need not leave it to others. */
  sweeps: number;
  readonly maxKeys: number;
  readonly maxBytes: number;
}

export class Shard {
  /** How many bits of the hash its keys have in common. */
  declare readonly depth: number;
  /** Slots taken, those of states that may be forgotten included. */
  taken = 0;
  capacity = 0;
  /** The states themselves where they have no fixed width. */
  lists: (number[] | undefined)[] | undefined;
  /** By which of the table's rules a state was written, once there are several. */
  #rules: Uint8Array | undefined;
  readonly #held: Held;
  readonly #width: number;
  /** Numbers in a slot: the hash counts as one, and takes two words. */
  readonly #stride: number;
  /** Both hash words of a slot are 0 when it is empty. */
  #words = new Int32Array(0);
  #numbers = new Float64Array(0);
  /** Slots for each hash there can be. */
  #scale = 0;

  constructor(width: number, held: Held, depth: number) {
    this.depth = depth;
    this.#width = width;
    this.#stride = width + 2;
    this.#held = held;
    this.lists = width === 0 ? [] : undefined;
    this.resize(SMALLEST);
  }

  /** Where the search for a hash starts: its place among all hashes, as a slot. */
  #home(low: number): number {
    return ((low >>> 0) * this.#scale) | 0;
  }

  #next(slot: number): number {
    return slot + 1 === this.capacity ? 0 : slot + 1;
  }

  /** The slot of a hash, or -1. */
  find(low: number, high: number): number {
    const words = this.#words;
    const stride = this.#stride * 2;
    for (let slot = this.#home(low); ; slot = this.#next(slot)) {
      const foundLow = words[slot * stride]!;
      const foundHigh = words[slot * stride + 1]!;
      if (foundLow === low && foundHigh === high) return slot;
      if ((foundLow | foundHigh) === 0) return -1;
    }
  }

  /**
   * An attempt of a key that is here, or that there is a slot for, or else undefined. All in one and written out, because nearly all attempts are
   * this one. The clock is read between the search and the decision: what has to come from memory is on its way meanwhile.
   */
  attempt(
    { low, high }: KeyHash,
    rule: Rule,
    ruleIndex: number,
    cost: number,
    clock: Clock,
    step: Step,
  ): Answer | undefined {
    const found = this.find(low, high);
    const now = readMicros(clock);
    const slot = found < 0 ? this.freeSlot(low, now) : found;
    if (found < 0 && this.isEmpty(slot) && (this.isFull || isFull(this.#held))) return undefined;
    const numbers = this.#numbers;
    const width = this.#width;
    const at = slot * (width + 2) + 2;
    let state: Numbers | undefined;
    if (width === 0) {
      if (isFull(this.#held)) return undefined;
      state = this.listAt(slot, now);
    } else if (found >= 0 && numbers[at - 1]! > now) {
      state = STATE;
      STATE[0] = numbers[at]!;
      if (width > 1) STATE[1] = numbers[at + 1]!;
      if (width > 2) STATE[2] = numbers[at + 2]!;
      if (width > 3) STATE[3] = numbers[at + 3]!;
    }
    rule.transition(state, now, cost, step);
    if (step.writes) {
      const { next } = step;
      if (found < 0) this.claim(slot, low, high);
      numbers[at - 1] = now + step.resetAfter;
      if (width > 0) numbers[at] = next[0]!;
      else {
        const bytesBefore = bytesOf(this.lists![slot]);
        this.setList(slot, rule.write!(state as number[] | undefined, step), bytesBefore);
      }
      if (width > 1) numbers[at + 1] = next[1]!;
      if (width > 2) numbers[at + 2] = next[2]!;
      if (width > 3) numbers[at + 3] = next[3]!;
      if (ruleIndex > 0 || this.#rules !== undefined) this.#setRule(slot, ruleIndex);
    }
    return answerOf(rule, now, step);
  }

  /**
   * The list in a slot; undefined when it means nothing any more, or is of another key that it means nothing for. By the time it was to be forgotten at, not by
   * what a rule makes of it: under a name whose numbers have changed, a longer window would count again what is over.
   */
  listAt(slot: number, now: number): number[] | undefined {
    return this.forgetAt(slot) <= now ? undefined : this.lists![slot];
  }

  /** The slot that a new hash may take: of a state that may be forgotten, or an empty one. */
  freeSlot(low: number, now: number): number {
    let slot = this.#home(low);
    while (!this.isEmpty(slot) && this.forgetAt(slot) > now) slot = this.#next(slot);
    return slot;
  }

  isEmpty(slot: number): boolean {
    return this.holds(slot, 0, 0);
  }

  /** Whether one more key needs a rebuild first. */
  get isFull(): boolean {
    return this.taken + 1 > this.capacity * FULLEST;
  }

  /** Gives a free slot to this hash. */
  claim(slot: number, low: number, high: number): void {
    if (this.isEmpty(slot)) this.#count(1);
    this.#held.sweeps += 1;
    this.#setHash(slot, low, high);
  }

  #setHash(slot: number, low: number, high: number): void {
    const at = slot * this.#stride * 2;
    this.#words[at] = low;
    this.#words[at + 1] = high;
  }

  holds(slot: number, low: number, high: number): boolean {
    const at = slot * this.#stride * 2;
    return this.#words[at] === low && this.#words[at + 1] === high;
  }

  forgetAt(slot: number): number {
    return this.#numbers[slot * this.#stride + 1]!;
  }

  /** Copies the state of a slot out. */
  read(slot: number, state: Float64Array): void {
    const numbers = this.#numbers;
    const at = slot * this.#stride + 2;
    for (let i = 0; i < this.#width; i += 1) state[i] = numbers[at + i]!;
  }

  /** By the table's rule of this index. */
  write(slot: number, forgetAt: number, rule: number, state: Numbers): void {
    const numbers = this.#numbers;
    const at = slot * this.#stride + 2;
    numbers[at - 1] = forgetAt;
    for (let i = 0; i < this.#width; i += 1) numbers[at + i] = state[i]!;
    if (rule > 0 || this.#rules !== undefined) this.#setRule(slot, rule);
  }

  ruleAt(slot: number): number {
    return this.#rules?.[slot] ?? 0;
  }

  #setRule(slot: number, rule: number): void {
    this.#rules ??= new Uint8Array(this.capacity);
    this.#rules[slot] = rule;
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
    const stride = this.#stride;
    this.setList(slot, undefined);
    let hole = slot;
    for (let next = this.#next(slot); !this.isEmpty(next); next = this.#next(next)) {
      const home = this.#home(this.#words[next * stride * 2]!);
      if ((next - home + capacity) % capacity < (next - hole + capacity) % capacity) continue;
      this.#numbers.copyWithin(hole * stride, next * stride, (next + 1) * stride);
      if (this.#rules !== undefined) this.#rules[hole] = this.#rules[next]!;
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

  /** Removes the states that may be forgotten in a range of slots. Backwards, because one in front of an empty slot goes without anything being moved. */
  sweep(from: number, to: number, now: number): void {
    for (let slot = Math.min(to, this.capacity) - 1; slot >= from; slot -= 1) {
      if (this.forgetAt(slot) <= now && !this.isEmpty(slot)) this.remove(slot);
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

  /** Writes all live states into buffers that leave them room: its own, or those of two shards that take about a half each. */
  rebuild(now: number, into: readonly Shard[] = [this], shardOf: (high: number) => Shard = () => this): void {
    this.sweep(0, this.capacity, now);
    const { capacity, lists } = this;
    const [numbers, words, rules] = [this.#numbers, this.#words, this.#rules];
    const slots = Math.max(SMALLEST, Math.ceil((this.taken / into.length + 1) / REBUILT));
    this.resize(0);
    for (const shard of into) shard.resize(slots);
    for (let slot = 0; slot < capacity; slot += 1) {
      const at = slot * this.#stride;
      const [low, high] = [words[at * 2]!, words[at * 2 + 1]!];
      if ((low | high) !== 0) shardOf(high).#adopt(low, high, numbers, at, rules?.[slot], lists?.[slot]);
    }
  }

  /** Empty, with so many slots. */
  resize(capacity: number): void {
    this.#held.bytes += (capacity - this.capacity) * (this.#stride * 8 + 1);
    this.#count(-this.taken);
    this.capacity = capacity;
    this.#scale = capacity / HASHES;
    this.#numbers = new Float64Array(capacity * this.#stride);
    this.#words = new Int32Array(this.#numbers.buffer);
    this.#rules = undefined;
    // Filled, because V8 makes a hash table of a list with large holes.
    if (this.lists !== undefined) this.lists = new Array(capacity).fill(undefined);
  }

  /** Takes a state over from another buffer. A method of its own, so that V8 compiles it early. */
  #adopt(low: number, high: number, numbers: Float64Array, at: number, rule?: number, list?: number[]): void {
    const slot = this.freeSlot(low, Number.NEGATIVE_INFINITY);
    this.#setHash(slot, low, high);
    for (let i = 1; i < this.#stride; i += 1) this.#numbers[slot * this.#stride + i] = numbers[at + i]!;
    if (rule !== undefined) this.#setRule(slot, rule);
    if (list !== undefined) this.lists![slot] = list;
    this.#count(1);
  }
}

export function isFull({ states, bytes, maxKeys, maxBytes }: Held): boolean {
  return states >= maxKeys || bytes >= maxBytes;
}

export function bytesOf(list: number[] | undefined): number {
  return list === undefined ? 0 : LIST_BYTES + list.length * 8;
}
