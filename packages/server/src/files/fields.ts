/** Reading fields of data that came from outside: each function gives the value, or reports a problem and gives undefined. */
import type { Path, Problems } from './problem.ts';

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A map, and none but these fields in it: a misspelt field must not become a silent default. */
export function readFields(
  value: unknown,
  path: Path,
  problems: Problems,
  known: readonly string[],
): Fields | undefined {
  if (!isFields(value)) {
    problems.add(path, `expected a map of ${known.join(', ')}, got ${kindOf(value)}`);
    return undefined;
  }
  for (const field of Object.keys(value)) {
    if (!known.includes(field)) problems.add([...path, field], `no such field; there are ${known.join(', ')}`);
  }
  return value;
}

export function readText(value: unknown, path: Path, problems: Problems, expected: string): string | undefined {
  if (typeof value === 'string' && value !== '') return value;
  problems.add(path, `expected ${expected}, got ${kindOf(value)}`);
  return undefined;
}

export function readFlag(value: unknown, path: Path, problems: Problems): boolean {
  if (value === undefined || typeof value === 'boolean') return value === true;
  problems.add(path, `expected true or false, got ${kindOf(value)}`);
  return false;
}

/** One text or a list of them, as a list. */
export function readTexts(value: unknown, path: Path, problems: Problems, expected: string): readonly string[] {
  const list = Array.isArray(value) ? value : [value];
  if (list.length === 0) problems.add(path, `expected ${expected}, got an empty list`);
  return list.flatMap((item, index) => {
    const text = readText(item, Array.isArray(value) ? [...path, index] : path, problems, expected);
    return text === undefined ? [] : [text];
  });
}

export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  // JSON has no Infinity, which 1e400 is.
  if (typeof value === 'number') return String(value);
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 40)}..."` : text;
}
