/** `sluice/express`: a middleware for Express 5 and 4, for an app, a router or a single route. */

import type { NextFunction, Request, RequestHandler } from 'express';
import type { RequestResult } from '../http/gate.ts';
import { plainPath } from '../http/path-readings.ts';
import type { ClientAddress } from '../http/request-view.ts';
import { proceedWith } from '../model/maybe-promise.ts';
import { setResult } from './express-result.ts';
import { OriginalView, pass } from './node-http.ts';
import { entranceOf, type NativeView, type RateLimitOptions } from './options.ts';
import type { Allowed } from './outcome.ts';
import { expressClient } from './proxy-trust.ts';

declare global {
  namespace Express {
    interface Request {
      /** What the innermost `rateLimit` was told; undefined when it was skipped. */
      rateLimit?: RequestResult | undefined;
    }
  }
}

/** What `rateLimit` takes. */
export type ExpressRateLimitOptions<Context = unknown> = RateLimitOptions<Request, Context>;

/**
 * A middleware for an app, a router or a single route.
 *
 * @example
 * app.use(rateLimit({ policy: slidingWindowCounter({ limit: 100, window: '1m' }), store: redisStore(client) }));
 */
export function rateLimit<Context = unknown>(options: ExpressRateLimitOptions<Context>): RequestHandler {
  const entrance = entranceOf(options);
  return (request, response, next) => {
    let passed: ReturnType<typeof pass>;
    try {
      passed = pass(entrance, new ExpressView(request, request, response), response);
    } catch (error) {
      return next(error);
    }
    return proceedWith(passed, goOn, request, next, undefined, next);
  };
}

function goOn(passed: Allowed | undefined, request: Request, next: NextFunction): void {
  if (passed === undefined) return;
  setResult(request, passed.result);
  next();
}

class ExpressView extends OriginalView<Request> {
  override get client(): ClientAddress | undefined {
    return expressClient(this.native);
  }

  /** Known to a middleware of a route. What a router is mounted at comes as the client spelt it. */
  override get route(): string | undefined {
    const { route, baseUrl } = this.native;
    if (route === undefined) return undefined;
    return baseUrl === '' ? String(route.path) : plainPath(baseUrl) + String(route.path);
  }
}

export type { Outcome, OutcomeOptions } from './outcome.ts';
export type { NativeView, RateLimitOptions };
