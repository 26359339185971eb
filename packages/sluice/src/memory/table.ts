/** What the memory store needs of a table of states, whatever the states are. One table holds the states of one policy. */
import type { Spent, Step } from '../model/algorithm.ts';
import type { Policy } from '../model/policy.ts';

/** What all tables of a store hold together. */
export interface Held {
  states: number;
}

/** A state that could be evicted, as it stands now. */
export interface Candidate {
  /** Free share of the limit: 0 is a key that is limited right now. */
  readonly freeShare: number;
  /** When the state is forgotten anyway, in microseconds. */
  readonly forgetAt: number;
  /** Only before anything else is done with the table. */
  evict(): void;
}

// biome-ignore lint/suspicious/noExplicitAny: a table is only ever given its own policies.
export interface Table<P extends Policy = any> {
  /** Of its policies: what tells their states from those of others. */
  readonly identity: string;
  /** States held, those that mean nothing any more and were not collected yet included. */
  readonly size: number;
  /** Turns to a key, for the `step` and the `commit` that follow, and says whether a state of it is held. */
  find(key: string): boolean;
  /** What the attempt would do to the key that was found. */
  step(now: number, cost: number, policy: P): Step;
  /** Carries a step that changes something out, on the key that was found. */
  commit(now: number, step: Step, policy: P): void;
  /** Spends on the key that was found even if it does not fit, and says how many units that were. */
  penalize(now: number, cost: number, policy: P): number;
  /** Gives units back to the key that was found, as many as may be, and says how many those were. */
  refund(now: number, cost: number, spent: Spent | undefined, policy: P): number;
  delete(key: string): void;
  /** Collects a bounded number of states that mean nothing any more; the next call goes on from there. */
  sweep(now: number): void;
  /** Collects all of them, however many there are. */
  collect(now: number): void;
  /** The next state in an endless round through the table, for choosing what to evict; undefined when it is empty. */
  nextCandidate(now: number): Candidate | undefined;
}
