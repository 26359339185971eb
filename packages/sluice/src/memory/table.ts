/**
 * The states of all policies with one identity. A table begins as one shard; one that has grown large is split in two, so that growing never
 * stops the world: a bounded part of it is rebuilt at a time. There is nothing in it for the garbage collector to walk, whatever the
 * number of keys, but for states without a fixed width.
 */
import type { Rule } from '../model/rule.ts';
import { MAX_WIDTH, type Numbers, Step } from '../model/step.ts';
import type { KeyHash } from './hash.ts';
import { bytesOf, type Held, Shard } from './shard.ts';

/** Keys in a shard that is split: few enough to be rebuilt unnoticed. */
const SPLIT_AT = 8192;
/** Slots looked at in one sweep. */
const SWEEP_SLOTS = 256;
/** Rules with different numbers under one name that are told apart; the last place is for all others. */
const MOST_RULES = 256;
/** Bytes of a table and of the rules it knows, besides its shards, about. */
const TABLE_BYTES = 3500;

/** What a table needs of a rule. */
export type KeptRule = Pick<Rule, 'identity' | 'width' | 'limit' | 'numbers' | 'transition' | 'write'>;

/** A state that could be evicted, as it stands now. */
export interface Candidate {
  /** Free share of the limit: 0 is a key that is limited right now, Infinity one whose state means nothing any more. */
  readonly freeShare: number;
  /** When the state is forgotten anyway, in microseconds. */
  readonly forgetAt: number;
  readonly table: Table;
  /** Only before anything else is done with the table. */
  evict(): void;
}

export class Table {
  declare readonly identity: string;
  /** Where it stands among all tables. */
  declare index: number;
  isGone = false;
  /** How many numbers a state has; 0 for lists. */
  declare readonly width: number;
  readonly #held: Held;
  declare readonly hash: KeyHash;
  /** By the low bits of the high word of a hash; several places may hold the same shard. */
  #shards: Shard[];
  /** The numbers that states were written under: they decide how constrained a state is. */
  readonly #rules: KeptRule[] = [];
  #lastRule: KeptRule | undefined;
  #lastIndex = 0;
  /** That of the key that was found. */
  #shard: Shard;
  readonly #state = new Float64Array(MAX_WIDTH);
  readonly #look = new Step();
  #sweepShard = 0;
  #sweepSlot = 0;
  /** When the last two rounds of sweeping ended. */
  #round = 0;
  #roundBefore = 0;
  #roundShard = 0;
  #roundSlot = 0;

  constructor({ identity, width }: KeptRule, held: Held, hash: KeyHash, index: number) {
    this.identity = identity;
    this.width = width;
    this.index = index;
    this.#held = held;
    this.hash = hash;
    this.#shard = new Shard(width, held, 0);
    this.#shards = [this.#shard];
    held.bytes += TABLE_BYTES;
  }

  /** It is not used any more, and holds nothing. */
  release(): void {
    this.isGone = true;
    for (const shard of new Set(this.#shards)) shard.resize(0);
    this.#held.bytes -= TABLE_BYTES;
  }

  /** States held, those that mean nothing any more and were not collected yet included. */
  get size(): number {
    let size = 0;
    for (const shard of new Set(this.#shards)) size += shard.taken;
    return size;
  }

  /** The slot of a key, or -1. It holds until the table is changed. */
  find(key: string): number {
    this.hash.of(key);
    return this.findAgain();
  }

  /** The same for the key that was last looked for, after the table has changed. */
  findAgain(): number {
    const { low, high } = this.hash;
    this.#shard = this.#shardOf(high);
    return this.#shard.find(low, high);
  }

  /** Where a key is looked for. */
  shardOf(key: string): Shard {
    this.hash.of(key);
    return this.#shardOf(this.hash.high);
  }

  #shardOf(high: number): Shard {
    return this.#shards[high & (this.#shards.length - 1)]!;
  }

  /** The state in a slot of the key that was found; undefined when there is none, or it means nothing any more. */
  stateAt(slot: number, now: number, shard = this.#shard): Numbers | undefined {
    if (slot < 0) return undefined;
    if (this.width === 0) return shard.listAt(slot, now);
    if (shard.forgetAt(slot) <= now) return undefined;
    shard.read(slot, this.#state);
    return this.#state;
  }

  /** Stores what a step says of the key that was found, and says whether it did: without `mayGrow` not if that takes more bytes. */
  write(slot: number, now: number, rule: KeptRule, step: Step, mayGrow: boolean): boolean {
    const forgetAt = now + step.resetAfter;
    if (slot >= 0 && this.width > 0) {
      this.#shard.write(slot, forgetAt, this.indexOf(rule), step.next);
      return true;
    }
    if (slot < 0 && !mayGrow && this.isCrowded(now)) return false;
    const before = slot < 0 ? undefined : this.#shard.lists![slot];
    const bytesBefore = bytesOf(before);
    const list = this.width > 0 ? undefined : rule.write!(this.stateAt(slot, now) as number[] | undefined, step);
    // What has left the list may have gone from it all the same.
    const isKept = mayGrow || list === before || bytesOf(list) <= bytesBefore;
    if (!isKept && before === undefined) return false;
    const at = slot < 0 ? this.#claim(now) : slot;
    const shard = this.#shard;
    if (isKept) shard.write(at, forgetAt, this.indexOf(rule), step.next);
    if (list !== undefined) shard.setList(at, isKept ? list : before, bytesBefore);
    return isKept;
  }

  /** Whether one more key beside the one that was found needs more bytes. */
  isCrowded(now: number): boolean {
    return this.#shard.isFull && !this.reusesSlot(now);
  }

  /** Whether the key that was not found can have the slot of a state that means nothing any more. */
  reusesSlot(now: number): boolean {
    return !this.#shard.isEmpty(this.#shard.freeSlot(this.hash.low, now));
  }

  #claim(now: number): number {
    const { low, high } = this.hash;
    if (this.isCrowded(now)) {
      this.#shard.makeRoom(now);
      if (this.#shard.taken > SPLIT_AT) this.#split(this.#shard, now);
      this.findAgain();
    }
    const slot = this.#shard.freeSlot(low, now);
    this.#shard.setList(slot, undefined);
    this.#shard.claim(slot, low, high);
    return slot;
  }

  /** Its keys go to two shards, by one more bit of their hash. */
  #split(shard: Shard, now: number): void {
    const bit = 2 ** shard.depth;
    if (bit === this.#shards.length) this.#shards = this.#shards.concat(this.#shards);
    const halves = [0, 1].map(() => new Shard(this.width, this.#held, shard.depth + 1));
    const halfOf = (high: number): Shard => halves[(high & bit) === 0 ? 0 : 1]!;
    shard.rebuild(now, halves, halfOf);
    this.#shards = this.#shards.map((other, index) => (other === shard ? halfOf(index) : other));
  }

  /** Policies may be made for each attempt: those with the same numbers are one rule here. */
  indexOf(rule: KeptRule): number {
    if (rule === this.#lastRule) return this.#lastIndex;
    let index = this.#rules.findIndex(({ numbers }) => numbers === rule.numbers);
    if (index < 0) index = Math.min(this.#rules.length, MOST_RULES - 1);
    this.#rules[index] = rule;
    this.#lastRule = rule;
    this.#lastIndex = index;
    return index;
  }

  /** Removes the key that was found. */
  remove(slot: number): void {
    if (slot >= 0) this.#shard.remove(slot);
  }

  /**
   * Collects a bounded number of states that mean nothing any more; the next call goes on from there. `isUrgent`: or else only those that meant
   * nothing in the round before either. A key that comes again and again keeps its slot, though its state has recovered each time.
   */
  sweep(now: number, isUrgent: boolean): void {
    const shard = this.#shards[this.#sweepShard]!;
    const from = this.#sweepSlot;
    this.#sweepSlot += SWEEP_SLOTS;
    shard.sweep(from, this.#sweepSlot, isUrgent ? now : Math.min(now, this.#roundBefore));
    if (this.#sweepSlot < shard.capacity) return;
    shard.shrink(now);
    this.#sweepSlot = 0;
    this.#sweepShard += 1;
    if (this.#sweepShard < this.#shards.length) return;
    this.#sweepShard = 0;
    this.#roundBefore = this.#round;
    this.#round = now;
  }

  /** Collects all of them, however many there are. */
  collect(now: number): void {
    for (const shard of new Set(this.#shards)) shard.sweep(0, shard.capacity, now);
  }

  /**
   * The next state in an endless round; undefined when there is none. `isWritten`: but not that of the key that was found here last. `isBeside`:
   * only of the shard of that key, since one that goes leaves its slot to it.
   */
  nextCandidate(now: number, isWritten: boolean, isBeside: boolean): Candidate | undefined {
    const shards = isBeside ? [this.#shard] : this.#shards;
    for (let looked = 0; looked <= shards.length; looked += 1) {
      const shard = shards[this.#roundShard % shards.length]!;
      while (this.#roundSlot < shard.capacity) {
        const slot = this.#roundSlot;
        this.#roundSlot += 1;
        const isOwn = isWritten && shard.holds(slot, this.hash.low, this.hash.high);
        if (!isOwn && !shard.isEmpty(slot)) return this.#candidate(shard, slot, now);
      }
      this.#roundShard += 1;
      this.#roundSlot = 0;
    }
    return undefined;
  }

  /** Judged by the numbers it was written under, whatever others were asked under since. */
  #candidate(shard: Shard, slot: number, now: number): Candidate {
    const { transition, limit } = this.#rules[shard.ruleAt(slot)]!;
    const forgetAt = shard.forgetAt(slot);
    transition(this.stateAt(slot, now, shard), now, 0, this.#look);
    const freeShare = forgetAt > now ? this.#look.remaining / limit : Number.POSITIVE_INFINITY;
    return { freeShare, forgetAt, table: this, evict: () => shard.remove(slot) };
  }
}
