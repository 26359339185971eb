/**
 * Results as JSON, letter for letter what JSON.stringify makes of them. Written out, because with it that was more than half of what an attempt costs beside
 * its request: under one policy the result and its decision have the same numbers, which are put into text once here, and moments are whole
 * microseconds, whose digits are found faster than those of any number.
 */
import type { RateLimitResult } from 'sluice';

/** Results, and the errors that stand in a list in place of some. */
export function resultsJson(answer: object): string {
  return Array.isArray(answer) ? `[${answer.map(resultJson).join(',')}]` : resultJson(answer);
}

function resultJson(value: object): string {
  const result = value as RateLimitResult;
  const { decisions, key, repeated, granted } = result;
  const isPlain = decisions?.length === 1 && key === undefined && decisions[0]!.visible !== false;
  if (!isPlain || repeated !== undefined || granted !== undefined) return JSON.stringify(value);
  const { allowed, limit, remaining, retryAfter, resetAfter, resetAt, delay } = result;
  const policy = quoted(result.policy);
  const source = quoted(result.source);
  const numbers = `"limit":${finite(limit)},"remaining":${finite(remaining)},"retryAfter":${seconds(retryAfter)},"resetAfter":${seconds(resetAfter)},"resetAt":${seconds(resetAt)},"delay":${seconds(delay)}`;
  return `{"allowed":${allowed},${numbers},"policy":${policy},"decisions":[{"policy":${policy},"allowed":${allowed},${numbers}}],"source":${source}}`;
}

/** Names of policies have no control characters, and sources are words: only these two need more than quotes. */
function quoted(name: string): string {
  return name.includes('"') || name.includes('\\') ? JSON.stringify(name) : `"${name}"`;
}

const THREE_DIGITS = Array.from({ length: 1000 }, (_, number) => String(number).padStart(3, '0'));
const WITHOUT_ZEROS = THREE_DIGITS.map((digits) => digits.replace(/0+$/, ''));
/** Below this, numbers lie closer together than microseconds do: whichever is nearest to one has its digits, and no shorter ones. */
const MOST_SECONDS = 2 ** 32;

/** What is unlimited has an infinite limit, for which JSON has no number. */
function finite(value: number): number | null {
  return value === Number.POSITIVE_INFINITY ? null : value;
}

/** JSON has no Infinity, which is when a cost fits that never does. */
export function seconds(value: number | null): string {
  if (value === null || !Number.isFinite(value)) return 'null';
  const micros = Math.round(value * 1e6);
  if (micros / 1e6 !== value || !(value >= 0 && value < MOST_SECONDS)) return `${value}`;
  const whole = Math.floor(value);
  const fraction = micros - whole * 1e6;
  if (fraction === 0) return `${whole}`;
  const thousands = Math.floor(fraction / 1000);
  const rest = fraction - thousands * 1000;
  return rest === 0
    ? `${whole}.${WITHOUT_ZEROS[thousands]}`
    : `${whole}.${THREE_DIGITS[thousands]}${WITHOUT_ZEROS[rest]}`;
}
