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
  readonly #width: number;
  /** The numbers the policy had last; they decide how constrained a state is. */
  #policy: Policy;
  #sweepShard = 0;
  #cursorShard = 0;
  #cursorSlot = 0;

  /** `shards` is a power of two. */
  constructor(algorithm: Algorithm, policy: Policy, hash: HashKey, shards: number) {
    this.#algorithm = algorithm;
    this.#policy = policy;
    this.#hash = hash;
    this.#width = algorithm.width;
    this.#shards = Array.from({ length: shards }, () => undefined);
  }

  step(key: string, now: number, cost: number, policy: Policy): Step<Numbers> {
    this.#policy = policy;
    const [shard, slot] = this.#find(key);
    return this.#algorithm.transition(liveState(shard, slot, now), now, cost, policy);
  }

  has(key: string): boolean {
    return this.#find(key)[1] >= 0;
  }

  commit(key: string, now: number, step: Step<Numbers>): void {
    const hash = this.#hash(key);
    const shard = this.#shardOf(hash.high);
    const found = shard.find(hash);
    const before = shard.taken;
    const slot = found >= 0 ? found : shard.take(hash, now);
    shard.write(slot, now + step.resetAfter, step.next!);
    this.size += shard.taken - before;
  }

  delete(key: string): void {
    const [shard, slot] = this.#find(key);
    if (slot >= 0) this.#remove(shard, slot);
  }

  sweep(now: number): void {
    const shard = this.#shards[this.#sweepShard];
    this.#sweepShard = (this.#sweepShard + 1) % this.#shards.length;
    if (shard === undefined) return;
    const before = shard.taken;
    shard.sweep(now);
    this.size += shard.taken - before;
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
  }

  #find(key: string): [Shard, number] {
    const hash = this.#hash(key);
    const shard = this.#shardOf(hash.high);
    return [shard, shard.find(hash)];
  }

  /** The high word chooses the shard, the low word the slot in it. */
  #shardOf(high: number): Shard {
    const index = high & (this.#shards.length - 1);
    const shard = this.#shards[index] ?? new Shard(this.#width);
    this.#shards[index] = shard;
    return shard;
  }
}

function liveState(shard: Shard, slot: number, now: number): Numbers | undefined {
  return slot < 0 || shard.forgetAt(slot) <= now ? undefined : shard.state(slot);
}
