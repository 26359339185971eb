/**
 * What a process holds of one key: units that the store has counted already, and how many are needed. Times are whole microseconds
 * on the process's own clock unless they are the store's.
 */
import type { Change } from '../../model/store.ts';
import type { Terms } from './terms.ts';

/** Units of one grant. */
export interface Block {
  units: number;
  /** When no more than this is left, the next block is asked for. */
  readonly lowWater: number;
  readonly sentAt: number;
  readonly endsAt: number;
  /** The store's: when it granted them, and for how long from then they keep the key from being reset. */
  readonly now: number;
  readonly resetAfter: number;
}

/** How a process sizes what it takes. */
export interface Sizing {
  /** Units a microsecond below which a key is not leased. */
  readonly minRate: number;
  /** For how many microseconds of demand a block is made. */
  readonly horizon: number;
  readonly maxUnits: number;
  readonly nodes: number;
}

/** Fewer units are worth neither a call to get them nor one to give them back. */
const FEWEST = 8;
/** Demand is measured in slices: long enough to hold some units, and never longer than the horizon. */
const SHORTEST_SLICE = 2_000;
const ENOUGH_IN_SLICE = 16;
/** How much a new slice counts in the moving average. */
const WEIGHT = 0.5;
/** The next block is asked for when a quarter of this one is left. */
const LOW_WATER = 0.25;

export class HeldKey {
  readonly key: string;
  readonly terms: Terms;
  /** Of the same key, under another policy. */
  other: HeldKey | undefined;
  /** Somebody has changed the key: what is still on its way for it must not be used. */
  isDropped = false;
  /** Until then an answer to the last request for units can be of use. */
  askingUntil = Number.NEGATIVE_INFINITY;
  /** At most two, the older one first. */
  readonly #blocks: Block[] = [];
  readonly #sizing: Sizing;
  #sliceSince: number;
  #sliceUnits = 0;
  #rate = 0;
  /** What the store has last said to be left, and when, on its clock. */
  #left = 0;
  #leftAt = Number.NEGATIVE_INFINITY;

  constructor(key: string, terms: Terms, sizing: Sizing, now: number) {
    this.key = key;
    this.terms = terms;
    this.#sizing = sizing;
    this.#sliceSince = now;
  }

  /** Counts demand. True when a slice is over, which is seldom: the time for anything that need not be done each time. */
  count(cost: number, now: number): boolean {
    this.#sliceUnits += cost;
    const elapsed = now - this.#sliceSince;
    if (elapsed < SHORTEST_SLICE) return false;
    if (this.#sliceUnits < ENOUGH_IN_SLICE && elapsed < this.#sizing.horizon) return false;
    const rate = this.#sliceUnits / elapsed;
    this.#rate = this.#rate === 0 ? rate : this.#rate + (rate - this.#rate) * WEIGHT;
    this.#sliceSince = now;
    this.#sliceUnits = 0;
    return true;
  }

  /** Spends from what is held, and says from which block; undefined when that cannot pay the cost. */
  spend(cost: number, now: number): Block | undefined {
    for (const block of this.#blocks) {
      if (block.units < cost || isOver(block, now)) continue;
      block.units -= cost;
      return block;
    }
    return undefined;
  }

  /** Whether the older block is of no more use. */
  hasEnded(now: number): boolean {
    const block = this.#blocks[0];
    return block !== undefined && (block.units === 0 || isOver(block, now));
  }

  /** What is left as far as this process knows: what it holds, and what the store has last told. */
  get remaining(): number {
    let held = this.#left;
    for (const { units } of this.#blocks) held += units;
    return held;
  }

  /** How many units to ask the store for now; 0 for none. */
  wanted(now: number): number {
    if (this.#blocks.length > 1 || now < this.askingUntil || this.#rate < this.#sizing.minRate) return 0;
    const [block] = this.#blocks;
    if (block !== undefined && block.units > block.lowWater && !isOver(block, now)) return 0;
    const { horizon, maxUnits, nodes } = this.#sizing;
    // The end of a quota must not lie with one process while the others are refused.
    const fairPart = this.#left / (2 * nodes);
    const units = Math.floor(Math.min(this.#rate * horizon, maxUnits, fairPart));
    return units < FEWEST ? 0 : units;
  }

  /** The store has told what is left. Answers may come in another order than they were given. */
  learn(left: number, storeNow: number): void {
    if (storeNow < this.#leftAt) return;
    this.#left = left;
    this.#leftAt = storeNow;
  }

  add(units: number, grant: Omit<Block, 'units' | 'lowWater'>): void {
    this.#blocks.push({ units, lowWater: units * LOW_WATER, ...grant });
  }

  get isEmpty(): boolean {
    return this.#blocks.length === 0;
  }

  /** Lets go of blocks that are spent or over. What is left in those comes back as refunds. */
  takeEnded(now: number): readonly Change[] {
    return this.#take((block) => block.units === 0 || isOver(block, now));
  }

  /** Lets go of everything. */
  takeAll(): readonly Change[] {
    return this.#take(() => true);
  }

  #take(isTaken: (block: Block) => boolean): readonly Change[] {
    const taken: Change[] = [];
    for (let at = this.#blocks.length - 1; at >= 0; at -= 1) {
      const block = this.#blocks[at]!;
      if (!isTaken(block)) continue;
      this.#blocks.splice(at, 1);
      if (block.units >= FEWEST) taken.push(this.#refundOf(block));
    }
    return taken;
  }

  /**
   * In a level that drains, what was below these units may have been given back by others since, and then more of these has drained
   * than the time of the grant tells. So they are taken for the only ones: that is never too much.
   */
  #refundOf({ units, now, resetAfter }: Block): Change {
    const { interval } = this.terms;
    const spent = { at: now, until: now + (interval > 0 ? Math.floor(units * interval) : resetAfter), cost: units };
    return { verb: 'refund', key: this.key, policy: this.terms.shared, cost: units, spent };
  }
}

/** Also when a clock that must not step back does: then nobody knows how much time is left. */
function isOver({ sentAt, endsAt }: Block, now: number): boolean {
  return now >= endsAt || now < sentAt;
}
