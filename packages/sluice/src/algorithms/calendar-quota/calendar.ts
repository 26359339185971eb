/**
 * The periods of a calendar in a time zone, by Intl. A period starts when the local clock first reads midnight of its first day, or jumps over it, and
 * lasts until the next one starts, so that time is never in two periods or in none. Seconds inside; microseconds outside.
 */
import { MICROS_PER_SECOND } from '../../model/duration.ts';

/** From `start` on, and before `end`. `index` grows from period to period; an hour has none. */
export interface Period {
  readonly start: number;
  readonly end: number;
  readonly index: number;
}

const HOUR = 3600;
const DAY = 24 * HOUR;
/** Days from a Monday to the epoch. */
const EPOCH_WEEKDAY = 3;
/** Starts of periods that are remembered for each policy. */
const MOST_REMEMBERED = 256;

/** The period that a moment is in. The one that was asked for last is remembered. Nothing starts before the epoch. */
export function periodsOf(
  every: string,
  timeZone: string,
  startsOn: string | number | undefined,
): (at: number) => Period {
  const offset = offsetIn(timeZone);
  const find = every === 'hour' ? hoursIn(offset) : datesIn(offset, every, startsOn);
  const micros = (seconds: number): number => Math.max(0, seconds * MICROS_PER_SECOND);
  let last: Period = { start: 0, end: 0, index: 0 };
  return (at) => {
    if (!(at >= last.start && at < last.end)) {
      const { start, end, index } = find(Math.floor(at / MICROS_PER_SECOND));
      last = { start: micros(start), end: micros(end), index };
    }
    return last;
  };
}

/** Seconds that the local clock is ahead of UTC. */
type Offset = (at: number) => number;

function offsetIn(timeZone: string): Offset {
  if (timeZone === 'UTC') return () => 0;
  const two = '2-digit';
  const format = new Intl.DateTimeFormat('en-US', {
    ...{ timeZone, hourCycle: 'h23', year: 'numeric', month: two, day: two, hour: two, minute: two, second: two },
  });
  return (at) => {
    const [month, day, year, hour, minute, second] = format
      .format(at * 1000)
      .match(/\d+/g)!
      .map(Number);
    return Date.UTC(year!, month! - 1, day, hour, minute, second) / 1000 - at;
  };
}

/** The first second after `from` and up to `to` at which the offset is another. */
function changeOf(offset: Offset, from: number, to: number): number {
  const before = offset(from);
  let [same, other] = [from, to];
  while (other - same > 1) {
    const middle = Math.floor((same + other) / 2);
    if (offset(middle) === before) same = middle;
    else other = middle;
  }
  return other;
}

/** The first second at which the local clock reads this, or has jumped over it. `local` is a reading as if it were UTC. */
function firstAt(offset: Offset, local: number): number {
  const [before, after] = [offset(local - DAY), offset(local + DAY)];
  for (const ahead of [before, after]) if (offset(local - ahead) === ahead) return local - ahead;
  return changeOf(offset, local - DAY, local + DAY);
}

function remainder(value: number, size: number): number {
  return value - Math.floor(value / size) * size;
}

/** An hour starts when the local clock reads a full hour, or jumps over one. So most have 60 minutes, whatever is done to the clock. */
function hoursIn(offset: Offset): (at: number) => Period {
  const startOf = (at: number): number => {
    const full = at - remainder(at + offset(at), HOUR);
    if (offset(full) === offset(at)) return full;
    const change = changeOf(offset, full, at);
    return change + offset(change - 1) <= full + offset(at) ? change : startOf(change - 1);
  };
  const endOf = (at: number): number => {
    const full = at - remainder(at + offset(at), HOUR) + HOUR;
    if (offset(full) === offset(at)) return full;
    const change = changeOf(offset, at, full);
    return startOf(change) === change ? change : endOf(change);
  };
  return (at) => ({ start: startOf(at), end: endOf(at), index: Number.NaN });
}

/** Days, weeks, months and years by their number: on which local day each starts. */
interface Dates {
  indexOf(local: number): number;
  /** Local midnight of its first day, as if it were UTC. */
  firstDay(index: number): number;
}

function datesIn(offset: Offset, every: string, startsOn: string | number | undefined): (at: number) => Period {
  const dates = datesOf(every, startsOn);
  const starts = new Map<number, number>();
  const startOf = (index: number): number => {
    let start = starts.get(index);
    if (start === undefined) {
      start = firstAt(offset, dates.firstDay(index));
      if (starts.size >= MOST_REMEMBERED) starts.clear();
      starts.set(index, start);
    }
    return start;
  };
  return (at) => {
    let index = dates.indexOf(at + offset(at));
    while (startOf(index + 1) <= at) index += 1;
    while (startOf(index) > at) index -= 1;
    return { start: startOf(index), end: startOf(index + 1), index };
  };
}

export const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

/** `startsOn` as a policy holds it. */
function datesOf(every: string, startsOn: string | number | undefined): Dates {
  if (every === 'day') return { indexOf: (local) => Math.floor(local / DAY), firstDay: (index) => index * DAY };
  if (every === 'week') {
    const ahead = WEEKDAYS.indexOf(String(startsOn)) - EPOCH_WEEKDAY;
    return {
      indexOf: (local) => Math.floor((local / DAY - ahead) / 7),
      firstDay: (index) => (index * 7 + ahead) * DAY,
    };
  }
  if (every === 'month') {
    return {
      indexOf: (local) => yearOf(local) * 12 + new Date(local * 1000).getUTCMonth(),
      firstDay: (index) => dateOf(Math.floor(index / 12), remainder(index, 12), Number(startsOn)),
    };
  }
  const [month, day] = String(startsOn).split('-').map(Number);
  return { indexOf: yearOf, firstDay: (index) => dateOf(index, month! - 1, day!) };
}

function yearOf(local: number): number {
  return new Date(local * 1000).getUTCFullYear();
}

/** A day that the month does not have is its last one. */
function dateOf(year: number, month: number, day: number): number {
  const last = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return Date.UTC(year, month, Math.min(day, last)) / 1000;
}
