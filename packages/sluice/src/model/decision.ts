/** What a caller is told. The words and units are those of docs/semantics.md. */

/** The answer of one policy. Times are seconds and may be fractional. */
export interface Decision {
  /** The name of the policy. */
  readonly policy: string;
  /** Whose decision it is: only in the answer to an attempt on several keys. */
  readonly key?: string | undefined;
  /** Whether this policy allows the attempt. */
  readonly allowed: boolean;
  /** The limit of the policy, or the capacity of a bucket. `Infinity` when it is `unlimited()`. */
  readonly limit: number;
  /** Whole units that would be allowed right now, after this attempt. */
  readonly remaining: number;
  /** Seconds until this same cost would be allowed; `null` when allowed, `Infinity` when it never can be. */
  readonly retryAfter: number | null;
  /** Seconds until everything that was spent has come back; 0 when nothing is spent. */
  readonly resetAfter: number;
  /** The same moment as Unix time in seconds, on the store's clock. */
  readonly resetAt: number;
  /** Seconds the caller must wait before acting (shaping); `null` when there is nothing to wait for. */
  readonly delay: number | null;
  /** False: the policy has `visible: false`, and headers and bodies for clients do not name it. */
  readonly visible?: false | undefined;
  /** After a change such as a refund: units that were really given back or spent. */
  readonly changed?: number | undefined;
}

/** Who answered. Layers add their own. */
export type Source =
  | 'store'
  | 'deny-cache'
  | 'lease'
  | 'fallback'
  | 'fail-closed'
  | 'shadow'
  | 'policy'
  | 'exception'
  | (string & {});

/** The answer of all policies of one attempt: the numbers are those of the binding policy. */
export interface RateLimitResult extends Decision {
  /** One for each policy, in the order they were given. */
  readonly decisions: readonly Decision[];
  /** Who answered: `'store'`, or a layer in its place such as `'fallback'`. */
  readonly source: Source;
  /** Units that were spent, when as much was asked for as there is (`cost: { most, least }`); 0 when denied. */
  readonly granted?: number | undefined;
  /** Whether an attempt with this `id` was allowed before, so that nothing was spent now. Only for attempts with an id. */
  readonly repeated?: boolean | undefined;
}

/** One admission in a sliding window log. */
export interface HistoryEntry {
  /** Unix time in seconds, exact to the microsecond. */
  readonly at: number;
  /** Units admitted at that time. */
  readonly cost: number;
}
