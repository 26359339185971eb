/**
 * One policy of each kind in which nothing comes back while a test runs, so that what is admitted is a number and not a range.
 * Epoch windows are 36,500 days long: the next edge is in 2069.
 */
import type { Policy } from '../../../src/index.ts';
import { KINDS, type Kind, policyOf } from '../../support/random.ts';

const CENTURY_MS = 36_500 * 86_400_000;

export function slowPolicies(limit: number): Readonly<Record<Kind, Policy>> {
  const numbers = { limit, window: CENTURY_MS, capacity: limit, rate: limit / (CENTURY_MS / 1000) };
  return Object.fromEntries(KINDS.map((kind) => [kind, policyOf(kind, numbers, kind)]));
}
