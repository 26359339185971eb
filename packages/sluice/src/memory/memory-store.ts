/**
 * The embedded store: everything in this process, decided at once. Nothing in it waits or runs by itself: there is no timer.
 * Old states are collected a few at a time by the attempts that come along, and `maxKeys` bounds the memory.
 */
import { copyOf, type Step } from '../model/algorithm.ts';
import { type Clock, checkClock, readMicros, systemClock } from '../model/clock.ts';
import type { HistoryEntry } from '../model/decision.ts';
import { SluiceError } from '../model/errors.ts';
import { checkOptionNames } from '../model/options.ts';
import { limitOf, type Policy } from '../model/policy.ts';
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
import type { LogTable } from './log-table.ts';
import type { Table } from './table.ts';
import { Tables } from './tables.ts';

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
/** What stands in the answer before the first question. */
const NOTHING_YET: Verdict = { allowed: false, remaining: 0, retryAfter: 0, resetAfter: 0, delay: 0 };

export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  const { clock, maxKeys } = checkOptions(options);
  const blocks = new Blocks(maxKeys);
  const tables = new Tables(maxKeys, (table) => blocks.has(table));
  let evicted = 0;

  /** Room for one more state. What it looks at overwrites the step that needs it. */
  const hasRoom = (now: number, newcomerIsLimited: boolean): boolean => {
    tables.sweep(now);
    const room = tables.size < maxKeys ? 'collected' : makeRoom(tables.nextFew(), now, newcomerIsLimited);
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
    const table = tables.of(policy, now);
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
      const table = tables.of(check.policy, now);
      if (step.changes && !dryRun) commit(table, table.find(check.key), now, step, check.policy);
      return verdictOf(step);
    });
    return { now, verdicts, source: 'store' };
  };

  /** Says by how many units the state changed. */
  const carryOut = (change: Change, now: number): number => {
    const { key, policy } = change;
    const table = tables.of(policy, now);
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
    const table = tables.of(policy, now);
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
      const now = readMicros(clock);
      for (const policy of policies) {
        const table = tables.of(policy, now);
        table.delete(key);
        blocks.delete(table, key);
      }
    },
    history(key, policy) {
      const log = checkIsLog(policy);
      const now = readMicros(clock);
      return (tables.of(log, now) as LogTable).history(key, now, log);
    },
    stats: () => ({ keys: tables.size, evicted }),
  };
}

/** The step without what it does to the state, which is nobody else's business. */
function verdictOf({ allowed, remaining, retryAfter, resetAfter, delay }: Verdict): Verdict {
  return { allowed, remaining, retryAfter, resetAfter, delay };
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
