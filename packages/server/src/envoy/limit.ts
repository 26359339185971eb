/**
 * From the numbers of a rule to a policy. Its name tells the state's period but not its limit, so that a changed limit keeps what was
 * spent and a changed period begins anew, as with the reference server. No policy that comes over the API may have such a name.
 */
import { type AlgorithmName, checkPolicy, fixedWindow } from 'sluice';
import type { Limit } from './domain.ts';
import { unitOf } from './unit.ts';

/** How the names of all policies begin that keep the state of Envoy's descriptors. */
export const ENVOY_POLICY_PREFIX = 'envoy:';

export const MAX_REQUESTS = 2 ** 32 - 1;

export interface LimitNumbers {
  readonly requestsPerUnit: number;
  readonly periodMs: number;
  /** Default: fixed-window, which is the reference server's. */
  readonly algorithm?: AlgorithmName | undefined;
  /** Of a bucket or of GCRA. Default: the requests per unit. */
  readonly capacity?: number | undefined;
}

/** Throws the library's errors for numbers that it does not take. */
export function limitOf({ requestsPerUnit, periodMs, algorithm = 'fixed-window', capacity }: LimitNumbers): Limit {
  const unit = unitOf(periodMs / 1e3);
  const name = `${ENVOY_POLICY_PREFIX}${periodMs / 1e3}s`;
  const counter = fixedWindow({ name, limit: Number.MAX_SAFE_INTEGER, window: periodMs });
  if (requestsPerUnit === 0) return { requestsPerUnit, unit, size: 0, policy: counter, counter };
  const size = hasCapacity(algorithm) ? (capacity ?? requestsPerUnit) : requestsPerUnit;
  const policy = checkPolicy({ algorithm, name, ...numbersOf(algorithm, requestsPerUnit, periodMs, size) });
  return { requestsPerUnit, unit, size, policy, counter: algorithm === 'fixed-window' ? counter : undefined };
}

export function hasCapacity(algorithm: AlgorithmName): boolean {
  return algorithm === 'token-bucket' || algorithm === 'leaky-bucket' || algorithm === 'gcra';
}

function numbersOf(algorithm: AlgorithmName, limit: number, periodMs: number, capacity: number): object {
  switch (algorithm) {
    case 'token-bucket':
      return { capacity, refillRate: limit / (periodMs / 1e3) };
    case 'leaky-bucket':
      return { capacity, leakRate: limit / (periodMs / 1e3) };
    case 'gcra':
      return { limit, period: periodMs, capacity };
    default:
      return { limit, window: periodMs };
  }
}
