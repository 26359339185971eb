/**
 * The embedded store: everything in this process, decided at once. Nothing in it waits or runs by itself: there is no timer.
 * Old states are collected a few at a time by the attempts that come along, and `maxKeys` bounds the memory.
 */
import { numbersAlgorithm } from '../algorithms/index.ts';
import { copyOf, type Step } from '../model/algorithm.ts';
import { type Clock, checkClock, readMicros, systemClock } from '../model/clock.ts';
import type { HistoryEntry } from '../model/decision.ts';
import { SluiceError } from '../model/errors.ts';
import { checkOptionNames } from '../model/options.ts';
import { identityOf, limitOf, type Policy } from '../model/policy.ts';
import {
  type Answer,
  type Change,
  type Check,
  checkIsLog,
  type DecideOptions,
  type ShortWay,
  type Store,
  type Verdict,
  type Verdicts,
} from '../model/store.ts';
import { Blocks, refused } from './blocks.ts';
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
  readonly decide: ((checks: readonly Check[], options?: DecideOptions) => Verdicts) & ShortWay;
  change(changes: readonly Change[]): Verdicts;
  forget(key: string, policies: readonly Policy[]): void;
  history(key: string, policy: Policy): readonly HistoryEntry[];
  stats(): MemoryStoreStats;
}

const DEFAULT_MAX_KEYS = 1_000_000;
const KEYS_PER_SHARD = 16_384;
const MAX_SHARDS = 1024;
/** One attempt in this many looks for old states to collect. */
const SWEEP_EVERY = 128;
/** What stands in the answer before the first question. */
const NOTHING_YET: Verdict = { allowed: false, remaining: 0, retryAfter: 0, resetAfter: 0, delay: 0 };

export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  const { clock, maxKeys } = checkOptions(options);
  const tables = new Tables(shardsFor(maxKeys));
  const blocks = new Blocks(maxKeys);
  let evicted = 0;

  /** Room for one more state. What it looks at overwrites the step that needs it. */
  const hasRoom = (now: number, newcomerIsLimited: boolean): boolean => {
    tables.sweep(now);
    const room = tables.size < maxKeys ? 'collected' : makeRoom(tables.all, now, newcomerIsLimited);
    if (room !== 'collected') evicted += 1;
    return room !== 'refused';
  };

  /** Stores what a step changes, if there is room, and returns the step. */
  const commit = (table: Table, isHeld: boolean, now: number, step: Step, policy: Policy): Step => {
    if (isHeld || tables.size < maxKeys) {
      table.commit(now, step, policy);
      return step;
    }
    const kept = copyOf(step);
    if (hasRoom(now, kept.remaining === 0)) table.commit(now, kept, policy);
    return kept;
  };

  /** Nothing is spent, so what is told beside the wait is what a look at the key that was found sees. */
  const refuse = (table: Table, retryAfter: number, wait: number, now: number, policy: Policy): Verdict =>
    refused(retryAfter, table.step(now, 0, policy).resetAfter, wait);

  const look = ({ key, policy }: Pick<Check, 'key' | 'policy'>, cost: number, now: number): Step => {
    const table = tables.of(policy);
    table.find(key);
    const step = copyOf(table.step(now, cost, policy));
    const wait = blocks.size === 0 ? 0 : blocks.wait(table, key, now);
    return wait === 0 ? step : { ...step, ...refuse(table, step.retryAfter, wait, now, policy), changes: false };
  };

  /** Several checks, or a dry run: all are looked at before any is carried out. */
  const decideAll = (checks: readonly Check[], dryRun: boolean): Verdicts => {
    const now = readMicros(clock);
    tables.sweepSometimes(now);
    const steps = checks.map((check) => look(check, check.cost, now));
    const allAllowed = steps.every(({ allowed }) => allowed);
    const verdicts = steps.map((step, index): Verdict => {
      const check = checks[index]!;
      // Nothing is spent after all: what is told is what a look would see, though still that it would have been allowed.
      if (step.allowed && (dryRun || !allAllowed))
        return { ...verdictOf(look(check, 0, now)), delay: allAllowed ? step.delay : 0 };
      const table = tables.of(check.policy);
      if (step.changes && !dryRun) commit(table, table.find(check.key), now, step, check.policy);
      return verdictOf(step);
    });
    return { now, verdicts, source: 'store' };
  };

  /** Says by how many units the state changed. */
  const carryOut = (change: Change, now: number): number => {
    const { key, policy } = change;
    const table = tables.of(policy);
    switch (change.verb) {
      case 'refund':
        return table.find(key) ? table.refund(now, change.cost, change.spent, policy) : 0;
      case 'penalize':
        if (!table.find(key) && tables.size >= maxKeys && !hasRoom(now, change.cost >= limitOf(policy))) return 0;
        // Making room may have moved what was found.
        table.find(key);
        return table.penalize(now, change.cost, policy);
      case 'block':
        if (blocks.set(table, key, now + change.duration, now)) evicted += 1;
        return 0;
      case 'unblock':
        blocks.delete(table, key);
        return 0;
    }
  };

  const answer = { now: Number.NaN, verdict: NOTHING_YET, source: 'store' };

  const one = (key: string, policy: Policy, cost: number): Answer => {
    const now = readMicros(clock);
    tables.sweepSometimes(now);
    const table = tables.of(policy);
    const isHeld = table.find(key);
    const step = table.step(now, cost, policy);
    answer.now = now;
    const wait = blocks.size === 0 ? 0 : blocks.wait(table, key, now);
    if (wait > 0) answer.verdict = refuse(table, step.retryAfter, wait, now, policy);
    else answer.verdict = step.changes ? commit(table, isHeld, now, step, policy) : step;
    return answer;
  };

  const decide = (checks: readonly Check[], options?: DecideOptions): Verdicts => {
    const dryRun = options?.dryRun === true;
    if (dryRun || checks.length !== 1) return decideAll(checks, dryRun);
    const { key, policy, cost } = checks[0]!;
    const { now, verdict } = one(key, policy, cost);
    return { now, verdicts: [verdictOf(verdict)], source: 'store' };
  };

  return {
    decide: Object.assign(decide, { one }),
    change(changes) {
      const now = readMicros(clock);
      const verdicts = changes.map((change): Verdict => {
        const changed = carryOut(change, now);
        return { ...verdictOf(look(change, 0, now)), changed };
      });
      return { now, verdicts, source: 'store' };
    },
    forget(key, policies) {
      for (const policy of policies) {
        const table = tables.of(policy);
        table.delete(key);
        blocks.delete(table, key);
      }
    },
    history(key, policy) {
      const log = checkIsLog(policy);
      return (tables.of(log) as LogTable).history(key, readMicros(clock), log);
    },
    stats: () => ({ keys: tables.size, evicted }),
  };
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
  /** Made with the first table: a worker has no randomness while its module loads, and that is when limits are made. */
  #hash: HashKey | undefined;
  readonly #shards: number;
  #lastPolicy: Policy | undefined;
  #lastTable: Table | undefined;
  #untilSweep = SWEEP_EVERY;
  #swept = 0;

  constructor(shards: number) {
    this.#shards = shards;
  }

  get size(): number {
    let size = 0;
    for (const table of this.all) size += table.size;
    return size;
  }

  /** Most stores serve one policy, so the one that was asked for last is likely. */
  of(policy: Policy): Table {
    if (policy === this.#lastPolicy) return this.#lastTable!;
    const table = this.#byPolicy.get(policy) ?? this.#findOrMake(policy);
    this.#lastPolicy = policy;
    this.#lastTable = table;
    return table;
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
    this.#hash ??= randomHash();
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

/** A power of two, so that a shard of a full store is small enough to be rebuilt unnoticed. */
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
