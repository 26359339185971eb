/** `sluice/hono`: a middleware for Hono, on whichever runtime. */
import type { Env, Context as HonoContext, MiddlewareHandler, Next } from 'hono';
import type { StatusCode } from 'hono/utils/http-status';
import type { Denial } from '../http/denial.ts';
import type { GateDecision, RequestResult } from '../http/gate.ts';
import { type HeaderValues, NO_HEADERS } from '../http/headers.ts';
import type { ClientAddress } from '../http/request-view.ts';
import { proceedWith } from '../model/maybe-promise.ts';
import type { Permit } from '../model/permit.ts';
import { lowerCase, type NodeRequest, type NodeResponse, nodeHeader, releaseOnClose, setHeaders } from './node-http.ts';
import { entranceOf, type NativeView, type RateLimitOptions } from './options.ts';
import { checkPeerOption, type Peer, peerOf } from './peer.ts';
import { holding } from './response-body.ts';

declare module 'hono' {
  interface ContextVariableMap {
    /** What the innermost `rateLimit` was told; undefined when it was skipped. */
    rateLimit: RequestResult | undefined;
  }
}

/** What `rateLimit` takes. */
export interface HonoRateLimitOptions<E extends Env = Env, Context = unknown>
  extends RateLimitOptions<HonoContext<E>, Context> {
  /**
   * The client's address, where the runtime tells it in a way of its own, as workers do. It is believed as it is: never read a header
   * that clients can write. Node, Bun and Deno need none.
   */
  readonly ip?: IpOf<E> | undefined;
}

type IpOf<E extends Env> = (context: HonoContext<E>) => string | null | undefined;

/**
 * A middleware.
 *
 * @example
 * app.use(rateLimit({ policy: slidingWindowCounter({ limit: 100, window: '1m' }), store: redisStore(client) }));
 */
export function rateLimit<E extends Env = Env, Context = unknown>(
  options: HonoRateLimitOptions<E, Context>,
): MiddlewareHandler<E> {
  const { enter, conclude } = entranceOf(options, { own: ['ip'] });
  const ownIp = checkPeerOption(options.ip);
  const goOn = (decision: GateDecision, view: HonoView<E>, next: Next): Promise<Response | undefined> => {
    const c = view.native;
    if (!decision.allowed) return Promise.resolve(responseOf(decision.response, c));
    const { headers } = decision;
    const isSet = headers === NO_HEADERS || setOnNode(c, headers);
    if (!isSet) for (const name in headers) c.header(name, headers[name]);
    c.set('rateLimit', decision.result);
    const handled = decision.permit === undefined ? (next() as Promise<undefined>) : hold(c, decision.permit, next);
    if (isSet && conclude === undefined) return handled;
    return handled.then(() => {
      if (!isSet) restoreHeaders(c, headers);
      if (conclude !== undefined) wait(c, conclude(decision, view, c.res.status));
      return undefined;
    });
  };
  return (c, next) => {
    const view = new HonoView(c, ownIp);
    return proceedWith(enter(view), goOn, view, next, undefined) as Promise<Response | undefined>;
  };
}

/** Until the response has been sent: Node says when, elsewhere its body does. */
async function hold<E extends Env>(c: HonoContext<E>, permit: Permit, next: Next): Promise<undefined> {
  const { outgoing } = (c.env ?? {}) as Bindings;
  if (typeof outgoing?.once === 'function') {
    releaseOnClose(outgoing, { permit });
    await next();
    return undefined;
  }
  const held = holding(permit, c.req.raw.signal, (work) => wait(c, work));
  const response = await held(async () => {
    await next();
    return c.res;
  });
  if (response !== c.res) c.res = response;
  return undefined;
}

/** By way of the context, which adds what middlewares further out have set: those of CORS, without which no page could read it. */
function responseOf<E extends Env>({ status, headers, body }: Denial, c: HonoContext<E>): Response {
  return c.newResponse(c.req.method === 'HEAD' ? null : body, { status: status as StatusCode, headers });
}

/**
 * Node's own response lies beneath Hono's: what is set there is sent whatever becomes of the other, and costs half of what it takes to put it
 * into a Response.
 */
function setOnNode<E extends Env>(c: HonoContext<E>, headers: HeaderValues): boolean {
  const { incoming, outgoing } = (c.env ?? {}) as Bindings;
  if (incoming === undefined || typeof outgoing?.setHeader !== 'function') return false;
  if ('_implicitHeader' in outgoing) setWithHead(outgoing as unknown as Outgoing, headers);
  else setHeaders(outgoing, headers);
  return true;
}

/**
 * Hono gives its fields to Node all together, in `writeHead`, which is the fast way as long as none were set before: so ours are added there. Whatever
 * ends a response of HTTP/1 passes it; in HTTP/2 not. A field that a handler has set stays, and of two limits the inner one goes before the outer.
 */
function setWithHead(outgoing: Outgoing, ours: HeaderValues): void {
  const { writeHead } = outgoing;
  outgoing.writeHead = function (this: Outgoing, ...given: unknown[]): unknown {
    const theirs = given[1] ?? NO_HEADERS;
    if (given.length > 2 || typeof theirs !== 'object' || Array.isArray(theirs) || this.getHeaderNames().length > 0) {
      for (const name in ours) if (!this.hasHeader(name)) this.setHeader(name, ours[name]!);
      return writeHead.apply(this, given);
    }
    const all: unknown[] = [];
    for (const name in ours) if (!hasName(theirs, name)) all.push(name, ours[name]);
    for (const name in theirs) all.push(name, (theirs as Record<string, unknown>)[name]);
    return writeHead.call(this, given[0], all);
  };
}

function hasName(fields: object, name: string): boolean {
  for (const other in fields) {
    if (other.length === name.length && lowerCase(other) === lowerCase(name)) return true;
  }
  return false;
}

interface Outgoing extends Pick<NodeResponse, 'setHeader'> {
  hasHeader(name: string): boolean;
  getHeaderNames(): readonly string[];
  writeHead(...given: unknown[]): unknown;
}

/** A handler that makes a Response by itself loses what was set before it. To look costs little, to set them now much more. */
function restoreHeaders<E extends Env>(c: HonoContext<E>, headers: HeaderValues): void {
  for (const name in headers) {
    if (c.res.headers.has(name)) return;
    c.header(name, headers[name]);
  }
}

/** Workers end what nobody waits for. Elsewhere there is no such context, and asking for it throws. */
function wait<E extends Env>(c: HonoContext<E>, work: Promise<unknown>): void {
  try {
    c.executionCtx.waitUntil(work);
  } catch {
    // Goes on by itself.
  }
}

interface Bindings {
  readonly incoming?: NodeRequest | undefined;
  readonly outgoing?: Pick<NodeResponse, 'setHeader' | 'once' | 'closed' | 'destroyed'> | undefined;
}

/** The runtime's second argument to `fetch` is what Hono calls `env`. */
function peerIn<E extends Env>(c: HonoContext<E>): string | undefined {
  const env = c.env as (Bindings & Peer) | undefined;
  return env?.incoming?.socket.remoteAddress ?? peerOf(c.req.raw, env);
}

class HonoView<E extends Env> implements NativeView<HonoContext<E>> {
  readonly native: HonoContext<E>;
  protected readonly ownIp: IpOf<E> | undefined;

  constructor(native: HonoContext<E>, ownIp: IpOf<E> | undefined) {
    this.native = native;
    this.ownIp = ownIp;
  }

  get exchange(): object {
    return this.native;
  }

  get method(): string {
    return this.native.req.method;
  }

  get path(): string {
    return this.native.req.path;
  }

  /** The first that is for a method alone is the handler; middlewares are for all. */
  get route(): string | undefined {
    const matched = this.native.req.matchedRoutes;
    return (matched.find(({ method }) => method !== 'ALL') ?? matched.at(-1))?.path;
  }

  get ip(): string | undefined {
    return this.ownIp === undefined ? peerIn(this.native) : (this.ownIp(this.native) ?? undefined);
  }

  get client(): ClientAddress | undefined {
    return this.ownIp && { ip: this.ip };
  }

  /** On Node the headers are there already; a Headers object would be made of them for this alone. */
  get header(): (name: string) => string | undefined {
    const { incoming } = (this.native.env ?? {}) as Bindings;
    return (name) => (incoming === undefined ? this.native.req.header(name) : nodeHeader(incoming, name));
  }
}

export type { Outcome, OutcomeOptions } from './outcome.ts';
export type { NativeView, RateLimitOptions };
