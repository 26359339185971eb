/** Random policies and traffic by seed, so that every failure can be run again. */
import {
  fixedWindow,
  gcra,
  leakyBucket,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../../src/index.ts';

export interface Random {
  /** From 0 to below 1. */
  real(): number;
  /** A whole number, both ends included. */
  whole(min: number, max: number): number;
  pick<T>(choices: readonly T[]): T;
}

/** mulberry32: small, fast and good enough to choose test data. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  const real = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const whole = (min: number, max: number): number => min + Math.floor(real() * (max - min + 1));
  return { real, whole, pick: (choices) => choices[whole(0, choices.length - 1)]! };
}

/** `SLUICE_SEED` repeats a run; otherwise each run is new. The seed is printed by the tests that use it. */
export function testSeed(): number {
  return Number(process.env.SLUICE_SEED ?? Math.floor(Math.random() * 2 ** 31));
}

const LIMITS = [1, 2, 3, 7, 10, 100, 255, 256, 1000, 65_535, 1_000_000];
/** Milliseconds: below a millisecond, odd, common, long. */
const WINDOWS = [0.001, 0.25, 1, 7, 333, 1000, 10_000, 60_000, 3_600_000, 86_400_000];
/** Units a second, with every kind of awkward fraction. */
const RATES = [1 / 3, 0.1, 1, 7, 10, 100 / 60, 1000 / 3600, 1e-3, Math.PI, 12_345.678, 1e6, 3e7];

export const KINDS = [
  'fixed-window epoch',
  'fixed-window first',
  'sliding-window-log',
  'sliding-window-counter',
  'token-bucket',
  'leaky-bucket policing',
  'leaky-bucket shaping',
  'gcra',
] as const;
export type Kind = (typeof KINDS)[number];

export interface PolicyNumbers {
  readonly limit: number;
  /** Milliseconds; the period of GCRA. */
  readonly window: number;
  readonly capacity: number;
  /** Units a second. */
  readonly rate: number;
}

/** A policy of this kind, from those of the numbers that it has. */
export function policyOf(kind: Kind, { limit, window, capacity, rate }: PolicyNumbers): Policy {
  switch (kind) {
    case 'fixed-window epoch':
      return fixedWindow({ limit, window });
    case 'fixed-window first':
      return fixedWindow({ limit, window, align: 'first' });
    case 'sliding-window-log':
      return slidingWindowLog({ limit, window });
    case 'sliding-window-counter':
      return slidingWindowCounter({ limit, window });
    case 'token-bucket':
      return tokenBucket({ capacity, refillRate: rate });
    case 'leaky-bucket policing':
      return leakyBucket({ capacity, leakRate: rate });
    case 'leaky-bucket shaping':
      return leakyBucket({ capacity, leakRate: rate, mode: 'shaping' });
    case 'gcra':
      return gcra({ limit, period: window, capacity });
  }
}

export function randomPolicy(random: Random, kind: Kind): Policy {
  const limit = random.pick(LIMITS);
  const window = random.pick(WINDOWS);
  const rate = random.pick(RATES);
  // A capacity that would take longer than a double counts exactly is none.
  const capacity = kind === 'gcra' ? random.pick(LIMITS.filter((n) => n * window < limit * 1e12)) : limit;
  return policyOf(kind, { limit, window, capacity, rate });
}

/** Microseconds; beyond it resetAt could leave the range of exact time. The steps of slow policies are decades. */
export const LATEST = 5e15;

/** The time, in microseconds, after which nothing an attempt did counts any more. */
export function memoryOf(policy: Policy): number {
  switch (policy.algorithm) {
    case 'token-bucket':
      return (policy.capacity / policy.refillRate) * 1e6;
    case 'leaky-bucket':
      return (policy.capacity / policy.leakRate) * 1e6;
    case 'gcra':
      return (policy.capacity * policy.period * 1e3) / policy.limit;
    case 'sliding-window-counter':
      return policy.window * 2e3;
    default:
      return policy.window * 1e3;
  }
}

/** How far the clock moves between two attempts: mostly a fraction of the policy's memory, sometimes much, sometimes back. */
export function randomStep(random: Random, policy: Policy, backwards = true): number {
  const memory = memoryOf(policy);
  const dice = random.real();
  if (dice < 0.3) return 0;
  if (dice < 0.4) return random.whole(1, 3);
  if (dice < 0.75) return Math.floor(memory * random.real() * 0.1);
  if (dice < 0.9) return Math.floor(memory * random.real());
  if (dice < 0.94 || !backwards) return Math.floor(memory * random.real() * 3);
  return -Math.floor(memory * random.real() * random.pick([0.01, 0.5, 1, 2, 5]));
}

export function randomCost(random: Random, limit: number): number {
  const dice = random.real();
  if (dice < 0.1) return 0;
  if (dice < 0.5) return 1;
  if (dice < 0.9) return random.whole(1, Math.max(1, Math.ceil(limit / 3)));
  return random.pick([limit, limit + 1, random.whole(1, limit)]);
}
