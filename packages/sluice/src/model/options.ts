/** Options are checked where they are given: a misspelt one must not become a silent default. */
import { Kind, SluiceError } from './errors.ts';

export function checkOptionNames(options: unknown, known: readonly string[], path: string): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw invalid(path, `an object of options (${known.join(', ')})`, Kind.of(options));
  }
  for (const option in options) {
    if (!known.includes(option)) {
      throw invalid(
        `${path}.${option}`,
        `no such option; there are ${known.join(', ')}`,
        Kind.of((options as Record<string, unknown>)[option]),
      );
    }
  }
}

function invalid(path: string, expected: string, got: unknown): SluiceError {
  return new SluiceError({ code: 'SLUICE_INVALID_OPTION', path, expected, got });
}

export function checkFlag(flag: unknown, path: string): void {
  if (flag !== undefined && typeof flag !== 'boolean') throw invalid(path, 'true or false', flag);
}
