/** What the lab's page plays on when it does not play in the browser: real time, a real store, and a look at what lies in it. */
import type { Policy, RateLimitResult } from 'sluice';

export interface Attempt {
  readonly key: string;
  readonly policy: Policy;
  readonly cost: number;
}

export interface RawState {
  readonly key: string;
  readonly type: string;
  readonly value: string;
  /** What the value says, in words. */
  readonly reading: string;
  readonly ttlMs: number | null;
  /** As Redis counts it, key and all; null where nobody counts. */
  readonly memoryBytes: number | null;
}

export interface Observed {
  readonly result: RateLimitResult;
  /** As it is right after the attempt; null when there is none, or nobody looked. */
  readonly raw: RawState | null;
  /** Commands that Redis carried out for the attempt, by name: the script call and what the script calls. Null when nobody looked. */
  readonly commands: Readonly<Record<string, number>> | null;
}

export interface Engine {
  readonly name: 'memory' | 'redis';
  /** For people. */
  readonly description: string;
  /** Those on one state in order. The last on each is looked at. */
  attempt(attempts: readonly Attempt[]): Promise<readonly Observed[]>;
  forget(attempt: Pick<Attempt, 'key' | 'policy'>): Promise<void>;
}
