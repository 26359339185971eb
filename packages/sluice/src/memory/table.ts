/** What the memory store needs of a table of states, whatever the states are. One table holds the states of one policy. */
import type { Step } from '../model/algorithm.ts';
import type { Policy } from '../model/policy.ts';

/** A state that could be evicted, as it stands now. */
export interface Candidate {
  /** Free share of the limit: 0 is a key that is limited right now. */
  readonly freeShare: number;
  /** When the state is forgotten anyway, in microseconds. */
  readonly forgetAt: number;
  /** Only before anything else is done with the table. */
  evict(): void;
}

// biome-ignore lint/suspicious/noExplicitAny: a table is only ever given its own policies and its own steps back.
export interface Table<P extends Policy = any, Change = any> {
  /** States held, those that mean nothing any more and were not collected yet included. */
  readonly size: number;
  /** What the attempt would do to this key. */
  step(key: string, now: number, cost: number, policy: P): Step<Change>;
  has(key: string): boolean;
  /** Carries a step with a next state out. */
  commit(key: string, now: number, step: Step<Change>, policy: P): void;
  delete(key: string): void;
  /** Collects a bounded number of states that mean nothing any more; the next call goes on from there. */
  sweep(now: number): void;
  /** The next state in an endless round through the table, for choosing what to evict; undefined when it is empty. */
  nextCandidate(now: number): Candidate | undefined;
}
