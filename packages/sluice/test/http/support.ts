/** Views and results for tests, as short as what they are about. */

import type { RequestView } from '../../src/http/index.ts';
import type { Decision, RateLimitResult } from '../../src/index.ts';

export type HeaderTable = Readonly<Record<string, string | undefined>>;

export interface ViewOptions<Native> extends Partial<Omit<RequestView<Native>, 'header'>> {
  readonly headers?: HeaderTable;
}

/** Header names are lower case in the table, as node:http gives them. */
export function viewOf<Native = unknown>({ headers = {}, ...view }: ViewOptions<Native> = {}): RequestView<Native> {
  return {
    method: 'GET',
    path: '/',
    ip: '203.0.113.7',
    ...view,
    header: (name) => headers[name.toLowerCase()],
  };
}

/** One policy's answer; what matters is given, the rest is unremarkable. */
export function decisionOf(given: Partial<Decision> = {}): Decision {
  const resetAfter = given.resetAfter ?? 0;
  return {
    policy: 'default',
    allowed: true,
    limit: 100,
    remaining: 99,
    retryAfter: null,
    resetAfter,
    resetAt: 1_700_000_000 + resetAfter,
    delay: null,
    ...given,
  };
}

/** The first decision is the binding one. */
export function resultOf(...given: readonly (Partial<Decision> & { source?: string })[]): RateLimitResult {
  const decisions = given.map(({ source, ...decision }) => decisionOf(decision));
  return { ...decisions[0]!, decisions, source: given[0]?.source ?? 'store' };
}
