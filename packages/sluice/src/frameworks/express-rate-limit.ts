/**
 * `sluice/express-rate-limit`: a store for express-rate-limit, so that an app can keep its middleware and get Sluice beneath: exact on
 * Redis, with any algorithm. It counts what was admitted, not what was refused: a client that keeps knocking is let in again when
 * its time has come.
 */
import type { ClientRateLimitInfo, Store as ExpressRateLimitStore, Options } from 'express-rate-limit';
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts';
import type { Limiter } from '../limiter/limiter.ts';
import type { RateLimitResult } from '../model/decision.ts';
import { Kind } from '../model/errors.ts';
import { checkFunction, checkOptionNames, invalidOption } from '../model/options.ts';
import type { Policy } from '../model/policy.ts';
import { checkStore, type Store } from '../model/store.ts';
import { createLimiter } from '../presets/create-limiter.ts';

/** What `sluiceStore` takes. */
export interface SluiceStoreOptions {
  /**
   * Decides; give the middleware the same `limit`. Without one, the middleware's `limit` and `windowMs` make the policy; a `limit` that is a
   * function is for the middleware to apply, and the store only counts.
   */
  readonly limiter?: Limiter | undefined;
  /** Where the state is kept when there is no limiter. Default: the memory of this process. */
  readonly store?: Store | undefined;
  /** The policy when there is no limiter. Default: a fixed window from the first request on, as express-rate-limit counts. */
  readonly policy?: ((limits: MiddlewareLimits) => Policy) | undefined;
  /** Goes before every key, so that two middlewares do not count together. */
  readonly prefix?: string | undefined;
}

/** What the middleware was given as `limit` and `windowMs`. */
export interface MiddlewareLimits {
  readonly limit: number;
  /** Milliseconds. */
  readonly window: number;
}

/** How many keys may have refusals that are not taken back yet. */
const MAX_PENDING = 10_000;

/**
 * A store for express-rate-limit, so that an app that uses it gets limits from Sluice without changing its middleware.
 *
 * @example
 * app.use(rateLimit({ limit: 100, windowMs: 60_000, store: sluiceStore({ store: redisStore(client) }) }));
 */
export function sluiceStore(options: SluiceStoreOptions = {}): ExpressRateLimitStore {
  checkOptions(options);
  const { prefix = '' } = options;
  const isLocal = options.limiter === undefined && options.store === undefined;
  let { limiter } = options;
  let startAnew = (): void => {};
  let ceiling = 0;
  const refusals = new Refusals();

  const asked = (): Limiter => {
    if (limiter !== undefined) return limiter;
    throw invalidOption(
      'sluiceStore',
      'to be given to rateLimit({ store }) of express-rate-limit',
      new Kind('no such call'),
    );
  };

  return {
    prefix,
    localKeys: isLocal,
    init(middleware) {
      startAnew = () => {
        limiter = limiterFor(options, middleware);
        refusals.clear();
      };
      if (limiter === undefined) startAnew();
      ceiling = typeof middleware.limit === 'number' ? middleware.limit : Number.MAX_SAFE_INTEGER - 1;
      refusals.areTakenBack = middleware.skipFailedRequests || middleware.skipSuccessfulRequests ? 'unsure' : false;
      void refusalsAreTakenBack(middleware).then((isSo) => {
        refusals.areTakenBack = isSo;
      });
    },
    async increment(key) {
      const result = await asked().attempt(prefix + key);
      // Refusals are answered at once: one that is still waiting when the next request is let in will not be taken back any more.
      if (result.allowed && refusals.areTakenBack === 'unsure') refusals.forget(key);
      if (result.allowed) return infoOf(result);
      refusals.note(key);
      return { totalHits: Math.max(result.limit, ceiling) + 1, resetTime: retryTime(result) };
    },
    async decrement(key) {
      if (!refusals.take(key)) await asked().refund(prefix + key);
    },
    async resetKey(key) {
      await asked().reset(prefix + key);
    },
    async get(key) {
      const result = await asked().peek(prefix + key, { cost: 0 });
      return result.resetAfter === 0 ? undefined : infoOf(result);
    },
    // What others share is not for one of them to forget.
    ...(isLocal && { resetAll: async () => startAnew() }),
  };
}

/** The middleware takes back requests that failed, or that succeeded, and a refused one is among them: but that one has spent nothing. */
class Refusals {
  areTakenBack: boolean | 'unsure' = false;
  readonly #pending = new Map<string, number>();

  note(key: string): void {
    if (this.areTakenBack === false) return;
    this.#pending.set(key, (this.#pending.get(key) ?? 0) + 1);
    if (this.#pending.size > MAX_PENDING) this.forget(this.#pending.keys().next().value!);
  }

  /** Whether what is taken back now was a refusal. */
  take(key: string): boolean {
    const pending = this.#pending.get(key) ?? 0;
    if (pending > 1) this.#pending.set(key, pending - 1);
    else this.#pending.delete(key);
    return pending > 0;
  }

  forget(key: string): void {
    this.#pending.delete(key);
  }

  clear(): void {
    this.#pending.clear();
  }
}

/**
 * Whether the middleware will call `decrement` for a request it has refused. It goes by `requestWasSuccessful`, which is asked here with all that is
 * known of a refusal, its status; one that wants to know more cannot be told, and throws.
 */
async function refusalsAreTakenBack(middleware: Options): Promise<boolean | 'unsure'> {
  const { skipFailedRequests, skipSuccessfulRequests, requestWasSuccessful, statusCode } = middleware;
  if (Boolean(skipFailedRequests) === Boolean(skipSuccessfulRequests)) return Boolean(skipFailedRequests);
  try {
    const succeeded = await requestWasSuccessful(undefined as never, { statusCode } as never);
    return Boolean(succeeded ? skipSuccessfulRequests : skipFailedRequests);
  } catch {
    return 'unsure';
  }
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

/** Higher than anyone counts: then the store says how many, and the middleware whether that is too many. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;

function limiterFor({ store, policy }: SluiceStoreOptions, { limit, windowMs: window }: Options): Limiter {
  if (typeof limit === 'number' && limit >= 1) {
    return createLimiter({ policy: (policy ?? sameAsTheirs)({ limit, window }), store });
  }
  if (policy === undefined) return createLimiter({ policy: sameAsTheirs({ limit: NO_LIMIT, window }), store });
  throw invalidOption(
    'rateLimit.limit',
    'a number of at least 1 for the policy, or sluiceStore({ limiter }) with limits by context',
    typeof limit === 'number' ? limit : Kind.of(limit),
  );
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
