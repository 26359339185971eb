/** Failures are not forgotten. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Kind } from '../support/random.ts';

export interface Failure {
  readonly seed: number;
  readonly steps: number;
  readonly stack: string;
  readonly kind: Kind;
}

const file = new URL('simulation.remembered.json', import.meta.url);

export const remembered: readonly Failure[] = JSON.parse(readFileSync(file, 'utf8'));

export function remember(failure: Failure): void {
  if (process.env.CI !== undefined) return;
  const known: readonly Failure[] = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, `${JSON.stringify([...known, failure], null, 2)}\n`);
}
