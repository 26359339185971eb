/**
 * Where marks stand. A mark is always at its instant: marks that would cover one another stand above one another, and where that is not enough
 * room, a bar of counts takes their place. Nothing is ever moved sideways. All lengths are device pixels.
 */
import { TRACE_CAPACITY } from '../trace/answers.ts';

/** Marks closer than this many CSS pixels are put above one another. */
const CLOSE = 6;
/** A bar is so wide: no instant in it is further from its middle than half of this. */
const BIN = 2;
/** Around a bar, marks are part of bars too, or they would cover it. */
const APART = 3;
/** A level that says: no room, a bar. */
const CROWDED = 255;

/** A run of the same bars and marks that has to be painted again. */
export interface Strip {
  readonly from: number;
  readonly to: number;
}

export class Piles {
  readonly #levels = new Uint8Array(TRACE_CAPACITY);
  /** By level: where the last mark on it stands. */
  #last: number[] = [];
  #crowded = new Set<number>();
  readonly #scale: number;
  readonly #rows: number;

  /** `rows`: how many marks fit above one another. */
  constructor(scale: number, rows: number) {
    this.#scale = scale;
    this.#rows = Math.max(1, Math.min(rows, CROWDED - 1));
  }

  get binWidth(): number {
    return BIN * this.#scale;
  }

  /** Arrivals come in order. Says what has to be painted again because of this one. */
  add(slot: number, x: number): Strip {
    const close = CLOSE * this.#scale;
    let level = 0;
    while (level < this.#rows && x - (this.#last[level] ?? Number.NEGATIVE_INFINITY) < close) level += 1;
    const isCrowded = level >= this.#rows;
    this.#levels[slot] = isCrowded ? CROWDED : level;
    if (!isCrowded) this.#last[level] = x;
    else this.#crowded.add(this.binOf(x));
    const reach = (APART + 1) * this.binWidth + close;
    return { from: x - reach, to: x + reach };
  }

  binOf(x: number): number {
    return Math.floor(x / this.binWidth);
  }

  /** Which place in the pile, counted from below; undefined: it is part of a bar. */
  levelOf(slot: number, x: number): number | undefined {
    const bin = this.binOf(x);
    for (let near = bin - APART; near <= bin + APART; near += 1) if (this.#crowded.has(near)) return undefined;
    const level = this.#levels[slot]!;
    return level === CROWDED ? undefined : level;
  }

  /** What lies before is out of sight for good, or will be added again. */
  forget(before: number): void {
    if (this.#crowded.size < TRACE_CAPACITY) return;
    const bin = this.binOf(before);
    for (const crowded of this.#crowded) if (crowded < bin) this.#crowded.delete(crowded);
  }
}
