/**
 * The answer to a request that is denied: 429 (RFC 6585), or 503 when it is the limiter that is not well and fails closed. The
 * body is a problem (RFC 9457), or the common JSON form for clients that ask for plain JSON.
 */
import type { RateLimitResult } from '../model/decision.ts';
import { checkOptionNames } from '../model/options.ts';
import { preferred } from './accept.ts';
import { type HeaderValues, NO_HEADERS, retryAfterSeconds } from './headers.ts';

export interface Denial {
  readonly status: number;
  readonly headers: HeaderValues;
  readonly body: string;
}

export interface DenialOptions {
  /** The Accept header of the request. */
  readonly accept?: string | undefined;
  /** Headers to send along: those of `rateLimitHeaders`. */
  readonly headers?: HeaderValues | undefined;
}

export function denial(result: RateLimitResult, options: DenialOptions = {}): Denial {
  checkOptionNames(options, ['accept', 'headers'], 'denial');
  return denialOf(result, options.accept, options.headers ?? NO_HEADERS);
}

/** The same without a look at options, for the gate. */
export function denialOf(result: RateLimitResult, accept: string | undefined, rateLimit: HeaderValues): Denial {
  const reason = failsClosed(result) ? REDUCED_CAPACITY : QUOTA_EXCEEDED;
  const seconds = retryAfterSeconds(result);
  const type = preferred(accept, ['application/problem+json', 'application/json']);
  const body = type === 'application/json' ? plainBody(reason, seconds) : problemBody(reason, seconds, result);
  return { status: reason.status, headers: headersOf(rateLimit, type, seconds), body: JSON.stringify(body) };
}

function headersOf(rateLimit: HeaderValues, type: string, seconds: number | undefined): HeaderValues {
  const headers: Record<string, string> = { ...rateLimit, 'Content-Type': type, 'Cache-Control': 'no-store' };
  if (seconds !== undefined) headers['Retry-After'] = `${seconds}`;
  return headers;
}

/**
 * Nobody knows what the key has spent: that is no fault of the client. A cost that never fits is one, whoever answers, and so is a limit
 * that is reached, also when another store has counted (`source` is 'fallback').
 */
function failsClosed({ allowed, source, retryAfter }: RateLimitResult): boolean {
  return !allowed && source === 'fail-closed' && Number.isFinite(retryAfter);
}

interface Reason {
  readonly status: number;
  readonly type: string;
  readonly title: string;
  readonly error: string;
  readonly message: string;
}

const PROBLEM_TYPES = 'https://iana.org/assignments/http-problem-types';

const QUOTA_EXCEEDED: Reason = {
  status: 429,
  type: `${PROBLEM_TYPES}#quota-exceeded`,
  title: 'Request cannot be satisfied as assigned quota has been exceeded',
  error: 'rate_limited',
  message: 'Too many requests.',
};

const REDUCED_CAPACITY: Reason = {
  status: 503,
  type: `${PROBLEM_TYPES}#temporary-reduced-capacity`,
  title: 'Request cannot be satisfied due to temporary server capacity constraints',
  error: 'temporarily_unavailable',
  message: 'Temporarily unavailable.',
};

function plainBody({ error, message }: Reason, seconds: number | undefined): object {
  return { error, message: `${message} ${advice(seconds)}` };
}

function problemBody(reason: Reason, seconds: number | undefined, { decisions }: RateLimitResult): object {
  const { type, title, status, message } = reason;
  const problem = { type, title, status, detail: `${message} ${advice(seconds)}` };
  if (reason !== QUOTA_EXCEEDED) return problem;
  const violated = decisions.filter(({ allowed }) => !allowed).map(({ policy }) => policy);
  return { ...problem, 'violated-policies': violated };
}

function advice(seconds: number | undefined): string {
  if (seconds === undefined) return 'This request costs more than its limit ever allows.';
  return `Retry after ${seconds} second${seconds === 1 ? '' : 's'}.`;
}
