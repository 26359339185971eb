/** Whether a file has none but known keys, and values that can be something. A misspelt key must not become a silent default. */
import type { Path, Problems } from '../files/problem.ts';
import { isYamlMap, type YamlMap } from './envoy-yaml.ts';

/** As in the reference server, at any depth. */
const KEYS: readonly string[] = [
  ...['domain', 'key', 'value', 'descriptors', 'rate_limit', 'unit', 'requests_per_unit', 'unlimited', 'shadow_mode'],
  ...['quota_mode', 'name', 'replaces', 'detailed_metric', 'value_to_metric', 'share_threshold', 'metadata'],
];

/** What Sluice adds, under `rate_limit` alone. */
const ADDED_KEYS: readonly string[] = ['algorithm', 'capacity', 'burst', 'period', 'unit_multiplier', 'calendar'];

export function checkKeys(map: YamlMap, path: Path, problems: Problems): void {
  for (const [key, value] of map) {
    const at = [...path, String(key)];
    if (typeof key !== 'string') problems.add(at, `config error, key is not of type string: ${String(key)}`);
    else if (!isKnown(key, path)) problems.add(at, `config error, unknown key '${key}'`);
    else if (key !== 'metadata') checkValue(value, at, problems);
  }
}

function isKnown(key: string, path: Path): boolean {
  return KEYS.includes(key) || (path.at(-1) === 'rate_limit' && ADDED_KEYS.includes(key));
}

function checkValue(value: unknown, path: Path, problems: Problems): void {
  if (isYamlMap(value)) checkKeys(value, path, problems);
  else if (Array.isArray(value))
    for (const [index, item] of value.entries()) checkItem(item, [...path, index], problems);
  else if (!isLeaf(value)) problems.add(path, 'error checking config');
}

function isLeaf(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isInteger(value) || value === null;
}

function checkItem(item: unknown, path: Path, problems: Problems): void {
  if (isYamlMap(item)) checkKeys(item, path, problems);
  else problems.add(path, `config error, yaml file contains list of type other than map: ${String(item)}`);
}
