/**
 * What a policy may admit at most while a clock jumps about. Time that the clock goes through a second time counts once; only
 * after a step back larger than the policy's own memory, when the state is anchored anew, does time count from there again.
 * It starts at the first admission: before that nothing is remembered, and a look leaves nothing behind.
 */
import type { Policy } from '../../../src/index.ts';
import { memoryOf } from '../../support/random.ts';

export interface ClockBound {
  /** To be told of every attempt with a cost, in microseconds; says what may have been admitted up to now, this one included. */
  most(now: number, allowed: boolean): number;
}

export function clockBound(policy: Policy): ClockBound {
  const memory = memoryOf(policy);
  const size = 'window' in policy ? policy.window * 1000 : 1;
  let furthest: number | undefined;
  let passed = 0;
  let edges = 0;
  return {
    most(now, allowed) {
      if (furthest === undefined) {
        if (allowed) furthest = now;
      } else if (furthest - now > memory) {
        furthest = now;
      } else if (allowed && now > furthest) {
        passed += now - furthest;
        edges += Math.floor(now / size) - Math.floor(furthest / size);
        furthest = now;
      }
      return unitsWithin(policy, passed, edges);
    },
  };
}

/** `passed` in microseconds; `edges` is how many windows on the clock began in that time. */
function unitsWithin(policy: Policy, passed: number, edges: number): number {
  const tolerance = 1e-6;
  switch (policy.algorithm) {
    case 'token-bucket':
      return policy.capacity + (policy.refillRate * passed) / 1e6 + tolerance;
    case 'leaky-bucket':
      return policy.capacity + (policy.leakRate * passed) / 1e6 + tolerance;
    case 'gcra':
      return policy.capacity + (policy.limit * passed) / (policy.period * 1000) + tolerance;
    case 'sliding-window-counter':
      return policy.limit * (1 + edges);
    case 'sliding-window-log':
      return policy.limit * (1 + Math.floor(passed / (policy.window * 1000)));
    case 'fixed-window':
      return policy.limit * (1 + (policy.align === 'epoch' ? edges : Math.floor(passed / (policy.window * 1000))));
  }
}
