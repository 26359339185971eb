/** The section `rules`: which requests, whom, and by which policies. */
import type { Key } from 'sluice/http';
import { type Fields, isFields, kindOf, readFields, readFlag, readText, readTexts } from '../files/fields.ts';
import type { Path, Problems } from '../files/problem.ts';
import type { Rule, RuleLimit } from './config.ts';
import { claimReader, isByRoute, KEY_PARTS, type KeySources, parseKey } from './key-expression.ts';
import { type Matcher, parsePathPattern, pathPatternMistake, type ValuePattern } from './match.ts';
import { HEADER_SOURCE } from './read-jwt.ts';

const RULE_FIELDS = ['name', 'match', 'key', 'policy', 'policies', 'cost', 'plan', 'unlimited'] as const;

export interface RuleContext extends KeySources {
  readonly problems: Problems;
  isPolicy(name: string): boolean;
}

export function readRules(value: unknown, context: RuleContext): readonly Rule[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    context.problems.add(['rules'], `expected a list of rules, got ${kindOf(value)}`);
    return [];
  }
  return value.flatMap((item, index) => readRule(item, index, context) ?? []);
}

function readRule(value: unknown, index: number, context: RuleContext): Rule | undefined {
  const path = ['rules', index];
  const fields = readFields(value, path, context.problems, RULE_FIELDS);
  if (fields === undefined) return undefined;
  const name =
    fields.name === undefined ? undefined : readText(fields.name, [...path, 'name'], context.problems, 'a name');
  const isUnlimited = readFlag(fields.unlimited, [...path, 'unlimited'], context.problems);
  if (isUnlimited) refuseLimits(fields, path, context.problems);
  return {
    name: name ?? `rules[${index}]`,
    matcher: readMatcher(fields.match, [...path, 'match'], context),
    limit: isUnlimited ? undefined : readLimit(fields, path, context),
  };
}

function refuseLimits(fields: Fields, path: Path, problems: Problems): void {
  for (const field of ['key', 'policy', 'policies', 'cost', 'plan']) {
    if (fields[field] !== undefined) problems.add([...path, field], 'not together with unlimited: true');
  }
}

function readLimit(fields: Fields, path: Path, context: RuleContext): RuleLimit {
  const { problems } = context;
  const keyText = readText(fields.key, [...path, 'key'], problems, `a key made of ${KEY_PARTS}`);
  return {
    keyText: keyText ?? '',
    isByRoute: isByRoute(keyText ?? ''),
    key: keyText === undefined ? noKey : readKey(keyText, [...path, 'key'], context),
    policies: readPolicyNames(fields, path, context),
    cost: readCost(fields.cost, [...path, 'cost'], problems),
    plan: readPlan(fields.plan, [...path, 'plan'], context),
    planText: typeof fields.plan === 'string' ? fields.plan : undefined,
  };
}

const noKey: Key = () => undefined;

function readKey(text: string, path: Path, context: RuleContext): Key {
  try {
    return parseKey(text, context);
  } catch (error) {
    context.problems.add(path, (error as Error).message);
    return noKey;
  }
}

function readPolicyNames({ policy, policies }: Fields, path: Path, context: RuleContext): readonly string[] {
  if ((policy === undefined) === (policies === undefined)) {
    context.problems.add(path, `expected either policy or policies, got ${policy === undefined ? 'neither' : 'both'}`);
    return [];
  }
  const field = policy === undefined ? 'policies' : 'policy';
  const names = readTexts(policy ?? policies, [...path, field], context.problems, 'the name of a policy');
  names.forEach((name, index) => {
    const place = Array.isArray(policy ?? policies) ? [...path, field, index] : [...path, field];
    if (!context.isPolicy(name)) context.problems.add(place, `no such policy: ${JSON.stringify(name)}`);
    else if (names.indexOf(name) !== index) context.problems.add(place, `${JSON.stringify(name)} is listed twice`);
  });
  return names;
}

function readCost(value: unknown, path: Path, problems: Problems): number {
  if (value === undefined) return 1;
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  problems.add(path, `expected a whole number of at least 0, got ${kindOf(value)}`);
  return 1;
}

/** Where a rule has a plan from. */
function readPlan(value: unknown, path: Path, { problems, tokenOf }: RuleContext): Key | undefined {
  if (value === undefined) return undefined;
  const text = typeof value === 'string' ? value : '';
  const header = HEADER_SOURCE.exec(text)?.[1]?.toLowerCase();
  if (header !== undefined) return (view) => view.header(header);
  if (/^claim:./.test(text)) return readPlanClaim(text.slice('claim:'.length), path, problems, tokenOf);
  problems.add(path, `expected header:NAME or claim:NAME, got ${kindOf(value)}`);
  return undefined;
}

function readPlanClaim(name: string, path: Path, problems: Problems, tokenOf: KeySources['tokenOf']): Key | undefined {
  try {
    return claimReader(name, tokenOf);
  } catch (error) {
    problems.add(path, (error as Error).message);
    return undefined;
  }
}

function readMatcher(value: unknown, path: Path, { problems, tokenOf }: RuleContext): Matcher {
  const fields = value === undefined ? {} : readFields(value, path, problems, ['method', 'path', 'header', 'claim']);
  const { method, path: paths, header, claim } = fields ?? {};
  if (claim !== undefined && tokenOf === undefined) {
    problems.add([...path, 'claim'], 'expected a section jwt that says where the token is');
  }
  return {
    methods: method === undefined ? undefined : readMethods(method, [...path, 'method'], problems),
    paths: paths === undefined ? undefined : readPaths(paths, [...path, 'path'], problems),
    headers: readValues(header, [...path, 'header'], problems).map((pattern) => ({
      ...pattern,
      name: pattern.name.toLowerCase(),
    })),
    claims: readValues(claim, [...path, 'claim'], problems),
    tokenOf,
  };
}

function readMethods(value: unknown, path: Path, problems: Problems): readonly string[] {
  const methods = readTexts(value, path, problems, 'a method such as GET');
  methods.forEach((method, index) => {
    const place = Array.isArray(value) ? [...path, index] : path;
    if (!/^[A-Za-z-]+$/.test(method)) problems.add(place, `expected a method such as GET, got ${kindOf(method)}`);
  });
  return methods.map((method) => method.toUpperCase());
}

function readPaths(value: unknown, path: Path, problems: Problems): Matcher['paths'] {
  const texts = readTexts(value, path, problems, 'a path such as /users/* or /api/**');
  texts.forEach((text, index) => {
    const mistake = pathPatternMistake(text);
    if (mistake !== undefined) {
      problems.add(Array.isArray(value) ? [...path, index] : path, `${mistake}, got ${kindOf(text)}`);
    }
  });
  return texts.map(parsePathPattern);
}

/** Of headers or claims. */
function readValues(value: unknown, path: Path, problems: Problems): readonly ValuePattern[] {
  if (value === undefined) return [];
  if (!isFields(value)) {
    problems.add(path, `expected a map of values by name, got ${kindOf(value)}`);
    return [];
  }
  return Object.entries(value).flatMap(([name, wanted]) => {
    if (typeof wanted === 'boolean' || typeof wanted === 'string') return { name, wanted };
    problems.add([...path, name], `expected a value, true for "is there" or false for "is not", got ${kindOf(wanted)}`);
    return [];
  });
}
