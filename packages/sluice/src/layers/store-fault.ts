/** Whose fault is it? The breaker counts only what the store did wrong, and a fallback answers only for that. */
import { type ErrorCode, SluiceError } from '../model/errors.ts';

/** The codes that say something about the store. All others name a mistake of the caller, which no other store would forgive. */
const STORE_FAULTS: ReadonlySet<ErrorCode> = new Set([
  'SLUICE_TIMEOUT',
  'SLUICE_CIRCUIT_OPEN',
  'SLUICE_UNEXPECTED_REPLY',
] satisfies ErrorCode[]);

export function isStoreFault(error: unknown): boolean {
  return !(error instanceof SluiceError) || STORE_FAULTS.has(error.code);
}
