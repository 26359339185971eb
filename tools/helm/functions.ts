/** What our chart calls of Go's templates, of Sprig and of Helm. */

import { createHash } from 'node:crypto';
import { stringify } from 'yaml';

// biome-ignore lint/suspicious/noExplicitAny: a template knows no types.
type Any = any;

/** As Go has it: what is empty is false. */
export function isTrue(value: Any): boolean {
  if (value === null || value === undefined || value === false || value === 0 || value === '') return false;
  if (Array.isArray(value)) return value.length > 0;
  return typeof value === 'object' ? Object.keys(value).length > 0 : true;
}

/** As Go prints it. */
export function text(value: Any): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'object')
    throw new Error(`would print ${JSON.stringify(value).slice(0, 80)} as Go does: use toYaml`);
  return String(value);
}

function indent(count: number, all: string): string {
  const space = ' '.repeat(count);
  return space + all.replaceAll('\n', `\n${space}`);
}

/** Helm's: keys in order, no line end at the end. */
export function toYaml(value: Any): string {
  return stringify(value, {
    sortMapEntries: true,
    lineWidth: 0,
    aliasDuplicateObjects: false,
    defaultStringType: 'PLAIN',
  }).replace(/\n$/, '');
}

function quote(...values: Any[]): string {
  const there = values.filter((value) => value !== null && value !== undefined);
  return there.map((value) => JSON.stringify(text(value))).join(' ');
}

function printf(format: string, ...values: Any[]): string {
  let next = 0;
  const done = format.replace(/%(.)/g, (_, verb: string) => {
    if (verb === '%') return '%';
    const value = values[next++];
    if (verb === 's' || verb === 'v') return text(value);
    if (verb === 'd') return String(Math.trunc(value));
    if (verb === 'q') return JSON.stringify(text(value));
    throw new Error(`printf: %${verb} is not known`);
  });
  if (next !== values.length) throw new Error(`printf ${JSON.stringify(format)}: ${values.length} values`);
  return done;
}

/** Basic kinds only, as Go wants it. */
function comparing(compare: (one: Any, other: Any) => boolean): (one: Any, other: Any) => boolean {
  return (one, other) => {
    if (typeof one !== typeof other) {
      throw new Error(`incompatible types for comparison: ${typeof one} and ${typeof other}`);
    }
    return compare(one, other);
  };
}

const isEqual = comparing((one, other) => one === other);

function dict(...parts: Any[]): Record<string, Any> {
  if (parts.length % 2 === 1) throw new Error('dict: a key without a value');
  return Object.fromEntries(
    Array.from({ length: parts.length / 2 }, (_, index) => [text(parts[index * 2]), parts[index * 2 + 1]]),
  );
}

export const FUNCTIONS: Readonly<Record<string, (...values: Any[]) => Any>> = {
  and: (...values) => values.find((value) => !isTrue(value)) ?? values.at(-1),
  or: (...values) => values.find(isTrue) ?? values.at(-1),
  not: (value) => !isTrue(value),
  eq: (one, ...others) => others.some((other) => isEqual(one, other)),
  ne: (one, other) => !isEqual(one, other),
  lt: comparing((one, other) => one < other),
  gt: comparing((one, other) => one > other),
  len: (value) => (typeof value === 'object' ? Object.keys(value ?? {}).length : text(value).length),
  printf,
  quote,
  default: (usual, value) => (isTrue(value) ? value : usual),
  required: (message, value) => {
    if (value === null || value === undefined || value === '') throw new Error(message);
    return value;
  },
  fail: (message) => {
    throw new Error(message);
  },
  toYaml,
  toString: text,
  indent,
  nindent: (count, all) => `\n${indent(count, all)}`,
  trunc: (count, all) => text(all).slice(0, count),
  trimSuffix: (end, all) => (text(all).endsWith(end) ? text(all).slice(0, -end.length) : text(all)),
  replace: (from, to, all) => text(all).replaceAll(from, to),
  contains: (part, all) => text(all).includes(part),
  dict,
  list: (...values) => values,
  join: (between, list) => (list as Any[]).map(text).join(between),
  hasKey: (map, key) => Object.hasOwn(map, key),
  add: (...values) => values.reduce((sum, value) => sum + Math.trunc(Number(value)), 0),
  trim: (all) => text(all).trim(),
  int: (value) => Math.trunc(Number(value)),
  ternary: (yes, no, which) => (isTrue(which) ? yes : no),
  sha256sum: (all) => createHash('sha256').update(text(all)).digest('hex'),
};
