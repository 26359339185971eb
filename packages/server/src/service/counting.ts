/**
 * A layer that counts what the store says and how long it takes. It stands below the shadow, so that it sees what a policy on trial would
 * have denied. Dry runs are not decisions. What the store fails with leaves here as a StoreError, which is how the service tells a
 * store that is away from a mistake of its own.
 */
import { type Check, type MaybePromise, type Policy, SluiceError, type Store, type Verdicts } from 'sluice';
import type { Layer } from 'sluice/layers';
import { StoreError } from './http-error.ts';
import type { LiveDecision } from './live.ts';
import { isPromise } from './maybe-promise.ts';
import type { Metrics, Outcome } from './metrics.ts';

export interface Naming {
  /** The label of a policy. */
  labelOf(policy: Policy): string;
  isShadowed(policy: Policy): boolean;
}

export function counting(metrics: Metrics, naming: Naming): Layer {
  return (inner) => {
    const decided = (policy: Policy, key: string, allowed: boolean): LiveDecision => {
      const label = naming.labelOf(policy);
      metrics.decided(label, allowed ? 'allowed' : deniedAs(naming.isShadowed(policy)));
      return { policy: label, key, allowed };
    };
    const answered = (decisions: readonly LiveDecision[], source: string, startedAt: number): void => {
      const now = performance.now();
      const seconds = (now - startedAt) / 1e3;
      metrics.checked(seconds);
      metrics.live.answered(decisions, source, seconds, now);
    };
    const count = (checks: readonly Check[], answer: Verdicts, startedAt: number): Verdicts => {
      const { verdicts, source } = answer;
      const decisions = verdicts.map(({ allowed }, index) =>
        decided(checks[index]!.policy, checks[index]!.key, allowed),
      );
      answered(decisions, source, startedAt);
      return answer;
    };
    const decide: Store['decide'] = (checks, options) => {
      if (options?.dryRun === true) return translated(() => inner.decide(checks, options));
      const startedAt = performance.now();
      const answer = translated(() => inner.decide(checks, options));
      return isPromise(answer)
        ? answer.then((verdicts) => count(checks, verdicts, startedAt))
        : count(checks, answer, startedAt);
    };
    const { one } = inner.decide;
    const countedOne: typeof one = (key, policy, cost) => {
      const startedAt = performance.now();
      try {
        const answer = one!(key, policy, cost);
        answered([decided(policy, key, answer.verdict.allowed)], answer.source, startedAt);
        return answer;
      } catch (error) {
        throw translate(error);
      }
    };
    return {
      decide: one === undefined ? decide : Object.assign(decide, { one: countedOne }),
      change: (changes) => translated(() => inner.change(changes)),
      forget: (key, policies) => translated(() => inner.forget(key, policies)),
      history: (key, policy) => translated(() => inner.history(key, policy)),
    } satisfies Store;
  };
}

function deniedAs(isShadowed: boolean): Outcome {
  return isShadowed ? 'shadow_denied' : 'denied';
}

function translated<T>(ask: () => MaybePromise<T>): MaybePromise<T> {
  try {
    const answer = ask();
    return isPromise(answer) ? answer.catch((error) => Promise.reject(translate(error))) : answer;
  } catch (error) {
    throw translate(error);
  }
}

function translate(error: unknown): unknown {
  return error instanceof SluiceError ? error : new StoreError('the store failed', { cause: error });
}
