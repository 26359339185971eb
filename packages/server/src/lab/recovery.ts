/** How long a state lives in the lab at most: what players leave behind must be gone within a day, whatever becomes of this process. */
import type { Policy } from 'sluice';

export const MOST_SECONDS = 86_400;

/** In which time everything comes back: the window, or how long an empty bucket takes to be as good as new. */
export function recoverySeconds(policy: Policy): number {
  switch (policy.algorithm) {
    case 'token-bucket':
      return policy.capacity / policy.refillRate;
    case 'leaky-bucket':
      return policy.capacity / policy.leakRate;
    case 'gcra':
      return (policy.capacity * policy.period) / policy.limit / 1e3;
    default:
      return policy.window / 1e3;
  }
}
