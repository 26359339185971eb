/** Errors that no waiting mends, in a sentence: the engine says what it refuses, Sluice says what to do about it. */
import { mistaken, type SluiceError } from '../model/errors.ts';

export function refusalOf(engine: string, error: unknown, cure: string): SluiceError {
  const text = error instanceof Error ? error.message : String(error);
  return mistaken('SLUICE_STORE_REFUSES', 'store', `${engine} answered: "${text}". ${cure}`, error);
}
