/** How this folder refuses an option: at once, where it is given, by its path. */
import { Kind, SluiceError } from '../model/errors.ts';

export function invalidOption(path: string, expected: string, got: unknown): SluiceError {
  return new SluiceError({ code: 'SLUICE_INVALID_OPTION', path, expected, got });
}

export function checkFunction(value: unknown, path: string): void {
  if (value !== undefined && typeof value !== 'function') throw invalidOption(path, 'a function', Kind.of(value));
}
