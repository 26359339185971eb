/**
 * The answer to a request that is denied: 429 (RFC 6585), or 503 when the limiter itself is not well and fails closed. The body is a
 * problem (RFC 9457) that also has the two members most clients look for, `error` and `message`. It is the same whatever `Accept` says;
 * clients that ask for plain JSON get it under that type.
 */
import type { Decision, RateLimitResult } from '../model/decision.ts';
import { checkOptionNames, invalidOption } from '../model/options.ts';
import { preferred } from './accept.ts';
import { type HeaderValues, NO_HEADERS, retryAfterSeconds } from './headers.ts';

/** A whole response. */
export interface Denial {
  readonly status: number;
  readonly headers: HeaderValues;
  readonly body: string;
}

/** What `denial` takes besides the result. */
export interface DenialOptions {
  /** The Accept header of the request. */
  readonly accept?: string | undefined;
  /** Headers to send along: those of `rateLimitHeaders`. */
  readonly headers?: HeaderValues | undefined;
}

/**
 * The response to an attempt that was denied.
 *
 * @example
 * const { status, headers, body } = denial(result, { accept: request.headers.accept });
 */
export function denial(result: RateLimitResult, options: DenialOptions = {}): Denial {
  checkOptionNames(options, ['accept', 'headers'], 'denial');
  return denialOf(result, options.accept, options.headers ?? NO_HEADERS);
}

/** The same without a look at options, for the gate. */
export function denialOf(result: RateLimitResult, accept: string | undefined, rateLimit: HeaderValues): Denial {
  const reason = failsClosed(result) ? REDUCED_CAPACITY : QUOTA_EXCEEDED;
  const seconds = retryAfterSeconds(result);
  const message = `${reason.message} ${advice(seconds, result)}`;
  const violated = { 'violated-policies': namesOf(result.decisions) };
  const denied = problemOf(accept, { ...reason, message }, reason === QUOTA_EXCEEDED ? violated : {});
  const retryAfter = seconds === undefined ? NO_HEADERS : { 'Retry-After': `${seconds}` };
  return { ...denied, headers: { ...rateLimit, ...denied.headers, ...retryAfter } };
}

/** Of those that deny and that clients are to read about. */
function namesOf(decisions: readonly Decision[]): readonly string[] {
  return decisions.filter(({ allowed, visible }) => !allowed && visible !== false).map(({ policy }) => policy);
}

export interface Problem {
  readonly status: number;
  /** Default: 'about:blank', which says no more than the status does. */
  readonly type?: string | undefined;
  readonly title?: string | undefined;
  /** For programs: `rate_limited`. */
  readonly error: string;
  /** For people, in one or two sentences. */
  readonly message: string;
}

/** A response with a problem for its body. `more` are members of its own. */
export function problemOf(
  accept: string | undefined,
  { status, type = 'about:blank', title = TITLES[status] ?? 'Request denied', error, message }: Problem,
  more: object = {},
): Denial {
  const contentType = preferred(accept, ['application/problem+json', 'application/json']);
  return {
    status,
    headers: { 'Content-Type': contentType, 'Cache-Control': 'no-store' },
    body: JSON.stringify({ type, title, status, detail: message, error, message, ...more }),
  };
}

/** With `about:blank` the title is that of the status. */
const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  422: 'Unprocessable Content',
  500: 'Internal Server Error',
};

/**
 * What a function of the user's gave to be sent, undefined when that is nothing. A function that only counts may give a number back, which
 * is no response. What looks like a response and cannot be sent is a mistake: each framework would make something else of it, one a 204.
 */
export function responseOf(given: unknown, path: string): Denial | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  const { status, headers, body } = given as Partial<Denial>;
  const hasStatus = Number.isInteger(status) && status! >= 200 && status! <= 599;
  if (hasStatus && typeof headers === 'object' && headers !== null && typeof body === 'string') return given as Denial;
  throw invalidOption(path, 'nothing, or { status, headers, body } with a body that is text', given);
}

/**
 * Nobody knows what the key has spent: that is no fault of the client. A cost that never fits is one, whoever answers, and so is a limit
 * that is reached, also when another store has counted (`source` is 'fallback').
 */
function failsClosed({ allowed, source, retryAfter }: RateLimitResult): boolean {
  return !allowed && source === 'fail-closed' && Number.isFinite(retryAfter);
}

const PROBLEM_TYPES = 'https://iana.org/assignments/http-problem-types';

const QUOTA_EXCEEDED: Problem = {
  status: 429,
  type: `${PROBLEM_TYPES}#quota-exceeded`,
  title: 'Request cannot be satisfied as assigned quota has been exceeded',
  error: 'rate_limited',
  message: 'Too many requests.',
};

const REDUCED_CAPACITY: Problem = {
  status: 503,
  type: `${PROBLEM_TYPES}#temporary-reduced-capacity`,
  title: 'Request cannot be satisfied due to temporary server capacity constraints',
  error: 'temporarily_unavailable',
  message: 'Temporarily unavailable.',
};

function advice(seconds: number | undefined, { limit, source }: RateLimitResult): string {
  if (limit === 0) return 'Nothing is allowed here.';
  if (seconds === undefined && source === 'exception') return 'This client is blocked.';
  if (seconds === undefined) return 'This request costs more than its limit ever allows.';
  return `Retry after ${seconds} second${seconds === 1 ? '' : 's'}.`;
}
