/** The table of sliding window logs: a ring of times for each key, so an object for each key, in an ordinary Map. */
import {
  firstLive,
  type Log,
  type LogChange,
  logTransition,
  record,
  timeAt,
  unitsFrom,
} from '../algorithms/sliding-window-log/sliding-window-log.ts';
import type { Step } from '../model/algorithm.ts';
import type { HistoryEntry } from '../model/decision.ts';
import { MICROS_PER_SECOND, toMicros } from '../model/duration.ts';
import type { SlidingWindowLogPolicy } from '../model/policy.ts';
import type { Candidate, Table } from './table.ts';

interface Kept {
  readonly log: Log;
  readonly forgetAt: number;
}

/** Keys looked at in one sweep: enough to keep up with any rate of new ones, too few to notice. */
const SWEEP_KEYS = 64;

export class LogTable implements Table {
  readonly #kept = new Map<string, Kept>();
  #policy: SlidingWindowLogPolicy;
  #sweeping = this.#kept.entries();
  #round = this.#kept.entries();

  constructor(policy: SlidingWindowLogPolicy) {
    this.#policy = policy;
  }

  get size(): number {
    return this.#kept.size;
  }

  step(key: string, now: number, cost: number, policy: SlidingWindowLogPolicy): Step<LogChange> {
    this.#policy = policy;
    return logTransition(this.#liveLog(key, now), now, cost, policy);
  }

  has(key: string): boolean {
    return this.#kept.has(key);
  }

  commit(key: string, now: number, step: Step<LogChange>, { limit }: SlidingWindowLogPolicy): void {
    const log = record(this.#liveLog(key, now), step.next!, limit);
    this.#kept.set(key, { log, forgetAt: now + step.resetAfter });
  }

  delete(key: string): void {
    this.#kept.delete(key);
  }

  sweep(now: number): void {
    for (let looked = 0; looked < SWEEP_KEYS; looked += 1) {
      const { done, value } = this.#sweeping.next();
      if (done) {
        this.#sweeping = this.#kept.entries();
        return;
      }
      if (value[1].forgetAt <= now) this.#kept.delete(value[0]);
    }
  }

  nextCandidate(now: number): Candidate | undefined {
    let next = this.#round.next();
    if (next.done) {
      this.#round = this.#kept.entries();
      next = this.#round.next();
    }
    if (next.done) return undefined;
    const [key, { forgetAt }] = next.value;
    const { remaining } = logTransition(this.#liveLog(key, now), now, 0, this.#policy);
    return { freeShare: remaining / this.#policy.limit, forgetAt, evict: () => this.#kept.delete(key) };
  }

  history(key: string, now: number, { window }: SlidingWindowLogPolicy): HistoryEntry[] {
    const log = this.#liveLog(key, now);
    if (log === undefined) return [];
    const entries: HistoryEntry[] = [];
    const latest = Math.max(now, timeAt(log, log.length - 1));
    for (let index = firstLive(log, latest - toMicros(window)); index < log.length; index += 1) {
      const cost = unitsFrom(log, index) - unitsFrom(log, index + 1);
      entries.push({ at: timeAt(log, index) / MICROS_PER_SECOND, cost });
    }
    return entries;
  }

  #liveLog(key: string, now: number): Log | undefined {
    const kept = this.#kept.get(key);
    return kept === undefined || kept.forgetAt <= now ? undefined : kept.log;
  }
}
