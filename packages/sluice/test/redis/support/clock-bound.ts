/**
 * What a policy may admit at most while a clock jumps about. Time that the clock goes through a second time counts once; only
 * after a step back larger than the policy's own memory, when the state is anchored anew, does time count from there again.
 * It starts at the first admission: before that nothing is remembered, and a look leaves nothing behind.
 */
import type { Policy } from '../../../src/index.ts';
import { ruleOf } from '../../../src/model/policy.ts';

export interface ClockBound {
  /** To be told of every attempt with a cost, in microseconds; says what may have been admitted up to now, this one included. */
  most(now: number, allowed: boolean): number;
}

export function clockBound(policy: Policy): ClockBound {
  const rule = ruleOf(policy);
  const memory = memoryOf(policy);
  let furthest: number | undefined;
  /** Time that went by, and what single steps of it may add: windows on the clock go by edges, everything else by time. */
  let passed = 0;
  let added = 0;
  return {
    most(now, allowed) {
      if (furthest === undefined) {
        if (allowed) furthest = now;
      } else if (furthest - now > memory) {
        furthest = now;
      } else if (allowed && now > furthest) {
        passed += now - furthest;
        added += rule.bound(furthest, now) - rule.bound(furthest, furthest);
        furthest = now;
      }
      return Math.max(rule.bound(0, passed), rule.bound(0, 0) + added);
    },
  };
}

/** How long anything that was spent is remembered, in microseconds: of a counter the window before counts too. */
export function memoryOf(policy: Policy): number {
  return ruleOf(policy).recovery * (policy.algorithm === 'sliding-window-counter' ? 2 : 1);
}
