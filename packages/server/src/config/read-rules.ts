/** The section `rules`: which requests, whom, and by which policies. */
import type { Key } from 'sluice/http';
import type { Rule, RuleLimit, TrustedProxies } from './config.ts';
import { type Fields, isFields, kindOf, readFields, readFlag, readText, readTexts } from './fields.ts';
import { KEY_PARTS, parseKey } from './key-expression.ts';
import { type HeaderPattern, type Matcher, parsePathPattern, pathPatternMistake } from './match.ts';
import type { Path, Problems } from './problem.ts';

const RULE_FIELDS = ['name', 'match', 'key', 'policy', 'policies', 'cost', 'plan', 'unlimited'] as const;

export interface RuleContext {
  readonly problems: Problems;
  /** The names there are. */
  readonly policies: ReadonlySet<string>;
  readonly trustedProxies: TrustedProxies;
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
    matcher: readMatcher(fields.match, [...path, 'match'], context.problems),
    limit: isUnlimited ? undefined : readLimit(fields, path, context),
  };
}

function refuseLimits(fields: Fields, path: Path, problems: Problems): void {
  for (const field of ['key', 'policy', 'policies', 'cost', 'plan']) {
    if (fields[field] !== undefined) problems.add([...path, field], 'not together with unlimited: true');
  }
}

function readLimit(fields: Fields, path: Path, context: RuleContext): RuleLimit {
  const { problems, trustedProxies } = context;
  const keyText = readText(fields.key, [...path, 'key'], problems, `a key made of ${KEY_PARTS}`);
  return {
    keyText: keyText ?? '',
    key: keyText === undefined ? noKey : readKey(keyText, [...path, 'key'], problems, trustedProxies),
    policies: readPolicyNames(fields, path, context),
    cost: readCost(fields.cost, [...path, 'cost'], problems),
    planHeader: readPlanHeader(fields.plan, [...path, 'plan'], problems),
  };
}

const noKey: Key = () => undefined;

function readKey(text: string, path: Path, problems: Problems, trustedProxies: TrustedProxies): Key {
  try {
    return parseKey(text, trustedProxies);
  } catch (error) {
    problems.add(path, (error as Error).message);
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
    if (!context.policies.has(name)) context.problems.add(place, `no such policy: ${JSON.stringify(name)}`);
    else if (names.indexOf(name) !== index) context.problems.add(place, `${JSON.stringify(name)} is there already`);
  });
  return names;
}

function readCost(value: unknown, path: Path, problems: Problems): number {
  if (value === undefined) return 1;
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  problems.add(path, `expected a whole number of at least 0, got ${kindOf(value)}`);
  return 1;
}

const PLAN = /^header:([\w!#$%&'*+.^`|~-]+)$/;

function readPlanHeader(value: unknown, path: Path, problems: Problems): string | undefined {
  if (value === undefined) return undefined;
  const [, header] = (typeof value === 'string' && PLAN.exec(value)) || [];
  if (header === undefined) problems.add(path, `expected header:NAME, got ${kindOf(value)}`);
  return header?.toLowerCase();
}

function readMatcher(value: unknown, path: Path, problems: Problems): Matcher {
  const fields = value === undefined ? {} : readFields(value, path, problems, ['method', 'path', 'header']);
  const { method, path: paths, header } = fields ?? {};
  return {
    methods: method === undefined ? undefined : readMethods(method, [...path, 'method'], problems),
    paths: paths === undefined ? undefined : readPaths(paths, [...path, 'path'], problems),
    headers: header === undefined ? [] : readHeaders(header, [...path, 'header'], problems),
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

function readHeaders(value: unknown, path: Path, problems: Problems): readonly HeaderPattern[] {
  if (!isFields(value)) {
    problems.add(path, `expected a map of values by the name of the header, got ${kindOf(value)}`);
    return [];
  }
  return Object.entries(value).flatMap(([name, wanted]) => {
    if (typeof wanted === 'boolean' || typeof wanted === 'string') return { name: name.toLowerCase(), wanted };
    problems.add([...path, name], `expected a value, true for "is there" or false for "is not", got ${kindOf(wanted)}`);
    return [];
  });
}
