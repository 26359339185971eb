/** What the page and its worker say to each other. All of it is plain data. */
import type { BadLine, LineCounts, PolicyReport, Suggested, TrafficReport } from '@sluice/server/backtest/engine';

/** What comes to the worker. */
export type ToWorker =
  | { readonly kind: 'open'; readonly log: Blob; readonly name: string; readonly key: string; readonly format: string }
  | { readonly kind: 'decide'; readonly id: number; readonly policy: Readonly<Record<string, unknown>> };

/** A log that was read. */
export interface ReadLog {
  readonly name: string;
  readonly format: string;
  readonly traffic: TrafficReport;
  readonly lines: LineCounts & { readonly late: number };
  readonly badLines: readonly BadLine[];
  readonly isWholeSeconds: boolean;
  /** There was more in the log than a page holds. */
  readonly isCut: boolean;
  readonly curve: Suggested;
}

/** What comes from the worker. */
export type FromWorker =
  | { readonly kind: 'progress'; readonly bytes: number; readonly size: number; readonly lines: number }
  | { readonly kind: 'read'; readonly log: ReadLog }
  | { readonly kind: 'decided'; readonly id: number; readonly report: PolicyReport; readonly ms: number }
  | { readonly kind: 'failed'; readonly message: string };
