/** The library's front door: policies, the limiter, the embedded store. */
import { type Limiter, type LimiterOptions, limiterOver } from './limiter/limiter.ts';
import { memoryStore } from './memory/memory-store.ts';
import { noteStore } from './model/limiter-store.ts';
import { checkOptionNames } from './model/options.ts';
import type { Store } from './model/store.ts';

export type CreateLimiterOptions<Context> = Omit<LimiterOptions<Context>, 'store'> & {
  /** Default: a memory store of its own. */
  readonly store?: Store | undefined;
};

/** A limiter over a store; without one, over a memory store of its own. */
export function createLimiter<Context = unknown>(options: CreateLimiterOptions<Context>): Limiter<Context> {
  checkOptionNames(options, ['policy', 'policies', 'store', 'queueLimit', 'timers'], 'createLimiter');
  const store = options.store === undefined ? memoryStore() : options.store;
  const limiter = limiterOver({ ...options, store });
  noteStore(limiter, store);
  return limiter;
}

export type {
  AcquireOptions,
  AttemptEntry,
  AttemptOptions,
  AttemptVerb,
  ChangeResult,
  ContextOption,
  HistoryOptions,
  Hold,
  Limiter,
  PolicyChoice,
  RefundOptions,
  ReserveOptions,
  Settlement,
  Sleep,
  Timers,
} from './limiter/limiter.ts';
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from './memory/memory-store.ts';
export type { Spent } from './model/algorithm.ts';
export { type Clock, type ManualClock, manualClock, systemClock } from './model/clock.ts';
export type { Decision, HistoryEntry, RateLimitResult, Source } from './model/decision.ts';
export type { Duration, DurationUnit, Rate } from './model/duration.ts';
export { type ErrorCode, SluiceError } from './model/errors.ts';
export {
  type AlgorithmName,
  checkPolicy,
  type FixedWindowOptions,
  type FixedWindowPolicy,
  fixedWindow,
  type GcraOptions,
  type GcraPolicy,
  gcra,
  type LeakyBucketOptions,
  type LeakyBucketPolicy,
  leakyBucket,
  type Policy,
  policyMistakes,
  type SlidingWindowCounterPolicy,
  type SlidingWindowLogPolicy,
  slidingWindowCounter,
  slidingWindowLog,
  type TokenBucketOptions,
  type TokenBucketPolicy,
  tokenBucket,
  type WindowOptions,
} from './model/policy.ts';
export type { Change, Check, DecideOptions, MaybePromise, Store, Verdict, Verdicts } from './model/store.ts';
