/** `GET /v1/live`: what happens right now, as `sluice top` and pages that watch a server read it. */
import type { Config } from '../config/config.ts';
import { kindOf } from '../config/fields.ts';
import { type Answer, json } from './answer.ts';
import { invalidField } from './http-error.ts';
import { type LivePolicy, type LiveView, MAX_SECONDS } from './live.ts';
import type { Metrics } from './metrics.ts';

/** More are not counted. */
export const MAX_TOP = 100;
const [DEFAULT_SECONDS, DEFAULT_TOP] = [10, 20];

export interface LiveAnswer extends LiveView {
  /** Unix time in seconds. */
  readonly at: number;
  readonly policies: readonly (LivePolicy & { readonly shadow: boolean })[];
}

interface Watched {
  readonly limits: { readonly config: Config };
  readonly metrics: Metrics;
}

export function liveView({ query }: { readonly query: URLSearchParams }, { limits, metrics }: Watched): Answer {
  const { config } = limits;
  const seconds = readWhole(query, 'seconds', DEFAULT_SECONDS, MAX_SECONDS);
  const view = metrics.live.view(seconds, readWhole(query, 'top', DEFAULT_TOP, MAX_TOP), config.policies.keys());
  const policies = view.policies.map((policy) => ({
    ...policy,
    shadow: config.policies.get(policy.name)?.shadow === true,
  }));
  return json(200, { at: Date.now() / 1e3, ...view, policies } satisfies LiveAnswer, { 'Cache-Control': 'no-store' });
}

function readWhole(query: URLSearchParams, name: string, otherwise: number, most: number): number {
  const text = query.get(name);
  if (text === null) return otherwise;
  const value = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= most) return value;
  throw invalidField(name, `a whole number from 1 to ${most}`, kindOf(text));
}
