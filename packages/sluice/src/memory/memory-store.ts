/**
 * The embedded store: everything in this process, decided synchronously. Nothing in it waits or runs by itself: there is no timer.
 * Old states are collected a few at a time by the attempts that come along, and `maxKeys` and `maxBytes` bound the memory.
 */
import { type Clock, checkClock, readMicros, systemClock } from '../model/clock.ts';
import { checkCount, checkOptionNames } from '../model/options.ts';
import { type Policy, ruleOf } from '../model/policy.ts';
import { answerOf } from '../model/result.ts';
import type { Rule } from '../model/rule.ts';
import { type Numbers, Step } from '../model/step.ts';
import type { Answer, Ask, Attempt, Question, Store } from '../model/store.ts';
import { answer, change, refuseIfBlocked, type States } from '../store/states.ts';
import { blocksOf, MARKS, markKey, marksOf } from './beside.ts';
import { KeyHash } from './hash.ts';
import type { Held } from './shard.ts';
import { type Candidate, type KeptRule, Table } from './table.ts';

/** What `memoryStore` takes. */
export interface MemoryStoreOptions {
  /** Default: the system's clock. */
  readonly clock?: Clock | undefined;
  /**
   * States kept at most, counted over all policies. Default: 1,000,000. When it is reached, the least constrained state makes room: a
   * flood of new keys never frees a key that is limited.
   */
  readonly maxKeys?: number | undefined;
  /**
   * Bytes of states kept at most, about. Default: 134,217,728 (128 MiB), which is more than a million keys of any algorithm but the sliding
   * window log, which keeps an entry of 16 bytes for each admission.
   */
  readonly maxBytes?: number | undefined;
}

/** What a memory store holds right now. Made by `store.stats()`. */
export interface MemoryStoreStats {
  /** States held right now. */
  readonly keys: number;
  /** Bytes that the states take, about. */
  readonly bytes: number;
  /** States that had to make room before their time, ever. Above 0 means that `maxKeys` or `maxBytes` is too small for the traffic. */
  readonly evicted: number;
}

/** A store in the memory of this process. It answers with values, never with promises. */
export interface MemoryStore extends Store {
  readonly ask: Ask<Answer>;
  /** How full the store is. */
  stats(): MemoryStoreStats;
  /**
   * Takes over what another store has said of a key, for a fallback that is to go on from there: so much is left, and in so many
   * microseconds everything has come back. `blockedFor` microseconds the key is blocked; 0 when it is not. It said so at `at` on
   * this store's clock, in microseconds; just now if that is left out.
   */
  restore(key: string, policy: Policy, remaining: number, resetAfter: number, blockedFor: number, at?: number): void;
  /** What time it is for this store. */
  readonly clock: Clock;
}

const DEFAULT_MAX_KEYS = 1_000_000;
const DEFAULT_MAX_BYTES = 128 * 2 ** 20;

/**
 * A store in the memory of this process: for one process, for tests, and as a fallback. State is gone when the process ends, and other processes do
 * not see it.
 *
 * @example
 * const limiter = createLimiter({ policy: tokenBucket({ capacity: 100, refillRate: 10 }), store: memoryStore({ maxKeys: 50_000 }) });
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  checkOptionNames(options, ['clock', 'maxKeys', 'maxBytes'], 'memoryStore');
  const { clock = systemClock, maxKeys = DEFAULT_MAX_KEYS, maxBytes = DEFAULT_MAX_BYTES } = options;
  checkClock(clock, 'memoryStore.clock');
  const states = new MemoryStates(
    clock,
    checkCount(maxKeys, 'memoryStore.maxKeys'),
    checkCount(maxBytes, 'memoryStore.maxBytes'),
  );
  const under = (policy: Policy): ReturnType<MemoryStates['under']> => states.under(ruleOf(policy));
  /** What comes as a question, such as through layers, is mostly about the policy that was asked for last. */
  let lastPolicy: Policy | undefined;
  let attempt: ReturnType<typeof under>;
  const ask = (question: Question): Answer => {
    if (question.verb !== 'attempt' || !isPlain(question)) {
      return answer(states, question, readMicros(clock));
    }
    if (question.policy !== lastPolicy) {
      attempt = under(question.policy);
      lastPolicy = question.policy;
    }
    return attempt(question.key, question.cost);
  };
  return {
    place: { isShared: false },
    ask: Object.assign(ask, { under }),
    stats: () => states.stats(),
    clock,
    restore(key, policy, remaining, resetAfter, blockedFor, at = readMicros(clock)) {
      restore(states, key, ruleOf(policy), remaining, resetAfter, blockedFor, at);
    },
  };
}

/** The most common question: of one policy, and neither a look, nor remembered, nor in part. */
function isPlain({ and, dryRun, mark, least }: Attempt): boolean {
  return and.length === 0 && !dryRun && mark === undefined && least === undefined;
}

/** See MemoryStore. */
function restore(
  states: MemoryStates,
  key: string,
  rule: Rule,
  remaining: number,
  resetAfter: number,
  blockedFor: number,
  now: number,
): void {
  const spend = (at: number): Step => {
    states.remove(key, rule, now);
    return change(states, key, rule, 'penalize', rule.limit - remaining, undefined, now, at);
  };
  states.block(key, rule, now + blockedFor, now);
  if (remaining >= rule.limit || resetAfter <= 0) {
    states.remove(key, rule, now);
    return;
  }
  const early = spend(now).resetAfter - resetAfter;
  // As if it had been spent so long ago that it comes back when the other store said, unless that frees more than it said.
  const isMoved = early > 0 || (early < 0 && rule.permits !== undefined);
  if (isMoved && spend(now - early).remaining > remaining) spend(now);
}

/** One attempt in this many looks for old states to collect. */
const SWEEP_EVERY = 1024;
/** Tables looked at for each new one: more than one, so that those with nothing left go faster than others come. */
const LOOK_AT = 2;
/** A table of more states than this is not looked through for that. */
const FEW = 64;
/** Tables to choose among when a state has to make room, and states. */
const CANDIDATES = 512;
const SAMPLE = 16;
/** Sweeps at a time, however many were left to it. */
const MOST_SWEEPS = 1024;
/** States that one newcomer may push out: a list may be as large as many of them. */
const MOST_EVICTED = 64;

/**
 * A table for each identity, with blocks beside them, within the bounds that were set. Policies may be made for each attempt, under names
 * that callers think of (a tenant, a model): so a table in which nothing is left goes too, and what an attempt costs does not depend on how
 * many there are.
 *
 * When the store is full, first whatever means nothing any more makes room. Then, of a sample of states, the least constrained one: it has the most
 * of its limit free, so forgetting it gives away the least; among equals the one nearest to being forgotten anyway. A key that is limited right
 * now never makes room for one that is not: if the sample, made larger, holds nothing else, the newcomer is the one that is not remembered.
 */
class MemoryStates implements States {
  readonly #clock: Clock;
  readonly #held: Held;
  readonly #tables: Table[] = [];
  readonly #byIdentity = new Map<string, Table>();
  readonly #step = new Step();
  /** Made with the first table: a worker has no randomness while its module loads, and that is when limits are made. */
  #hash: KeyHash | undefined;
  #lastRule: KeptRule | undefined;
  #lastTable: Table | undefined;
  #untilSweep = SWEEP_EVERY;
  #round = 0;
  /** Blocks that were ever set: without any, nobody looks for them. */
  #blocks = 0;
  #evicted = 0;

  constructor(clock: Clock, maxKeys: number, maxBytes: number) {
    this.#clock = clock;
    this.#held = { states: 0, bytes: 0, sweeps: 0, maxKeys, maxBytes };
  }

  stats(): MemoryStoreStats {
    return { keys: this.#held.states, bytes: this.#held.bytes, evicted: this.#evicted };
  }

  /**
   * The most common question, with one search of a table. The clock is read after the search: what has to be fetched from memory is on its
   * way meanwhile.
   */
  under(rule: Rule): (key: string, cost: number) => Answer {
    const clock = this.#clock;
    const step = this.#step;
    let table: Table | undefined;
    return (key, cost) => {
      this.#untilSweep -= 1;
      if (this.#untilSweep === 0) this.#sweep();
      if (table === undefined || table.isGone) table = this.#tableOf(rule, readMicros(clock));
      const shard = table.shardOf(key);
      if (this.#blocks === 0) {
        const decided = shard.attempt(table.hash, rule, table.indexOf(rule), cost, clock, step);
        if (decided !== undefined) return decided;
      }
      return this.#attempt(table, key, rule, cost, readMicros(clock));
    };
  }

  /** The same of a key that may be blocked, or for which there is no room yet. */
  #attempt(table: Table, key: string, rule: Rule, cost: number, now: number): Answer {
    const step = this.#step;
    const slot = table.findAgain();
    rule.transition(table.stateAt(slot, now), now, cost, step);
    if (this.#blocks > 0) {
      refuseIfBlocked(this, key, rule, now, step);
      if (step.writes) this.write(key, rule, now, step);
    } else if (step.writes) this.#commit(table, slot, rule, now, step);
    return answerOf(rule, now, step);
  }

  #sweep(): void {
    this.#untilSweep = SWEEP_EVERY;
    this.#nextTable()?.sweep(readMicros(this.#clock), false);
  }

  read(key: string, rule: Rule, now: number): Numbers | undefined {
    const table = this.#tableOf(rule, now);
    return table.stateAt(table.find(key), now);
  }

  write(key: string, rule: Rule, now: number, step: Step): void {
    const table = this.#tableOf(rule, now);
    this.#commit(table, table.find(key), rule, now, step);
  }

  remove(key: string, rule: Rule, now: number): void {
    const table = this.#tableOf(rule, now);
    table.remove(table.find(key));
  }

  blockedUntil(key: string, rule: Rule, now: number): number {
    const table = this.#blocks > 0 ? this.#byIdentity.get(blocksOf(rule).identity) : undefined;
    return table?.stateAt(table.find(key), now)?.[0] ?? now;
  }

  block(key: string, rule: Rule, until: number, now: number): void {
    if (until <= now && this.#blocks === 0) return;
    const kept = blocksOf(rule);
    const table = this.#tableOf(kept, now);
    const slot = table.find(key);
    if (until <= now) {
      table.remove(slot);
      return;
    }
    this.#blocks += 1;
    const step = this.#step;
    step.allow(0, until - now);
    step.becomes(until, 0);
    if (!this.#commit(table, slot, kept, now, step)) table.write(table.findAgain(), now, kept, step, true);
  }

  marked(key: string, id: string, now: number): Numbers | undefined {
    const table = this.#byIdentity.get(MARKS);
    return table?.stateAt(table.find(markKey(key, id)), now);
  }

  /**
   * One that finds no room is not made, and no state of a key makes room for it: callers choose ids, and would forget for others what they have
   * spent. Then a repetition is charged again, which is stricter, and a hold is settled by its object alone.
   */
  mark(key: string, id: string, numbers: number[] | undefined, until: number, now: number): boolean {
    const kept = marksOf(numbers);
    const table = this.#tableOf(kept, now);
    const slot = table.find(markKey(key, id));
    if (numbers === undefined) {
      table.remove(slot);
      return true;
    }
    if (slot < 0 && this.#isFullFor(table, now)) return false;
    const step = this.#step;
    step.allow(0, until - now);
    step.becomes(0, 0);
    return this.#commit(table, table.findAgain(), kept, now, step);
  }

  #isFullFor(table: Table, now: number): boolean {
    const held = this.#held;
    const isFull = (): boolean =>
      held.bytes >= held.maxBytes || (held.states >= held.maxKeys && !table.reusesSlot(now));
    if (isFull()) this.#nextTable()?.sweep(now, true);
    return isFull();
  }

  #nextTable(): Table | undefined {
    this.#round = this.#round + 1 < this.#tables.length ? this.#round + 1 : 0;
    return this.#tables[this.#round];
  }

  /** Most stores serve one policy, so the one that was asked for last is likely. */
  #tableOf(rule: KeptRule, now: number): Table {
    if (rule !== this.#lastRule) {
      this.#lastTable = this.#byIdentity.get(rule.identity) ?? this.#newTable(rule, now);
      this.#lastRule = rule;
    }
    return this.#lastTable!;
  }

  #newTable(rule: KeptRule, now: number): Table {
    for (let looked = 0; looked < LOOK_AT; looked += 1) {
      const other = this.#nextTable();
      if (other !== undefined && other.size <= FEW) {
        other.collect(now);
        this.#dropIfEmpty(other);
      }
    }
    this.#hash ??= new KeyHash();
    const table = new Table(rule, this.#held, this.#hash, this.#tables.length);
    this.#tables.push(table);
    this.#byIdentity.set(rule.identity, table);
    return table;
  }

  /** The last table takes its place. */
  #dropIfEmpty(table: Table): void {
    if (table.size > 0) return;
    const last = this.#tables.pop()!;
    if (last !== table) this.#tables[table.index] = last;
    last.index = table.index;
    table.release();
    this.#byIdentity.delete(table.identity);
    this.#lastRule = undefined;
  }

  /** Stores what a step changes. One that finds no room is not remembered; a list that finds none is denied, which is stricter. */
  #commit(table: Table, slot: number, rule: KeptRule, now: number, step: Step): boolean {
    const held = this.#held;
    const isNew = slot < 0;
    const needsKey = isNew && held.states >= held.maxKeys && !table.reusesSlot(now);
    if (!needsKey && (held.bytes < held.maxBytes || !(isNew || rule.width === 0)))
      return table.write(slot, now, rule, step, true);
    const hasRoom = this.#makeRoom(table, isNew, now, step);
    if (hasRoom && table.write(table.findAgain(), now, rule, step, held.bytes < held.maxBytes)) return true;
    if (isNew) this.#evicted += 1;
    else step.deny(0, step.resetAfter, step.resetAfter);
    return false;
  }

  /** For the key that was found in this table. When no bytes are left, only some states give them back; a newcomer may take the slot of any. */
  #makeRoom(table: Table, isNew: boolean, now: number, step: Step): boolean {
    const held = this.#held;
    held.sweeps = Math.min(held.sweeps, MOST_SWEEPS);
    do {
      this.#nextTable()?.sweep(now, true);
      held.sweeps -= 1;
    } while (held.sweeps > 0 && held.states >= held.maxKeys);
    for (let tries = 0; tries < MOST_EVICTED && held.bytes >= held.maxBytes; tries += 1) {
      if (!this.#evict(this.#someTables().filter(givesBytes), table, now, step)) break;
    }
    if (!isNew) return true;
    if (held.bytes >= held.maxBytes && table.isCrowded(now) && !this.#evict([table], table, now, step, true))
      return false;
    return held.states < held.maxKeys || this.#evict(this.#someTables(), table, now, step);
  }

  /** All of them, or of very many the next few. */
  #someTables(): readonly Table[] {
    if (this.#tables.length <= CANDIDATES) return this.#tables;
    this.#round = (this.#round + CANDIDATES) % this.#tables.length;
    return this.#tables.slice(this.#round, this.#round + CANDIDATES);
  }

  /** One state, unless all that are looked at are limited and the newcomer is not. Never that of the key that is written. */
  #evict(from: readonly Table[], written: Table, now: number, { remaining }: Step, isBeside = false): boolean {
    let least: Candidate | undefined;
    for (let looked = 0; looked < CANDIDATES; looked += 1) {
      if (least !== undefined && (least.forgetAt <= now || (looked >= SAMPLE && least.freeShare > 0))) break;
      const table = from[looked % from.length];
      const candidate = table?.nextCandidate(now, table === written, isBeside);
      if (candidate !== undefined && (least === undefined || isLess(candidate, least))) least = candidate;
    }
    if (least === undefined || (least.freeShare === 0 && remaining > 0)) return false;
    least.evict();
    if (least.forgetAt > now) this.#evicted += 1;
    if (least.table !== written) this.#dropIfEmpty(least.table);
    return true;
  }
}

/** Whether a state that is evicted gives bytes back: that of a list, or the last one, with which the table can go. */
function givesBytes({ width, size }: Table): boolean {
  return width === 0 || size <= 1;
}

function isLess(one: Candidate, other: Candidate): boolean {
  return one.freeShare === other.freeShare ? one.forgetAt < other.forgetAt : one.freeShare > other.freeShare;
}
