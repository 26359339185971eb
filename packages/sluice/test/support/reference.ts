/** The TypeScript twins alone: no store, no forgetting. What parity compares Lua with. */
import { numbersAlgorithm } from '../../src/algorithms/index.ts';
import { type Log, logTransition, record } from '../../src/algorithms/sliding-window-log/sliding-window-log.ts';
import { copyOf, type Numbers, type Step } from '../../src/model/algorithm.ts';
import type { Policy } from '../../src/model/policy.ts';
import type { Verdict } from '../../src/model/store.ts';

export interface Twin {
  /** Decides, and spends when it is allowed. */
  attempt(now: number, cost: number, policy: Policy): Verdict;
  /** Decides only. */
  look(now: number, cost: number, policy: Policy): Verdict;
}

export function typescriptTwin(): Twin {
  let numbers: Numbers | undefined;
  let log: Log | undefined;

  const step = (now: number, cost: number, policy: Policy): Step =>
    copyOf(
      policy.algorithm === 'sliding-window-log'
        ? logTransition(log, now, cost, policy)
        : numbersAlgorithm(policy.algorithm).transition(numbers, now, cost, policy),
    );

  return {
    attempt(now, cost, policy) {
      const taken = step(now, cost, policy);
      if (taken.changes && policy.algorithm === 'sliding-window-log') {
        log = record(log, taken.next, policy.limit);
      } else if (taken.changes) {
        numbers = taken.next;
      }
      return taken;
    },
    look: step,
  };
}
