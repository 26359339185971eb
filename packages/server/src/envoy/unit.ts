/** Units of time as Envoy names and numbers them. A month has 30 days and a year 365, unless they are those of the calendar. */
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

/** Units that a calendar has periods for. */
export type CalendarUnit = 'DAY' | 'WEEK' | 'MONTH' | 'YEAR';

const CALENDAR_UNITS: readonly Unit[] = ['DAY', 'WEEK', 'MONTH', 'YEAR'];

export function isCalendarUnit(unit: unknown): unit is CalendarUnit {
  return CALENDAR_UNITS.includes(unit as Unit);
}

/** When the period of the calendar ends that the time is in, both in milliseconds. UTC; weeks begin on Monday. */
export function periodEnd(unit: CalendarUnit, nowMs: number): number {
  const now = new Date(nowMs);
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  if (unit === 'YEAR') return Date.UTC(year + 1, 0, 1);
  if (unit === 'MONTH') return Date.UTC(year, month + 1, 1);
  return Date.UTC(year, month, day + (unit === 'DAY' ? 1 : 7 - ((now.getUTCDay() + 6) % 7)));
}
