/** What there is to ask: every route, what it is for, and who answers. The description at /openapi.json is held against this table. */
import type { IncomingMessage } from 'node:http';
import { type Answer, json, text } from './answer.ts';
import { answerAll } from './batch.ts';
import { checkPolicies, checkRules } from './check.ts';
import { HttpError } from './http-error.ts';
import type { Metrics } from './metrics.ts';
import type { OpenStore } from './open-store.ts';
import { OPENAPI } from './openapi.ts';
import { type BodyLimits, readJson } from './read-body.ts';
import type { Access } from './token.ts';
import { attempt, block, peek, refund, reserve, reset, settle, unblock, type Verb, type VerbContext } from './verbs.ts';

export interface RouteContext extends VerbContext {
  readonly metrics: Metrics;
  readonly store: OpenStore;
  readonly bodyLimits: BodyLimits;
  isDraining(): boolean;
  /** Told of errors that do not become the response's status. */
  onError(error: unknown): void;
}

export interface Asked {
  readonly request: IncomingMessage;
  readonly query: URLSearchParams;
  /** What stands for `:policy` in the path. */
  readonly parameter: string;
}

export interface Route {
  readonly methods: readonly string[];
  /** With a `/:policy` at the end, or without. */
  readonly path: string;
  readonly access: Access;
  handle(asked: Asked, context: RouteContext): Promise<Answer>;
}

function verbRoute(path: string, access: Access, verb: Verb): Route {
  return {
    methods: ['POST'],
    path,
    access,
    async handle({ request }, context) {
      const body = await readJson(request, context.bodyLimits);
      return json(200, await answerAll(verb, body, context, context.onError));
    },
  };
}

export const ROUTES: readonly Route[] = [
  verbRoute('/v1/attempt', 'use', attempt),
  verbRoute('/v1/peek', 'use', peek),
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
  { methods: ['GET'], path: '/metrics', access: 'use', handle: (_, context) => metricsText(context) },
  { methods: ['GET'], path: '/openapi.json', access: 'use', handle: async () => json(200, OPENAPI) },
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
export function findRoute(method: string, path: string): Found {
  const found = exact.get(path) ?? underPrefix(path);
  if (found === undefined) throw new HttpError(404, 'not_found', 'There is no such route; /openapi.json lists them.');
  const { methods } = found.route;
  if (methods.includes(method === 'HEAD' ? 'GET' : method)) return found;
  const headers = { Allow: methods.join(', ') };
  throw new HttpError(405, 'method_not_allowed', `This route takes ${methods.join(' and ')}.`, { headers });
}

const PARAMETER = /\/:\w+$/;
const exact = new Map<string, Found>(
  ROUTES.filter(({ path }) => !PARAMETER.test(path)).map((route) => [route.path, { route, parameter: '' }]),
);
const prefixes = ROUTES.filter(({ path }) => PARAMETER.test(path)).map((route) => ({
  route,
  prefix: route.path.replace(PARAMETER, '/'),
}));

function underPrefix(path: string): Found | undefined {
  const found = prefixes.find(({ prefix }) => path.startsWith(prefix) && !path.includes('/', prefix.length));
  const parameter = found === undefined ? undefined : decoded(path.slice(found.prefix.length));
  return found === undefined || !parameter ? undefined : { route: found.route, parameter };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
