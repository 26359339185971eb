/** The table of sliding window logs: a ring of times for each key, so an object for each key, in an ordinary Map. */
import {
  firstLive,
  type Log,
  logTransition,
  penaltyOf,
  record,
  refundedLog,
  timeAt,
  unitsFrom,
} from '../algorithms/sliding-window-log/sliding-window-log.ts';
import type { Spent, Step } from '../model/algorithm.ts';
import type { HistoryEntry } from '../model/decision.ts';
import { MICROS_PER_SECOND, toMicros } from '../model/duration.ts';
import type { SlidingWindowLogPolicy } from '../model/policy.ts';
import type { Candidate, Held, Table } from './table.ts';

interface Kept {
  log: Log;
  forgetAt: number;
}

/** Keys looked at in one sweep: enough to keep up with any rate of new ones, too few to notice. */
const SWEEP_KEYS = 64;

export class LogTable implements Table {
  readonly identity: string;
  readonly #held: Held;
  readonly #kept = new Map<string, Kept>();
  #found: Kept | undefined;
  #foundKey = '';
  #policy: SlidingWindowLogPolicy;
  #sweeping = this.#kept.entries();
  #round = this.#kept.entries();

  constructor(policy: SlidingWindowLogPolicy, identity: string, held: Held) {
    this.#policy = policy;
    this.identity = identity;
    this.#held = held;
  }

  get size(): number {
    return this.#kept.size;
  }

  find(key: string): boolean {
    this.#foundKey = key;
    this.#found = this.#kept.get(key);
    return this.#found !== undefined;
  }

  step(now: number, cost: number, policy: SlidingWindowLogPolicy): Step {
    this.#policy = policy;
    return logTransition(liveLog(this.#found, now), now, cost, policy);
  }

  commit(now: number, step: Step, { limit }: SlidingWindowLogPolicy): void {
    this.#write(record(liveLog(this.#found, now), step.next, limit), now + step.resetAfter);
  }

  penalize(now: number, cost: number, policy: SlidingWindowLogPolicy): number {
    const spent = penaltyOf(liveLog(this.#found, now), now, cost, policy);
    if (spent > 0) this.commit(now, this.step(now, spent, policy), policy);
    return spent;
  }

  refund(now: number, cost: number, spent: Spent | undefined, policy: SlidingWindowLogPolicy): number {
    const { units, next } = refundedLog(liveLog(this.#found, now), now, cost, spent, policy);
    if (next !== undefined) this.#write(next, now + logTransition(next, now, 0, policy).resetAfter);
    return units;
  }

  #write(log: Log, forgetAt: number): void {
    if (this.#found === undefined) {
      this.#found = { log, forgetAt };
      this.#kept.set(this.#foundKey, this.#found);
      this.#held.states += 1;
    } else {
      this.#found.log = log;
      this.#found.forgetAt = forgetAt;
    }
  }

  delete(key: string): void {
    if (this.#kept.delete(key)) this.#held.states -= 1;
  }

  sweep(now: number): void {
    for (let looked = 0; looked < SWEEP_KEYS; looked += 1) {
      const { done, value } = this.#sweeping.next();
      if (done) {
        this.#sweeping = this.#kept.entries();
        return;
      }
      if (value[1].forgetAt <= now) this.delete(value[0]);
    }
  }

  collect(now: number): void {
    for (const [key, { forgetAt }] of this.#kept) if (forgetAt <= now) this.delete(key);
  }

  nextCandidate(now: number): Candidate | undefined {
    let next = this.#round.next();
    if (next.done) {
      this.#round = this.#kept.entries();
      next = this.#round.next();
    }
    if (next.done) return undefined;
    const [key, kept] = next.value;
    const { remaining } = logTransition(liveLog(kept, now), now, 0, this.#policy);
    return { freeShare: remaining / this.#policy.limit, forgetAt: kept.forgetAt, evict: () => this.delete(key) };
  }

  history(key: string, now: number, { window }: SlidingWindowLogPolicy): HistoryEntry[] {
    const log = liveLog(this.#kept.get(key), now);
    if (log === undefined) return [];
    const entries: HistoryEntry[] = [];
    const latest = Math.max(now, timeAt(log, log.length - 1));
    for (let index = firstLive(log, latest - toMicros(window)); index < log.length; index += 1) {
      const cost = unitsFrom(log, index) - unitsFrom(log, index + 1);
      entries.push({ at: timeAt(log, index) / MICROS_PER_SECOND, cost });
    }
    return entries;
  }
}

function liveLog(kept: Kept | undefined, now: number): Log | undefined {
  return kept === undefined || kept.forgetAt <= now ? undefined : kept.log;
}
