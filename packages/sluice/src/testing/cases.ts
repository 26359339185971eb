/** The shape of the case tables in algorithms/NAME/NAME.cases.json: behaviour as rows of moments. */
import type { Policy } from '../model/policy.ts';

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

export interface CaseTable {
  readonly title: string;
  /** Plain data, as a user would write it; checked when it is run. */
  readonly policy: Policy | Readonly<Record<string, unknown>>;
  readonly rows: readonly CaseRow[];
}
