/** Who a span belongs to: the ids of https://www.w3.org/TR/trace-context, and whether a trace is recorded. */
import { randomBytes } from 'node:crypto';

export interface TraceContext {
  /** 32 digits in hex. */
  readonly traceId: string;
  /** 16 digits in hex. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** A version that is not known is read as far as this one goes, as the standard wants it. */
const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(?=$|-)/;

/** Undefined for what is no traceparent: then a trace begins here. */
export function parseTraceparent(text: string | undefined): TraceContext | undefined {
  const [whole, traceId, spanId, flags] = TRACEPARENT.exec(text ?? '') ?? [];
  if (traceId === undefined || (whole!.length !== text!.length && text!.startsWith('00-'))) return undefined;
  return { traceId, spanId: spanId!, isSampled: (Number.parseInt(flags!, 16) & 1) === 1 };
}

export function newTraceId(): string {
  return randomBytes(16).toString('hex');
}

export function newSpanId(): string {
  return randomBytes(8).toString('hex');
}

/** Which traces are recorded. It is plain data. */
export interface Sampling {
  /** Whether what the caller has decided holds. */
  readonly isParentBased: boolean;
  /** The share of traces that begin here, 0 to 1. */
  readonly ratio: number;
}

/** By the trace id, so that all services decide alike about one trace. */
export function isSampled(
  traceId: string,
  parent: TraceContext | undefined,
  { isParentBased, ratio }: Sampling,
): boolean {
  if (isParentBased && parent !== undefined) return parent.isSampled;
  return ratio >= 1 || Number.parseInt(traceId.slice(-14), 16) / 2 ** 56 < ratio;
}
