/**
 * Calendar quota: a fixed window whose windows are the periods of a calendar. State: [period start, count]. The periods: calendar.ts. Twin:
 * calendar-quota.lua, which is told the periods around now, since a script knows no time zones.
 */
import { MICROS_PER_SECOND } from '../../model/duration.ts';
import { define, type NameOption, type Policy } from '../../model/policy.ts';
import type { Algorithm, RedisTwin, RuleParts } from '../../model/rule.ts';
import type { Numbers } from '../../model/step.ts';
import { partOfUnits } from '../shared/bucket.ts';
import { lua as windows } from '../shared/windows.lua.generated.ts';
import { type Period, periodsOf } from './calendar.ts';
import { lua as periods } from './calendar-quota.lua.generated.ts';

import { STARTS_ON, TIME_ZONE } from './starts-on.ts';

/** Which period counts, and what is spent in it. */
const LUA = /* @__PURE__ */ [periods, windows].join('\n');

/** A policy made by `calendarQuota({ ... })`. */
export interface CalendarQuotaPolicy extends Policy {
  readonly algorithm: 'calendar-quota';
  /** Units in each period. */
  readonly limit: number;
  /** The period. */
  readonly every: 'hour' | 'day' | 'week' | 'month' | 'year';
  /** Whose calendar it is. */
  readonly timeZone: string;
  /** Of a week the weekday, of a month the day, of a year month and day as `'04-06'`; undefined for hours and days. */
  readonly startsOn?: string | number | undefined;
}

/** What `calendarQuota` takes. */
export interface CalendarQuotaOptions extends NameOption {
  /** Units in each period: a whole number of at least 1. */
  readonly limit: number;
  /** The period of the calendar: days have 23 to 25 hours, months 28 to 31 days. */
  readonly every: 'hour' | 'day' | 'week' | 'month' | 'year';
  /** Whose calendar it is: a name such as `'Europe/Berlin'`. Default: `'UTC'`. */
  readonly timeZone?: string | undefined;
  /**
   * When a period starts. Of a week: `'monday'` (default) to `'sunday'`, or 1 to 7. Of a month: the day, 1 (default) to 31; a month that does not have
   * it starts on its last day. Of a year: `'04-06'`, or the month, 1 (default) to 12. Hours and days have none.
   */
  readonly startsOn?: string | number | undefined;
}

/** The longest periods in seconds, without what is done to the clock. */
const LONGEST = { hour: 3600, day: 86_400, week: 7 * 86_400, month: 31 * 86_400, year: 366 * 86_400 };

/** Periods before the one of this process's clock, and after it, that a script can choose from. */
const BEFORE = 2;
const AFTER = 2;

/** The period that counts, as `locate` has found it: one object for all, as in a fixed window. */
const found = { start: Number.NaN, end: Number.NaN, count: 0, reanchored: false };

export const CALENDAR_QUOTA: Algorithm<CalendarQuotaPolicy> = {
  name: 'calendar-quota',
  about: 'Counts in hours, days, weeks, months or years of a calendar, in a time zone, from a start day on.',
  fields: {
    limit: { kind: 'count', about: 'Units in each period.' },
    every: {
      kind: 'choice',
      of: ['month', 'hour', 'day', 'week', 'year'],
      required: true,
      about: 'The period of the calendar.',
    },
    timeZone: TIME_ZONE,
    startsOn: STARTS_ON,
  },
  rule({ limit, every, timeZone, startsOn }) {
    const periodAt = periodsOf(every, timeZone, startsOn);
    const longest = LONGEST[every] * MICROS_PER_SECOND;
    return {
      limit,
      recovery: longest,
      width: 2,
      ...stepsOf(limit, periodAt),
      bound(from, to) {
        // The local clock may make two hours of one, at both ends.
        if (every === 'hour') return limit * (Math.floor((to - from) / longest) + 3);
        return limit * (periodAt(to).index - periodAt(from).index + 1);
      },
      share: (part) => ({ limit: partOfUnits(limit, part) }),
      // A lease ends with the period it was taken from.
      lease: () => ({ interval: 0, usableFor: (_now, resetAfter) => resetAfter }),
      redis: twinOf(limit, `${every} ${timeZone} ${startsOn ?? ''}`, periodAt),
    };
  },
};

type PeriodAt = (at: number) => Period;

function stepsOf(limit: number, periodAt: PeriodAt): Pick<RuleParts, 'transition' | 'penalize' | 'refund'> {
  /** Finds the period that counts. The next one is used as it is, if it was written: time going backwards opens no old one. */
  const locate = (state: Numbers | undefined, now: number): void => {
    const { start, end } = periodAt(now);
    found.start = start;
    found.end = end;
    found.count = 0;
    found.reanchored = false;
    if (state === undefined || state[0]! < start) return;
    found.count = state[1]!;
    if (state[0]! < end) return;
    const next = periodAt(end);
    if (state[0]! < next.end) {
      found.start = next.start;
      found.end = next.end;
    } else found.reanchored = true;
  };

  return {
    transition(state, now, cost, step) {
      locate(state, now);
      const { start, end, count, reanchored } = found;
      const room = Math.max(0, limit - count);
      if (cost > 0 && cost <= room) {
        step.allow(room - cost, end - now);
        step.becomes(start, count + cost);
        return;
      }
      const reset = count === 0 ? 0 : end - now;
      if (cost === 0) return step.allow(room, reset);
      step.deny(room, cost > limit ? Number.POSITIVE_INFINITY : end - now, reset);
      if (reanchored) step.becomes(start, count);
    },
    penalize(state, now, cost, step) {
      locate(state, now);
      const spent = Math.min(cost, limit - found.count);
      if (spent <= 0) return step.leaves();
      step.units = spent;
      step.becomes(found.start, found.count + spent);
    },
    /** What was spent in another period is forgotten with it. */
    refund(state, now, cost, spent, step) {
      locate(state, now);
      const back = spent !== undefined && spent.until !== found.end ? 0 : Math.min(cost, found.count);
      if (back === 0) return step.leaves();
      step.units = back;
      step.becomes(found.start, found.count - back);
    },
  };
}

/** The script is told where periods start around the time of the caller, and chooses by the clock that decides. */
function twinOf(limit: number, words: string, periodAt: PeriodAt): RedisTwin {
  let [from, to, edges] = [0, 0, ''];
  return {
    code: 'q',
    args: [String(limit), '0', words],
    argsAt(now) {
      if (!(now >= from && now < to)) {
        const { start, end } = periodAt(now);
        edges = edgesAround(start, end, periodAt).join(' ');
        [from, to] = [start, end];
      }
      return [String(limit), '0', edges];
    },
    lua: LUA,
  };
}

/** With one more period than can be chosen: the one after it has to be known as well. */
function edgesAround(start: number, end: number, periodAt: PeriodAt): number[] {
  const edges = [start, end];
  for (let more = 0; more < BEFORE; more += 1) edges.unshift(edges[0] === 0 ? 0 : periodAt(edges[0]! - 1).start);
  for (let more = 0; more < AFTER + 1; more += 1) edges.push(periodAt(edges.at(-1)!).end);
  return edges;
}

/**
 * Calendar quota: at most `limit` in each hour, day, week, month or year of a calendar, in a time zone, from a start day on. What contracts say; around the
 * edge of a period up to twice the limit passes in a short time.
 *
 * @example
 * const policy = calendarQuota({ limit: 100_000, every: 'month', timeZone: 'Europe/Berlin', startsOn: 15 });
 */
export const calendarQuota = (options: CalendarQuotaOptions): CalendarQuotaPolicy => define(CALENDAR_QUOTA, options);
