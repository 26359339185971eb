/** From the text of a file to a config, or to everything that is wrong with it. */
import { byIp } from 'sluice/http';
import type { Config, TrustedProxies } from './config.ts';
import { readFields } from './fields.ts';
import { type Problem, Problems } from './problem.ts';
import { readOverrides } from './read-overrides.ts';
import { readPolicies } from './read-policies.ts';
import { readRules } from './read-rules.ts';
import { parseYaml } from './yaml-file.ts';

export interface ReadConfig {
  /** Undefined when there are problems. */
  readonly config: Config | undefined;
  /** In the order of lines. */
  readonly problems: readonly Problem[];
}

export const SECTIONS = ['policies', 'rules', 'overrides', 'trustedProxies'] as const;

export function readConfig(text: string): ReadConfig {
  const file = parseYaml(text);
  if (file.problems.length > 0) return { config: undefined, problems: file.problems };
  const problems = new Problems(file.locate);
  const config = readSections(file.data, problems);
  if (problems.list.length === 0) return { config, problems: [] };
  const sorted = problems.list.sort((one, other) => one.line - other.line || one.column - other.column);
  return { config: undefined, problems: sorted };
}

function readSections(data: unknown, problems: Problems): Config | undefined {
  const fields = readFields(data, [], problems, SECTIONS);
  if (fields === undefined) return undefined;
  const trustedProxies = readTrustedProxies(fields.trustedProxies, problems);
  const policies = readPolicies(fields.policies, problems);
  const rules = readRules(fields.rules, { problems, policies: new Set(policies.keys()), trustedProxies });
  readOverrides(fields.overrides, policies, problems);
  return { policies, rules, trustedProxies };
}

function readTrustedProxies(value: unknown, problems: Problems): TrustedProxies {
  if (value === undefined) return 0;
  try {
    byIp({ trustedProxies: value as TrustedProxies });
    return value as TrustedProxies;
  } catch (error) {
    problems.add(['trustedProxies'], (error as Error).message);
    return 0;
  }
}
