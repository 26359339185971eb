/**
 * `sluice/nestjs-throttler`: a storage for @nestjs/throttler, so that an app can keep its guard and decorators and get Sluice beneath:
 * one limit for all processes. A block is a window of its own, from the first refusal on: knocking does not prolong it.
 */
import type { ThrottlerStorage } from '@nestjs/throttler';
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts';
import { slidingWindowLog } from '../algorithms/sliding-window-log/sliding-window-log.ts';
import type { Limiter } from '../limiter/limiter.ts';
import type { RateLimitResult } from '../model/decision.ts';
import { checkFunction, checkOptionNames } from '../model/options.ts';
import type { Policy } from '../model/policy.ts';
import type { Store } from '../model/store.ts';
import { createLimiter } from '../presets/create-limiter.ts';

/** What `throttlerStorage` takes. */
export interface ThrottlerStorageOptions {
  /** Default: the memory of this process. */
  readonly store?: Store | undefined;
  /** What `limit` and `ttl` of a throttler mean. Default: a sliding window log, as throttler itself counts: each hit for its own `ttl`. */
  readonly policy?: ((throttler: Throttler) => Policy) | undefined;
}

/** One of the throttlers that the module was given. */
export interface Throttler {
  readonly name: string;
  readonly limit: number;
  /** Its `ttl`, in milliseconds. */
  readonly window: number;
}

type Answer = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/**
 * A storage for @nestjs/throttler, so that an app that uses it gets limits from Sluice without changing its guards.
 *
 * @example
 * ThrottlerModule.forRoot({ throttlers: [{ limit: 10, ttl: 60_000 }], storage: throttlerStorage({ store: redisStore(client) }) });
 */
export function throttlerStorage(options: ThrottlerStorageOptions = {}): ThrottlerStorage {
  checkOptionNames(options, ['store', 'policy'], 'throttlerStorage');
  checkFunction(options.policy, 'throttlerStorage.policy');
  const { store, policy: policyFor = slidingWindowLog } = options;
  const limiter = createLimiter<Policy>({ policy: (policy) => policy, store });

  return {
    async increment(key, ttl, limit, blockDuration, name) {
      if (limit < 1) return blockedFor(limit, (blockDuration || ttl) / 1e3);
      const policy = policyFor({ name, limit, window: ttl });
      if (blockDuration <= 0) return answerOf(limit, await limiter.attempt(key, { context: policy }));
      return underBlock(limiter, key, policy, limit, blockOf(name, blockDuration));
    },
  };
}

/** One unit, for as long as the block lasts: whoever has spent it is blocked. */
function blockOf(name: string, blockDuration: number): Policy {
  return fixedWindow({ name: `${name}:block`, limit: 1, window: blockDuration, align: 'first' });
}

/**
 * Both are asked at once, so that it is one way to the store; what a blocked request has spent is given back. Who was blocked starts anew
 * afterwards: since nothing is let in meanwhile, the hits are forgotten when the block begins.
 */
async function underBlock(
  limiter: Limiter<Policy>,
  key: string,
  policy: Policy,
  limit: number,
  block: Policy,
): Promise<Answer> {
  const [result, blocked] = await Promise.all([
    limiter.attempt(key, { context: policy }),
    limiter.peek(key, { context: block }),
  ]);
  if (!blocked.allowed) {
    if (result.allowed) await limiter.refund(key, { of: result, context: policy }).catch(ignore);
    return blockedFor(limit, blocked.retryAfter!);
  }
  if (result.allowed) return answerOf(limit, result);
  const { resetAfter } = await limiter.attempt(key, { context: block });
  await limiter.reset(key, { context: policy }).catch(ignore);
  return blockedFor(limit, resetAfter);
}

/** The request has its answer already. When the store is away just then, hits count that need not have. */
function ignore(): void {}

function answerOf(limit: number, { allowed, remaining, retryAfter, resetAfter }: RateLimitResult): Answer {
  if (!allowed) return blockedFor(limit, retryAfter!);
  return { totalHits: limit - remaining, timeToExpire: Math.ceil(resetAfter), isBlocked: false, timeToBlockExpire: 0 };
}

/** Whole seconds, upwards: the guard tells them as they are. */
function blockedFor(limit: number, seconds: number): Answer {
  const whole = Math.ceil(seconds);
  return { totalHits: limit + 1, timeToExpire: whole, isBlocked: true, timeToBlockExpire: whole };
}
