/**
 * `sluice/express-rate-limit`: a store for express-rate-limit, so that an app can keep its middleware and get Sluice beneath: exact on
 * Redis, with any algorithm. It counts what was admitted, not what was refused: a client that keeps knocking is let in again when
 * its time has come.
 */
import type { ClientRateLimitInfo, Store as ExpressRateLimitStore, Options } from 'express-rate-limit';
import { checkFunction, invalidOption } from '../http/options.ts';
import { createLimiter } from '../index.ts';
import type { Limiter } from '../limiter/limiter.ts';
import type { RateLimitResult } from '../model/decision.ts';
import { Kind } from '../model/errors.ts';
import { checkOptionNames } from '../model/options.ts';
import { fixedWindow, type Policy } from '../model/policy.ts';
import { checkStore, type Store } from '../model/store.ts';

export interface SluiceStoreOptions {
  /** Decides; give the middleware the same `limit`. Without one, the middleware's `limit` and `windowMs` make the policy. */
  readonly limiter?: Limiter | undefined;
  /** Where the state is kept when there is no limiter. Default: the memory of this process. */
  readonly store?: Store | undefined;
  /** The policy when there is no limiter. Default: a fixed window from the first request on, as express-rate-limit counts. */
  readonly policy?: ((limits: MiddlewareLimits) => Policy) | undefined;
  /** Goes before every key, so that two middlewares do not count together. */
  readonly prefix?: string | undefined;
}

export interface MiddlewareLimits {
  readonly limit: number;
  /** Milliseconds. */
  readonly window: number;
}

/** How many keys may have refusals that are not taken back yet. */
const MAX_PENDING = 10_000;

export function sluiceStore(options: SluiceStoreOptions = {}): ExpressRateLimitStore {
  checkOptions(options);
  const { prefix = '' } = options;
  let { limiter } = options;
  let ceiling = 0;
  let takesBackRefusals = false;
  const refusals = new Map<string, number>();

  const asked = (): Limiter => {
    if (limiter !== undefined) return limiter;
    throw invalidOption(
      'sluiceStore',
      'to be given to rateLimit({ store }) of express-rate-limit',
      new Kind('no such call'),
    );
  };
  const noteRefusal = (key: string): void => {
    if (!takesBackRefusals) return;
    refusals.set(key, (refusals.get(key) ?? 0) + 1);
    if (refusals.size > MAX_PENDING) refusals.delete(refusals.keys().next().value!);
  };
  /** The middleware takes back every failed request, and a refused one has failed: but that one has spent nothing. */
  const wasRefusal = (key: string): boolean => {
    const pending = refusals.get(key) ?? 0;
    if (pending > 1) refusals.set(key, pending - 1);
    else refusals.delete(key);
    return pending > 0;
  };

  return {
    prefix,
    localKeys: options.limiter === undefined && options.store === undefined,
    init(middleware) {
      limiter ??= limiterFor(options, middleware);
      ceiling = typeof middleware.limit === 'number' ? middleware.limit : Number.MAX_SAFE_INTEGER - 1;
      takesBackRefusals = middleware.skipFailedRequests === true;
    },
    async increment(key) {
      const result = await asked().attempt(prefix + key);
      if (result.allowed) return infoOf(result);
      noteRefusal(key);
      return { totalHits: Math.max(result.limit, ceiling) + 1, resetTime: retryTime(result) };
    },
    async decrement(key) {
      if (!wasRefusal(key)) await asked().refund(prefix + key);
    },
    async resetKey(key) {
      await asked().reset(prefix + key);
    },
    async get(key) {
      return infoOf(await asked().peek(prefix + key, { cost: 0 }));
    },
  };
}

function infoOf({ limit, remaining, resetAt }: RateLimitResult): ClientRateLimitInfo {
  return { totalHits: limit - remaining, resetTime: timeOf(resetAt) };
}

/** The middleware tells it as Retry-After. */
function retryTime({ resetAt, resetAfter, retryAfter }: RateLimitResult): Date {
  return timeOf(Number.isFinite(retryAfter) ? resetAt - resetAfter + retryAfter! : resetAt);
}

function timeOf(seconds: number): Date {
  return new Date(Math.ceil(seconds * 1e3));
}

function limiterFor({ store, policy = sameAsTheirs }: SluiceStoreOptions, { limit, windowMs }: Options): Limiter {
  if (typeof limit !== 'number') {
    throw invalidOption(
      'rateLimit.limit',
      'a number, or sluiceStore({ limiter }) with limits by context',
      Kind.of(limit),
    );
  }
  return createLimiter({ policy: policy({ limit, window: windowMs }), store });
}

function sameAsTheirs(limits: MiddlewareLimits): Policy {
  return fixedWindow({ ...limits, align: 'first' });
}

function checkOptions(options: SluiceStoreOptions): void {
  checkOptionNames(options, ['limiter', 'store', 'policy', 'prefix'], 'sluiceStore');
  const { limiter, store, policy, prefix } = options;
  if (limiter !== undefined && typeof limiter?.attempt !== 'function') {
    throw invalidOption('sluiceStore.limiter', 'a limiter, as createLimiter({ ... }) makes it', Kind.of(limiter));
  }
  if (limiter !== undefined && (store ?? policy) !== undefined) {
    throw invalidOption('sluiceStore', 'a limiter, or store and policy to make one of', new Kind('both'));
  }
  if (store !== undefined) checkStore(store, 'sluiceStore.store');
  checkFunction(policy, 'sluiceStore.policy');
  if (prefix !== undefined && typeof prefix !== 'string') throw invalidOption('sluiceStore.prefix', 'a string', prefix);
}
