/**
 * Durations and rates as people write them, and their one internal form. A duration is a number of milliseconds or
 * `'250ms'`, `'10s'`, `'1m'`, `'1h'`, `'1d'`; a rate is a number of units a second or `'100/m'`. Inside, every time is a
 * whole number of microseconds: nothing below that is ever cut off silently, it is refused here.
 */
import { SluiceError } from './errors.ts';

export type DurationUnit = 'ms' | 's' | 'm' | 'h' | 'd';
export type Duration = number | `${number}${DurationUnit}`;
export type Rate = number | `${number}/${DurationUnit}`;

const UNIT_MS: Readonly<Record<DurationUnit, number>> = { ms: 1, s: 1e3, m: 60e3, h: 3600e3, d: 86400e3 };

export const MICROS_PER_MS = 1e3;
export const MICROS_PER_SECOND = 1e6;

/** A century. Now plus two of these is still a whole number of microseconds in a double. */
export const MAX_DURATION_MS = 36525 * UNIT_MS.d;
export const MS_PER_YEAR = 365.25 * UNIT_MS.d;

const NUMBER = '(\\d+(?:\\.\\d+)?)';
const DURATION = new RegExp(`^${NUMBER}(ms|s|m|h|d)$`);
const RATE = new RegExp(`^${NUMBER}/(ms|s|m|h|d)$`);

/** Milliseconds, checked: positive, at most a century, and whole microseconds. */
export function parseDuration(value: unknown, path: string): number {
  const ms = typeof value === 'string' ? fromText(DURATION, value, (n, unit) => n * unit) : value;
  if (typeof ms !== 'number' || !(ms > 0 && ms <= MAX_DURATION_MS)) throw invalidDuration(value, path);
  const micros = Math.round(ms * MICROS_PER_MS);
  if (micros < 1 || Math.abs(micros - ms * MICROS_PER_MS) > 4 * Number.EPSILON * micros)
    throw invalidDuration(value, path);
  return micros / MICROS_PER_MS;
}

/** Units a second, checked: positive and finite. */
export function parseRate(value: unknown, path: string): number {
  const perSecond = typeof value === 'string' ? fromText(RATE, value, (n, unit) => (n * 1e3) / unit) : value;
  if (typeof perSecond !== 'number' || !(perSecond > 0 && perSecond <= Number.MAX_SAFE_INTEGER)) {
    throw new SluiceError({
      code: 'SLUICE_INVALID_RATE',
      path,
      expected: "a positive number of units a second, or text such as '10/s', '600/m', '1000/h'",
      got: value,
    });
  }
  return perSecond;
}

function fromText(form: RegExp, text: string, combine: (n: number, unitMs: number) => number): number {
  const [, digits, unit] = form.exec(text) ?? [];
  return digits === undefined ? Number.NaN : combine(Number(digits), UNIT_MS[unit as DurationUnit]);
}

function invalidDuration(got: unknown, path: string): SluiceError {
  return new SluiceError({
    code: 'SLUICE_INVALID_DURATION',
    path,
    expected:
      "a positive number of milliseconds (whole microseconds, at most 100 years), or text such as '250ms', '10s', '1m', '1h', '1d'",
    got,
  });
}

/** The window or period of a policy, which holds milliseconds, as whole microseconds. */
export function toMicros(ms: number): number {
  return Math.round(ms * MICROS_PER_MS);
}
