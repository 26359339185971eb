/**
 * What a server says about its limits, in whichever of the common forms, as one object: the drafts (`RateLimit`,
 * `RateLimit-*`), `X-RateLimit-*` and `X-Rate-Limit-*` with GitHub's, OpenAI's and Discord's additions, `anthropic-ratelimit-*`, Shopify's, and
 * Retry-After. What is malformed is ignored, as if it had not been sent.
 */
import { systemClock } from '../model/clock.ts';
import { parseDate, secondsUntil } from './moments.ts';
import { type HeaderMap, NOTHING_KNOWN, type Quota, quotasIn } from './quotas.ts';

/** What a response says of the limits of a server, in whichever form it says it. Seconds; undefined where it says nothing. */
export interface RateLimitReport {
  /** Of the quota that runs out first. */
  readonly limit: number | undefined;
  readonly remaining: number | undefined;
  readonly resetAfter: number | undefined;
  /** Seconds to wait before the next request, when the server says so itself. */
  readonly retryAfter: number | undefined;
  readonly quotas: readonly Quota[];
}

type HeaderBag =
  | { forEach(visit: (value: string, name: string) => void): void }
  | Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** A response, its Headers, or headers as a plain object (node:http, axios). */
export type HeaderSource = { readonly headers: HeaderBag } | HeaderBag;

/** `now` is milliseconds since the epoch; a Date header of the server's goes before it, since the server counts by that clock. */
export function parseRateLimit(source: HeaderSource, now: number = systemClock.now()): RateLimitReport {
  const headers = readHeaders(source);
  const serverNow = parseDate(headers.get('date')) ?? now;
  const quotas = quotasIn(headers, serverNow);
  const { limit, remaining, resetAfter } = tightestOf(quotas);
  return { limit, remaining, resetAfter, retryAfter: retryAfterIn(headers, serverNow), quotas };
}

function readHeaders(source: HeaderSource): HeaderMap {
  const bag = ('headers' in source && typeof source.headers === 'object' ? source.headers : source) as HeaderBag;
  const headers = new Map<string, string>();
  const keep = (value: unknown, name: string): void => {
    if (value !== undefined && value !== null) headers.set(name.toLowerCase(), String(value).trim());
  };
  if (typeof bag.forEach === 'function') bag.forEach(keep);
  else for (const [name, value] of Object.entries(bag)) keep(value, name);
  return headers;
}

function retryAfterIn(headers: HeaderMap, now: number): number | undefined {
  const ms = headers.get('retry-after-ms');
  if (ms !== undefined && /^\d+(?:\.\d+)?$/.test(ms)) return Number(ms) / 1e3;
  const text = headers.get('retry-after');
  return text === undefined ? undefined : secondsUntil(text, now);
}

/** The one with the least left of its limit. One that does not say is the last to be asked. */
function tightestOf(quotas: readonly Quota[]): Quota {
  const shareLeft = ({ remaining, limit }: Quota): number =>
    remaining === undefined ? Number.POSITIVE_INFINITY : remaining / Math.max(1, limit ?? Number.MAX_SAFE_INTEGER);
  return quotas.reduce(
    (tightest, next) => (shareLeft(next) < shareLeft(tightest) ? next : tightest),
    quotas[0] ?? NOTHING_KNOWN,
  );
}
