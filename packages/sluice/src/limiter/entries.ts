/** Several keys in one attempt, such as a user and everyone together: they spend from all of their policies, or from none. */

import { Kind, wrong } from '../model/errors.ts';
import { checkOptionNames, invalidOption } from '../model/options.ts';
import { invalidPolicy, type Policy } from '../model/policy.ts';
import type { Check } from '../model/store.ts';
import { checkKey, checkOne, checkPolicies, MAX_POLICIES } from './core.ts';
import { amountsOf, type Cost } from './costs.ts';

/** One key of an attempt, what it spends, and from what. */
export interface AttemptEntry {
  readonly key: string;
  /** Units to spend: one number, or one for each policy by its name. Default: 1. */
  readonly cost?: Cost | undefined;
  /** One policy for this key. Default: those of the limiter. */
  readonly policy?: Policy | undefined;
  /** Several policies for this key. */
  readonly policies?: readonly Policy[] | undefined;
}

export function checksOfEntries(entries: unknown, verb: string, ownPolicies: readonly Policy[]): readonly Check[] {
  if (!Array.isArray(entries)) throw checkKey(entries);
  if (entries.length === 0) throw invalidOption(verb, 'a key, or entries of at least one', entries);
  const checks = Array.from(entries, (entry, index) => checksOfOne(entry, `${verb}[${index}]`, ownPolicies)).flat();
  if (checks.length > MAX_POLICIES) {
    throw invalidOption(verb, `at most ${MAX_POLICIES} policies in one attempt`, new Kind(String(checks.length)));
  }
  refuseDuplicates(checks, verb);
  return checks;
}

function checksOfOne(entry: unknown, path: string, ownPolicies: readonly Policy[]): Check[] {
  checkOptionNames(entry, ['key', 'cost', 'policy', 'policies'], path);
  const { key, cost = 1, policy, policies } = entry as AttemptEntry;
  checkKey(key, `${path}.key`);
  if (policy !== undefined && policies !== undefined) {
    throw invalidPolicy(path, 'policy, policies or neither', new Kind('both'));
  }
  const chosen =
    policy !== undefined
      ? [checkOne(policy, `${path}.policy`)]
      : policies !== undefined
        ? checkPolicies(policies, `${path}.policies`)
        : ownPolicies;
  const amounts = amountsOf(cost, chosen, `${path}.cost`);
  return chosen.map((policy, index) => ({ key, policy, cost: amounts[index]! }));
}

/** Two checks of one state would each be decided as if the other were not there. */
function refuseDuplicates(checks: readonly Check[], path: string): void {
  const seen = new Set<string>();
  for (const { key, policy } of checks) {
    const name = JSON.stringify([key, policy.name]);
    if (seen.has(name)) {
      throw wrong('SLUICE_DUPLICATE_POLICY', path, 'each policy once for a key', new Kind(`${policy.name} twice`));
    }
    seen.add(name);
  }
}
