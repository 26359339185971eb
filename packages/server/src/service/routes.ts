/** What there is to ask: every route, what it is for, and who answers. The description at /openapi.json is held against this table. */
import type { IncomingMessage } from 'node:http';
import type { EnvoySettings } from '../envoy/settings.ts';
import { type Answer, json, jsonText, text } from './answer.ts';
import { answerAll } from './batch.ts';
import { checkPolicies, checkRules } from './check.ts';
import { ENVOY_ROUTES } from './envoy-routes.ts';
import { HttpError } from './http-error.ts';
import { liveView } from './live-view.ts';
import { isPromise } from './maybe-promise.ts';
import type { Metrics } from './metrics.ts';
import type { OpenStore } from './open-store.ts';
import { type BodyLimits, readJson } from './read-body.ts';
import { resultsJson } from './result-json.ts';
import type { Access } from './token.ts';
import { attempt, block, peek, refund, reserve, reset, settle, unblock, type Verb, type VerbContext } from './verbs.ts';

export interface RouteContext extends VerbContext {
  readonly metrics: Metrics;
  readonly store: OpenStore;
  readonly bodyLimits: BodyLimits;
  /** How the Envoy service behaves. */
  readonly envoy: EnvoySettings;
  /** What /openapi.json says. */
  readonly description: object;
  isDraining(): boolean;
  /** Told of errors that do not become the response's status. */
  onError(error: unknown): void;
}

export interface Asked {
  readonly request: IncomingMessage;
  readonly query: URLSearchParams;
  /** What stands for `:policy`, or whatever its name is, in the path. */
  readonly parameter: string;
}

export interface Route {
  readonly methods: readonly string[];
  /** With one segment such as `:policy`, or without. */
  readonly path: string;
  readonly access: Access;
  handle(asked: Asked, context: RouteContext): Promise<Answer>;
}

function verbRoute(
  path: string,
  access: Access,
  verb: Verb,
  write: (answer: object) => string = JSON.stringify,
): Route {
  return {
    methods: ['POST'],
    path,
    access,
    async handle({ request }, context) {
      const body = await readJson(request, context.bodyLimits);
      const answer = answerAll(verb, body, context, context.onError);
      return jsonText(200, write(isPromise(answer) ? await answer : answer));
    },
  };
}

export const ROUTES: readonly Route[] = [
  verbRoute('/v1/attempt', 'use', attempt, resultsJson),
  verbRoute('/v1/peek', 'use', peek, resultsJson),
  verbRoute('/v1/reserve', 'use', reserve),
  verbRoute('/v1/settle', 'use', settle),
  verbRoute('/v1/refund', 'change', refund),
  verbRoute('/v1/reset', 'change', reset),
  verbRoute('/v1/block', 'change', block),
  verbRoute('/v1/unblock', 'change', unblock),
  {
    methods: ['GET', 'POST'],
    path: '/v1/check/:policy',
    access: 'use',
    handle: (asked, { limits }) => checkPolicies(asked.parameter, asked, limits),
  },
  {
    methods: ['GET', 'POST'],
    path: '/v1/check',
    access: 'use',
    handle: (asked, { limits }) => checkRules(asked, limits),
  },
  { methods: ['GET'], path: '/healthz', access: 'open', handle: async () => json(200, { healthy: true }) },
  { methods: ['GET'], path: '/readyz', access: 'open', handle: (_, context) => readiness(context) },
  ...ENVOY_ROUTES,
  { methods: ['GET'], path: '/metrics', access: 'use', handle: (_, context) => metricsText(context) },
  {
    methods: ['GET'],
    path: '/v1/live',
    access: 'see-keys',
    handle: async (asked, context) => liveView(asked, context),
  },
  {
    methods: ['GET'],
    path: '/openapi.json',
    access: 'use',
    handle: async (_, { description }) => json(200, description),
  },
];

/** Not ready while it drains, and while the store is away and nobody answers in its place. */
async function readiness({ store, isDraining }: RouteContext): Promise<Answer> {
  const storeUp = await store.isUp();
  const isReady = !isDraining() && (storeUp || !store.failsClosed);
  return json(isReady ? 200 : 503, { ready: isReady, draining: isDraining(), store: storeUp ? 'up' : 'down' });
}

async function metricsText({ metrics, store, holds }: RouteContext): Promise<Answer> {
  const body = metrics.text({ storeUp: await store.isUp(), holds: holds.size });
  return text(200, body, 'text/plain; version=0.0.4; charset=utf-8');
}

export interface Found {
  readonly route: Route;
  readonly parameter: string;
}

/** HEAD is answered as GET is. Throws 404 and 405. */
export type FindRoute = (method: string, path: string) => Found;

export function routeFinder(routes: readonly Route[]): FindRoute {
  const exact = new Map(
    routes
      .filter(({ path }) => !PARAMETER.test(path))
      .map((route): [string, Found] => [route.path, { route, parameter: '' }]),
  );
  const patterns = routes
    .filter(({ path }) => PARAMETER.test(path))
    .map((route) => ({ route, pattern: patternOf(route) }));
  return (method, path) => {
    const found = exact.get(path) ?? matching(path, patterns);
    if (found === undefined) throw new HttpError(404, 'not_found', 'There is no such route; /openapi.json lists them.');
    const { methods } = found.route;
    if (methods.includes(method === 'HEAD' ? 'GET' : method)) return found;
    const headers = { Allow: methods.join(', ') };
    throw new HttpError(405, 'method_not_allowed', `This route takes ${methods.join(' and ')}.`, { headers });
  };
}

const PARAMETER = /:\w+/;

/** Paths of routes have no characters that mean something in a pattern. */
function patternOf({ path }: Route): RegExp {
  return new RegExp(`^${path.replace(PARAMETER, '([^/]+)')}$`);
}

function matching(
  path: string,
  patterns: readonly { readonly route: Route; readonly pattern: RegExp }[],
): Found | undefined {
  for (const { route, pattern } of patterns) {
    const [, text] = pattern.exec(path) ?? [];
    const parameter = text === undefined ? undefined : decoded(text);
    if (parameter !== undefined) return { route, parameter };
  }
  return undefined;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
