/** Names of policies that are not the callers' to give: states of Envoy's descriptors and quotas are kept under them. */
import { ENVOY_POLICY_PREFIX } from '../envoy/limit.ts';
import { QUOTA_POLICY_PREFIX } from '../rlqs/quota.ts';

const LABELS: Readonly<Record<string, string>> = { [ENVOY_POLICY_PREFIX]: 'envoy', [QUOTA_POLICY_PREFIX]: 'rlqs' };

/** How metrics call it; undefined where it is not reserved. */
export function reservedLabel(name: string): string | undefined {
  return LABELS[`${name.split(':', 1)[0]}:`];
}

export function isReserved(name: string): boolean {
  return reservedLabel(name) !== undefined;
}
