/** One bucket of one proxy: what it was assigned, what it has told, and what may be given back for it. Times are milliseconds of this process's clock. */
import type { RateLimitResult } from 'sluice';
import { type Labels, MOST_DRIFT } from './quota.ts';

/** Units that were debited for a proxy, and sent to it. */
export interface Block {
  /** The most that it can spend of them. */
  readonly units: number;
  readonly ttlMs: number;
  /** Before they were debited. */
  readonly askedAt: number;
  /** Of the debit, which a refund needs. */
  readonly result: RateLimitResult;
  /** From then on nothing of it is given back: its window is over, or it is long ago. */
  readonly staleAt: number;
  /** What the proxy had told to have used, in all, when this was sent. */
  readonly usedBefore: number;
  /** The proxy has certainly got it by then. Undefined: not known yet. */
  gotAt: number | undefined;
}

/** A block that the proxy no longer spends from, and what is left of it as far as it told. */
export interface Leftover {
  readonly block: Block;
  readonly units: number;
}

/** Frames of a connection come in order: a report that comes after the proxy has confirmed a block was written after it, and tells all use of those before. */
const REPORTS_TO_BE_SURE = 1;
const SHORTEST_INTERVAL_MS = 10;
const LONGEST_INTERVAL_MS = 60_000;

interface Ended {
  readonly block: Block;
  /** What has not been given back of it. */
  left: number;
}

/** Of one bucket. More come only from those who report without end, and what is left of the oldest is lost to them. */
const MOST_ENDED = 100;

export interface Certainty {
  readonly reports: number;
}

export const CERTAINTY: Certainty = { reports: REPORTS_TO_BE_SURE };

export class Subscription {
  readonly labels: Labels;
  readonly #certainty: Certainty;
  current: Block | undefined;
  /** Ended, and not known yet how much of them was used. */
  #ended: Ended[] = [];
  #reportsSince = 0;
  /** Units of all blocks so far. */
  #granted = 0;
  /** What it told to have used of them. */
  used = 0;
  #givenBack = 0;
  /** Requests a millisecond. */
  demand = 0;
  intervalMs = 1000;
  #lastAt: number | undefined;
  busyAt: number;
  /** Something is asked for it now. */
  isAsking = false;

  constructor(labels: Labels, now: number, certainty: Certainty = CERTAINTY) {
    this.labels = labels;
    this.busyAt = now;
    this.#certainty = certainty;
  }

  /** Takes what a proxy told. Requests that it let through without an assignment are nobody's units. */
  told(usage: { readonly allowed: number; readonly denied: number; readonly elapsedMs: number }, now: number): void {
    const { allowed, denied, elapsedMs } = usage;
    const own = this.#lastAt === undefined ? elapsedMs : now - this.#lastAt;
    const elapsed = Math.min(Math.max(own, SHORTEST_INTERVAL_MS), LONGEST_INTERVAL_MS);
    if (this.#lastAt !== undefined) this.intervalMs = elapsed;
    this.#lastAt = now;
    this.used = Math.min(this.used + allowed, this.#granted);
    if (allowed + denied > 0) this.busyAt = now;
    const rate = (allowed + denied) / elapsed;
    // More is believed at once, less bit by bit: one quiet moment takes nothing away.
    this.demand = Math.max(rate, (this.demand + rate) / 2);
    this.#endIfOver(now);
    if (this.#ended.length > 0 && (this.current === undefined || this.current.gotAt !== undefined)) {
      this.#reportsSince += 1;
    }
  }

  /** Units that it still has, as far as it told. */
  held(now: number): number {
    const block = this.current;
    if (block === undefined || now >= (block.gotAt ?? now) + block.ttlMs) return 0;
    return Math.max(0, block.units - (this.used - block.usedBefore));
  }

  /** It is told to spend from this one, and from none before. Undefined: from none. */
  assign(block: Block | undefined): void {
    this.#end();
    this.current = block;
    if (block !== undefined) this.#granted += block.units;
  }

  /**
   * What is certainly left of blocks that are over. Proxies tell one sum of all, so what is left is taken to be left of the oldest: of those less comes back,
   * and of those of a window that is over nothing. They are then let go, with all that may be left of them.
   */
  takeLeftovers(now: number): readonly Leftover[] {
    if (this.#ended.length === 0 || this.#reportsSince < this.#certainty.reports) return [];
    const granted = this.#granted - (this.current?.units ?? 0) - this.#givenBack;
    // At least, if all that was told since the current one was sent was used of the others; at most, if nothing of it was.
    let least = granted - this.used;
    let most = granted - (this.current?.usedBefore ?? this.used);
    const leftovers: Leftover[] = [];
    const take = (one: Ended, units: number): void => {
      one.left -= units;
      this.#givenBack += units;
      least -= units;
      most -= units;
    };
    for (const one of this.#ended) {
      if (now >= one.block.staleAt) {
        take(one, Math.max(0, Math.min(one.left, most)));
        one.left = 0;
        continue;
      }
      const units = Math.min(one.left, least);
      if (units <= 0) continue;
      take(one, units);
      leftovers.push({ block: one.block, units });
    }
    this.#ended = this.#ended.filter(({ left }) => left > 0);
    return leftovers;
  }

  #endIfOver(now: number): void {
    const block = this.current;
    if (block?.gotAt === undefined || now < block.gotAt + block.ttlMs * (1 + MOST_DRIFT)) return;
    this.#end();
    this.current = undefined;
  }

  #end(): void {
    if (this.current === undefined) return;
    this.#ended.push({ block: this.current, left: this.current.units });
    this.#reportsSince = 0;
    if (this.#ended.length <= MOST_ENDED) return;
    const { left } = this.#ended.shift()!;
    this.#givenBack += left;
  }
}
