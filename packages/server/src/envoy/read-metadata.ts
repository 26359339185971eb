/** The metadata of a rule: any map that can become a google.protobuf.Struct. */
import { kindOf } from '../files/fields.ts';
import type { Path, Problems } from '../files/problem.ts';
import type { Metadata } from './domain.ts';
import { isYamlMap, type YamlMap } from './envoy-yaml.ts';

export function readMetadata(value: unknown, path: Path, problems: Problems): Metadata | undefined {
  if (value === undefined || value === null) return undefined;
  try {
    if (isYamlMap(value)) return plainMap(value);
    problems.add(path, `error parsing metadata: expected a map, got ${kindOf(value)}`);
  } catch (error) {
    problems.add(path, `error parsing metadata: ${(error as Error).message}`);
  }
  return undefined;
}

function plainMap(map: YamlMap): Metadata {
  return Object.fromEntries([...map].map(([key, value]) => [keyText(key), plain(value)]));
}

function keyText(key: unknown): string {
  if (typeof key === 'string') return key;
  throw new TypeError(`key is not of type string: ${String(key)}`);
}

function plain(value: unknown): unknown {
  if (isYamlMap(value)) return plainMap(value);
  if (Array.isArray(value)) return value.map(plain);
  const isPlain = ['string', 'number', 'boolean'].includes(typeof value) || value === null;
  if (isPlain) return value;
  if (value instanceof Date) return value.toISOString();
  throw new TypeError(`a value of type ${typeof value} has no place in a protobuf struct`);
}
