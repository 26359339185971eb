/** What `GET /v1/live` answers, as far as the page shows it. */
export interface Requests {
  readonly allowed: number;
  readonly denied: number;
}

export interface PolicyCounts extends Requests {
  readonly deniedByOthers: number;
  readonly wouldDeny: number;
}

export interface LivePolicy extends PolicyCounts {
  readonly name: string;
  /** A dry run: it denies nobody. */
  readonly shadow: boolean;
  /** Its numbers; null for policies that are not in the config. */
  readonly limits: object | null;
  /** From 0 to 1. */
  readonly deniedShare: number;
  readonly wouldDenyShare: number;
}

export interface LiveKey {
  readonly policy: string;
  readonly key: string;
  /** At most `error` too many. */
  readonly count: number;
  readonly error: number;
}

export interface LiveStore {
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly fallbackShare: number;
  readonly state: 'up' | 'down';
  /** Unix time in seconds. */
  readonly since: number;
  readonly description: string;
}

/** One second that is over. */
export interface LiveSecond {
  readonly second: number;
  readonly at: number;
  readonly requests: Requests;
  readonly policies: Readonly<Record<string, PolicyCounts>>;
  readonly fallbackShare: number;
}

export interface LiveAnswer {
  /** Unix time in seconds. */
  readonly at: number;
  readonly requests: Requests & { readonly deniedShare: number };
  readonly policies: readonly LivePolicy[];
  readonly store: LiveStore;
  readonly top: {
    readonly denied: readonly LiveKey[];
    readonly busiest: readonly LiveKey[];
    readonly wouldDeny: readonly LiveKey[];
  };
  readonly history: readonly LiveSecond[];
  /** Where the server is several processes: those that are `silent` did not answer, and their numbers are missing. */
  readonly workers?: { readonly count: number; readonly silent: readonly number[] };
}
