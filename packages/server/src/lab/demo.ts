/**
 * The demo routes: one algorithm, asked once or many times at once, for whoever holds the session's cookie. "No" is an answer with status 200, as
 * everywhere in this service.
 */
import { createLimiter, type Limiter, type Policy, type RateLimitResult, type Store } from 'sluice';
import { type Fields, kindOf } from '../files/fields.ts';
import { type Answer, json } from '../service/answer.ts';
import { readItem } from '../service/ask.ts';
import { invalidField } from '../service/http-error.ts';
import { readOptionalJson } from '../service/read-body.ts';
import type { Asked, Route, RouteContext } from '../service/routes.ts';
import { DEMO_POLICIES, demoPolicy } from './demo-config.ts';
import type { InstantClock } from './instant-clock.ts';
import type { Session, Sessions } from './sessions.ts';

export const MAX_COUNT = 1000;
const DEFAULT_COUNT = 10;

type DemoLimiter = Limiter<{ readonly policies: readonly Policy[] }>;

export interface DemoResult {
  readonly allowed: boolean;
  readonly remaining: number;
  readonly limit: number;
  /** Seconds. */
  readonly retryAfter: number | null;
  /** Seconds. */
  readonly delay: number | null;
}

/** `clock` is the store's own, if it is in memory. */
export function demoRoutes(store: Store, clock: InstantClock, sessions: Sessions): Route[] {
  const limiter: DemoLimiter = createLimiter({ policies: ({ policies }) => policies, store });
  const post = (path: string, handle: Route['handle']): Route => ({ methods: ['POST'], path, access: 'use', handle });
  return [
    post('/api/rate-limit/reset', async (asked, context) => {
      await bodyOf(asked, context, []);
      const { session, headers } = sessions.of(asked.request);
      await forget(limiter, session);
      return answer({ reset: true }, headers);
    }),
    post('/api/rate-limit/:algorithm', async (asked, context) => {
      const { config } = await bodyOf(asked, context, ['config']);
      const policies = [demoPolicy(asked.parameter, config)];
      const { session, headers } = playing(asked, sessions, limiter);
      return answer(demoResult(await limiter.attempt(keyOf(session), { context: { policies } })), headers);
    }),
    post('/api/rate-limit/:algorithm/burst', async (asked, context) => {
      const { count, config } = await bodyOf(asked, context, ['count', 'config']);
      const policies = [demoPolicy(asked.parameter, config)];
      const attempts = readCount(count);
      const { session, headers } = playing(asked, sessions, limiter);
      const key = keyOf(session);
      const burst = clock.atOnce(() =>
        Array.from({ length: attempts }, () => limiter.attempt(key, { context: { policies } })),
      );
      const results = await Promise.all(burst);
      return answer(results.map(demoResult), headers);
    }),
  ];
}

function playing({ request }: Asked, sessions: Sessions, limiter: DemoLimiter) {
  const seated = sessions.of(request);
  seated.session.leftovers.set('demo', () => forget(limiter, seated.session));
  return seated;
}

function forget(limiter: DemoLimiter, session: Session): Promise<void> {
  return limiter.reset(keyOf(session), { context: { policies: DEMO_POLICIES } });
}

function keyOf({ id }: Session): string {
  return `demo:${id}`;
}

/** An empty body is one that says nothing. */
async function bodyOf({ request }: Asked, { bodyLimits }: RouteContext, known: readonly string[]): Promise<Fields> {
  const body = await readOptionalJson(request, bodyLimits);
  return body === undefined ? {} : readItem(body, '', known);
}

function readCount(value: unknown): number {
  if (value === undefined) return DEFAULT_COUNT;
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_COUNT) return value as number;
  throw invalidField('count', `a whole number from 1 to ${MAX_COUNT}`, kindOf(value));
}

function demoResult({ allowed, remaining, limit, retryAfter, delay }: RateLimitResult): DemoResult {
  return { allowed, remaining, limit, retryAfter, delay };
}

function answer(value: object, headers: Answer['headers']): Answer {
  return json(200, value, { 'Cache-Control': 'no-store', ...headers });
}
