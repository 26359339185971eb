/** One row's answers, at the same places as the arrivals: columns of numbers in a ring. */
import { Admissions } from './admissions.ts';

/** Arrivals that are remembered: 80 s of 200 a second. */
export const TRACE_CAPACITY = 16_384;
export const MAX_CLIENTS = 2;

export type Outcome = 'allowed' | 'delayed' | 'denied';

export interface Counts {
  allowed: number;
  /** Allowed, to act later. Counted among the allowed as well. */
  delayed: number;
  denied: number;
}

export function noCounts(): Counts {
  return { allowed: 0, delayed: 0, denied: 0 };
}

/** What an answer must say. The server's are JSON, in which Infinity is null. */
export interface Answer {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Seconds. */
  readonly retryAfter: number | null;
  /** Seconds. */
  readonly resetAfter: number;
  /** Seconds. */
  readonly delay: number | null;
  /** One for each policy, where a row has several. */
  readonly decisions?: readonly { readonly limit: number; readonly remaining: number; readonly resetAfter: number }[];
}

/** One policy of several that a row asks at the same time. */
export interface Part {
  readonly remaining: Float64Array;
  readonly resetAt: Float64Array;
}

export class Answers {
  /** Whether this row was asked at all: an arrival may be for another one alone. */
  readonly asked = new Uint8Array(TRACE_CAPACITY);
  readonly allowed = new Uint8Array(TRACE_CAPACITY);
  readonly limit = new Float64Array(TRACE_CAPACITY);
  readonly remaining = new Float64Array(TRACE_CAPACITY);
  /** Milliseconds; 0 when allowed, Infinity for never. */
  readonly retryAfter = new Float64Array(TRACE_CAPACITY);
  /** The moment at which the client has everything back: with the policy, this is the whole state of most algorithms. */
  readonly resetAt = new Float64Array(TRACE_CAPACITY);
  /** Milliseconds until it may act. */
  readonly delay = new Float64Array(TRACE_CAPACITY);
  /** What this client was allowed in the window of the clock this arrival is in, and in the one before. */
  readonly inWindow = new Float64Array(TRACE_CAPACITY);
  readonly inPrevious = new Float64Array(TRACE_CAPACITY);
  /** The most units of one client that acted within one window, up to this arrival. */
  readonly worst = new Float64Array(TRACE_CAPACITY);
  /** The longest that a request had to wait up to this arrival, in milliseconds: for its slot, or until it would be allowed. */
  readonly longestWait = new Float64Array(TRACE_CAPACITY);
  /** By policy, only where a row has several. */
  readonly parts: readonly Part[];
  /** Whether any request was allowed to act later, since the last clearing. */
  hasDelays = false;
  readonly counts: Counts[] = Array.from({ length: MAX_CLIENTS }, noCounts);
  readonly admissions: Admissions[] = Array.from({ length: MAX_CLIENTS }, () => new Admissions(TRACE_CAPACITY / 2));

  constructor(policies = 1) {
    this.parts =
      policies < 2
        ? []
        : Array.from({ length: policies }, () => ({
            remaining: new Float64Array(TRACE_CAPACITY),
            resetAt: new Float64Array(TRACE_CAPACITY),
          }));
  }

  clear(): void {
    this.hasDelays = false;
    for (const counts of this.counts) Object.assign(counts, noCounts());
    for (const admissions of this.admissions) admissions.clear();
  }
}
