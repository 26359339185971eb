/**
 * The table of states that are a few numbers. It has many shards, so that growing never stops the world: one of them is
 * rebuilt at a time. There is nothing in it for the garbage collector to walk, whatever the number of keys.
 */
import type { Adjustment, Algorithm, Numbers, Spent, Step } from '../model/algorithm.ts';
import { limitOf, type Policy } from '../model/policy.ts';
import type { HashKey } from './hash.ts';
import { Shard } from './shard.ts';
import type { Candidate, Held, Table } from './table.ts';

/** Slots looked at in one sweep: enough to keep up with any rate of new keys, too few to notice. */
const SWEEP_SLOTS = 128;

/** Before the first key is looked for. */
const NONE = new Shard(0);

export class NumbersTable implements Table {
  size = 0;
  readonly identity: string;
  readonly #held: Held;
  readonly #algorithm: Algorithm;
  readonly #hash: HashKey;
  /** Made when their first key comes: most stores never need most of them. */
  readonly #shards: (Shard | undefined)[];
  /** The numbers the policy had last; they decide how constrained a state is. */
  #policy: Policy;
  /** The key that was found: its hash, its shard and its slot there, or -1. */
  #low = 0;
  #high = 0;
  #shard = NONE;
  #slot = -1;
  /** The state a transition is told, copied here because a new array for each costs more than deciding. */
  readonly #state = new Float64Array(3);
  #sweepShard = 0;
  #sweepSlot = 0;
  #cursorShard = 0;
  #cursorSlot = 0;

  /** `shards` is a power of two. */
  constructor(algorithm: Algorithm, policy: Policy, identity: string, held: Held, hash: HashKey, shards: number) {
    this.#algorithm = algorithm;
    this.#policy = policy;
    this.identity = identity;
    this.#held = held;
    this.#hash = hash;
    this.#shards = Array.from({ length: shards }, () => undefined);
  }

  /** The high word of the hash chooses the shard, the low word the slot in it. */
  find(key: string): boolean {
    const { low, high } = this.#hash(key);
    const shard = this.#shards[high & (this.#shards.length - 1)] ?? this.#addShard(high);
    this.#low = low;
    this.#high = high;
    this.#shard = shard;
    this.#slot = shard.find(low, high);
    return this.#slot >= 0;
  }

  step(now: number, cost: number, policy: Policy): Step {
    if (policy !== this.#policy) this.#policy = policy;
    return this.#algorithm.transition(this.#liveState(this.#shard, this.#slot, now), now, cost, policy);
  }

  commit(now: number, step: Step): void {
    this.#write(now, step.resetAfter, step.next);
  }

  #write(now: number, resetAfter: number, state: Numbers): void {
    const shard = this.#shard;
    if (this.#slot < 0) {
      const before = shard.taken;
      this.#slot = shard.take(this.#low, this.#high, now);
      this.#counted(shard.taken - before);
    }
    shard.write(this.#slot, now + resetAfter, state);
  }

  penalize(now: number, cost: number, policy: Policy): number {
    return this.#adjust(this.#algorithm.penalize(this.#found(now), now, cost, policy), now, policy);
  }

  refund(now: number, cost: number, spent: Spent | undefined, policy: Policy): number {
    return this.#adjust(this.#algorithm.refund(this.#found(now), now, cost, spent, policy), now, policy);
  }

  /** What the new state means from here on says a look at it. */
  #adjust({ units, next }: Adjustment, now: number, policy: Policy): number {
    if (next === undefined) return 0;
    const { resetAfter } = this.#algorithm.transition(next, now, 0, policy);
    this.#write(now, resetAfter, next);
    return units;
  }

  delete(key: string): void {
    if (this.find(key)) this.#remove(this.#shard, this.#slot);
  }

  sweep(now: number): void {
    const shard = this.#shards[this.#sweepShard];
    const from = this.#sweepSlot;
    this.#sweepSlot += SWEEP_SLOTS;
    const before = shard === undefined ? 0 : shard.taken;
    shard?.sweep(from, this.#sweepSlot, now);
    if (shard === undefined || this.#sweepSlot >= shard.capacity) {
      shard?.shrink(now);
      this.#sweepShard = (this.#sweepShard + 1) % this.#shards.length;
      this.#sweepSlot = 0;
    }
    this.#counted((shard === undefined ? 0 : shard.taken) - before);
  }

  collect(now: number): void {
    for (const shard of this.#shards) {
      const before = shard?.taken ?? 0;
      shard?.sweep(0, shard.capacity, now);
      this.#counted((shard?.taken ?? 0) - before);
    }
  }

  nextCandidate(now: number): Candidate | undefined {
    for (let looked = 0; looked <= this.#shards.length; looked += 1) {
      const shard = this.#shards[this.#cursorShard];
      while (shard !== undefined && this.#cursorSlot < shard.capacity) {
        const slot = this.#cursorSlot;
        this.#cursorSlot += 1;
        if (shard.isTaken(slot)) return this.#candidate(shard, slot, now);
      }
      this.#cursorShard = (this.#cursorShard + 1) % this.#shards.length;
      this.#cursorSlot = 0;
    }
    return undefined;
  }

  #candidate(shard: Shard, slot: number, now: number): Candidate {
    const { remaining } = this.#algorithm.transition(this.#liveState(shard, slot, now), now, 0, this.#policy);
    return {
      freeShare: remaining / limitOf(this.#policy),
      forgetAt: shard.forgetAt(slot),
      evict: () => this.#remove(shard, slot),
    };
  }

  #remove(shard: Shard, slot: number): void {
    shard.remove(slot);
    this.#counted(-1);
  }

  #counted(more: number): void {
    this.size += more;
    this.#held.states += more;
  }

  #found(now: number): Numbers | undefined {
    return this.#liveState(this.#shard, this.#slot, now);
  }

  #liveState(shard: Shard, slot: number, now: number): Numbers | undefined {
    if (slot < 0 || shard.forgetAt(slot) <= now) return undefined;
    shard.read(slot, this.#state);
    return this.#state;
  }

  #addShard(high: number): Shard {
    const shard = new Shard(this.#algorithm.width);
    this.#shards[high & (this.#shards.length - 1)] = shard;
    return shard;
  }
}
