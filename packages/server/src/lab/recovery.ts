/** How long a state lives in the lab at most: what players leave behind must be gone within a day, whatever becomes of this process. */
import type { Policy } from 'sluice';
import { ruleOf } from 'sluice/store';

export const MOST_SECONDS = 86_400;

/** In which time a key resets: the window, or how long an empty bucket takes to be full again. */
export function recoverySeconds(policy: Policy): number {
  return ruleOf(policy).recovery / 1e6;
}
