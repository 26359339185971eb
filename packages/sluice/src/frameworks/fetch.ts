/**
 * `sluice/fetch`: around any `(request) => response`: Bun.serve, Deno.serve, workers, route handlers and middleware of Next.js.
 * Whatever the runtime passes beside the request is passed on.
 */
import type { HeaderValues } from '../http/headers.ts';
import type { RateLimitResult } from '../model/decision.ts';
import { isPromise } from '../model/maybe-promise.ts';
import type { MaybePromise } from '../model/store.ts';
import { entranceOf, type NativeView, type RateLimitOptions } from './options.ts';
import { checkPeerOption, peerOf } from './peer.ts';

export interface FetchRateLimitOptions<Req extends Request = Request, Context = unknown>
  extends RateLimitOptions<Req, Context> {
  /** The address of the peer, where the runtime tells it in a way of its own. Bun and Deno are known. */
  readonly ip?: ((request: Req, ...beside: readonly unknown[]) => string | undefined) | undefined;
}

/** Next.js middleware may answer with nothing, and so may a handler in Bun that has upgraded to a WebSocket. */
type Answer = Response | null | undefined;
export type FetchHandler<Req, Beside extends readonly unknown[], Res extends Answer> = (
  request: Req,
  ...beside: Beside
) => MaybePromise<Res>;

export type LimitFetch<Req extends Request> = <Beside extends readonly unknown[], Res extends Answer>(
  handler: FetchHandler<Req, Beside, Res>,
) => (request: Req, ...beside: Beside) => Promise<Res | Response>;

export function rateLimit<Req extends Request = Request, Context = unknown>(
  options: FetchRateLimitOptions<Req, Context>,
): LimitFetch<Req> {
  const { enter, conclude } = entranceOf(options, { own: ['ip'] });
  const ipOf = checkPeerOption(options.ip) ?? ((request: Req, beside: unknown) => peerOf(request, beside));
  return (handler) =>
    async (request, ...beside) => {
      const view = new FetchView(request, beside, ipOf);
      const entered = enter(view);
      const decision = isPromise(entered) ? await entered : entered;
      if (!decision.allowed) {
        const { status, headers, body } = decision.response;
        return new Response(request.method === 'HEAD' ? null : body, { status, headers });
      }
      if (decision.result !== undefined) results.set(request, decision.result);
      const response = await handler(request, ...beside);
      if (response === undefined || response === null) return response;
      if (conclude !== undefined) wait(beside, conclude(decision, view, response.status));
      return withHeaders(response, decision.headers);
    };
}

const results = new WeakMap<Request, RateLimitResult>();

/** What the innermost `rateLimit` around a handler was told; undefined when it was skipped. */
export function rateLimitOf(request: Request): RateLimitResult | undefined {
  return results.get(request);
}

/** A response that came from elsewhere, or was made by a shorthand, may not be written to; a copy of it may. */
function withHeaders(response: Response, headers: HeaderValues): Response {
  if (!isOrdinary(response)) return response;
  try {
    return setHeaders(response, headers);
  } catch {
    return setHeaders(new Response(response.body, response), headers);
  }
}

function setHeaders(response: Response, headers: HeaderValues): Response {
  for (const name in headers) response.headers.set(name, headers[name]!);
  return response;
}

/** A switch of protocols is between the handler and the runtime, and an error has no headers. */
function isOrdinary({ status }: Response): boolean {
  return status >= 200;
}

interface ExecutionContext {
  waitUntil?(work: Promise<unknown>): void;
}

/** Workers and Next.js pass along whom to tell of work that outlives the response. */
function wait(beside: readonly unknown[], work: Promise<void>): void {
  const context = beside.at(-1) as ExecutionContext | null | undefined;
  if (typeof context?.waitUntil === 'function') context.waitUntil(work);
}

class FetchView<Req extends Request> implements NativeView<Req> {
  readonly native: Req;
  readonly #beside: readonly unknown[];
  readonly #ipOf: (request: Req, ...beside: readonly unknown[]) => string | undefined;

  constructor(
    native: Req,
    beside: readonly unknown[],
    ipOf: (request: Req, ...beside: readonly unknown[]) => string | undefined,
  ) {
    this.native = native;
    this.#beside = beside;
    this.#ipOf = ipOf;
  }

  get method(): string {
    return this.native.method;
  }

  get path(): string {
    return this.native.url;
  }

  get route(): undefined {
    return undefined;
  }

  get ip(): string | undefined {
    return this.#ipOf(this.native, ...this.#beside);
  }

  /** A function by itself, for those who take it out of the view: `({ header }) => header('x-api-key')`. */
  get header(): (name: string) => string | undefined {
    return (name) => this.native.headers.get(name) ?? undefined;
  }
}

export type { Outcome, OutcomeOptions } from './outcome.ts';
export type { NativeView, RateLimitOptions };
