/** What there is to ask: every route, what it is for, and who answers. The description at /openapi.json is held against this table. */
import type { IncomingMessage } from 'node:http';
import { isPromise } from 'sluice/store';
import type { EnvoySettings } from '../envoy/settings.ts';
import type { TlsFiles } from '../files/tls.ts';
import { type Answer, json, jsonText, text } from './answer.ts';
import { answerAll } from './batch.ts';
import type { BrowserGuard, Openness } from './browser-guard.ts';
import { checkPolicies, checkRules } from './check.ts';
import { type Crew, gather, silenceText, storeOf } from './crew.ts';
import { ENVOY_ROUTES } from './envoy-routes.ts';
import { type ChangeLog, type Exceptions, exceptionsRoute } from './exceptions.ts';
import { HttpError } from './http-error.ts';
import { liveView } from './live-view.ts';
import { type Metrics, metricsText } from './metrics.ts';
import type { OpenStore } from './open-store.ts';
import { enter, extend, release } from './permits.ts';
import { numberIn, refuseOthers } from './query.ts';
import { type BodyLimits, readJson } from './read-body.ts';
import { resultsJson } from './result-json.ts';
import type { Access, Guard } from './token.ts';
import {
  attempt,
  block,
  HISTORY_FIELDS,
  history,
  peek,
  penalize,
  refund,
  reserve,
  reset,
  settle,
  unblock,
  type Verb,
  type VerbContext,
} from './verbs.ts';

export interface RouteContext extends Omit<VerbContext, 'caller'>, ChangeLog {
  readonly exceptions: Exceptions;
  readonly metrics: Metrics;
  readonly store: OpenStore;
  /** The processes beside this one. Undefined when there are none. */
  readonly crew: Crew | undefined;
  readonly bodyLimits: BodyLimits;
  /** How the Envoy service behaves. */
  readonly envoy: EnvoySettings;
  /** Of every route, as OpenAPI. */
  readonly description: Answer;
  isDraining(): boolean;
  /** What is shown now, where both ports speak TLS. */
  certificate(): TlsFiles | undefined;
  readonly guard: Guard;
  readonly browsers: BrowserGuard;
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
  /** For whom it is besides programs. Default: for nobody. */
  readonly openness?: Partial<Openness> | undefined;
  handle(asked: Asked, context: RouteContext): Promise<Answer>;
}

const FOR_GATEWAYS: Partial<Openness> = { isForGateways: true };

/** Open to all, and under whatever name they know the server. */
function health(path: string, handle: Route['handle']): Route {
  return { methods: ['GET'], path, access: 'open', openness: { isForEveryone: true, isUnderAnyHost: true }, handle };
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

/** One at a time: a list of them could be an answer of any size. */
async function historyOf({ request, query }: Asked, context: RouteContext): Promise<Answer> {
  const question = request.method === 'POST' ? await readJson(request, context.bodyLimits) : historyIn(query);
  return json(200, await history(question, '', context), { 'Cache-Control': 'no-store' });
}

function historyIn(query: URLSearchParams): object {
  refuseOthers(query, HISTORY_FIELDS);
  const texts = Object.fromEntries(['key', 'policy', 'plan'].map((name) => [name, query.get(name) ?? undefined]));
  return { ...texts, limit: numberIn(query, 'limit'), after: numberIn(query, 'after') };
}

export const ROUTES: readonly Route[] = [
  verbRoute('/v1/attempt', 'use', attempt, resultsJson),
  verbRoute('/v1/peek', 'use', peek, resultsJson),
  verbRoute('/v1/reserve', 'use', reserve),
  verbRoute('/v1/settle', 'use', settle),
  verbRoute('/v1/enter', 'use', enter),
  verbRoute('/v1/extend', 'use', extend),
  verbRoute('/v1/release', 'use', release),
  verbRoute('/v1/refund', 'change', refund),
  verbRoute('/v1/penalize', 'change', penalize),
  verbRoute('/v1/reset', 'change', reset),
  verbRoute('/v1/block', 'change', block),
  verbRoute('/v1/unblock', 'change', unblock),
  { methods: ['GET', 'POST', 'DELETE'], path: '/v1/exceptions', access: 'change', handle: exceptionsRoute },
  { methods: ['GET', 'POST'], path: '/v1/history', access: 'see-keys', handle: historyOf },
  {
    methods: ['GET', 'POST'],
    path: '/v1/check/:policy',
    access: 'use',
    openness: FOR_GATEWAYS,
    handle: (asked, { limits }) => checkPolicies(asked.parameter, asked, limits),
  },
  {
    methods: ['GET', 'POST'],
    path: '/v1/check',
    access: 'use',
    openness: FOR_GATEWAYS,
    handle: (asked, { limits }) => checkRules(asked, limits),
  },
  health('/healthz', async (_, { crew }) => json(200, { healthy: true, ...(crew && { worker: crew.id }) })),
  health('/readyz', (_, context) => readiness(context)),
  ...ENVOY_ROUTES,
  { methods: ['GET'], path: '/metrics', access: 'use', handle: (_, context) => metricsAnswer(context) },
  {
    methods: ['GET'],
    path: '/v1/live',
    access: 'see-keys',
    handle: (asked, context) => liveView(asked, context),
  },
  {
    methods: ['GET'],
    path: '/openapi.json',
    access: 'use',
    handle: async (_, { description }) => description,
  },
];

/**
 * Not ready while it drains, before the store has answered for the first time, while the store is away and nobody answers in its place, and
 * while a worker says nothing.
 */
async function readiness(context: RouteContext): Promise<Answer> {
  const gathered = await gather(context);
  const { isUp, problem: ofStore } = storeOf(gathered);
  const silence = silenceText(gathered);
  const isDraining = gathered.reports.some((report) => report.isDraining);
  const isReady = !isDraining && silence === undefined && gathered.reports.every(({ store }) => store.isOfUse);
  const problem = silence ?? ofStore;
  return json(isReady ? 200 : 503, {
    ready: isReady,
    draining: isDraining,
    store: isUp ? 'up' : 'down',
    ...(problem === undefined ? {} : { problem }),
  });
}

async function metricsAnswer(context: RouteContext): Promise<Answer> {
  const gathered = await gather(context);
  const { counts, reports, workers } = gathered;
  const body = metricsText(counts, {
    storeUp: storeOf(gathered).isUp,
    // Each worker has a breaker of its own: what one of them gave up is away.
    serversAway: Math.max(...reports.map(({ store }) => store.serversAway)),
    use: {
      cpuSeconds: reports.reduce((sum, { use }) => sum + use.cpuSeconds, 0),
      residentBytes: reports.reduce((sum, { use }) => sum + use.residentBytes, 0),
      startedAt: Math.min(...reports.map(({ use }) => use.startedAt)),
    },
    certificateEndsAt: earliest(reports.map(({ certificateEndsAt }) => certificateEndsAt)),
    workers: workers && { count: workers.count, silent: workers.silent.length },
  });
  return text(200, body, 'text/plain; version=0.0.4; charset=utf-8');
}

function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
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
