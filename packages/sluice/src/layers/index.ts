/** `sluice/layers`: stores around stores. */
export type { WakeAfter } from '../model/clock.ts';
export {
  type CircuitBreakerOptions,
  type CircuitChange,
  type CircuitState,
  circuitBreaker,
} from './circuit-breaker.ts';
export { type DeadlineOptions, deadline } from './deadline.ts';
export { type DenyCacheOptions, denyCache } from './deny-cache/deny-cache.ts';
export { type FallbackEvent, type FallbackOptions, fallback, type RecoveredEvent } from './fallback/fallback.ts';
export type { Hook } from './hooks.ts';
export { type Layer, layered } from './layered.ts';
export { type LeaseOptions, leases } from './leases/leases.ts';
export { type NearLimit, type NearLimitOptions, nearLimit } from './near-limit.ts';
export { type ResilientOptions, resilient } from './resilient.ts';
export { type ShadowDenied, type ShadowOptions, shadow } from './shadow.ts';
export { type ShardedOptions, sharded } from './sharded.ts';
export { type TelemetryMessage, type TelemetryOptions, telemetry } from './telemetry.ts';
