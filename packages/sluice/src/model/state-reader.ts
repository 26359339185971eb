/** What a state in Redis says, for people and tools. Nothing that decides uses it: a reader stands beside its algorithm, in a file of its own. */
import type { Numbers } from './step.ts';

/** Reads the states with one code. */
export interface StateReader {
  /** As in Redis keys. */
  readonly code: string;
  /** The algorithm, and the mode where it has several. */
  readonly kind: string;
  /** A value as the numbers of a state. Throws SLUICE_UNEXPECTED_REPLY for one that is none. */
  decode(value: Uint8Array): Numbers;
  /** A state in words: `{ count: 3, windowStart: 1724400000 }`. Times are seconds. */
  describe(state: Numbers): Readonly<Record<string, unknown>>;
  /** Those of its words that are Unix times. */
  readonly times: readonly string[];
  /** Where it stands when the key is blocked until, in microseconds, for states that keep it inside; 0 when it is not. */
  blockedUntil?(value: Uint8Array): number;
}
