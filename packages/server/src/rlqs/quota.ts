/** A quota: which buckets of proxies it is for, and how much of which policy they share. */
import type { Policy } from 'sluice';
import { ruleOf } from 'sluice/store';

/** How the names of policies begin whose state is for quotas alone. */
export const QUOTA_POLICY_PREFIX = 'rlqs:';

/** What a proxy calls a bucket. */
export type Labels = Readonly<Record<string, string>>;

/** How a proxy is told what it may spend. */
export type Strategy = 'token_bucket' | 'requests_per_time_unit';

export interface Quota {
  /** Undefined: of any domain. */
  readonly domain: string | undefined;
  /** Each of these has to be there with this value, `*` for any. Others may be there beside them. */
  readonly match: Labels;
  readonly rule: QuotaRule;
}

export type QuotaRule = { readonly blanket: 'allow' | 'deny' } | LeasedRule;

/** Units of a policy, handed out in blocks that end. */
export interface LeasedRule {
  readonly policy: Policy;
  /** How long a proxy may spend what it was assigned, from when it has got it. */
  readonly ttlMs: number;
  /** A bucket without requests for so long is abandoned. */
  readonly idleMs: number;
  readonly strategy: Strategy;
}

/** Within this time a proxy has got what was debited for it, or its connection is closed. */
export const LATENESS_MS = 1000;

/** Clocks of proxies may run this much slower. */
export const MOST_DRIFT = 1e-3;

/** What keeps the limit although units are spent later than they are debited: the terms of the library's leases. */
export interface QuotaTerms {
  /** What the store is asked under. */
  readonly shared: Policy;
  /** For how many microseconds after the store's `now` units that were granted then may be spent. */
  usableFor(now: number, resetAfter: number): number;
}

/** Undefined where units of the policy cannot be handed out for so long. */
export function termsOf({ policy, ttlMs }: Pick<LeasedRule, 'policy' | 'ttlMs'>): QuotaTerms | undefined {
  const rule = ruleOf(policy);
  const terms = rule.lease?.((ttlMs * (1 + MOST_DRIFT) + LATENESS_MS) * 1e3);
  if (terms === undefined) return undefined;
  return {
    shared: terms.fields === undefined ? policy : rule.changed(terms.fields),
    usableFor: (now, resetAfter) => terms.usableFor(now, resetAfter),
  };
}

/** The first that matches. */
export function quotaFor(quotas: readonly Quota[], domain: string, labels: Labels): Quota | undefined {
  return quotas.find(
    (quota) =>
      (quota.domain === undefined || quota.domain === domain) &&
      Object.entries(quota.match).every(([name, value]) => {
        const own = Object.hasOwn(labels, name) ? labels[name] : undefined;
        return own !== undefined && (value === '*' || value === own);
      }),
  );
}
