/** Several keys in one attempt, such as a user and everyone together: they spend from all of their policies, or from none. */
import { checkCost, checkKey } from '../model/attempt.ts';
import { Kind, SluiceError } from '../model/errors.ts';
import { checkOptionNames } from '../model/options.ts';
import { checkPolicy, type Policy } from '../model/policy.ts';
import type { Check } from '../model/store.ts';
import { checkPolicies, MAX_POLICIES } from './policies.ts';

/** One key of an attempt, what it spends, and from what. */
export interface AttemptEntry {
  readonly key: string;
  /** Default: 1. */
  readonly cost?: number | undefined;
  /** One policy for this key. Default: those of the limiter. */
  readonly policy?: Policy | undefined;
  /** Several policies for this key. */
  readonly policies?: readonly Policy[] | undefined;
}

export function checksOf(entries: unknown, verb: string, ownPolicies: () => readonly Policy[]): readonly Check[] {
  if (!Array.isArray(entries)) throw checkKey(entries);
  if (entries.length === 0) throw invalid(verb, 'a key, or entries of at least one', entries);
  const checks = Array.from(entries, (entry, index) => checksOfOne(entry, `${verb}[${index}]`, ownPolicies)).flat();
  if (checks.length > MAX_POLICIES) {
    throw invalid(verb, `at most ${MAX_POLICIES} policies in one attempt`, new Kind(String(checks.length)));
  }
  refuseDuplicates(checks, verb);
  return checks;
}

function checksOfOne(entry: unknown, path: string, ownPolicies: () => readonly Policy[]): Check[] {
  checkOptionNames(entry, ['key', 'cost', 'policy', 'policies'], path);
  const { key, cost = 1, policy, policies } = entry as AttemptEntry;
  checkKey(key, `${path}.key`);
  checkCost(cost, `${path}.cost`);
  if (policy !== undefined && policies !== undefined) {
    throw invalid(path, 'policy, policies or neither', new Kind('both'), 'SLUICE_INVALID_POLICY');
  }
  const chosen =
    policy !== undefined
      ? [checkPolicy(policy, `${path}.policy`)]
      : policies !== undefined
        ? checkPolicies(policies, `${path}.policies`)
        : ownPolicies();
  return chosen.map((policy) => ({ key, policy, cost }));
}

/** Two checks of one state would each be decided as if the other were not there. */
function refuseDuplicates(checks: readonly Check[], path: string): void {
  const seen = new Set<string>();
  for (const { key, policy } of checks) {
    const name = JSON.stringify([key, policy.name]);
    if (seen.has(name)) {
      throw invalid(path, 'each policy once for a key', new Kind(`${policy.name} twice`), 'SLUICE_DUPLICATE_POLICY');
    }
    seen.add(name);
  }
}

function invalid(
  path: string,
  expected: string,
  got: unknown,
  code: SluiceError['code'] = 'SLUICE_INVALID_OPTION',
): SluiceError {
  return new SluiceError({ code, path, expected, got });
}
