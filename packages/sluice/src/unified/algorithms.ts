/** The algorithms by the names of tutorials, and the policy that each makes of a request's numbers. */
import { didYouMean } from '../model/did-you-mean.ts';
import { SluiceError } from '../model/errors.ts';
import type { Policy } from '../model/policy.ts';
import { checkPolicy } from '../policies/check-policy.ts';

/** The names that results have. */
export type UnifiedAlgorithm =
  | 'fixed_window'
  | 'sliding_window_log'
  | 'sliding_window_counter'
  | 'token_bucket'
  | 'leaky_bucket'
  | 'leaky_bucket_shaping'
  | 'gcra';

/** Every name that a request may have: short forms, and with hyphens as elsewhere in Sluice. */
export type UnifiedAlgorithmName =
  | UnifiedAlgorithm
  | 'sliding_log'
  | 'sliding_counter'
  | 'leaky_bucket_policing'
  | 'fixed-window'
  | 'sliding-window-log'
  | 'sliding-log'
  | 'sliding-window-counter'
  | 'sliding-counter'
  | 'token-bucket'
  | 'leaky-bucket'
  | 'leaky-bucket-policing'
  | 'leaky-bucket-shaping';

const SHORT_FORMS: Readonly<Record<string, UnifiedAlgorithm>> = {
  sliding_log: 'sliding_window_log',
  sliding_counter: 'sliding_window_counter',
  leaky_bucket_policing: 'leaky_bucket',
};

/** The numbers of a request, with all defaults. Rates are units a second. */
export interface Numbers {
  readonly limit: number;
  readonly windowSeconds: number;
  readonly capacity: number;
  readonly refillRate: number;
  readonly drainRate: number;
}

/** Whole microseconds, which is how exact Sluice is. */
function toMs(seconds: number): number {
  return Math.round(seconds * 1e6) / 1e3;
}

type PolicyFields = Readonly<Record<string, number | string>>;

/** What of the numbers each algorithm is made of. */
const FIELDS: Readonly<Record<UnifiedAlgorithm, (numbers: Numbers) => PolicyFields>> = {
  fixed_window: ({ limit, windowSeconds }) => ({ algorithm: 'fixed-window', limit, window: toMs(windowSeconds) }),
  sliding_window_log: ({ limit, windowSeconds }) => ({
    algorithm: 'sliding-window-log',
    limit,
    window: toMs(windowSeconds),
  }),
  sliding_window_counter: ({ limit, windowSeconds }) => ({
    algorithm: 'sliding-window-counter',
    limit,
    window: toMs(windowSeconds),
  }),
  token_bucket: ({ capacity, refillRate }) => ({ algorithm: 'token-bucket', capacity, refillRate }),
  leaky_bucket: ({ capacity, drainRate }) => ({
    algorithm: 'leaky-bucket',
    capacity,
    leakRate: drainRate,
    mode: 'policing',
  }),
  leaky_bucket_shaping: ({ capacity, drainRate }) => ({
    algorithm: 'leaky-bucket',
    capacity,
    leakRate: drainRate,
    mode: 'shaping',
  }),
  gcra: ({ limit, windowSeconds, capacity }) => ({ algorithm: 'gcra', limit, period: toMs(windowSeconds), capacity }),
};

const NAMES = Object.keys(FIELDS) as readonly UnifiedAlgorithm[];

export function algorithmOf(name: unknown): UnifiedAlgorithm {
  const known = typeof name === 'string' ? name.replaceAll('-', '_') : '';
  const full = Object.hasOwn(SHORT_FORMS, known) ? SHORT_FORMS[known]! : known;
  if (NAMES.includes(full as UnifiedAlgorithm)) return full as UnifiedAlgorithm;
  throw unknownAlgorithm(name);
}

function unknownAlgorithm(name: unknown): SluiceError {
  const meant = typeof name === 'string' ? didYouMean(name.replaceAll('-', '_'), NAMES) : undefined;
  const what = name === undefined ? 'there is no `algorithm`' : `unknown algorithm ${described(name)}`;
  const cure = meant === undefined ? `The algorithms are ${NAMES.join(', ')}.` : `Did you mean '${meant}'?`;
  const message = `checkAndConsume: ${what}. ${cure}`;
  return new SluiceError({ code: 'SLUICE_UNKNOWN_ALGORITHM', path: 'checkAndConsume.algorithm', message });
}

function described(name: unknown): string {
  return typeof name === 'string' ? `'${name.slice(0, 40)}'` : `of type ${name === null ? 'null' : typeof name}`;
}

/**
 * The policy has no name, so it is known by its numbers: limits that differ in any of them are different limits, on whatever store. An API limit
 * and a login limit on one key never share a state.
 */
export function policyOf(algorithm: UnifiedAlgorithm, numbers: Numbers): Policy {
  return checkPolicy(FIELDS[algorithm](numbers), 'checkAndConsume');
}
