/**
 * Durations and rates as people write them, and their one internal form. A duration is a number of milliseconds or text: `'250ms'`, `'10 s'`,
 * `'15min'`, `'1h30m'`, `'1w'`. A rate is a number of units a second or text: `'100/min'`, `'1/5s'`. Inside, every time is a whole number of
 * microseconds: nothing below that is ever cut off silently, it is an error here.
 */
import { wrong } from './errors.ts';

/** Milliseconds, seconds, minutes (two spellings), hours, days, weeks. */
export type DurationUnit = 'ms' | 's' | 'm' | 'min' | 'h' | 'd' | 'w';
/**
 * A length of time: milliseconds, or text such as `'250ms'`, `'10 s'`, `'15min'`, `'1h30m'`, `'1w'`. At most 100 years. Text that is not known
 * when you compile, as from the environment, goes through `parseDuration`.
 */
export type Duration =
  | number
  | `${number}${'' | ' '}${DurationUnit}`
  | `${number}${DurationUnit}${'' | ' '}${number}${DurationUnit}`;
/** How fast something comes back: units a second, or text such as `'100/min'` and `'1/5s'`. */
export type Rate = number | `${number}/${DurationUnit}` | `${number}/${number}${DurationUnit}`;

const MINUTE = 60e3;
const DAY = 86400e3;
const UNIT_MS: Readonly<Record<DurationUnit, number>> = {
  ms: 1,
  s: 1e3,
  m: MINUTE,
  min: MINUTE,
  h: 60 * MINUTE,
  d: DAY,
  w: 7 * DAY,
};

export const MICROS_PER_MS = 1e3;
export const MICROS_PER_SECOND = 1e6;

/** A century. Now plus two of these is still a whole number of microseconds in a double. */
export const MAX_DURATION_MS = 36525 * DAY;
/** The same in microseconds: whatever takes longer to come back counts as so much. */
export const MAX_MICROS = MAX_DURATION_MS * MICROS_PER_MS;
export const MS_PER_YEAR = 365.25 * DAY;

/** One or more numbers with a unit each: `1h30m`, `1h 30m`. */
const LENGTH = /^(?:\d+(?:\.\d+)? ?(?:ms|min|[smhdw])(?: (?!$))?)+$/;
const SPEED = /^(\d+(?:\.\d+)?)\/(.+)$/;

/**
 * The milliseconds of a duration, for text that is not known when you compile. Throws `SLUICE_INVALID_DURATION` for anything else, also for
 * text without a unit. `path` is what the message calls the value.
 *
 * @example
 * const window = parseDuration(process.env.RATE_LIMIT_WINDOW ?? '1m', 'RATE_LIMIT_WINDOW');
 */
export function parseDuration(value: unknown, path = 'duration'): number {
  const ms = typeof value === 'number' ? value : lengthOf(value);
  const micros = toMicros(ms);
  const isWhole = Math.abs(micros - ms * MICROS_PER_MS) <= 4 * Number.EPSILON * micros;
  if (micros >= 1 && ms <= MAX_DURATION_MS && isWhole) return micros / MICROS_PER_MS;
  throw wrong(
    'SLUICE_INVALID_DURATION',
    path,
    "a positive number of milliseconds (whole microseconds, at most 100 years), or text such as '250ms', '10s', '15min', '1h30m', '1d', '1w'",
    value,
  );
}

/** The units a second of a rate, for text that is not known when you compile. Throws `SLUICE_INVALID_RATE` for anything else. */
export function parseRate(value: unknown, path = 'rate'): number {
  const perSecond = typeof value === 'number' ? value : speedOf(value);
  if (perSecond > 0 && perSecond <= Number.MAX_SAFE_INTEGER) return perSecond;
  throw wrong(
    'SLUICE_INVALID_RATE',
    path,
    "a positive number of units a second, or text such as '10/s', '100/min', '1/5s'",
    value,
  );
}

/** In milliseconds; NaN for what is none. */
function lengthOf(value: unknown): number {
  if (typeof value !== 'string' || !LENGTH.test(value)) return Number.NaN;
  let ms = 0;
  for (const [, digits, unit] of value.matchAll(/([\d.]+) ?([a-z]+)/g)) {
    ms += Number(digits) * UNIT_MS[unit as DurationUnit];
  }
  return ms;
}

/** In units a second; NaN for what is none. */
function speedOf(value: unknown): number {
  const [, digits, time] = (typeof value === 'string' && SPEED.exec(value)) || [];
  return (Number(digits) * 1e3) / (UNIT_MS[time as DurationUnit] ?? lengthOf(time));
}

/** The window or period of a policy, which holds milliseconds, as whole microseconds. */
export function toMicros(ms: number): number {
  return Math.round(ms * MICROS_PER_MS);
}
