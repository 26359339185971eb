/**
 * `sluice/h3`: one middleware for h3 2 (Nitro 3) and h3 1 (Nitro 2, Nuxt). They are told apart by their events: those of h3 1 are made of
 * Node's request and response, those of h3 2 of a request of the web platform.
 */
// The module must be known, so that it can be added to below.
import type {} from 'h3';
import type { GateDecision, RequestResult } from '../http/gate.ts';
import type { HeaderValues } from '../http/headers.ts';
import { concludeOnClose, type NodeRequest, type NodeResponse, NodeView, pass } from './node-http.ts';
import { type Entrance, entranceOf, type NativeView, type RateLimitOptions } from './options.ts';
import type { Allowed } from './outcome.ts';
import { checkPeerOption } from './peer.ts';
import { holding } from './response-body.ts';
import { denialResponse } from './responses.ts';
import { type ServedRequest, WebView } from './web-view.ts';

declare module 'h3' {
  interface H3EventContext {
    /** What the innermost `rateLimit` was told; undefined when it was skipped. */
    rateLimit?: RequestResult | undefined;
  }
}

/** What the middleware uses of an event of h3, 1 or 2. */
export interface H3EventLike {
  /** `event.context.rateLimit` is what the request was told; undefined when it was skipped. */
  readonly context: object;
  /** h3 2 */
  readonly req?: unknown;
  /** h3 2 */
  readonly res?: unknown;
  /** h3 1 */
  readonly node?: unknown;
}

/** What `rateLimit` takes. */
export interface H3RateLimitOptions<Event extends H3EventLike = H3EventLike, Context = unknown>
  extends RateLimitOptions<Event, Context> {
  /**
   * The client's address, where the runtime tells it in a way of its own, as workers do. It is believed as it is: never read a header
   * that clients can write. Node, Bun and Deno need none.
   */
  readonly ip?: ((event: Event) => string | null | undefined) | undefined;
}

/** A middleware of h3 2, and an event handler of h3 1 that answers only those it denies. */
export type H3Middleware<Event extends H3EventLike> = (event: Event, next?: () => unknown) => Promise<unknown>;

/**
 * A middleware: `app.use(rateLimit({ ... }))` in h3, the default export of a file in `server/middleware` in Nitro and Nuxt.
 *
 * @example
 * app.use(rateLimit({ policy: slidingWindowCounter({ limit: 100, window: '1m' }), store: redisStore(client) }));
 */
// biome-ignore lint/suspicious/noExplicitAny: h3 1 and h3 2 have an event each, and a middleware is for both.
export function rateLimit<Event extends H3EventLike = any, Context = unknown>(
  options: H3RateLimitOptions<Event, Context>,
): H3Middleware<Event> {
  const entrance = entranceOf(options, { own: ['ip'] });
  const ownIp = checkPeerOption(options.ip);
  const middleware = async (event: Event, next?: () => unknown): Promise<unknown> => {
    const { req, node } = event as unknown as Events;
    const address = ownIp && (() => ownIp(event));
    if (!isWebRequest(req)) return passNode(entrance, event, node!, address);
    return passWeb(
      entrance,
      event,
      new WebView({ native: event, request: req, exchange: event, ownIp: address }),
      next,
    );
  };
  // What h3 1 knows its handlers by; without it Nitro 2 warns of a function that is none.
  return Object.assign(middleware, { __is_handler__: true });
}

interface Events {
  readonly req?: ServedRequest | undefined;
  readonly res?: { status?: number | undefined; headers: Headers; errHeaders?: Headers | undefined } | undefined;
  readonly node?: { readonly req: NodeRequest; readonly res: NodeResponse } | undefined;
  waitUntil?(work: Promise<unknown>): void;
}

/** In h3 1 `req` is that of Node, whose headers are a plain object. */
function isWebRequest(req: ServedRequest | undefined): req is ServedRequest {
  return typeof req?.headers?.get === 'function';
}

function tell(event: H3EventLike, result: RequestResult | undefined): void {
  (event.context as { rateLimit?: RequestResult | undefined }).rateLimit = result;
}

type Address = (() => string | null | undefined) | undefined;

/** h3 1 goes on when a handler returns nothing, and stops when the response has been sent. */
async function passNode<Event extends H3EventLike>(
  entrance: Entrance<Event>,
  event: Event,
  { req, res }: NonNullable<Events['node']>,
  ownIp: Address,
): Promise<void> {
  const view = new H3NodeView(event, req, res);
  view.ownIp = ownIp;
  const passed = await pass(entrance, view, res);
  if (passed !== undefined) tell(event, passed.result);
}

class H3NodeView<Event extends H3EventLike> extends NodeView<Event> {
  ownIp: Address;

  override get path(): string {
    return (this.incoming as { readonly originalUrl?: string }).originalUrl ?? super.path;
  }

  override get ip(): string | undefined {
    return this.ownIp === undefined ? super.ip : (this.ownIp() ?? undefined);
  }

  override get client(): { readonly ip: string | undefined } | undefined {
    return this.ownIp && { ip: this.ip };
  }
}

async function passWeb<Event extends H3EventLike>(
  { enter, conclude }: Entrance<Event>,
  event: Event,
  view: WebView<Event>,
  next: (() => unknown) | undefined,
): Promise<unknown> {
  const entered = enter(view);
  const decision: GateDecision = await entered;
  if (!decision.allowed) return denialResponse(decision.response, view.method);
  tell(event, decision.result);
  setHeaders(event as unknown as Events, decision.headers);
  const nodeResponse = (event as unknown as Events).req?.runtime?.node?.res;
  if (nodeResponse !== undefined) {
    concludeOnClose(nodeResponse, conclude, decision, view);
    return next?.();
  }
  const concluding = conclude && ((status: number) => conclude(decision, view, status));
  return handleOnWeb(event as unknown as Events, decision, concluding, next);
}

/** Also for errors, which h3 answers with headers of their own. */
function setHeaders({ res }: Events, headers: HeaderValues): void {
  for (const name in headers) {
    res!.headers.set(name, headers[name]!);
    res!.errHeaders?.set(name, headers[name]!);
  }
}

/** Where no response of Node says how a request ended, what the handler returns does. */
async function handleOnWeb(
  event: Events,
  { permit }: Allowed,
  conclude: ((status: number) => Promise<void>) | undefined,
  next: (() => unknown) | undefined,
): Promise<unknown> {
  const wait = (work: Promise<unknown>): void => event.waitUntil?.(work);
  const end = (status: number): void => void (conclude && wait(conclude(status)));
  let value: unknown;
  try {
    const response = await holding(
      permit,
      event.req?.signal,
      wait,
    )(async () => {
      value = await next?.();
      return value instanceof Response ? value : undefined;
    });
    end(response?.status ?? event.res?.status ?? 200);
    return response ?? value;
  } catch (error) {
    const { status } = error as { readonly status?: unknown };
    end(typeof status === 'number' ? status : 500);
    throw error;
  }
}

export type { Outcome, OutcomeOptions } from './outcome.ts';
export type { NativeView, RateLimitOptions };
