/** The TypeScript twins alone: no store, no forgetting. What parity compares Lua with. */
import { type Policy, ruleOf } from '../../src/model/policy.ts';
import type { Verdict } from '../../src/model/result.ts';
import { type Numbers, Step } from '../../src/model/step.ts';

export interface Twin {
  /** Decides, and spends when it is allowed. */
  attempt(now: number, cost: number, policy: Policy): Verdict;
  /** Decides only. */
  look(now: number, cost: number, policy: Policy): Verdict;
}

export function typescriptTwin(): Twin {
  let state: Numbers | undefined;

  const stepOf = (now: number, cost: number, policy: Policy): Step => {
    const step = new Step();
    ruleOf(policy).transition(state, now, cost, step);
    return step;
  };

  return {
    attempt(now, cost, policy) {
      const step = stepOf(now, cost, policy);
      const { width, write } = ruleOf(policy);
      if (step.writes) state = width > 0 ? step.next.slice(0, width) : write!(state as number[] | undefined, step);
      return step;
    },
    look: stepOf,
  };
}
