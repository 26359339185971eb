/** `sluice/koa`: a middleware for Koa 3 and 2. */

import type { Context as KoaContext, Middleware } from 'koa';
import type { RequestResult } from '../http/gate.ts';
import type { HeaderValues } from '../http/headers.ts';
import type { ClientAddress } from '../http/request-view.ts';
import { concludeOnClose, OriginalView } from './node-http.ts';
import { entranceOf, type NativeView, type RateLimitOptions } from './options.ts';
import { koaClient } from './proxy-trust.ts';

declare module 'koa' {
  interface DefaultState {
    /** What the innermost `rateLimit` was told; undefined when it was skipped. */
    rateLimit?: RequestResult | undefined;
  }
}

/** What `rateLimit` takes. */
export type KoaRateLimitOptions<Context = unknown> = RateLimitOptions<KoaContext, Context>;

/**
 * A middleware.
 *
 * @example
 * app.use(rateLimit({ policy: slidingWindowCounter({ limit: 100, window: '1m' }), store: redisStore(client) }));
 */
export function rateLimit<Context = unknown>(options: KoaRateLimitOptions<Context>): Middleware {
  const { enter, conclude } = entranceOf(options);
  return async (ctx, next) => {
    const view = new KoaView(ctx, ctx.req, ctx.res);
    const entered = enter(view);
    const decision = await entered;
    if (!decision.allowed) {
      const { status, headers, body } = decision.response;
      ctx.status = status;
      ctx.set(headers);
      ctx.body = body;
      return;
    }
    concludeOnClose(ctx.res, conclude, decision, view);
    for (const name in decision.headers) ctx.res.setHeader(name, decision.headers[name]!);
    ctx.state.rateLimit = decision.result;
    try {
      await next();
    } catch (error) {
      throw telling(error, decision.headers);
    }
  };
}

/**
 * Koa answers an error with no headers but those of the error itself. One that is frozen, or whose headers are those of a response it tells
 * of, is not ours to change: then the answer does without.
 */
function telling(error: unknown, headers: HeaderValues): unknown {
  if (!(error instanceof Error)) return error;
  const own = (error as HttpError).headers ?? {};
  if (Object.getPrototypeOf(own) === Object.prototype) Reflect.set(error, 'headers', { ...headers, ...own });
  return error;
}

type HttpError = Error & { readonly headers?: object | undefined };

class KoaView extends OriginalView<KoaContext> {
  override get client(): ClientAddress | undefined {
    return koaClient(this.native);
  }

  /** Where a router has matched one already. */
  override get route(): string | undefined {
    const { _matchedRoute: route } = this.native as { readonly _matchedRoute?: unknown };
    return typeof route === 'string' ? route : undefined;
  }
}

export type { Outcome, OutcomeOptions } from './outcome.ts';
export type { NativeView, RateLimitOptions };
