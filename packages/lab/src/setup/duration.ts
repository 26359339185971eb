/** Times as they stand in addresses and forms, as milliseconds. */
import { parseDuration } from 'sluice';
import { readField } from '../model/field-text.ts';

/** Undefined for what is none, and for less than a millisecond, which no picture shows. */
export function durationOf(text: string): number | undefined {
  const reading = readField('duration', text);
  if (!('value' in reading)) return undefined;
  try {
    const ms = parseDuration(reading.value);
    return ms >= 1 ? ms : undefined;
  } catch {
    return undefined;
  }
}
