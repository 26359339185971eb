/**
 * What a rule says of one attempt or change, in whole microseconds. A step belongs to the store that asks, which hands it to the rule to
 * be filled in and reads it before it asks again: one object serves all attempts, because making one for each costs more than deciding.
 */

/** A state, as a rule reads it: a few numbers whose order is the rule's business. */
export type Numbers = ArrayLike<number>;

/** The most numbers a state of fixed width has. */
export const MAX_WIDTH = 4;

/** What a rule says of one attempt or change, in whole microseconds. A rule fills it in with `allow`, `deny`, `becomes` or `leaves`. */
export class Step {
  allowed = true;
  /** Whole units that are left: after this attempt if it is allowed, as it stands if not. */
  remaining = 0;
  /** Until this cost would be allowed: 0 when it is, Infinity when it never can be. */
  retryAfter = 0;
  /** Until the state after this attempt means the same as no state. A store may forget it then, and not before. */
  resetAfter = Number.NaN;
  /** How long the caller must wait before acting; 0 but for shaping. */
  delay = 0;
  /** After a penalty or a refund: by how many units the state changes. */
  units = 0;
  /**
   * Whether there is a next state, to be stored once every policy of the attempt allows it. A denied step has one only when the old one
   * cannot be read against this clock or policy (see "Clock steps" in docs/semantics.md): it is stored although nothing is spent, or the
   * key would stay locked until the clock has caught up.
   */
  writes = false;
  /** The next state when the step `writes`; leftovers when not. Only as many numbers count as a state has. */
  readonly next = new Float64Array(MAX_WIDTH);

  allow(remaining: number, resetAfter: number, delay = 0): void {
    this.allowed = true;
    this.remaining = remaining;
    this.retryAfter = 0;
    this.resetAfter = resetAfter;
    this.delay = delay;
    this.writes = false;
  }

  deny(remaining: number, retryAfter: number, resetAfter: number): void {
    this.allow(remaining, resetAfter);
    this.allowed = false;
    this.retryAfter = retryAfter;
  }

  /** What the state becomes. */
  becomes(first: number, second: number, third = 0, fourth = 0): void {
    this.writes = true;
    this.next[0] = first;
    this.next[1] = second;
    this.next[2] = third;
    this.next[3] = fourth;
  }

  /** A penalty or refund that changes nothing. */
  leaves(): void {
    this.units = 0;
    this.writes = false;
  }
}

/** Which spend: the store's time of it, when its state was to be forgotten, both in microseconds, and how many units it took. */
export interface Spent {
  readonly at: number;
  readonly until: number;
  readonly cost: number;
}

/** When a state that was never stored was stored: so long ago that nothing of it is left. */
export const NEVER = Number.NEGATIVE_INFINITY;

/**
 * A level within this of a whole unit counts as that unit, so that rates like 1/3 keep their promises. At slow rates a
 * billionth of a unit is microseconds, so it is also never more than what a tenth of a microsecond is worth.
 */
export const UNIT_TOLERANCE = 1e-9;
export const TIME_TOLERANCE = 0.1;
