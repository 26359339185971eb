/** The library's front door: policies, the limiter, the embedded store. */
export type { AcquireOptions } from './limiter/acquire.ts';
export type { BlockOptions, ChangeResult, PenalizeOptions, RefundOptions } from './limiter/changes.ts';
export type { AttemptOptions, ContextOption, PolicyChoice, PolicyOptions, WithContext } from './limiter/core.ts';
export type { Cost, Costs } from './limiter/costs.ts';
export type { EnterOptions, RunOptions } from './limiter/enter.ts';
export type { AttemptEntry } from './limiter/entries.ts';
export type { Estimate, Hold, ReservedCost, ReserveOptions, SettleOptions } from './limiter/hold.ts';
export {
  type AttemptVerb,
  type HistoryOptions,
  type Limiter,
  type LimiterOptions,
  type LimiterSettings,
  limiterOver,
} from './limiter/limiter.ts';
export type { Settlement } from './limiter/settle.ts';
export type { Sleep, Timers } from './limiter/sleep.ts';
export type { SpendOptions } from './limiter/special.ts';
export {
  type MemoryStore,
  type MemoryStoreOptions,
  type MemoryStoreStats,
  memoryStore,
} from './memory/memory-store.ts';
export { type Clock, type ManualClock, manualClock, systemClock } from './model/clock.ts';
export type { Decision, HistoryEntry, RateLimitResult, Source } from './model/decision.ts';
export { type Duration, type DurationUnit, parseDuration, parseRate, type Rate } from './model/duration.ts';
export { type ErrorCode, type ErrorKind, SluiceError } from './model/errors.ts';
export type { Permit } from './model/permit.ts';
export type { NameOption, Policy } from './model/policy.ts';
export type { Store } from './model/store.ts';
export { algorithms, type CheckPolicyOptions, checkPolicy, policyMistakes } from './policies/check-policy.ts';
export { type NothingPolicy, nothing, type UnlimitedPolicy, unlimited } from './policies/fixed.ts';
export * from './policies/functions.generated.ts';
export { type CreateLimiterOptions, createLimiter } from './presets/create-limiter.ts';
