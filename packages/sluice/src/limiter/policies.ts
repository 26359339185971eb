/** Which policies hold for a call: those of the limiter, constant or chosen by a context. Checked before anything is spent. */
import { Kind, SluiceError } from '../model/errors.ts';
import { checkPolicy, type Policy } from '../model/policy.ts';

/** Limits by plan, route or anything else: which policies hold for this context. */
export type PolicyChoice<Context> = (context: Context) => Policy | readonly Policy[];

export interface PolicyOptions<Context> {
  /** One policy, or a function that chooses by the context of an attempt. */
  readonly policy?: Policy | PolicyChoice<Context> | undefined;
  /** Several: an attempt spends from all of them or from none. */
  readonly policies?: readonly Policy[] | PolicyChoice<Context> | undefined;
}

export type PoliciesFor<Context> = (context?: Context) => readonly Policy[];

/** Constant policies are checked once, here; chosen ones each time, which costs nothing for those that were defined in code. */
export function policyChooser<Context>({ policy, policies }: PolicyOptions<Context>): PoliciesFor<Context> {
  if ((policy === undefined) === (policies === undefined)) {
    throw new SluiceError({
      code: 'SLUICE_INVALID_POLICY',
      path: 'createLimiter',
      expected: 'either policy or policies',
      got: new Kind(policy === undefined ? 'neither' : 'both'),
    });
  }
  const given = policy ?? policies;
  const path = policy === undefined ? 'policies(context)' : 'policy(context)';
  if (typeof given === 'function') return (context) => checkChosen(choose(given, context), path);
  const constant = policy === undefined ? checkPolicies(policies, 'policies') : [checkPolicy(policy, 'policy')];
  return () => constant;
}

/** A function that needs a context and gets none fails with an error of its own, far from the mistake. */
function choose<Context>(choice: PolicyChoice<Context>, context: Context | undefined): unknown {
  try {
    return choice(context as Context);
  } catch (error) {
    if (context !== undefined) throw error;
    throw new SluiceError({
      code: 'SLUICE_INVALID_OPTION',
      path: 'context',
      expected: 'the context that the policies of this limiter are a function of',
      got: context,
    });
  }
}

/** A function may answer with one policy or with several. */
function checkChosen(chosen: unknown, path: string): readonly Policy[] {
  return Array.isArray(chosen) ? checkPolicies(chosen, path) : [checkPolicy(chosen, path)];
}

export function checkPolicies(given: unknown, path: string): readonly Policy[] {
  if (!Array.isArray(given) || given.length === 0 || given.length > MAX_POLICIES) {
    throw new SluiceError({
      code: 'SLUICE_INVALID_POLICY',
      path,
      expected: `an array of 1 to ${MAX_POLICIES} policies`,
      got: given,
    });
  }
  const checked = Array.from(given, (policy, index) => checkPolicy(policy, `${path}[${index}]`));
  refuseDuplicates(checked, path);
  return checked;
}

/** All of an attempt's policies are decided in one script call, which blocks the server while it runs. */
export const MAX_POLICIES = 64;

/** Results, headers and keys tell policies apart by name. */
function refuseDuplicates(policies: readonly Policy[], path: string): void {
  policies.forEach(({ name }, index) => {
    if (policies.findIndex((other) => other.name === name) === index) return;
    throw new SluiceError({
      code: 'SLUICE_DUPLICATE_POLICY',
      path: `${path}[${index}].name`,
      expected: 'a name no other policy of this limiter has',
      got: name,
    });
  });
}
