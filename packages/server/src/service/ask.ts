/**
 * What a caller asks for, from JSON to a key, a cost and policies. Names are looked up in the config; a policy may also come along whole,
 * under a name that no configured policy has, so that nobody reaches the state of a configured one with numbers of their own.
 */
import { type Cost, checkPolicy, type Policy } from 'sluice';
import { ruleOf } from 'sluice/store';
import type { Config } from '../config/config.ts';
import { effectivePolicy } from '../config/effective.ts';
import { type Fields, isFields, kindOf } from '../files/fields.ts';
import { HttpError, invalidField } from './http-error.ts';
import { markInline } from './inline-policies.ts';
import { isReserved } from './reserved-names.ts';

export interface Ask {
  readonly key: string;
  /** One number, or one for each policy by its name. */
  readonly cost: Cost;
  readonly policies: readonly Policy[];
}

/** Long enough for any identity; a caller must not fill the store with a few keys. */
export const MAX_KEY_LENGTH = 1024;
export const MAX_POLICIES = 16;
/** A log keeps an entry for each admission: one that came along must not be a way to fill the memory. */
const MAX_INLINE_LOG = 10_000;

export const ASK_FIELDS = ['key', 'cost', 'plan', 'policy', 'policies'] as const;

/** `at` is what stands before each field's name in errors: empty, or `[3].` in a list. */
export function readAsk(fields: Fields, at: string, config: Config, now: number): Ask {
  const key = readKey(fields.key, `${at}key`);
  const plan = readPlan(fields.plan, `${at}plan`);
  const policies = readPolicies(fields, at, config, { key, plan, now });
  if (plan !== undefined) requirePlan(plan, policies, at, config);
  return { key, cost: readCosts(fields.cost, `${at}cost`, policies), policies };
}

export function readItem(value: unknown, at: string, known: readonly string[]): Fields {
  if (!isFields(value)) throw invalidField(at === '' ? 'body' : at.slice(0, -1), 'an object', kindOf(value));
  for (const field of Object.keys(value)) {
    if (!known.includes(field))
      throw invalidField(
        `${at}${field.slice(0, 60)}`,
        `no such field; there are ${known.join(', ')}`,
        kindOf(value[field]),
      );
  }
  return value;
}

export function readKey(value: unknown, path: string): string {
  if (typeof value === 'string' && value.length > 0 && value.length <= MAX_KEY_LENGTH) return value;
  const got = typeof value === 'string' && value !== '' ? `${value.length} characters` : kindOf(value);
  throw invalidField(path, `a string of 1 to ${MAX_KEY_LENGTH} characters`, got);
}

export function readCost(value: unknown, path: string): number {
  if (value === undefined) return 1;
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw invalidField(path, `a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`, kindOf(value));
}

/** The same, or an object with one for each policy: every policy has to be named, so that none is charged 1 by accident. */
export function readCosts(value: unknown, path: string, policies: readonly Policy[]): Cost {
  if (!isFields(value)) return readCost(value, path);
  const names = policies.map(({ name }) => name);
  const unknown = Object.keys(value).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    const there = `the names of the policies asked for: ${names.join(', ')}`;
    throw invalidField(`${path}.${unknown.slice(0, 60)}`, there, kindOf(unknown));
  }
  const costs = names.map((name) => {
    const cost = Object.hasOwn(value, name) ? value[name] : null;
    if (cost !== null) return [name, readCost(cost, `${path}.${name}`)];
    throw invalidField(`${path}.${name}`, 'a cost for every policy that is asked for; 0 spends nothing', 'none');
  });
  return Object.fromEntries(costs) as Cost;
}

function readPlan(value: unknown, path: string): string | undefined {
  if (value === undefined || typeof value === 'string') return value;
  throw invalidField(path, 'the name of a plan', kindOf(value));
}

interface Asker {
  readonly key: string;
  readonly plan: string | undefined;
  readonly now: number;
}

function readPolicies({ policy, policies }: Fields, at: string, config: Config, asker: Asker): readonly Policy[] {
  if ((policy === undefined) === (policies === undefined)) {
    const got = policy === undefined ? 'neither' : 'both';
    throw invalidField(`${at}policy`, 'either policy or policies', got);
  }
  if (policies === undefined) return [policyOf(policy, `${at}policy`, config, asker)];
  if (!Array.isArray(policies) || policies.length === 0 || policies.length > MAX_POLICIES) {
    throw invalidField(`${at}policies`, `a list of 1 to ${MAX_POLICIES} policies`, kindOf(policies));
  }
  const chosen = policies.map((item, index) => policyOf(item, `${at}policies[${index}]`, config, asker));
  refuseTwice(chosen, `${at}policies`);
  return chosen;
}

export function refuseTwice(policies: readonly Policy[], path: string): void {
  const names = policies.map(({ name }) => name);
  const again = names.findIndex((name, index) => names.indexOf(name) !== index);
  if (again >= 0) throw invalidField(`${path}[${again}]`, 'each policy once', `${kindOf(names[again])} again`);
}

function policyOf(value: unknown, path: string, config: Config, asker: Asker): Policy {
  if (typeof value !== 'string') return inlinePolicy(value, path, config);
  return namedPolicy(value, path, config, asker);
}

export function namedPolicy(name: string, path: string, config: Config, asker: Asker): Policy {
  const named = config.policies.get(name);
  if (named !== undefined) return effectivePolicy(named, asker).policy;
  const names = [...config.policies.keys()].slice(0, 20).join(', ') || 'none';
  throw new HttpError(400, 'unknown_policy', `${path}: there is no policy ${kindOf(name)}; there are: ${names}`, {
    path,
  });
}

function inlinePolicy(value: unknown, path: string, config: Config): Policy {
  const policy = checkPolicy(value, path);
  if (config.policies.has(policy.name) || isReserved(policy.name)) {
    throw invalidField(`${path}.name`, 'a name that no configured policy has', kindOf(policy.name));
  }
  const { limit } = ruleOf(policy);
  if (keepsEntries(policy) && limit > MAX_INLINE_LOG) {
    throw invalidField(`${path}.limit`, `at most ${MAX_INLINE_LOG} in a log that is not configured`, String(limit));
  }
  markInline(policy);
  return policy;
}

/** Whether a state grows with what is admitted. */
export function keepsEntries(policy: Policy): boolean {
  const { entries, permits } = ruleOf(policy);
  return entries !== undefined || permits !== undefined;
}

/** A plan that none of the policies has is a mistake of the caller, not a silent default. */
function requirePlan(plan: string, chosen: readonly Policy[], at: string, config: Config): void {
  if (chosen.some(({ name }) => config.policies.get(name)?.plans.has(plan))) return;
  throw invalidField(`${at}plan`, 'a plan that one of the policies has', kindOf(plan));
}
