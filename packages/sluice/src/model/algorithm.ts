/**
 * A rate limit is a pure state transition. It exists exactly twice for each algorithm, here in TypeScript and beside it
 * in Lua, and the two agree bit for bit. Times are whole microseconds. A transition reads no clock and touches no
 * store: it is told the state and the time, and says what the state becomes. All of them say it in one object, which the
 * next transition overwrites: making one for each attempt costs more than deciding it.
 */
import type { Policy } from './policy.ts';

/** The outcome of one policy for one attempt, in microseconds. */
export interface Step {
  readonly allowed: boolean;
  /** After this attempt if it is allowed; as it stands if not. */
  readonly remaining: number;
  /** Until this cost would be allowed: 0 when it is, Infinity when it never can be. */
  readonly retryAfter: number;
  /** Until the state after this attempt means the same as no state. A store may forget it then, and not before. */
  readonly resetAfter: number;
  /** How long the caller must wait before acting; 0 but for shaping. */
  readonly delay: number;
  /**
   * Whether there is a next state, to be stored once every policy of the attempt allows it. A denied step has one only when
   * the old one cannot be read against this clock or policy (see "Clock steps" in docs/semantics.md): then it is stored
   * although nothing is spent, or the key would stay locked until the clock has caught up.
   */
  readonly changes: boolean;
  /** The next state when the step `changes` something; leftovers when not. Only as many numbers count as a state has. */
  readonly next: Numbers;
}

/** Small states are a few numbers, at most three, so that a store can keep them packed. Their order is the algorithm's business. */
export type Numbers = ArrayLike<number>;

export interface Algorithm<P extends Policy = Policy> {
  /** How many numbers a state has. */
  readonly width: number;
  /** Read the answer, or `copyOf` it, before the next transition. */
  transition(state: Numbers | undefined, now: number, cost: number, policy: P): Step;
  /** Spends even if it does not fit, down to empty. */
  penalize(state: Numbers | undefined, now: number, cost: number, policy: P): Adjustment;
  /** Gives back, and never more than what would be there had the spend not happened. Without `spent`: it was just now. */
  refund(state: Numbers | undefined, now: number, cost: number, spent: Spent | undefined, policy: P): Adjustment;
}

/** What a penalty or a refund does: by how many units, and what the state becomes; undefined when nothing changes. */
export interface Adjustment<State = Numbers> {
  readonly units: number;
  readonly next: State | undefined;
}

export const UNCHANGED: Adjustment<never> = { units: 0, next: undefined };

/** Which spend: the store's time of it, when its state was to be as good as new, both in microseconds, and how many units it took. */
export interface Spent {
  readonly at: number;
  readonly until: number;
  readonly cost: number;
}

/** The numbers are of the kind that is written most, so that the engine need not change its mind about the object later. */
const next = new Float64Array(3);
const step = { allowed: true, remaining: 0, retryAfter: 0, resetAfter: Number.NaN, delay: 0, changes: false, next };

export function allow(remaining: number, resetAfter: number, delay = 0): Step {
  return told(true, remaining, 0, resetAfter, delay);
}

export function deny(remaining: number, retryAfter: number, resetAfter: number): Step {
  return told(false, remaining, retryAfter, resetAfter, 0);
}

function told(allowed: boolean, remaining: number, retryAfter: number, resetAfter: number, delay: number): Step {
  step.allowed = allowed;
  step.remaining = remaining;
  step.retryAfter = retryAfter;
  step.resetAfter = resetAfter;
  step.delay = delay;
  step.changes = false;
  return step;
}

/** The step that was just told, and with it what the state becomes. */
export function becoming(_told: Step, first: number, second: number, third = 0): Step {
  step.changes = true;
  next[0] = first;
  next[1] = second;
  next[2] = third;
  return step;
}

/** A step that outlives the next one. */
export function copyOf({ allowed, remaining, retryAfter, resetAfter, delay, changes, next }: Step): Step {
  return { allowed, remaining, retryAfter, resetAfter, delay, changes, next: Float64Array.from(next) };
}

/** When a state that was never stored was stored: so long ago that nothing of it is left. */
export const NEVER = Number.NEGATIVE_INFINITY;

/**
 * A level within this of a whole unit counts as that unit, so that rates like 1/3 keep their promises. At slow rates a
 * billionth of a unit is microseconds, so it is also never more than what a tenth of a microsecond is worth.
 */
export const UNIT_TOLERANCE = 1e-9;
export const TIME_TOLERANCE = 0.1;
