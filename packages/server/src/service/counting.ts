/**
 * A layer that counts what the store says and how long it takes. It stands below the shadow, so that it sees what a policy on trial would
 * have denied. Dry runs are not decisions. What the store fails with leaves here as a StoreError, which is how the service tells a
 * store that is away from a mistake of its own.
 */
import type { Policy } from 'sluice';
import type { Layer } from 'sluice/layers';
import { type Answer, type Attempt, around, asking, isStoreFault, proceed } from 'sluice/store';
import { StoreError } from './http-error.ts';
import type { Live } from './live.ts';
import type { LiveDecision } from './live-second.ts';
import type { Metrics, Outcome } from './metrics.ts';

export interface Naming {
  /** The label of a policy. */
  labelOf(policy: Policy): string;
  isShadowed(policy: Policy): boolean;
  /** Whether each question to the store is a whole request. Where policies are in the shadow, a request is several. */
  readonly isWholeRequest: boolean;
}

export function counting(metrics: Metrics, naming: Naming): Layer {
  const decided = (policy: Policy, key: string, allowed: boolean): LiveDecision => {
    const label = naming.labelOf(policy);
    const shadow = naming.isShadowed(policy);
    metrics.decided(label, allowed ? 'allowed' : deniedAs(shadow));
    return { policy: label, key, allowed, shadow };
  };
  const count = (attempt: Attempt, answer: Answer, startedAt: number): Answer => {
    const { decisions, source } = answer;
    const all = decisions.flatMap(({ allowed }, index) => {
      const { policy, key } = index === 0 ? attempt : attempt.and[index - 1]!;
      // What is behind blockFor says only who is blocked: that it blocks nobody is no decision.
      return allowed && policy.algorithm === 'penalty-box' ? [] : [decided(policy, key, allowed)];
    });
    const now = performance.now();
    const seconds = (now - startedAt) / 1e3;
    metrics.checked(seconds);
    metrics.answeredBy(source);
    metrics.live.answered(all, source, seconds, now);
    if (naming.isWholeRequest) metrics.live.requested(answer.allowed, now);
    return answer;
  };
  return (inner) =>
    around(inner, (question) => {
      if (question.verb !== 'attempt' || question.dryRun) return asking(inner, question, identity, fail);
      const startedAt = performance.now();
      return asking(inner, question, (answer) => count(question, answer, startedAt), fail);
    });
}

/**
 * A layer above the shadow, which asks the store several times about one request: it counts what became of the request. Where nothing is in
 * the shadow, the layer below counts requests as well.
 */
export function countingRequests(live: Live): Layer {
  return (inner) =>
    around(inner, (question) => {
      const answer = inner.ask(question);
      if (question.verb !== 'attempt' || question.dryRun) return answer;
      return proceed(answer, (result) => {
        live.requested(result.allowed);
        return result;
      });
    });
}

function deniedAs(isShadowed: boolean): Outcome {
  return isShadowed ? 'shadow_denied' : 'denied';
}

function identity(answer: Answer): Answer {
  return answer;
}

function fail(error: unknown): never {
  throw isStoreFault(error) ? new StoreError('the store failed', { cause: error }) : error;
}
