/**
 * Durations and rates as people write them, and their one internal form. A duration is a number of milliseconds or
 * `'250ms'`, `'10s'`, `'1m'`, `'1h'`, `'1d'`; a rate is a number of units a second or `'100/m'`. Inside, every time is a
 * whole number of microseconds: nothing below that is ever cut off silently, it is refused here.
 */
import { wrong } from './errors.ts';

/** Milliseconds, seconds, minutes, hours, days. */
export type DurationUnit = 'ms' | 's' | 'm' | 'h' | 'd';
/** A length of time: milliseconds, or text such as `'250ms'`, `'10s'`, `'1m'`, `'1h'`, `'1d'`. At most 100 years. */
export type Duration = number | `${number}${DurationUnit}`;
/** How fast something comes back: units a second, or text such as `'600/m'`. */
export type Rate = number | `${number}/${DurationUnit}`;

const UNIT_MS: Readonly<Record<DurationUnit, number>> = { ms: 1, s: 1e3, m: 60e3, h: 3600e3, d: 86400e3 };

export const MICROS_PER_MS = 1e3;
export const MICROS_PER_SECOND = 1e6;

/** A century. Now plus two of these is still a whole number of microseconds in a double. */
export const MAX_DURATION_MS = 36525 * UNIT_MS.d;
/** The same in microseconds: whatever takes longer to come back counts as so much. */
export const MAX_MICROS = MAX_DURATION_MS * MICROS_PER_MS;
export const MS_PER_YEAR = 365.25 * UNIT_MS.d;

const TEXT = /^(\d+(?:\.\d+)?)(\/?)(ms|s|m|h|d)$/;

/** Milliseconds, checked: positive, at most a century, and whole microseconds. */
export function parseDuration(value: unknown, path: string): number {
  const ms = numberOf(value, '');
  const micros = toMicros(ms);
  const isWhole = Math.abs(micros - ms * MICROS_PER_MS) <= 4 * Number.EPSILON * micros;
  if (micros >= 1 && ms <= MAX_DURATION_MS && isWhole) return micros / MICROS_PER_MS;
  throw wrong(
    'SLUICE_INVALID_DURATION',
    path,
    "a positive number of milliseconds (whole microseconds, at most 100 years), or text such as '250ms', '10s', '1m', '1h', '1d'",
    value,
  );
}

/** Units a second, checked: positive and finite. */
export function parseRate(value: unknown, path: string): number {
  const perSecond = numberOf(value, '/');
  if (perSecond > 0 && perSecond <= Number.MAX_SAFE_INTEGER) return perSecond;
  throw wrong(
    'SLUICE_INVALID_RATE',
    path,
    "a positive number of units a second, or text such as '10/s', '600/m', '1000/h'",
    value,
  );
}

/** A number as it is, a text with its unit; NaN for anything else. */
function numberOf(value: unknown, slash: '' | '/'): number {
  if (typeof value === 'number') return value;
  const [, digits, found, unit] = (typeof value === 'string' && TEXT.exec(value)) || [];
  if (found !== slash) return Number.NaN;
  const ms = UNIT_MS[unit as DurationUnit];
  return slash === '' ? Number(digits) * ms : (Number(digits) * 1e3) / ms;
}

/** The window or period of a policy, which holds milliseconds, as whole microseconds. */
export function toMicros(ms: number): number {
  return Math.round(ms * MICROS_PER_MS);
}
