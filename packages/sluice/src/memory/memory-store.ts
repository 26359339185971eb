/**
 * The embedded store: everything in this process, decided at once. Nothing in it waits or runs by itself: there is no timer.
 * Old states are collected a few at a time by the attempts that come along, and `maxKeys` bounds the memory.
 */
import { numbersAlgorithm } from '../algorithms/index.ts';
import type { Step } from '../model/algorithm.ts';
import { type Clock, checkClock, readMicros, systemClock } from '../model/clock.ts';
import type { HistoryEntry } from '../model/decision.ts';
import { SluiceError } from '../model/errors.ts';
import { checkOptionNames } from '../model/options.ts';
import { identityOf, type Policy } from '../model/policy.ts';
import { type Check, checkIsLog, type DecideOptions, type Store, type Verdict, type Verdicts } from '../model/store.ts';
import { makeRoom } from './eviction.ts';
import { type HashKey, randomHash } from './hash.ts';
import { LogTable } from './log-table.ts';
import { NumbersTable } from './numbers-table.ts';
import type { Table } from './table.ts';

export interface MemoryStoreOptions {
  /** Default: the system's clock. */
  readonly clock?: Clock | undefined;
  /**
   * States kept at most, counted over all policies. Default: 1,000,000, which is some 70 MB when full of anything but logs.
   * When it is reached, the least constrained state makes room: a flood of new keys never frees a key that is limited.
   */
  readonly maxKeys?: number | undefined;
}

export interface MemoryStoreStats {
  /** States held right now. */
  readonly keys: number;
  /** States that had to make room before their time, ever. Above 0 means `maxKeys` is too small for the traffic. */
  readonly evicted: number;
}

export interface MemoryStore extends Store {
  decide(checks: readonly Check[], options?: DecideOptions): Verdicts;
  forget(key: string, policies: readonly Policy[]): void;
  history(key: string, policy: Policy): readonly HistoryEntry[];
  stats(): MemoryStoreStats;
}

const DEFAULT_MAX_KEYS = 1_000_000;
const KEYS_PER_SHARD = 1024;
const MAX_SHARDS = 1024;
/** One attempt in this many looks for old states to collect. */
const SWEEP_EVERY = 128;

export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  const { clock, maxKeys } = checkOptions(options);
  const tables = new Tables(shardsFor(maxKeys));
  let evicted = 0;

  const commit = ({ key, policy }: Check, step: Step<unknown>, now: number): void => {
    const table = tables.of(policy);
    if (!table.has(key) && tables.size >= maxKeys) {
      tables.sweep(now);
      const room = tables.size < maxKeys ? 'collected' : makeRoom(tables.all, now, step.remaining === 0);
      if (room !== 'collected') evicted += 1;
      if (room === 'refused') return;
    }
    table.commit(key, now, step, policy);
  };

  /** The common case, without the lists. */
  const attemptOne = (check: Check, now: number): Verdict => {
    const step = tables.of(check.policy).step(check.key, now, check.cost, check.policy);
    if (step.next !== undefined) commit(check, step, now);
    return verdictOf(step);
  };

  return {
    decide(checks, { dryRun = false } = {}) {
      const now = readMicros(clock);
      tables.sweepSometimes(now);
      if (checks.length === 1 && !dryRun) return { now, verdicts: [attemptOne(checks[0]!, now)], source: 'store' };
      const steps = checks.map(({ key, policy, cost }) => tables.of(policy).step(key, now, cost, policy));
      const allAllowed = steps.every(({ allowed }) => allowed);
      const verdicts = steps.map((step, index): Verdict => {
        const check = checks[index]!;
        if (step.allowed && (dryRun || !allAllowed))
          return unspent(tables.of(check.policy), check, step, now, allAllowed);
        if (step.next !== undefined && !dryRun) commit(check, step, now);
        return verdictOf(step);
      });
      return { now, verdicts, source: 'store' };
    },
    forget(key, policies) {
      for (const policy of policies) tables.of(policy).delete(key);
    },
    history(key, policy) {
      const log = checkIsLog(policy);
      return (tables.of(log) as LogTable).history(key, readMicros(clock), log);
    },
    stats: () => ({ keys: tables.size, evicted }),
  };
}

/** Nothing is spent after all: what is told is what a look would see, though still that it would have been allowed. */
function unspent(table: Table, { key, policy }: Check, step: Verdict, now: number, allAllowed: boolean): Verdict {
  return { ...verdictOf(table.step(key, now, 0, policy)), delay: allAllowed ? step.delay : 0 };
}

/** The step without what it does to the state, which is nobody else's business. */
function verdictOf({ allowed, remaining, retryAfter, resetAfter, delay }: Verdict): Verdict {
  return { allowed, remaining, retryAfter, resetAfter, delay };
}

/** The tables of all policies, by what tells their states apart. */
class Tables {
  readonly all: Table[] = [];
  readonly #byIdentity = new Map<string, Table>();
  readonly #byPolicy = new WeakMap<Policy, Table>();
  readonly #hash: HashKey = randomHash();
  readonly #shards: number;
  #untilSweep = SWEEP_EVERY;
  #swept = 0;

  constructor(shards: number) {
    this.#shards = shards;
  }

  get size(): number {
    return this.all.reduce((sum, table) => sum + table.size, 0);
  }

  of(policy: Policy): Table {
    return this.#byPolicy.get(policy) ?? this.#findOrMake(policy);
  }

  #findOrMake(policy: Policy): Table {
    const identity = identityOf(policy);
    let table = this.#byIdentity.get(identity);
    if (table === undefined) {
      table = this.#make(policy);
      this.all.push(table);
      this.#byIdentity.set(identity, table);
    }
    this.#byPolicy.set(policy, table);
    return table;
  }

  #make(policy: Policy): Table {
    if (policy.algorithm === 'sliding-window-log') return new LogTable(policy);
    return new NumbersTable(numbersAlgorithm(policy.algorithm), policy, this.#hash, this.#shards);
  }

  /** A bounded piece of one table; the next call takes the next table. */
  sweep(now: number): void {
    if (this.all.length === 0) return;
    this.#swept = (this.#swept + 1) % this.all.length;
    this.all[this.#swept]!.sweep(now);
  }

  sweepSometimes(now: number): void {
    this.#untilSweep -= 1;
    if (this.#untilSweep > 0) return;
    this.#untilSweep = SWEEP_EVERY;
    this.sweep(now);
  }
}

/** A power of two, so that each shard has about a thousand keys when the store is full: small enough to rebuild unnoticed. */
function shardsFor(maxKeys: number): number {
  let shards = 1;
  while (shards < MAX_SHARDS && shards * KEYS_PER_SHARD < maxKeys) shards *= 2;
  return shards;
}

function checkOptions(options: MemoryStoreOptions): { clock: Clock; maxKeys: number } {
  checkOptionNames(options, ['clock', 'maxKeys'], 'memoryStore');
  const { clock = systemClock, maxKeys = DEFAULT_MAX_KEYS } = options;
  if (!Number.isSafeInteger(maxKeys) || maxKeys < 1) {
    throw new SluiceError({
      code: 'SLUICE_INVALID_OPTION',
      path: 'memoryStore.maxKeys',
      expected: 'a whole number of at least 1',
      got: maxKeys,
    });
  }
  return { clock: checkClock(clock, 'memoryStore.clock'), maxKeys };
}
