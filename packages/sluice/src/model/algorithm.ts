/**
 * A rate limit is a pure state transition. It exists exactly twice for each algorithm, here in TypeScript and beside it
 * in Lua, and the two agree bit for bit. Times are whole microseconds. A transition reads no clock and touches no
 * store: it is told the state and the time, and says what the state becomes.
 */
import type { Policy } from './policy.ts';

/** The outcome of one policy for one attempt, in microseconds. */
export interface Step<State> {
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
   * What to store once every policy of the attempt allows it; undefined when nothing changes. A denied step has a next
   * state only when the old one cannot be read against this clock or policy (see "Clock steps" in docs/semantics.md): then it
   * is stored although nothing is spent, or the key would stay locked until the clock has caught up.
   */
  readonly next: State | undefined;
}

/** Small states are a few numbers, so that a store can keep them packed. The order is the algorithm's own business. */
export type Numbers = readonly number[];

export interface Algorithm<P extends Policy = Policy> {
  /** How many numbers a state has. */
  readonly width: number;
  transition(state: Numbers | undefined, now: number, cost: number, policy: P): Step<Numbers>;
}

/** Cost 0: nothing changes. */
export function look(remaining: number, resetAfter: number, delay = 0): Step<never> {
  return { allowed: true, remaining, retryAfter: 0, resetAfter, delay, next: undefined };
}

export function spend<State>(remaining: number, resetAfter: number, next: State, delay = 0): Step<State> {
  return { allowed: true, remaining, retryAfter: 0, resetAfter, delay, next };
}

export function deny<State>(remaining: number, retryAfter: number, resetAfter: number, next?: State): Step<State> {
  return { allowed: false, remaining, retryAfter, resetAfter, delay: 0, next };
}

/**
 * A level within this of a whole unit counts as that unit, so that rates like 1/3 keep their promises. At slow rates a
 * billionth of a unit is microseconds, so it is also never more than what a tenth of a microsecond is worth.
 */
export const UNIT_TOLERANCE = 1e-9;
export const TIME_TOLERANCE = 0.1;
