/** `sluice/elysia`: a plugin for Elysia 1, and hooks for one route, on Bun and on Node. */
import type { GateDecision, RequestResult } from '../http/gate.ts';
import type { HeaderValues } from '../http/headers.ts';
import { inBackground } from '../model/maybe-promise.ts';
import { concludeOnClose } from './node-http.ts';
import { type Entrance, entranceOf, type NativeView, type RateLimitOptions } from './options.ts';
import type { Allowed } from './outcome.ts';
import { checkPeerOption } from './peer.ts';
import { denialResponse } from './responses.ts';
import { type ServedRequest, WebView } from './web-view.ts';

/** What the hooks use of a context of Elysia. */
export interface ElysiaContext {
  readonly request: Request;
  readonly set: { headers: Record<string, unknown>; status?: number | string | undefined };
  readonly server?: unknown;
  /** The pattern of the route. `rateLimit` asks before it is known, `rateLimitHook` after. */
  readonly route?: string | undefined;
  readonly responseValue?: unknown;
}

/** What `rateLimit` and `rateLimitHook` take. */
export interface ElysiaRateLimitOptions<Native extends ElysiaContext = ElysiaContext, Context = unknown>
  extends RateLimitOptions<Native, Context> {
  /**
   * The client's address, where the runtime tells it in a way of its own, as workers do. It is believed as it is: never read a header
   * that clients can write. Bun and Node need none.
   */
  readonly ip?: ((context: Native) => string | null | undefined) | undefined;
}

/** What is used of an app of Elysia. */
export interface ElysiaLike {
  // biome-ignore lint/suspicious/noExplicitAny: Elysia's own types say what a hook is called with.
  onRequest(hook: (context: any) => unknown): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  onAfterResponse(options: { as: 'global' }, hook: (context: any) => unknown): unknown;
}

/** The hooks of one route, or of a `guard`. */
export interface ElysiaHooks {
  // biome-ignore lint/suspicious/noExplicitAny: each route has a context of its own kind.
  readonly beforeHandle: (context: any) => Promise<Response | undefined>;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  readonly afterResponse: (context: any) => void;
}

/**
 * A plugin that limits all requests of the app, before routing: those that no route matches, too. Routes with a limit of their own have
 * `rateLimitHook`.
 *
 * @example
 * new Elysia().use(rateLimit({ policy: slidingWindowCounter({ limit: 100, window: '1m' }), store: redisStore(client) }));
 */
export function rateLimit<Native extends ElysiaContext = ElysiaContext, Context = unknown>(
  options: ElysiaRateLimitOptions<Native, Context>,
): <App extends ElysiaLike>(app: App) => App {
  const { beforeHandle, afterResponse } = rateLimitHook(options);
  return (app) => {
    app.onRequest(beforeHandle);
    app.onAfterResponse({ as: 'global' }, afterResponse);
    return app;
  };
}

/**
 * The limit of one route, after the hooks that find out who is calling.
 *
 * @example
 * app.post('/login', login, rateLimitHook({ policy: fixedWindow({ name: 'login', limit: 5, window: '15m' }), store }));
 */
export function rateLimitHook<Native extends ElysiaContext = ElysiaContext, Context = unknown>(
  options: ElysiaRateLimitOptions<Native, Context>,
): ElysiaHooks {
  const entrance = entranceOf(options, { own: ['ip'] });
  const ownIp = checkPeerOption(options.ip);
  const ends = new WeakMap<Request, (status: number) => void>();
  return {
    async beforeHandle(context: Native) {
      const { request, server, route } = context;
      const address = ownIp && (() => ownIp(context));
      // What Elysia's server for Node has in place of `requestIP` throws; its requests have an `ip`.
      const beside = 'ip' in request ? undefined : server;
      const view = new WebView<Native>({ native: context, request, exchange: request, route, beside, ownIp: address });
      const entered = entrance.enter(view);
      const decision: GateDecision = await entered;
      if (!decision.allowed) return denialResponse(decision.response, request.method);
      if (decision.result !== undefined) results.set(request, decision.result);
      setHeaders(context, decision.headers);
      watchEnd(entrance, decision, view, (end) => ends.set(request, end));
      return undefined;
    },
    afterResponse({ request, set, responseValue }: ElysiaContext) {
      ends.get(request)?.(responseValue instanceof Response ? responseValue.status : statusOf(set.status));
      ends.delete(request);
    },
  };
}

const results = new WeakMap<Request, RequestResult>();

/** What the innermost limit of this request was told; undefined when there is none or it was skipped. */
export function rateLimitOf(request: Request): RequestResult | undefined {
  return results.get(request);
}

function setHeaders({ set }: ElysiaContext, headers: HeaderValues): void {
  for (const name in headers) set.headers[name.toLowerCase()] = headers[name]!;
}

/** Where Node is beneath, its response says when it has ended; elsewhere Elysia does, and the client that hangs up. */
function watchEnd<Native extends ElysiaContext>(
  { conclude }: Entrance<Native>,
  decision: Allowed,
  view: WebView<Native>,
  whenAnswered: (end: (status: number) => void) => void,
): void {
  const request = view.native.request as ServedRequest;
  const nodeResponse = request.runtime?.node?.res;
  if (nodeResponse !== undefined) {
    concludeOnClose(nodeResponse, conclude, decision, view);
    return;
  }
  const release = (): void => inBackground(() => decision.permit?.release());
  if (decision.permit !== undefined) request.signal.addEventListener('abort', release, { once: true });
  whenAnswered((status) => {
    release();
    if (conclude !== undefined) void conclude(decision, view, status);
  });
}

/** Elysia also takes names, such as 'Not Found', which are none of the numbers that `countOnly` and `settle` look at. */
function statusOf(status: number | string | undefined): number {
  return typeof status === 'number' ? status : 200;
}

export type { Outcome, OutcomeOptions } from './outcome.ts';
export type { NativeView, RateLimitOptions };
