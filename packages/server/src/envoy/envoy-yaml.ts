/**
 * The YAML of Envoy rate limit files, as the reference server reads it: version 1.1 (`yes` is true), and texts may be written as numbers.
 * Maps stay maps, so that keys which are no texts can be seen.
 */
import { isScalar, LineCounter, type Pair, parseDocument, visit } from 'yaml';
import type { Problem } from '../files/problem.ts';
import { problemsOf } from '../files/yaml-file.ts';

export type YamlMap = ReadonlyMap<unknown, unknown>;

export function isYamlMap(value: unknown): value is YamlMap {
  return value instanceof Map;
}

/** Fields whose value is a text, whatever it looks like. */
const TEXTS: readonly unknown[] = ['domain', 'key', 'value', 'name', 'unit'];

export interface EnvoyYaml {
  readonly data: unknown;
  /** What keeps it from being YAML. The data is then not to be used. */
  readonly problems: readonly Problem[];
}

export function parseEnvoyYaml(text: string): EnvoyYaml {
  const lines = new LineCounter();
  const document = parseDocument(text, { version: '1.1', prettyErrors: false, lineCounter: lines });
  if (document.errors.length > 0) return { data: undefined, problems: problemsOf(document, lines) };
  visit(document, {
    Pair(_, pair) {
      if (keyOf(pair) === 'metadata') return visit.SKIP;
      if (TEXTS.includes(keyOf(pair))) asWritten(pair);
      return undefined;
    },
  });
  try {
    return { data: document.toJS({ mapAsMap: true }), problems: [] };
  } catch (error) {
    return { data: undefined, problems: [{ path: '', message: (error as Error).message, line: 1, column: 1 }] };
  }
}

function keyOf({ key }: Pair): unknown {
  return isScalar(key) ? key.value : undefined;
}

/** `value: 404` is the text 404 and `value: no` the text no. A number with a fraction stays one, which is an error later on. */
function asWritten({ value: node }: Pair): void {
  if (!isScalar(node) || typeof node.source !== 'string') return;
  const { value } = node;
  const isFraction = typeof value === 'number' && !Number.isInteger(value);
  if (value !== null && typeof value !== 'string' && !isFraction) node.value = node.source;
}
