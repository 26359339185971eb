/** What `timeZone` and `startsOn` take. */
import { wrong } from '../../model/errors.ts';
import type { TextField } from '../../model/field.ts';
import { WEEKDAYS } from './calendar.ts';

/** Names, not offsets: those only newer programs know. */
const ZONE = /^[A-Za-z][A-Za-z0-9_+/-]*$/;
const MONTH_AND_DAY = /^(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/;

export const TIME_ZONE: TextField = {
  kind: 'text',
  pattern: ZONE.source,
  about: 'Whose calendar it is.',
  check(value = 'UTC', path) {
    if (typeof value === 'string' && isZone(value)) return value;
    throw wrong('SLUICE_INVALID_POLICY', path, "a time zone such as 'Europe/Berlin' or 'UTC'", value);
  },
};

export const STARTS_ON: TextField = {
  kind: 'text',
  pattern: `^(${WEEKDAYS.join('|')})$|${MONTH_AND_DAY.source}|^[1-9]\\d?$`,
  orNumberTo: 31,
  about: 'The day on which a week, a month or a year starts.',
  check(value, path, { every }) {
    const kind = KINDS[String(every)];
    // What `every` is, is wrong itself.
    if (kind === undefined) return undefined;
    const found = value === undefined ? kind.usual : kind.read(value);
    if (found !== undefined || value === undefined) return found;
    throw wrong('SLUICE_INVALID_POLICY', path, kind.expected, value);
  },
};

interface Kind {
  readonly usual: string | number | undefined;
  readonly expected: string;
  /** As a policy holds it; undefined for what is wrong. */
  read(value: unknown): string | number | undefined;
}

const NONE: Kind = {
  usual: undefined,
  expected: 'nothing, since hours and days start with themselves',
  read: () => undefined,
};

const KINDS: Readonly<Record<string, Kind>> = {
  hour: NONE,
  day: NONE,
  week: {
    usual: 'monday',
    expected: "a weekday, 'monday' to 'sunday' or 1 to 7",
    read: (value) => WEEKDAYS[(wholeOf(value) ?? 0) - 1] ?? WEEKDAYS.find((name) => name === value),
  },
  month: {
    usual: 1,
    expected: 'a day of the month, from 1 to 31',
    read: (value) => upTo(31, wholeOf(value)),
  },
  year: {
    usual: '01-01',
    expected: "a month and a day such as '04-06', or a month from 1 to 12",
    read(value) {
      const month = upTo(12, wholeOf(value));
      if (month !== undefined) return `${String(month).padStart(2, '0')}-01`;
      return typeof value === 'string' && isDay(value) ? value : undefined;
    },
  },
};

/** A number, or digits, as a form has them. */
function wholeOf(value: unknown): number | undefined {
  if (typeof value === 'string' && /^[1-9]\d?$/.test(value)) return Number(value);
  return Number.isSafeInteger(value) ? (value as number) : undefined;
}

function upTo(most: number, value: number | undefined): number | undefined {
  return value !== undefined && value >= 1 && value <= most ? value : undefined;
}

/** A day of some year. */
function isDay(text: string): boolean {
  const [month, day] = text.split('-').map(Number);
  return MONTH_AND_DAY.test(text) && new Date(Date.UTC(2000, month! - 1, day)).getUTCDate() === day;
}

function isZone(text: string): boolean {
  if (text === 'UTC') return true;
  if (!ZONE.test(text)) return false;
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: text }) !== undefined;
  } catch {
    return false;
  }
}
