/** Options are checked where they are given: a misspelt one must not become a silent default. */
import { SluiceError } from './errors.ts';

export function checkOptionNames(options: unknown, known: readonly string[], path: string): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw invalid(path, `an object of options (${known.join(', ')})`, options);
  }
  for (const option in options) {
    if (!known.includes(option)) {
      throw invalid(
        `${path}.${option}`,
        `only the options ${known.join(', ')}`,
        (options as Record<string, unknown>)[option],
      );
    }
  }
}

function invalid(path: string, expected: string, got: unknown): SluiceError {
  return new SluiceError({ code: 'SLUICE_INVALID_OPTION', path, expected, got });
}
