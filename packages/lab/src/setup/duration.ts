/** Times as they stand in addresses and forms, as milliseconds. */
import { readField } from '../model/field-text.ts';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A hundred years: what the library takes. */
const MOST_MS = 36_525 * 86_400_000;

/** Undefined for what is none. */
export function durationOf(text: string): number | undefined {
  const reading = readField('duration', text);
  if (!('value' in reading)) return undefined;
  const [, digits, unit] = /^([\d.]+)(ms|s|m|h|d)$/.exec(String(reading.value))!;
  const ms = Number(digits) * UNITS[unit!]!;
  // The library counts whole microseconds.
  return ms <= MOST_MS && Math.abs(ms * 1000 - Math.round(ms * 1000)) < 1e-6 && ms >= 1 ? ms : undefined;
}
