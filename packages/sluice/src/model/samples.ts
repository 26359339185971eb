/** Sample policies of an algorithm, for laws, parity and contracts: each algorithm brings its own in NAME.samples.ts. */
import type { Policy } from './policy.ts';

/** The numbers a sample is made of; an algorithm takes those that it has. */
export interface SampleNumbers {
  /** Units in a window. */
  readonly limit: number;
  /** Milliseconds. */
  readonly window: number;
  /** Units at one instant, for algorithms that tell it from the limit. */
  readonly capacity: number;
  /** Units a second. */
  readonly rate: number;
}

/** One kind of policy: an algorithm, or a mode of it. */
export interface Samples {
  /** Unique among all algorithms. */
  readonly kind: string;
  /** Units that a penalty may take from a state that is empty already. Default: 0. */
  readonly debt?: number | undefined;
  /** A policy of these numbers. With a name its state is kept by the name. */
  policy(numbers: SampleNumbers, name?: string): Policy;
}
