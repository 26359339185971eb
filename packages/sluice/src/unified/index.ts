/** `sluice/unified`: one function for every algorithm, with the names and defaults that tutorials use. The policies are the same as everywhere. */
export type { UnifiedAlgorithm, UnifiedAlgorithmName } from './algorithms.ts';
export type { UnifiedRequest } from './request.ts';
export {
  type UnifiedLimiter,
  type UnifiedLimiterOptions,
  type UnifiedResult,
  unifiedLimiter,
} from './unified-limiter.ts';
