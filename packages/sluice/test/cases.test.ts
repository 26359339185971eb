/** The case tables, on the TypeScript twins alone. The same rows run on every store through the store contract. */
import { describe, expect, test } from 'vitest';
import { checkPolicy } from '../src/index.ts';
import { caseTables } from '../src/testing/cases.generated.ts';
import { typescriptTwin } from './support/reference.ts';

describe.each(caseTables)('$policy.algorithm: $title', ({ policy: plain, rows }) => {
  test('every row', () => {
    const policy = checkPolicy(plain);
    const twin = typescriptTwin();
    const seen = rows.map(([at, cost, , , , , , why]) => {
      const { allowed, remaining, retryAfter, resetAfter, delay } = twin.attempt(Math.round(at * 1e6), cost, policy);
      const retry = allowed ? null : retryAfter === Number.POSITIVE_INFINITY ? 'never' : retryAfter / 1e6;
      return [at, cost, allowed, remaining, retry, resetAfter / 1e6, delay === 0 ? null : delay / 1e6, why];
    });
    expect(seen).toEqual(rows);
  });
});
