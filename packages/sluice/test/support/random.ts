/** Random policies and traffic by seed, so that every failure can be run again. */
import type { Policy } from '../../src/index.ts';
import { ruleOf } from '../../src/model/policy.ts';
import type { SampleNumbers } from '../../src/model/samples.ts';
import { SAMPLES } from '../../src/testing/samples.generated.ts';

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

/** Every kind of policy there is: each algorithm brings its samples. */
export const KINDS: readonly string[] = SAMPLES.map(({ kind }) => kind);
export type Kind = string;
/** The name of a kind, or the samples of one that is not Sluice's own; of the built package perhaps, whose types are others. */
export type AnyKind = Kind | { policy(numbers: SampleNumbers, name?: string): unknown };

/** A policy of this kind, from those of the numbers that it has. */
export function policyOf(kind: AnyKind, numbers: SampleNumbers, name?: string): Policy {
  const samples = typeof kind === 'string' ? SAMPLES.find((sample) => sample.kind === kind)! : kind;
  return samples.policy(numbers, name) as Policy;
}

/** A capacity that would take longer than a double counts exactly is none, so there some numbers are chosen again. */
export function randomPolicy(random: Random, kind: AnyKind, name?: string): Policy {
  for (;;) {
    const limit = random.pick(LIMITS);
    const [window, rate, other] = [random.pick(WINDOWS), random.pick(RATES), random.pick(LIMITS)];
    const policy = policyIfAny(kind, { limit, window, rate, capacity: random.real() < 0.7 ? limit : other }, name);
    if (policy !== undefined && memoryOf(policy) < 1e15) return policy;
  }
}

export function policyIfAny(kind: AnyKind, numbers: SampleNumbers, name?: string): Policy | undefined {
  try {
    return policyOf(kind, numbers, name);
  } catch (error) {
    if ((error as Error).name === 'SluiceError') return undefined;
    throw error;
  }
}

/** Microseconds; beyond it resetAt could leave the range of exact time. The steps of slow policies are decades. */
export const LATEST = 5e15;

/** The time, in microseconds, in which everything comes back. */
export function memoryOf(policy: Policy): number {
  return ruleOf(policy).recovery;
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
