/** Single values of an Envoy file. What is wrong is told in the words of the reference server as far as it has some. */
import { kindOf } from '../files/fields.ts';
import type { Path, Problems } from '../files/problem.ts';

/** Empty for none. */
export function readText(value: unknown, path: Path, problems: Problems): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  problems.add(path, `error loading config file: ${String(path.at(-1))}: expected a text, got ${kindOf(value)}`);
  return '';
}

export function readFlag(value: unknown, path: Path, problems: Problems): boolean {
  if (value === undefined || value === null || typeof value === 'boolean') return value === true;
  problems.add(path, `error loading config file: ${String(path.at(-1))}: expected true or false, got ${kindOf(value)}`);
  return false;
}

export interface WholeRange {
  readonly least: number;
  readonly most: number;
  /** What nothing means. */
  readonly otherwise: number;
}

export function readWhole(
  value: unknown,
  path: Path,
  problems: Problems,
  { least, most, otherwise }: WholeRange,
): number {
  if (value === undefined || value === null) return otherwise;
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return value as number;
  // A fraction is told where all values are looked at.
  if (typeof value === 'number' && !Number.isInteger(value)) return otherwise;
  const expected = `a whole number from ${least} to ${most}`;
  problems.add(path, `error loading config file: ${String(path.at(-1))}: expected ${expected}, got ${kindOf(value)}`);
  return otherwise;
}
