/** How hits are counted in metrics, in the reference server's arithmetic: which of them were over the limit, and which near it. */
export interface HitCounts {
  readonly over: number;
  readonly near: number;
  readonly within: number;
}

export interface Hits {
  readonly hits: number;
  /** What was spent before them. */
  readonly before: number;
  readonly limit: number;
  readonly isOver: boolean;
  /** Of the limit. */
  readonly ratio: number;
}

export function countHits({ hits, before, limit, isOver, ratio }: Hits): HitCounts {
  const threshold = Math.floor(Math.fround(Math.fround(limit) * Math.fround(ratio)));
  const after = before + hits;
  if (!isOver) return { over: 0, near: nearHits(hits, before, after, threshold), within: hits };
  if (before >= limit) return { over: hits, near: 0, within: 0 };
  return { over: Math.max(0, after - limit), near: limit - Math.max(threshold, before), within: 0 };
}

function nearHits(hits: number, before: number, after: number, threshold: number): number {
  if (after <= threshold) return 0;
  return before >= threshold ? hits : after - threshold;
}
