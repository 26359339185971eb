/** From the text of an envoyproxy/ratelimit file to a domain, or to everything that is wrong with it. */
import { kindOf } from '../files/fields.ts';
import { type FileProblem, type Locate, type Path, type Problem, Problems } from '../files/problem.ts';
import { parseYaml } from '../files/yaml-file.ts';
import { checkKeys } from './check-keys.ts';
import type { EnvoyDomain, Node, Rule } from './domain.ts';
import { isYamlMap, parseEnvoyYaml, type YamlMap } from './envoy-yaml.ts';
import { compositeOf, duplicatesIn, duplicateText, levelOf } from './level.ts';
import { readMetadata } from './read-metadata.ts';
import { readRateLimit } from './read-rate-limit.ts';
import { readFlag, readText } from './read-value.ts';

export interface EnvoyFile {
  /** Undefined when there are problems. */
  readonly domain: EnvoyDomain | undefined;
  readonly locate: Locate;
  /** In the order of lines. */
  readonly problems: readonly FileProblem[];
}

/** How files are read: what the reference server has variables for. */
export interface ReadingOptions {
  /** Months are those of the calendar. */
  readonly usesCalendarMonth: boolean;
}

export function readEnvoyFile(file: string, text: string, options: ReadingOptions): EnvoyFile {
  const { locate } = parseYaml(text);
  const problems = new Problems(locate);
  const yaml = parseEnvoyYaml(text);
  const domain = yaml.problems.length > 0 ? undefined : readDomain(file, yaml.data, problems, options);
  const all = [...yaml.problems.map(notLoaded), ...problems.list];
  const sorted = all.sort((one, other) => one.line - other.line || one.column - other.column);
  return {
    domain: sorted.length === 0 ? domain : undefined,
    locate,
    problems: sorted.map((problem) => ({ file, ...problem, form: 'envoy' })),
  };
}

function notLoaded({ message, ...problem }: Problem): Problem {
  return { ...problem, message: `error loading config file: ${message}` };
}

function readDomain(
  file: string,
  data: unknown,
  problems: Problems,
  { usesCalendarMonth }: ReadingOptions,
): EnvoyDomain | undefined {
  if (!isYamlMap(data)) {
    problems.add([], `error loading config file: expected a map with domain and descriptors, got ${kindOf(data)}`);
    return undefined;
  }
  checkKeys(data, [], problems);
  const name = readText(data.get('domain'), ['domain'], problems);
  if (name === '') problems.add(['domain'], 'config file cannot have empty domain');
  const nodes = readNodes(data.get('descriptors'), ['descriptors'], {
    ...{ domain: name, above: [], problems, usesCalendarMonth },
  });
  return { name, file, nodes, level: levelOf(nodes), usesCalendarMonth };
}

interface Reading extends ReadingOptions {
  readonly domain: string;
  /** The composites of the descriptors around this one. */
  readonly above: readonly string[];
  readonly problems: Problems;
}

function readNodes(value: unknown, path: Path, reading: Reading): readonly Node[] {
  const { domain, problems } = reading;
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) {
    problems.add(path, `error loading config file: descriptors: expected a list, got ${kindOf(value)}`);
    return [];
  }
  const places = new Map<Node, Path>();
  value.forEach((item: unknown, index) => {
    const at = [...path, index];
    const node = isYamlMap(item) ? readNode(item, at, reading) : undefined;
    if (node !== undefined) places.set(node, at);
  });
  const nodes = [...places.keys()];
  for (const node of duplicatesIn(nodes)) problems.add(places.get(node)!, duplicateText(domain, node));
  return nodes;
}

function readNode(map: YamlMap, path: Path, reading: Reading): Node | undefined {
  const { problems, above } = reading;
  const key = readText(map.get('key'), [...path, 'key'], problems);
  if (key === '') {
    problems.add(path, 'descriptor has empty key');
    return undefined;
  }
  const value = readText(map.get('value'), [...path, 'value'], problems) || undefined;
  const composite = compositeOf(key, value);
  const sharesThreshold = readFlag(map.get('share_threshold'), [...path, 'share_threshold'], problems);
  if (sharesThreshold && !composite.includes('*')) {
    const expected = "share_threshold can only be used with wildcard values (containing '*')";
    problems.add([...path, 'share_threshold'], `${expected}, but found key '${composite}'`);
  }
  const ownPath = [...above, composite];
  return {
    ...{ key, value, path: ownPath, sharesThreshold },
    valueToMetric: readFlag(map.get('value_to_metric'), [...path, 'value_to_metric'], problems),
    rule: readRule(map, path, reading),
    children: levelOf(readNodes(map.get('descriptors'), [...path, 'descriptors'], { ...reading, above: ownPath })),
  };
}

function readRule(map: YamlMap, path: Path, { problems, usesCalendarMonth }: Reading): Rule | undefined {
  const flag = (name: string): boolean => readFlag(map.get(name), [...path, name], problems);
  const rateLimit = readRateLimit(map.get('rate_limit'), [...path, 'rate_limit'], problems, usesCalendarMonth);
  const rule = {
    shadow: flag('shadow_mode'),
    quota: flag('quota_mode'),
    detailedMetric: flag('detailed_metric'),
    metadata: readMetadata(map.get('metadata'), [...path, 'metadata'], problems),
  };
  return rateLimit === undefined ? undefined : { ...rateLimit, ...rule };
}
