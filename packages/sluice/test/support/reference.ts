/** The TypeScript twins alone: no store, no forgetting. What parity compares Lua with. */
import { numbersAlgorithm } from '../../src/algorithms/index.ts';
import {
  type Log,
  type LogChange,
  logTransition,
  record,
} from '../../src/algorithms/sliding-window-log/sliding-window-log.ts';
import type { Numbers, Step } from '../../src/model/algorithm.ts';
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

  const step = (now: number, cost: number, policy: Policy): Step<Numbers | LogChange> =>
    policy.algorithm === 'sliding-window-log'
      ? logTransition(log, now, cost, policy)
      : numbersAlgorithm(policy.algorithm).transition(numbers, now, cost, policy);

  return {
    attempt(now, cost, policy) {
      const taken = step(now, cost, policy);
      if (taken.next !== undefined && policy.algorithm === 'sliding-window-log') {
        log = record(log, taken.next as LogChange, policy.limit);
      } else if (taken.next !== undefined) {
        numbers = taken.next as Numbers;
      }
      return taken;
    },
    look: step,
  };
}
