/** Moments in periods of calendars, and where Temporal says these start and end. Microseconds. */
import { Temporal } from 'temporal-polyfill';
import { type CalendarQuotaPolicy, calendarQuota } from '../../src/index.ts';
import type { Verdict } from '../../src/model/result.ts';

export interface CalendarRow {
  readonly title: string;
  readonly policy: CalendarQuotaPolicy;
  readonly now: number;
  readonly start: number;
  readonly end: number;
}

const ZONES = [
  ...['UTC', 'Europe/Berlin', 'America/New_York', 'America/Sao_Paulo', 'Asia/Kolkata', 'Australia/Lord_Howe'],
  ...['Pacific/Apia', 'Africa/Casablanca', 'America/Havana', 'America/St_Johns', 'Asia/Kathmandu', 'Asia/Gaza'],
];

type Every = CalendarQuotaPolicy['every'];
const PERIODS: readonly (readonly [every: Every, startsOn?: string | number])[] = [
  ...([['hour'], ['day'], ['week'], ['week', 'sunday'], ['week', 3]] as const),
  ...([['month'], ['month', 15], ['month', 31], ['year'], ['year', '02-29'], ['year', '04-06']] as const),
];

/** Around leap days, ends of years and the day that Apia does not have; then changes of each zone's clock after these. */
const MOMENTS = [
  ...['2024-02-29T12:00:00Z', '2026-02-28T23:59:59.999999Z', '2100-03-01T00:00:00.000001Z'],
  ...['2011-12-30T09:59:59.999999Z', '2011-12-30T10:00:00Z', '2026-12-31T22:30:00Z'],
];
const CHANGES_AFTER = ['2005-01-01T00:00:00Z', '2010-09-01T00:00:00Z', '2017-09-01T00:00:00Z', '2026-01-01T00:00:00Z'];

const microsOf = (instant: Temporal.Instant): number => Number(instant.epochNanoseconds / 1000n);
const at = (micros: number, zone: string): Temporal.ZonedDateTime =>
  new Temporal.Instant(BigInt(micros) * 1000n).toZonedDateTimeISO(zone);

function momentsIn(zone: string): number[] {
  const changes = CHANGES_AFTER.flatMap((text) => {
    const change = Temporal.Instant.from(text).toZonedDateTimeISO(zone).getTimeZoneTransition('next');
    if (change === null) return [];
    const moment = microsOf(change.toInstant());
    return [moment - 1, moment, moment + 1_800_000_000];
  });
  return [...new Set([...MOMENTS.map((text) => microsOf(Temporal.Instant.from(text))), ...changes])];
}

/** Days on which periods start, some before and some after the date. */
function startDays(
  date: Temporal.PlainDate,
  every: Every,
  startsOn: string | number | undefined,
): Temporal.PlainDate[] {
  const numbers = [-3, -2, -1, 0, 1, 2, 3];
  const { year, month } = date;
  switch (every) {
    case 'week': {
      const first = startsOn === 'sunday' ? 7 : startsOn === 'wednesday' ? 3 : 1;
      const monday = date.subtract({ days: date.dayOfWeek - first });
      return numbers.map((weeks) => monday.add({ weeks }));
    }
    case 'month':
      return numbers.map((months) => {
        const of = Temporal.PlainYearMonth.from({ year, month }).add({ months });
        return Temporal.PlainDate.from(
          { year: of.year, month: of.month, day: Number(startsOn) },
          { overflow: 'constrain' },
        );
      });
    case 'year': {
      const [inMonth, day] = String(startsOn).split('-').map(Number);
      return numbers.map((years) =>
        Temporal.PlainDate.from({ year: year + years, month: inMonth!, day: day! }, { overflow: 'constrain' }),
      );
    }
    default:
      return numbers.map((days) => date.add({ days }));
  }
}

function periodOf(now: number, { every, startsOn, timeZone }: CalendarQuotaPolicy): { start: number; end: number } {
  if (every === 'hour') {
    const isStart = (micros: number): boolean => {
      const [here, before] = [at(micros, timeZone), at(micros - 1, timeZone)];
      return here.minute === 0 || (here.offsetNanoseconds > before.offsetNanoseconds && here.hour !== before.hour);
    };
    const minute = 60_000_000;
    let start = now - (now % minute);
    let end = start + minute;
    while (!isStart(start)) start -= minute;
    while (!isStart(end)) end += minute;
    return { start, end };
  }
  const days = startDays(at(now, timeZone).toPlainDate(), every, startsOn);
  const edges = days.map((day) => microsOf(day.toZonedDateTime({ timeZone }).toInstant()));
  return {
    start: Math.max(...edges.filter((edge) => edge <= now)),
    end: Math.min(...edges.filter((edge) => edge > now)),
  };
}

export const CALENDAR_ROWS: readonly CalendarRow[] = ZONES.flatMap((timeZone) =>
  PERIODS.flatMap(([every, startsOn]) => {
    const policy = calendarQuota({ limit: 5, every, timeZone, startsOn });
    return momentsIn(timeZone).map((now): CalendarRow => {
      const title = `${timeZone}, ${every} ${startsOn ?? ''}, ${at(now, timeZone)}`;
      return { title, policy, now, ...periodOf(now, policy) };
    });
  }),
);

/** Attempts on one key that meet both edges of the period to the microsecond, and what each is told. */
export function attemptsOf({ now, start, end }: CalendarRow): readonly { now: number; cost: number; told: Told }[] {
  const full = (at: number, told: Told): { now: number; cost: number; told: Told } => ({ now: at, cost: 5, told });
  const denied = (at: number): { now: number; cost: number; told: Told } => {
    return { now: at, cost: 1, told: { allowed: false, resetAfter: end - at, retryAfter: end - at } };
  };
  return [
    full(start - 1, { allowed: true, resetAfter: 1, retryAfter: 0 }),
    full(start, { allowed: true, resetAfter: end - start, retryAfter: 0 }),
    denied(now),
    denied(end - 1),
  ];
}

type Told = Pick<Verdict, 'allowed' | 'resetAfter' | 'retryAfter'>;
