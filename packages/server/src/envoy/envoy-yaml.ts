/**
 * The YAML of Envoy rate limit files, as the reference server reads it: version 1.1 (`yes` is true), and texts may be written as numbers.
 * Maps stay maps, so that keys which are no texts can be seen.
 */
import { isScalar, type Pair, parseDocument, visit } from 'yaml';

export type YamlMap = ReadonlyMap<unknown, unknown>;

export function isYamlMap(value: unknown): value is YamlMap {
  return value instanceof Map;
}

/** Fields whose value is a text, whatever it looks like. */
const TEXTS: readonly unknown[] = ['domain', 'key', 'value', 'name', 'unit'];

/** Throws what keeps it from being YAML. */
export function parseEnvoyYaml(text: string): unknown {
  const document = parseDocument(text, { version: '1.1', prettyErrors: false });
  if (document.errors.length > 0) throw document.errors[0]!;
  visit(document, {
    Pair(_, pair) {
      if (keyOf(pair) === 'metadata') return visit.SKIP;
      if (TEXTS.includes(keyOf(pair))) asWritten(pair);
      return undefined;
    },
  });
  return document.toJS({ mapAsMap: true });
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
