/**
 * From the text of files to a config, or to everything that is wrong with them. Several files are one config: rules of one may name
 * policies of another, and what may be there only once is a problem when it is there twice.
 */
import { byIp } from 'sluice/http';
import { type EnvoyTexts, isEnvoyText, readEnvoyTexts } from '../envoy/read-texts.ts';
import { type Fields, readFields } from '../files/fields.ts';
import { type FileProblem, type Problem, Problems } from '../files/problem.ts';
import { parseYaml, type YamlFile } from '../files/yaml-file.ts';
import type { Config, TrustedProxies } from './config.ts';
import { readExceptions } from './read-exceptions.ts';
import { type Environment, readJwtSection } from './read-jwt.ts';
import { readOverrides } from './read-overrides.ts';
import { type PolicyDraft, readPolicies } from './read-policies.ts';
import { readQuotas } from './read-quotas.ts';
import { readRules } from './read-rules.ts';

/** What came of reading a config: it, or what is wrong with it. */
export interface ReadConfig {
  /** Undefined when there are problems. */
  readonly config: Config | undefined;
  /** In the order of lines. */
  readonly problems: readonly Problem[];
}

export interface ConfigText {
  /** For people. */
  readonly file: string;
  readonly text: string;
}

/** The same for several files that make one config. */
export interface ReadConfigs {
  /** Undefined when there are problems. */
  readonly config: Config | undefined;
  /** In the order of files and lines. */
  readonly problems: readonly FileProblem[];
  /** What each file holds of it. */
  readonly files: readonly HeldByFile[];
}

export interface HeldByFile {
  readonly file: string;
  readonly policies: number;
  readonly rules: number;
  /** Undefined for none. */
  readonly quotas?: number | undefined;
  /** Of a file for Envoy. */
  readonly domain?: string | undefined;
  readonly limits?: number | undefined;
}

export const SECTIONS = ['policies', 'rules', 'overrides', 'exceptions', 'trustedProxies', 'jwt', 'quotas'] as const;

/** Reads the text of a config file (YAML). Never throws for what is in it: problems are listed, each with its line. */
export function readConfig(text: string, environment: Environment = {}): ReadConfig {
  const { config, problems } = readConfigs([{ file: '', text }], environment);
  return { config, problems: problems.map(({ file: _, ...problem }) => problem as Problem) };
}

/** In order: the rules of the first file come first. The environment is where secrets are. */
export function readConfigs(texts: readonly ConfigText[], environment: Environment = {}): ReadConfigs {
  const sources = texts.filter(({ text }) => !isEnvoyText(text)).map(sourceOf);
  const envoy = readEnvoyTexts(
    texts.filter(({ text }) => isEnvoyText(text)),
    environment,
  );
  const config = withEnvoy(readSources(sources, environment), envoy);
  const problems = [...sources.flatMap(problemsOf), ...envoy.problems];
  const files = sources.map(({ file, drafts, rules, quotas }) => ({
    ...{ file, policies: drafts.size, rules },
    ...(quotas === 0 ? {} : { quotas }),
  }));
  return { config: problems.length > 0 ? undefined : config, problems, files: [...files, ...envoy.files] };
}

function withEnvoy(config: Config, { domains }: EnvoyTexts): Config {
  return domains.size === 0 ? config : { ...config, envoy: domains };
}

/** One file on its way. */
interface Source {
  readonly file: string;
  readonly yaml: YamlFile;
  readonly problems: Problems;
  /** Undefined when it is not even a map. */
  readonly fields: Fields | undefined;
  drafts: ReadonlyMap<string, PolicyDraft>;
  rules: number;
  quotas: number;
}

function sourceOf({ file, text }: ConfigText): Source {
  const yaml = parseYaml(text);
  const problems = new Problems(yaml.locate);
  const fields = yaml.problems.length > 0 ? undefined : readFields(yaml.data, [], problems, SECTIONS);
  return { file, yaml, problems, fields, drafts: new Map(), rules: 0, quotas: 0 };
}

function problemsOf({ file, yaml, problems }: Source): FileProblem[] {
  const all = [...yaml.problems, ...problems.list];
  return all
    .sort((one, other) => one.line - other.line || one.column - other.column)
    .map((problem) => ({ file, ...problem }));
}

function readSources(sources: readonly Source[], environment: Environment): Config {
  const trustedProxies =
    onlyOnce(sources, 'trustedProxies', (value, { problems }) => readTrustedProxies(value, problems)) ?? 0;
  const tokenOf = onlyOnce(sources, 'jwt', (value, { problems }) => readJwtSection(value, problems, environment));
  // Who knows what the files hold that are no config at all: then no name is wrong, and none missing.
  const isWhole = sources.every(({ fields }) => fields !== undefined);
  const policies = readAllPolicies(sources, isWhole);
  const isPolicy = (name: string): boolean => !isWhole || policies.has(name);
  const rules = sources.flatMap((source) => {
    const own = readRules(source.fields?.rules, { problems: source.problems, isPolicy, trustedProxies, tokenOf });
    source.rules = own.length;
    readOverrides(source.fields?.overrides, { policies, isPolicy }, source.problems);
    return own;
  });
  const exceptions = sources.flatMap(({ fields, problems }) => readExceptions(fields?.exceptions, problems));
  const quotas = sources.flatMap((source) => {
    const own = readQuotas(source.fields?.quotas, { policies, isPolicy }, source.problems);
    source.quotas = own.length;
    return own;
  });
  const more = {
    ...(tokenOf === undefined ? {} : { tokenOf }),
    ...(exceptions.length === 0 ? {} : { exceptions }),
    ...(quotas.length === 0 ? {} : { quotas }),
  };
  return { policies, rules, trustedProxies, ...more };
}

/** What holds for all requests: one file may say it. */
function onlyOnce<T>(
  sources: readonly Source[],
  section: (typeof SECTIONS)[number],
  read: (value: unknown, source: Source) => T,
): T | undefined {
  const [first, ...others] = sources.filter(({ fields }) => fields?.[section] !== undefined);
  for (const { problems } of others) problems.add([section], `is already in ${first!.file}`);
  return first === undefined ? undefined : read(first.fields![section], first);
}

/** A file of several need not have policies, but one of them has to. */
function readAllPolicies(sources: readonly Source[], isWhole: boolean): ReadonlyMap<string, PolicyDraft> {
  const all = new Map<string, PolicyDraft>();
  const fileOf = new Map<string, string>();
  const isThere = ({ fields }: Source): boolean => fields?.policies !== undefined;
  const meant = isWhole && !sources.some(isThere) ? sources.slice(0, 1) : sources.filter(isThere);
  for (const source of meant) {
    source.drafts = readPolicies(source.fields!.policies, source.problems);
    for (const [name, draft] of source.drafts) {
      if (fileOf.has(name)) source.problems.add(['policies', name], `is already in ${fileOf.get(name)}`);
      else fileOf.set(name, source.file);
      all.set(name, draft);
    }
  }
  return all;
}

function readTrustedProxies(value: unknown, problems: Problems): TrustedProxies {
  try {
    byIp({ trustedProxies: value as TrustedProxies });
    return value as TrustedProxies;
  } catch (error) {
    problems.add(['trustedProxies'], (error as Error).message);
    return 0;
  }
}
