/** The stories, in the order they are offered. */
import { boundaryBurst } from './boundary-burst.ts';
import { greedyAndPolite } from './greedy-and-polite.ts';
import { idleThenBurst } from './idle-then-burst.ts';
import { inFlight } from './in-flight.ts';
import { loginGuessing } from './login-guessing.ts';
import { modelTokens } from './model-tokens.ts';
import { smoothWebhooks } from './smooth-webhooks.ts';
import type { Plan } from './story.ts';

export const PLANS: readonly Plan[] = [
  boundaryBurst,
  idleThenBurst,
  greedyAndPolite,
  smoothWebhooks,
  loginGuessing,
  modelTokens,
  inFlight,
];

export function planOf(id: string | null | undefined): Plan | undefined {
  return PLANS.find((plan) => plan.id === id);
}

/** The story that comes after another, and after the last one the first. */
export function planAfter(id: string): Plan {
  const place = PLANS.findIndex((plan) => plan.id === id);
  return PLANS[(place + 1) % PLANS.length]!;
}
