/** The shape of the case tables in algorithms/NAME/NAME.cases.json: behaviour as rows of moments. */

/** At this second, asking this much: allowed, remaining, retryAfter, resetAfter, delay, and why. Seconds; 'never' for Infinity. */
export type CaseRow = readonly [
  at: number,
  cost: number,
  allowed: boolean,
  remaining: number,
  retryAfter: number | null | 'never',
  resetAfter: number,
  delay: number | null,
  why: string,
];

/** One policy, and what happens moment by moment. A row is an attempt and what it is told. */
export interface CaseTable {
  readonly title: string;
  /** Plain data, as a user would write it; checked when it is run. */
  readonly policy: Readonly<Record<string, unknown>>;
  readonly rows: readonly CaseRow[];
}
