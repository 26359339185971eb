/**
 * When, in all the ways servers write it: seconds from now, Unix time in seconds or milliseconds, a duration such as `6m0s`, an
 * HTTP date, an RFC 3339 date. Every answer is seconds from now; what cannot be read is undefined, never a guess.
 */

/** Delays are below thirty years and Unix times above: seconds up to a billion are a delay, and up to a hundred billion a time. */
const LONGEST_DELAY = 1e9;
const LARGEST_UNIX_SECONDS = 1e11;

const NUMBER = /^\d+(?:\.\d+)?$/;
const DATE = /^(?:\d{4}-\d\d-\d\d[Tt ]|[A-Z][a-z]{2})/;

/** Seconds from `nowMs` until the moment; 0 when it has passed. */
export function secondsUntil(text: string, nowMs: number): number | undefined {
  if (NUMBER.test(text)) return Math.max(0, delayOf(Number(text), nowMs));
  if (!DATE.test(text)) return parseDurationSeconds(text);
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : Math.max(0, (ms - nowMs) / 1e3);
}

function delayOf(value: number, nowMs: number): number {
  if (value < LONGEST_DELAY) return value;
  return (value < LARGEST_UNIX_SECONDS ? value * 1e3 - nowMs : value - nowMs) / 1e3;
}

const UNIT_SECONDS: Readonly<Record<string, number>> = {
  ...{ d: 86400, h: 3600, m: 60, s: 1, ms: 1e-3, us: 1e-6, µs: 1e-6, ns: 1e-9 },
};
const PART = /(\d+(?:\.\d+)?)(ms|us|µs|ns|[dhms])/g;

/** `1h2m3.5s`, as Go and OpenAI write it. */
function parseDurationSeconds(text: string): number | undefined {
  if (text === '' || text.replace(PART, '') !== '') return undefined;
  return [...text.matchAll(PART)].reduce((sum, [, digits, unit]) => sum + Number(digits) * UNIT_SECONDS[unit!]!, 0);
}

/** `Date`: what time it is for the server, which is the clock its moments are on. Milliseconds. */
export function parseDate(text: string | undefined): number | undefined {
  const ms = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}
