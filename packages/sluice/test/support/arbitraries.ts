/** Policies and histories for fast-check, so that a failure shrinks to the smallest history that shows it. */
import fc from 'fast-check';
import type { Policy } from '../../src/index.ts';
import { ruleOf } from '../../src/model/policy.ts';
import type { Moment } from './laws.ts';
import { type AnyKind, memoryOf, policyIfAny } from './random.ts';

const limits = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constantFrom(100, 255, 256, 1000, 65_536, 1_000_000));
const windows = fc.oneof(
  fc.integer({ min: 1, max: 5000 }).map((micros) => micros / 1000),
  fc.constantFrom(7, 1000, 10_000, 60_000, 86_400_000),
);
const rates = fc.oneof(
  fc.integer({ min: 1, max: 1000 }),
  fc
    .tuple(fc.integer({ min: 1, max: 100 }), fc.constantFrom(3, 7, 60, 3600))
    .map(([units, seconds]) => units / seconds),
  fc.constantFrom(0.1, Math.PI, 12_345.678, 1e6, 3e7),
);

const numbers = fc.record({ limit: limits, window: windows, capacity: limits, rate: rates });

export function policies(kind: AnyKind): fc.Arbitrary<Policy> {
  return numbers
    .map((some) => policyIfAny(kind, some))
    .filter((policy): policy is Policy => policy !== undefined && recoversInTime(policy));
}

/** Not longer than three years: a history jumps over several of them and must stay within exact time. */
function recoversInTime(policy: Policy): boolean {
  return memoryOf(policy) <= 1e14;
}

/** A gap is microseconds or a share of the policy's memory; a cost is units or a share of the limit, up to more than it. */
const gaps = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 1, max: 3 }),
  fc.integer({ min: 1, max: 2000 }).map((n) => n / 1000 - 1e-7),
);
const costs = fc.oneof(
  fc.constant(0),
  fc.constant(1),
  fc.integer({ min: 1, max: 11 }).map((tenths) => -tenths / 10),
);

export function histories(policy: Policy): fc.Arbitrary<Moment[]> {
  return fc
    .tuple(
      fc.constantFrom(0, 1_763_280_000_123_456),
      fc.array(fc.tuple(gaps, costs), { minLength: 1, maxLength: 24, size: 'max' }),
    )
    .map(([start, steps]) => {
      let now = start;
      return steps.map(([gap, cost]) => {
        now += Number.isInteger(gap) ? gap : Math.floor(gap * memoryOf(policy));
        return { now, cost: cost >= 0 ? cost : Math.ceil(-cost * ruleOf(policy).limit) };
      });
    });
}
