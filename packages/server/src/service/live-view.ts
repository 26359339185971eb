/** `GET /v1/live`: what happens right now, as `sluice top` and pages that watch a server read it. */
import type { Policy } from 'sluice';
import type { Config } from '../config/config.ts';
import { kindOf } from '../files/fields.ts';
import { type Answer, json } from './answer.ts';
import { gather, type Reporting, storeOf, type Workers } from './crew.ts';
import { invalidField } from './http-error.ts';
import { MAX_SECONDS } from './live.ts';
import { historyOf, type LivePolicy, type LiveSecond, type LiveView, viewOf } from './live-sums.ts';

/** More are not counted. */
export const MAX_TOP = 100;
const [DEFAULT_SECONDS, DEFAULT_TOP] = [10, 20];

/** What `GET /v1/live` answers: the last seconds, by policy and by key. */
export interface LiveAnswer extends LiveView {
  /** Unix time in seconds. */
  readonly at: number;
  readonly policies: readonly (LivePolicy & {
    readonly shadow: boolean;
    /** Its numbers without plans and overrides; null for policies that are not in the config. */
    readonly limits: Policy | null;
  })[];
  readonly store: LiveView['store'] & {
    readonly state: 'up' | 'down';
    /** Unix time in seconds. */
    readonly since: number;
    /** For people. */
    readonly description: string;
  };
  /** Each second that is over, the oldest first, as many as were asked for. `at` is the end of the second. */
  readonly history: readonly (Omit<LiveSecond, 'secondsAgo'> & { readonly at: number })[];
  /** Whose numbers these are: `silent` workers did not answer in time and are missing. Absent where one process is the whole server. */
  readonly workers?: Workers;
}

interface Watched extends Reporting {
  readonly limits: { readonly config: Config };
}

export async function liveView({ query }: { readonly query: URLSearchParams }, context: Watched): Promise<Answer> {
  const { policies: configured } = context.limits.config;
  const seconds = readWhole(query, 'seconds', DEFAULT_SECONDS, [1, MAX_SECONDS]);
  const top = readWhole(query, 'top', DEFAULT_TOP, [1, MAX_TOP]);
  const historySeconds = readWhole(query, 'history', 0, [0, MAX_SECONDS]);
  const gathered = await gather(context, Math.max(seconds, historySeconds));
  const states = gathered.reports.map(({ live }) => live);
  const view = viewOf(states, seconds, top, configured.keys());
  const { state, secondsAgo } = storeOf(gathered).state;
  const at = Date.now() / 1e3;
  const answer: LiveAnswer = {
    at,
    ...view,
    policies: view.policies.map((policy) => ({
      ...policy,
      shadow: configured.get(policy.name)?.shadow === true,
      limits: configured.get(policy.name)?.policy ?? null,
    })),
    store: { ...view.store, state, since: at - secondsAgo, description: context.store.description },
    history: historyOf(states, historySeconds).map(({ secondsAgo: ago, ...second }) => ({ at: at - ago, ...second })),
    ...(gathered.workers === undefined ? {} : { workers: gathered.workers }),
  };
  return json(200, answer, { 'Cache-Control': 'no-store' });
}

function readWhole(
  query: URLSearchParams,
  name: string,
  otherwise: number,
  [least, most]: readonly [number, number],
): number {
  const text = query.get(name);
  if (text === null) return otherwise;
  const value = /^\d{1,4}$/.test(text) ? Number(text) : -1;
  if (value >= least && value <= most) return value;
  throw invalidField(name, `a whole number from ${least} to ${most}`, kindOf(text));
}
