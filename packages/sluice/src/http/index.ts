/** `sluice/http`: who is calling, what to tell them, and what servers tell us. Pure functions; the adapters are made of them. */

export type { OnWarning, Warn } from '../model/warnings.ts';
export { type ByIpOptions, byIp } from './by-ip.ts';
export { type Denial, type DenialOptions, denial } from './denial.ts';
export {
  type Gate,
  type GateDecision,
  type GateOptions,
  gate,
  type OnDenied,
  type RequestResult,
  type Spent,
} from './gate.ts';
export {
  type HeaderDraft,
  type HeaderForm,
  type HeaderOptions,
  type HeaderValues,
  type HeaderWriter,
  headerWriter,
  type RateLimitHeadersOptions,
  rateLimitHeaders,
} from './headers.ts';
export { anonymous, byHeader, byRoute, byUser, combine, firstOf, type UserId } from './keys.ts';
export type { Missing } from './missing.ts';
export { type HeaderSource, parseRateLimit, type RateLimitReport } from './parse-rate-limit.ts';
export { pathReadings } from './path-readings.ts';
export type { Quota } from './quotas.ts';
export { type Fetch, type RateLimitedFetchOptions, rateLimitedFetch } from './rate-limited-fetch.ts';
export type { ClientAddress, Key, RequestView } from './request-view.ts';
export type { Sleep } from './timers.ts';
