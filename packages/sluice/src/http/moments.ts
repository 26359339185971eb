/**
 * When, in all the ways servers write it: seconds from now, Unix time in seconds or milliseconds, a duration such as `6m0s`, an
 * HTTP date, an RFC 3339 date. Every answer is seconds from now; what cannot be read is undefined, never a guess.
 */

/** Delays are below thirty years and Unix times above: seconds up to a billion are a delay, and up to a hundred billion a time. */
const LONGEST_DELAY = 1e9;
const LARGEST_UNIX_SECONDS = 1e11;

const NUMBER = /^\d+(?:\.\d+)?$/;
/** Two of the three forms of an HTTP date (RFC 9110), and zones that are meant well. The third names no zone, and is GMT. */
const HTTP_DATE = /^[A-Z][a-z]+, \d\d?[ -][A-Z][a-z]{2}[ -]\d{2,4} \d\d:\d\d:\d\d (?:GMT|UTC|[+-]\d{4})$/;
const ASCTIME_DATE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/;
const RFC_3339 = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)([Zz]|[+-]\d\d:?\d\d)?$/;

/** Seconds from `nowMs` until the moment; 0 when it has passed. */
export function secondsUntil(text: string, nowMs: number): number | undefined {
  if (NUMBER.test(text)) return Math.max(0, delayOf(Number(text), nowMs));
  const ms = parseDate(text);
  return ms === undefined ? parseDurationSeconds(text) : Math.max(0, (ms - nowMs) / 1e3);
}

function delayOf(value: number, nowMs: number): number {
  if (value < LONGEST_DELAY) return value;
  return (value < LARGEST_UNIX_SECONDS ? value * 1e3 - nowMs : value - nowMs) / 1e3;
}

const UNIT_SECONDS: Readonly<Record<string, number>> = {
  ...{ d: 86400, h: 3600, m: 60, s: 1, ms: 1e-3, us: 1e-6, ns: 1e-9 },
};
const PART = /(\d+(?:\.\d+)?)(ms|us|ns|[dhms])/g;
/** As Go writes it, and as that looks when UTF-8 was read as Latin-1, which is what clients do with headers. */
const MICRO = /Â?[µμ]/g;

/** `1h2m3.5s`, as Go and OpenAI write it. */
function parseDurationSeconds(given: string): number | undefined {
  const text = given.replace(MICRO, 'u');
  if (text === '' || text.replace(PART, '') !== '') return undefined;
  return [...text.matchAll(PART)].reduce((sum, [, digits, unit]) => sum + Number(digits) * UNIT_SECONDS[unit!]!, 0);
}

/**
 * Milliseconds since the epoch. Only what has the form of a date is given to the runtime, which makes one of almost any text. In `Date`
 * it is what time it is for the server, which is the clock its moments are on.
 */
export function parseDate(text: string | undefined): number | undefined {
  const ms = Date.parse(inFull(text ?? ''));
  return Number.isNaN(ms) ? undefined : ms;
}

/** With a zone, which is UTC where none is named, and never that of this machine; empty when it is no date. */
function inFull(text: string): string {
  const [, day, time, zone = 'Z'] = RFC_3339.exec(text) ?? [];
  if (day !== undefined) return `${day}T${time}${zone.toUpperCase()}`;
  if (ASCTIME_DATE.test(text)) return `${text} GMT`;
  return HTTP_DATE.test(text) ? text : '';
}
