/**
 * The table of states that are a few numbers. Many small shards, so that growing never stops the world: one of them is
 * rebuilt at a time. There is nothing in it for the garbage collector to walk, whatever the number of keys.
 */
import type { Algorithm, Numbers, Step } from '../model/algorithm.ts';
import { limitOf, type Policy } from '../model/policy.ts';
import type { HashKey } from './hash.ts';
import { Shard } from './shard.ts';
import type { Candidate, Table } from './table.ts';

export class NumbersTable implements Table {
  size = 0;
  readonly #algorithm: Algorithm;
  readonly #hash: HashKey;
  /** Made when their first key comes: most stores never need most of them. */
  readonly #shards: (Shard | undefined)[];
  /** The numbers the policy had last; they decide how constrained a state is. */
  #policy: Policy;
  /** Where the key that was asked for last is, so that a commit right after a step need not search again. */
  #foundKey: string | undefined;
  #foundShard: Shard;
  #foundSlot = -1;
  #sweepShard = 0;
  #cursorShard = 0;
  #cursorSlot = 0;

  /** `shards` is a power of two. */
  constructor(algorithm: Algorithm, policy: Policy, hash: HashKey, shards: number) {
    this.#algorithm = algorithm;
    this.#policy = policy;
    this.#hash = hash;
    this.#shards = Array.from({ length: shards }, () => undefined);
    this.#foundShard = new Shard(algorithm.width);
  }

  step(key: string, now: number, cost: number, policy: Policy): Step<Numbers> {
    this.#policy = policy;
    this.#find(key);
    return this.#algorithm.transition(liveState(this.#foundShard, this.#foundSlot, now), now, cost, policy);
  }

  has(key: string): boolean {
    this.#find(key);
    return this.#foundSlot >= 0;
  }

  commit(key: string, now: number, step: Step<Numbers>): void {
    this.#find(key);
    const shard = this.#foundShard;
    if (this.#foundSlot < 0) {
      const before = shard.taken;
      this.#foundSlot = shard.take(this.#hash(key), now);
      this.size += shard.taken - before;
    }
    shard.write(this.#foundSlot, now + step.resetAfter, step.next!);
  }

  delete(key: string): void {
    this.#find(key);
    if (this.#foundSlot >= 0) this.#remove(this.#foundShard, this.#foundSlot);
  }

  sweep(now: number): void {
    const shard = this.#shards[this.#sweepShard];
    this.#sweepShard = (this.#sweepShard + 1) % this.#shards.length;
    if (shard === undefined) return;
    const before = shard.taken;
    shard.sweep(now);
    this.size += shard.taken - before;
    this.#foundKey = undefined;
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
    const { remaining } = this.#algorithm.transition(liveState(shard, slot, now), now, 0, this.#policy);
    return {
      freeShare: remaining / limitOf(this.#policy),
      forgetAt: shard.forgetAt(slot),
      evict: () => this.#remove(shard, slot),
    };
  }

  #remove(shard: Shard, slot: number): void {
    shard.remove(slot);
    this.size -= 1;
    this.#foundKey = undefined;
  }

  /** The high word of the hash chooses the shard, the low word the slot in it. */
  #find(key: string): void {
    if (key === this.#foundKey) return;
    const hash = this.#hash(key);
    const index = hash.high & (this.#shards.length - 1);
    let shard = this.#shards[index];
    if (shard === undefined) {
      shard = new Shard(this.#algorithm.width);
      this.#shards[index] = shard;
    }
    this.#foundKey = key;
    this.#foundShard = shard;
    this.#foundSlot = shard.find(hash);
  }
}

function liveState(shard: Shard, slot: number, now: number): Numbers | undefined {
  return slot < 0 || shard.forgetAt(slot) <= now ? undefined : shard.state(slot);
}
