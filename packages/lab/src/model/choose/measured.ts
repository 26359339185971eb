/** The numbers of `node packages/lab/measure-algorithms.mjs`, as the chooser uses them. */
import measured from './measured.json' with { type: 'json' };

export interface Measured {
  /** Allowed in a window. */
  readonly limit: number;
  /** Allowed when everything comes at an edge of a window. */
  readonly boundary: number;
  /** The most that was seen in any window, whatever was tried. */
  readonly worst: number;
  /** May act at one instant, after a pause. */
  readonly atOnce: number;
  readonly redisBytes: number;
  readonly memoryBytes: number;
}

export const MEASURED_ON = {
  limit: measured.limit,
  windowSeconds: measured.windowSeconds,
  redis: measured.redis,
  node: measured.node,
};

/** Undefined for what was never measured. */
export function measuredOf(id: string): Measured | undefined {
  const found = (measured.algorithms as Readonly<Record<string, Omit<Measured, 'limit'>>>)[id];
  return found === undefined ? undefined : { limit: measured.limit, ...found };
}

/** A log grows by what each admission takes. */
export function redisBytesOfLog(limit: number): number {
  const [empty, full] = [measuredOf('gcra')!.redisBytes, measuredOf('sliding-window-log')!.redisBytes];
  return empty + ((full - empty) / measured.limit) * limit;
}

/** Two digits: the third is the allocator's. */
export function bytesText(bytes: number): string {
  const rounded = Number(bytes.toPrecision(2));
  if (rounded < 1000) return `${rounded} bytes`;
  const [unit, size] = rounded < 1e6 ? (['kB', 1e3] as const) : (['MB', 1e6] as const);
  return `${Number((rounded / size).toPrecision(2))} ${unit}`;
}
