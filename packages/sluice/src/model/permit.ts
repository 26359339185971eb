/** Permits: spends that last until they are given back. What people hold, and what a limiter needs of the rule that gives them. */
/// <reference lib="esnext.disposable" preserve="true" />
import type { Clock } from './clock.ts';
import type { RateLimitResult } from './decision.ts';
import type { Policy } from './policy.ts';
import type { Numbers, Spent, Step } from './step.ts';
import type { Store } from './store.ts';

/**
 * A place that is held until it is given back. Made by `limiter.enter(key)`. It is kept alive while it is held, and ends by itself when this process
 * dies. It can be disposed of: `await using permit = await limiter.enter(key)`.
 */
export interface Permit extends AsyncDisposable {
  /** Whether there was a place. A permit that was denied holds nothing: to release it does nothing. */
  readonly allowed: boolean;
  /** Places that are left, in the policy that has the fewest. */
  readonly remaining: number;
  /** Seconds until a place is free at the latest, when permits that nobody gives back end; `null` when allowed. */
  readonly retryAfter: number | null;
  /** What the attempt to enter was told, by all of its policies. */
  readonly result: RateLimitResult;
  /** Whether it is held for certain: taken, not given back, and kept alive in time. */
  readonly isHeld: boolean;
  /** Aborts when the permit is lost: it was not kept alive in time, or was reset. Somebody else may have the place then. */
  readonly signal: AbortSignal;
  /** Gives the place back, once. Says whether it was still there to be given back. Spends of other policies, such as rates, stay spent. */
  release(): Promise<boolean>;
  /** Keeps the permit for a whole ttl from now on. Says whether it is still held. There is no need to as long as it has a heartbeat. */
  extend(): Promise<boolean>;
}

/** What a permit is made of. */
export interface Entry {
  readonly store: Store;
  /** Measures how long something takes, in milliseconds. */
  readonly clock: Clock;
  /** How to wait. Undefined: by a timer that keeps no program alive. */
  readonly sleep: ((ms: number) => Promise<void>) | undefined;
  readonly key: string;
  readonly policies: readonly Policy[];
  /** What the attempt has spent of each of them. */
  readonly costs: readonly number[];
  readonly result: RateLimitResult;
  /** Microseconds on that clock, from before the attempt was sent. */
  readonly sentAt: number;
  /** Whether to keep it alive. */
  readonly heartbeat: boolean;
  /** A place has come back to this key. */
  freed(): void;
}

/** What a rule whose spends last until they are given back has besides. */
export interface Permits {
  /** Microseconds after which a spend ends by itself. */
  readonly ttl: number;
  /** Microseconds: places that others give back nobody is told of, so whoever waits asks again so often. */
  readonly recheck: number;
  /** Lets a spend last for longer: a whole ttl from now on. Fills in `units`, 0 when it is over, and the next state. */
  extend(state: Numbers | undefined, now: number, spent: Spent, step: Step): void;
  permitOf(entry: Entry): Permit;
}
