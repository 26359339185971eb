/**
 * `sluice/fetch`: around any `(request) => response`: Bun.serve, Deno.serve, workers, route handlers and middleware of Next.js.
 * Whatever the runtime passes beside the request is passed on.
 */
import type { RequestResult } from '../http/gate.ts';
import type { ClientAddress } from '../http/request-view.ts';
import type { MaybePromise } from '../model/maybe-promise.ts';
import { callOf } from './exchange.ts';
import { entranceOf, type NativeView, type RateLimitOptions } from './options.ts';
import { checkPeerOption, peerOf } from './peer.ts';
import { type Answer, passResponse } from './responses.ts';

/** What `rateLimit` takes. */
export interface FetchRateLimitOptions<Req extends Request = Request, Context = unknown>
  extends RateLimitOptions<Req, Context> {
  /**
   * The client's address, where the runtime tells it in a way of its own: `(request) => request.headers.get('cf-connecting-ip')` in a
   * worker. It is believed as it is: never read a header that clients can write. Bun and Deno need none.
   */
  readonly ip?: IpOf<Req> | undefined;
}

type IpOf<Req> = (request: Req, ...beside: readonly unknown[]) => string | null | undefined;

/** A handler, as Bun, Deno, workers and Next call it: a request, and whatever the runtime hands over beside it. */
export type FetchHandler<Req, Beside extends readonly unknown[], Res extends Answer> = (
  request: Req,
  ...beside: Beside
) => MaybePromise<Res>;

/** Puts a limit around a handler. The handler may ask for a kind of request of its own, such as `NextRequest`. */
export type LimitFetch<Req extends Request> = <
  Given extends Req,
  Beside extends readonly unknown[],
  Res extends Answer,
>(
  handler: FetchHandler<Given, Beside, Res>,
) => (request: Given, ...beside: Beside) => Promise<Res | Response>;

/**
 * A limit to put around handlers.
 *
 * @example
 * const limited = rateLimit({ policy, ip: (request) => request.headers.get('x-real-ip') });
 * export const GET = limited(async (request: NextRequest) => Response.json({ path: request.nextUrl.pathname }));
 */
export function rateLimit<Req extends Request = Request, Context = unknown>(
  options: FetchRateLimitOptions<Req, Context>,
): LimitFetch<Req> {
  const entrance = entranceOf(options, { own: ['ip'] });
  const ownIp = checkPeerOption(options.ip);
  return (handler) =>
    async (request, ...beside) => {
      const call = callOf(request);
      const view = new FetchView(request, call.exchange, beside, ownIp);
      const around = { signal: request.signal, wait: (work: Promise<unknown>) => wait(beside, work) };
      try {
        return await passResponse(entrance, view, around, (result) => {
          if (result !== undefined) results.set(request, result);
          return handler(request, ...beside);
        });
      } finally {
        call.leave();
      }
    };
}

const results = new WeakMap<Request, RequestResult>();

/** What the innermost `rateLimit` around a handler was told; undefined when it was skipped. */
export function rateLimitOf(request: Request): RequestResult | undefined {
  return results.get(request);
}

interface ExecutionContext {
  waitUntil?(work: Promise<unknown>): void;
}

/** Workers and Next.js pass along whom to tell of work that outlives the response. */
function wait(beside: readonly unknown[], work: Promise<unknown>): void {
  const context = beside.at(-1) as ExecutionContext | null | undefined;
  if (typeof context?.waitUntil === 'function') context.waitUntil(work);
}

class FetchView<Req extends Request> implements NativeView<Req> {
  readonly native: Req;
  readonly exchange: object;
  readonly #beside: readonly unknown[];
  readonly #ownIp: IpOf<Req> | undefined;

  constructor(native: Req, exchange: object, beside: readonly unknown[], ownIp: IpOf<Req> | undefined) {
    this.native = native;
    this.exchange = exchange;
    this.#beside = beside;
    this.#ownIp = ownIp;
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
    if (this.#ownIp === undefined) return peerOf(this.native, this.#beside[0]);
    return this.#ownIp(this.native, ...this.#beside) ?? undefined;
  }

  get client(): ClientAddress | undefined {
    return this.#ownIp && { ip: this.ip };
  }

  /** A function by itself, for those who take it out of the view: `({ header }) => header('x-api-key')`. */
  get header(): (name: string) => string | undefined {
    return (name) => this.native.headers.get(name) ?? undefined;
  }
}

export type { Outcome, OutcomeOptions } from './outcome.ts';
export type { NativeView, RateLimitOptions };
