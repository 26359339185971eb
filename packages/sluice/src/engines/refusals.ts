/** Errors that no waiting mends, in a sentence: the engine says what it refuses, Sluice says what to do about it. */
import { SluiceError } from '../model/errors.ts';

export function refusalOf(engine: string, error: unknown, cure: string): SluiceError {
  const text = error instanceof Error ? error.message : String(error);
  return new SluiceError({
    code: 'SLUICE_STORE_REFUSES',
    path: 'store',
    message: `${engine} refuses: "${text}". ${cure}`,
    cause: error,
  });
}
