/**
 * What an attempt spends: one number for all of its policies, or a number for each by its name. A limit of requests beside a limit of tokens is one
 * attempt: `{ requests: 1, tokens: 900 }`. Every policy must be named: a default of 1 would charge one token where 900 were meant.
 */
import { unknownName } from '../model/did-you-mean.ts';
import { mistaken, wrong } from '../model/errors.ts';
import type { Policy } from '../model/policy.ts';

/** Units by the name of the policy. Every policy of the attempt must be named; 0 for one that is to spend nothing. */
export type Costs = Readonly<Record<string, number>>;

/** Units to spend: one number for all policies, or one for each by its name. Whole numbers of at least 0. */
export type Cost = number | Costs;

/** The same once the policies are known: for each in their order. */
export type Amounts = readonly number[];

export function amountsOf(cost: unknown, policies: readonly Policy[], path = 'cost'): Amounts {
  if (!isByName(cost)) {
    const units = checkCost(cost, path);
    return policies.map(() => units);
  }
  const names = policies.map(({ name }) => name);
  const unknown = Object.keys(cost).find((name) => !names.includes(name));
  if (unknown !== undefined) throw unknownName('SLUICE_INVALID_COST', path, 'policy', unknown, names);
  return names.map((name) => {
    if (Object.hasOwn(cost, name)) return checkCost(cost[name], `${path}.${name}`);
    throw mistaken(
      'SLUICE_INVALID_COST',
      `${path}.${name}`,
      `${path}: policy ${JSON.stringify(name)} is not named. Name every policy, so that none is charged 1 by accident; write 0 for one that spends nothing. The policies are: ${names.join(', ')}.`,
    );
  });
}

export function isByName(cost: unknown): cost is Readonly<Record<string, unknown>> {
  return typeof cost === 'object' && cost !== null && !Array.isArray(cost) && Object.keys(cost).length > 0;
}

export function checkCost(cost: unknown, path = 'cost'): number {
  if (Number.isSafeInteger(cost) && (cost as number) >= 0) return cost as number;
  throw wrong('SLUICE_INVALID_COST', path, `a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`, cost);
}
