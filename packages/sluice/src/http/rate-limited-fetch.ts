/**
 * A `fetch` that keeps to limits: to yours, by a limiter that every request asks first, and to the server's, by waiting as
 * long as a 429, 503 or 403 says and trying again. All of it happens within one deadline; when the next try would come after
 * it, the caller gets the last response at once instead of a wait in vain.
 */
import { type Cost, checkCost, isByName } from '../limiter/costs.ts';
import type { Limiter } from '../limiter/limiter.ts';
import { type Clock, checkClock, systemClock } from '../model/clock.ts';
import { type Duration, parseDuration } from '../model/duration.ts';
import { Kind } from '../model/errors.ts';
import { checkFunction, checkOptionNames, invalidOption } from '../model/options.ts';
import { parseRateLimit } from './parse-rate-limit.ts';
import { MAX_TIMER_MS, type Sleep, sleep as sleepOnTimer, timeLimit } from './timers.ts';
import { deadlinePassed, takeTurn } from './turn.ts';

/** A function like the global `fetch`. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** What `rateLimitedFetch` takes besides the function. */
export interface RateLimitedFetchOptions {
  /** Asked before every try. Without one only the server's limits are kept. */
  readonly limiter?: Limiter | undefined;
  /** Whose limit a request spends from. Default: the host it goes to. */
  readonly key?: string | ((url: string) => string) | undefined;
  /**
   * What a request spends: one number, one for each policy by its name, or a function of the URL and the options of `fetch` that says so. Default: 1.
   */
  readonly cost?: Cost | ((url: string, init?: RequestInit) => Cost) | undefined;
  /** For everything until the response begins: turns, tries and waits. Default: 30 s. */
  readonly deadline?: Duration | undefined;
  /** How often to try again. Default: 3. */
  readonly retries?: number | undefined;
  /** Ends all requests, besides the signal each may have of its own. */
  readonly signal?: AbortSignal | undefined;
  /** For tests, both. */
  readonly clock?: Clock | undefined;
  readonly sleep?: Sleep | undefined;
}

/**
 * A `fetch` that keeps the limits of the servers it calls: it waits for your limiter, reads their rate limit headers, and tries again after a 429 or 503 when the
 * server says when.
 *
 * @example
 * const fetchSlowly = rateLimitedFetch(fetch, { limiter });
 * const response = await fetchSlowly('https://api.example.com/items');
 */
export function rateLimitedFetch(fetch: Fetch, options: RateLimitedFetchOptions = {}): Fetch {
  const settings = settingsOf(options);
  if (typeof fetch !== 'function') throw invalidOption('rateLimitedFetch(fetch)', 'a function', Kind.of(fetch));
  return async (input, init) => {
    const limit = timeLimit(settings.deadlineMs, deadlinePassed);
    try {
      return await tryUntil(fetch, input, init, settings, limit.signal);
    } finally {
      limit.lift();
    }
  };
}

async function tryUntil(
  fetch: Fetch,
  input: string | URL | Request,
  init: RequestInit | undefined,
  settings: Settings,
  timeIsUp: AbortSignal,
): Promise<Response> {
  const { clock, sleep, limiter } = settings;
  const signal = AbortSignal.any([timeIsUp, ...signalsOf(settings.signal, input, init)]);
  const wait = { clock, sleep, endsAt: clock.now() + settings.deadlineMs, signal };
  const retries = canSendAgain(init) ? settings.retries : 0;
  for (let tries = 0; ; tries++) {
    signal.throwIfAborted();
    if (limiter !== undefined)
      await takeTurn(limiter, settings.keyOf(urlOf(input)), settings.costOf(urlOf(input), init), wait);
    const response = await fetch(copyOf(input), { ...init, signal });
    const waitMs = retryDelayMs(response, clock.now(), tries);
    if (tries >= retries || clock.now() + waitMs > wait.endsAt) return response;
    await response.body?.cancel();
    await sleep(waitMs, signal);
  }
}

/** Statuses that tell of limits. GitHub says 403. */
const LIMITED: readonly number[] = [403, 429, 503];

/** How long to wait before the next try; Infinity when there should be none. */
function retryDelayMs(response: Response, now: number, tries: number): number {
  if (!LIMITED.includes(response.status)) return Number.POSITIVE_INFINITY;
  const { retryAfter, remaining, resetAfter } = parseRateLimit(response, now);
  const seconds = retryAfter ?? (remaining === 0 ? resetAfter : undefined) ?? backoff(response.status, tries);
  return Math.ceil(seconds * 1e3);
}

/** A 429 without a word on when is tried again in 1, 2, 4, ... seconds; a 503 without one may last, a 403 is no limit then, and neither is. */
function backoff(status: number, tries: number): number {
  return status === 429 ? 2 ** tries : Number.POSITIVE_INFINITY;
}

/** A stream can be read only once, whether it is one of the web or of Node, or a generator. A Request is copied before each try. */
function canSendAgain(init: RequestInit | undefined): boolean {
  const body: unknown = init?.body;
  const isStream = typeof body === 'object' && body !== null && ('getReader' in body || Symbol.asyncIterator in body);
  return !isStream;
}

function copyOf(input: string | URL | Request): string | URL | Request {
  return input instanceof Request ? input.clone() : input;
}

function urlOf(input: string | URL | Request): string {
  return input instanceof Request ? input.url : String(input);
}

/** As in fetch itself, the signal in `init` replaces that of a Request. */
function signalsOf(
  common: AbortSignal | undefined,
  input: string | URL | Request,
  init: RequestInit | undefined,
): readonly AbortSignal[] {
  const own = init?.signal ?? (input instanceof Request ? input.signal : undefined);
  return [common, own].filter((signal) => signal !== undefined);
}

interface Settings {
  readonly limiter: Limiter | undefined;
  readonly keyOf: (url: string) => string;
  readonly costOf: (url: string, init?: RequestInit) => Cost;
  readonly deadlineMs: number;
  readonly retries: number;
  readonly signal: AbortSignal | undefined;
  readonly clock: Clock;
  readonly sleep: Sleep;
}

const OPTIONS = ['limiter', 'key', 'cost', 'deadline', 'retries', 'signal', 'clock', 'sleep'] as const;

function settingsOf(options: RateLimitedFetchOptions): Settings {
  checkOptionNames(options, OPTIONS, 'rateLimitedFetch');
  const { limiter, key, cost = 1, deadline = '30s', retries = 3, signal } = options;
  const { clock = systemClock, sleep = sleepOnTimer } = options;
  checkLimiter(limiter);
  checkFunction(sleep, 'rateLimitedFetch.sleep');
  return {
    limiter,
    keyOf: keyFunction(key),
    costOf: costFunction(cost),
    deadlineMs: checkDeadline(deadline),
    retries: checkRetries(retries),
    signal: checkSignal(signal),
    clock: checkClock(clock, 'rateLimitedFetch.clock'),
    sleep,
  };
}

function checkLimiter(limiter: unknown): void {
  if (limiter === undefined || typeof (limiter as Limiter | null)?.attempt === 'function') return;
  throw invalidOption('rateLimitedFetch.limiter', 'a limiter, as createLimiter({ ... }) makes it', Kind.of(limiter));
}

function keyFunction(key: unknown): (url: string) => string {
  if (key === undefined) return hostOf;
  if (typeof key === 'function') return key as (url: string) => string;
  if (typeof key === 'string') return () => key;
  throw invalidOption('rateLimitedFetch.key', 'a string, or a function of the URL', Kind.of(key));
}

/** What it must be in detail the limiter knows, which has the policies. */
function costFunction(cost: Cost | Settings['costOf']): Settings['costOf'] {
  if (typeof cost === 'function') return cost;
  if (!isByName(cost)) checkCost(cost, 'rateLimitedFetch.cost');
  return () => cost;
}

/** A URL without a host, as pages use it, goes to where the page came from: one limit for all of these. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : '';
}

function checkDeadline(deadline: unknown): number {
  const ms = parseDuration(deadline, 'rateLimitedFetch.deadline');
  if (ms <= MAX_TIMER_MS) return ms;
  throw invalidOption('rateLimitedFetch.deadline', 'at most 24 days', deadline);
}

function checkRetries(retries: unknown): number {
  if (Number.isSafeInteger(retries) && (retries as number) >= 0) return retries as number;
  throw invalidOption('rateLimitedFetch.retries', 'a whole number of at least 0', retries);
}

function checkSignal(signal: unknown): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return signal;
  throw invalidOption('rateLimitedFetch.signal', 'an AbortSignal', Kind.of(signal));
}
