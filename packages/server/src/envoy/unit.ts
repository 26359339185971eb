/** Units of time as Envoy names and numbers them. A month has 30 days and a year 365. */
export type Unit = 'UNKNOWN' | 'SECOND' | 'MINUTE' | 'HOUR' | 'DAY' | 'MONTH' | 'YEAR' | 'WEEK';

/** In the order of their numbers. */
export const UNITS: readonly Unit[] = ['UNKNOWN', 'SECOND', 'MINUTE', 'HOUR', 'DAY', 'MONTH', 'YEAR', 'WEEK'];

const SECONDS: Readonly<Record<Exclude<Unit, 'UNKNOWN'>, number>> = {
  SECOND: 1,
  MINUTE: 60,
  HOUR: 3600,
  DAY: 86_400,
  MONTH: 2_592_000,
  YEAR: 31_536_000,
  WEEK: 604_800,
};

/** Undefined for UNKNOWN and for what is no unit at all. */
export function secondsOf(unit: string): number | undefined {
  return Object.hasOwn(SECONDS, unit) ? SECONDS[unit as keyof typeof SECONDS] : undefined;
}

/** UNKNOWN for a time that has no name, which is what Envoy is told then. */
export function unitOf(seconds: number): Unit {
  return UNITS.find((unit) => secondsOf(unit) === seconds) ?? 'UNKNOWN';
}
