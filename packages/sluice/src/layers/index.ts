/** `sluice/layers`: stores around a store. They go together in any order; docs/layers.md says which one is right. */
export {
  type CircuitBreakerOptions,
  type CircuitChange,
  type CircuitState,
  circuitBreaker,
} from './circuit-breaker.ts';
export { type DeadlineOptions, deadline, type WakeAfter } from './deadline.ts';
export { type DenyCacheOptions, denyCache } from './deny-cache.ts';
export { type FallbackEvent, type FallbackOptions, fallback, type RecoveredEvent } from './fallback.ts';
export type { Hook } from './hooks.ts';
export { type Layer, layered } from './layered.ts';
export { type LeaseOptions, leases } from './leases.ts';
export { type ResilientOptions, resilient } from './resilient.ts';
export { type ShadowDenied, type ShadowOptions, shadow } from './shadow.ts';
export { type TelemetryMessage, type TelemetryOptions, telemetry } from './telemetry.ts';
