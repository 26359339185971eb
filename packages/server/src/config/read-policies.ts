/** The section `policies`: each entry is a policy as the library takes it, with plans and a shadow flag beside its numbers. */
import {
  checkPolicy,
  type Duration,
  type NameOption,
  nothing,
  type Policy,
  policyMistakes,
  type SluiceError,
  tokenBucket,
  unlimited,
} from 'sluice';
import { blockFor } from 'sluice/exceptions';
import { NUMBER_NAMES, NUMBERS } from '../files/algorithms.ts';
import { type Fields, isFields, kindOf, readFlag } from '../files/fields.ts';
import type { Path, Problems } from '../files/problem.ts';
import type { NamedPolicy, Override } from './config.ts';

/** Names stand in URLs, headers and labels of metrics. */
export const POLICY_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** A named policy, to which overrides are still to be added, and its own data to add them to. */
export interface PolicyDraft extends NamedPolicy {
  readonly overrides: Map<string, Override>;
  /** What its numbers become a policy by: with `blockFor`, where there is one. */
  readonly wrap: Wrap;
  readonly data: Fields;
}

export function readPolicies(value: unknown, problems: Problems): Map<string, PolicyDraft> {
  const drafts = new Map<string, PolicyDraft>();
  if (!isFields(value) || Object.keys(value).length === 0) {
    problems.add(['policies'], `expected a map of at least one policy by its name, got ${kindOf(value)}`);
    return drafts;
  }
  for (const [name, data] of Object.entries(value)) {
    const draft = readPolicy(name, data, ['policies', name], problems);
    if (draft !== undefined) drafts.set(name, draft);
  }
  return drafts;
}

function readPolicy(name: string, value: unknown, path: Path, problems: Problems): PolicyDraft | undefined {
  if (!POLICY_NAME.test(name)) {
    problems.add(path, 'expected a name of 1 to 64 letters, digits, dots, dashes and underscores');
  }
  if (!isFields(value)) {
    problems.add(path, `expected a policy: a map with an algorithm and its numbers, got ${kindOf(value)}`);
    return undefined;
  }
  const { plans, shadow, blockFor: block, ...data } = value;
  const wrap = readBlockFor(block, [...path, 'blockFor'], problems);
  if (data.name !== undefined) problems.add([...path, 'name'], 'no such field: the name is the key above it');
  const whole = { ...data, name: safeName(name) };
  const mistakes = mistakesIn(whole);
  for (const { field, message, known } of mistakes) {
    const all = ['algorithm', ...(known ?? []), 'blockFor', 'plans', 'shadow'];
    const told = known === undefined ? message : `no such field; there are ${all.join(', ')}`;
    problems.add(field === '' ? path : [...path, field], told);
  }
  return {
    name,
    data: whole,
    wrap,
    policy: mistakes.length > 0 ? UNUSED : wrap(checkPolicy(whole)),
    plans: readPlans(plans, whole, [...path, 'plans'], problems, wrap),
    overrides: new Map(),
    shadow: readFlag(shadow, [...path, 'shadow'], problems),
  };
}

type Wrap = (policy: Policy) => Policy;

/** How long who exceeds the policy is blocked. What counts nothing blocks nobody. */
function readBlockFor(value: unknown, path: Path, problems: Problems): Wrap {
  if (value === undefined) return (policy) => policy;
  try {
    blockFor(UNUSED, value as Duration);
  } catch (error) {
    const { path: place, expected, got, sentence } = error as SluiceError;
    const [, field] = /^blockFor\.(\w+)$/.exec(place) ?? [];
    problems.add(
      field === undefined ? path : [...path, field],
      expected === '' ? sentence : `expected ${expected}, got ${got}`,
    );
    return (policy) => policy;
  }
  return (policy) => (WORDS.includes(policy.algorithm as 'nothing') ? policy : blockFor(policy, value as Duration));
}

/** In the place of one that is wrong. Where there are problems, nobody uses the rest. */
const UNUSED = tokenBucket({ capacity: 1, refillRate: 1 });

/** A bad name is one problem, not one in each plan as well. */
function safeName(name: string): string {
  return POLICY_NAME.test(name) ? name : 'unnamed';
}

function readPlans(value: unknown, base: Fields, path: Path, problems: Problems, wrap: Wrap): Map<string, Policy> {
  const plans = new Map<string, Policy>();
  if (value === undefined) return plans;
  if (!isFields(value)) {
    problems.add(path, `expected a map of numbers by the name of the plan, got ${kindOf(value)}`);
    return plans;
  }
  for (const [plan, numbers] of Object.entries(value)) {
    const policy = withNumbers(base, numbers, [...path, plan], problems);
    if (policy !== undefined) plans.set(plan, wrap(policy));
  }
  return plans;
}

/** What may stand in the place of numbers. */
export const WORDS = ['unlimited', 'nothing'] as const;

function isWord(value: unknown): value is (typeof WORDS)[number] {
  return WORDS.includes(value as (typeof WORDS)[number]);
}

/** The same policy with other numbers. Problems of the base are told where the base is. */
export function withNumbers(base: Fields, numbers: unknown, path: Path, problems: Problems): Policy | undefined {
  if (isWord(numbers)) {
    const { name, visible } = base as NameOption;
    return numbers === 'unlimited' ? unlimited({ name, visible }) : nothing({ name, visible });
  }
  if (!isFields(numbers) || Object.keys(numbers).length === 0) {
    const expected = `numbers to change (${NUMBER_NAMES.join(', ')}), or ${WORDS.join(' or ')}`;
    problems.add(path, `expected ${expected}, got ${kindOf(numbers)}`);
    return undefined;
  }
  for (const field of Object.keys(numbers)) {
    if (!NUMBERS.has(field)) {
      problems.add([...path, field], `no such number; there are ${NUMBER_NAMES.join(', ')}`);
    }
  }
  const own = Object.fromEntries(Object.entries(numbers).filter(([field]) => NUMBERS.has(field)));
  const known = new Set(mistakesIn(base).map(({ field }) => field));
  const mistakes = mistakesIn({ ...base, ...own }).filter(
    ({ field }) => Object.hasOwn(own, field) || !known.has(field),
  );
  for (const { field, message, known: fields } of mistakes) {
    const told = fields === undefined ? message : `no such number in it; there are ${numbersAmong(fields).join(', ')}`;
    problems.add(field === '' ? path : [...path, field], told);
  }
  return mistakes.length + known.size > 0 ? undefined : checkPolicy({ ...base, ...own });
}

function numbersAmong(fields: readonly string[]): readonly string[] {
  return NUMBER_NAMES.filter((name) => fields.includes(name));
}

interface Mistake {
  /** Empty for the whole policy. */
  readonly field: string;
  readonly message: string;
  /** Where the algorithm has no such field: those it has. */
  readonly known: readonly string[] | undefined;
}

function mistakesIn(data: Fields): readonly Mistake[] {
  return policyMistakes(data, 'policy').map(({ path, sentence, expected, got, known }) => ({
    field: path.slice('policy.'.length),
    message: expected === '' ? sentence : `expected ${expected}, got ${got === 'undefined' ? 'nothing' : got}`,
    // The library takes a name among them, which here is the key above.
    known: known?.filter((field) => field !== 'name'),
  }));
}
