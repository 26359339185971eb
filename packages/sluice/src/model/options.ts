/** Options are checked where they are given: a misspelt one must not become a silent default. */
import { unknownName } from './did-you-mean.ts';
import { Kind, type SluiceError, wrong } from './errors.ts';

export function checkOptionNames(options: unknown, known: readonly string[], path: string): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw invalidOption(path, `an object of options (${known.join(', ')})`, Kind.of(options));
  }
  for (const option in options) {
    if (!known.includes(option)) throw unknownName('SLUICE_INVALID_OPTION', path, 'option', option, known);
  }
}

export function invalidOption(path: string, expected: string, got: unknown): SluiceError {
  return wrong('SLUICE_INVALID_OPTION', path, expected, got);
}

export function checkFlag(flag: unknown, path: string): void {
  if (flag !== undefined && typeof flag !== 'boolean') throw invalidOption(path, 'true or false', flag);
}

export function checkCount(count: unknown, path: string): number {
  if (Number.isSafeInteger(count) && (count as number) >= 1) return count as number;
  throw invalidOption(path, 'a whole number of at least 1', count);
}

export function checkFunction(value: unknown, path: string): void {
  if (value !== undefined && typeof value !== 'function') throw invalidOption(path, 'a function', Kind.of(value));
}
