/**
 * The tables of all policies, by what tells their states apart. Policies may be made for each attempt, under names that callers think of (a
 * tenant, a model): so a table in which nothing is left goes too, and what an attempt costs does not depend on how many there are.
 */
import { numbersAlgorithm } from '../algorithms/index.ts';
import { identityOf, type Policy } from '../model/policy.ts';
import { type HashKey, randomHash } from './hash.ts';
import { LogTable } from './log-table.ts';
import { NumbersTable } from './numbers-table.ts';
import type { Held, Table } from './table.ts';

const KEYS_PER_SHARD = 16_384;
const MAX_SHARDS = 1024;
/** One attempt in this many looks for old states to collect. */
const SWEEP_EVERY = 128;
/** Tables looked at for each new one: more than one, so that those with nothing left go faster than others come. */
const LOOK_AT = 2;
/** A table of more states than this is not looked through for that. */
const FEW = 64;
/** Tables to choose among when somebody has to make room. */
const CANDIDATES = 512;

export class Tables {
  readonly #all: Table[] = [];
  readonly #held: Held = { states: 0 };
  readonly #byIdentity = new Map<string, Table>();
  #byPolicy = new WeakMap<Policy, Table>();
  /** Made with the first table: a worker has no randomness while its module loads, and that is when limits are made. */
  #hash: HashKey | undefined;
  readonly #shards: number;
  readonly #isNeeded: (table: Table) => boolean;
  #lastPolicy: Policy | undefined;
  #lastTable: Table | undefined;
  #untilSweep = SWEEP_EVERY;
  #swept = 0;
  #lookedAt = 0;
  #few = 0;

  /** `isNeeded` tells of a table without states whether it has to stay all the same. */
  constructor(maxKeys: number, isNeeded: (table: Table) => boolean) {
    this.#shards = shardsFor(maxKeys);
    this.#isNeeded = isNeeded;
  }

  /** States held in all of them. */
  get size(): number {
    return this.#held.states;
  }

  /** Most stores serve one policy, so the one that was asked for last is likely. */
  of(policy: Policy, now: number): Table {
    if (policy === this.#lastPolicy) return this.#lastTable!;
    const table = this.#byPolicy.get(policy) ?? this.#findOrMake(policy, now);
    this.#lastPolicy = policy;
    this.#lastTable = table;
    return table;
  }

  #findOrMake(policy: Policy, now: number): Table {
    const identity = identityOf(policy);
    let table = this.#byIdentity.get(identity);
    if (table === undefined) {
      for (let looked = 0; looked < LOOK_AT; looked += 1) this.#dropIfEmpty(now);
      table = this.#make(policy, identity);
      this.#all.push(table);
      this.#byIdentity.set(identity, table);
    }
    this.#byPolicy.set(policy, table);
    return table;
  }

  #make(policy: Policy, identity: string): Table {
    if (policy.algorithm === 'sliding-window-log') return new LogTable(policy, identity, this.#held);
    this.#hash ??= randomHash();
    return new NumbersTable(numbersAlgorithm(policy.algorithm), policy, identity, this.#held, this.#hash, this.#shards);
  }

  /** Looks at the next table. The last one takes the place of one that goes. */
  #dropIfEmpty(now: number): void {
    this.#lookedAt = (this.#lookedAt + 1) % Math.max(1, this.#all.length);
    const table = this.#all[this.#lookedAt];
    if (table === undefined || table.size > FEW) return;
    table.collect(now);
    if (table.size > 0 || this.#isNeeded(table)) return;
    this.#all[this.#lookedAt] = this.#all.at(-1)!;
    this.#all.pop();
    this.#byIdentity.delete(table.identity);
    // Whoever still knows it must not spend from it while others spend from its successor.
    this.#byPolicy = new WeakMap();
    this.#lastPolicy = undefined;
  }

  /** A bounded piece of one table; the next call takes the next table. */
  sweep(now: number): void {
    if (this.#all.length === 0) return;
    this.#swept = (this.#swept + 1) % this.#all.length;
    this.#all[this.#swept]!.sweep(now);
  }

  sweepSometimes(now: number): void {
    this.#untilSweep -= 1;
    if (this.#untilSweep > 0) return;
    this.#untilSweep = SWEEP_EVERY;
    this.sweep(now);
  }

  /** All of them, or of very many the next few. */
  nextFew(): readonly Table[] {
    if (this.#all.length <= CANDIDATES) return this.#all;
    this.#few = (this.#few + CANDIDATES) % this.#all.length;
    return this.#all.slice(this.#few, this.#few + CANDIDATES);
  }
}

/** A power of two, so that a shard of a full store is small enough to be rebuilt unnoticed. */
function shardsFor(maxKeys: number): number {
  let shards = 1;
  while (shards < MAX_SHARDS && shards * KEYS_PER_SHARD < maxKeys) shards *= 2;
  return shards;
}
