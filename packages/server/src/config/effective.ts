/** Which numbers hold for a key: those of an override that has not run out, else those of its plan, else the policy's own. */
import type { Policy } from 'sluice';
import type { NamedPolicy } from './config.ts';

export interface Asker {
  readonly key: string;
  readonly plan?: string | undefined;
  /** Unix time in milliseconds. */
  readonly now: number;
}

export interface Effective {
  readonly policy: Policy;
  /** Why these numbers, for people. */
  readonly because: string;
}

export function effectivePolicy(named: NamedPolicy, { key, plan, now }: Asker): Effective {
  const override = named.overrides.get(key);
  if (override !== undefined && (override.until === undefined || now < override.until)) {
    const until = override.until === undefined ? '' : ` until ${new Date(override.until).toISOString()}`;
    return { policy: override.policy, because: `an override for this key${until}` };
  }
  const ofPlan = plan === undefined ? undefined : named.plans.get(plan);
  if (ofPlan !== undefined) return { policy: ofPlan, because: `the plan ${plan}` };
  return { policy: named.policy, because: becauseOfNothing(named, plan, override !== undefined) };
}

function becauseOfNothing({ plans }: NamedPolicy, plan: string | undefined, hasRunOut: boolean): string {
  if (!hasRunOut && (plan === undefined || plans.size === 0)) return 'its own numbers';
  const reasons = [
    ...(hasRunOut ? ['its override has run out'] : []),
    ...(plan !== undefined && plans.size > 0 ? [`there is no plan ${JSON.stringify(plan)}`] : []),
  ];
  return ['its own numbers', ...reasons].join('; ');
}
