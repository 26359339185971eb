/** What `GET /v1/live` answers, as far as the page shows it. */
export interface LivePolicy {
  readonly name: string;
  readonly shadow: boolean;
  readonly allowed: number;
  readonly denied: number;
  readonly allowedPerSecond: number;
  readonly deniedPerSecond: number;
  /** From 0 to 1. */
  readonly deniedShare: number;
}

export interface LiveKey {
  readonly policy: string;
  readonly key: string;
  /** At most `error` too many. */
  readonly count: number;
  readonly error: number;
}

export interface LiveAnswer {
  /** Unix time in seconds. */
  readonly at: number;
  readonly seconds: number;
  readonly policies: readonly LivePolicy[];
  readonly store: { readonly p50Ms: number | null; readonly p99Ms: number | null; readonly fallbackShare: number };
  readonly top: { readonly denied: readonly LiveKey[]; readonly busiest: readonly LiveKey[] };
}
