/** `sluice/express`: a middleware for Express 5 and 4, for an app, a router or a single route. */
import type { NextFunction, Request, RequestHandler } from 'express';
import { plainPath } from '../http/path-readings.ts';
import type { RateLimitResult } from '../model/decision.ts';
import { isPromise } from '../model/maybe-promise.ts';
import { setResult } from './express-result.ts';
import { NodeView, pass } from './node-http.ts';
import { entranceOf, type NativeView, type RateLimitOptions } from './options.ts';
import type { Allowed } from './outcome.ts';

declare global {
  namespace Express {
    interface Request {
      /** What the innermost `rateLimit` was told; undefined when it was skipped. */
      rateLimit?: RateLimitResult | undefined;
    }
  }
}

export type ExpressRateLimitOptions<Context = unknown> = RateLimitOptions<Request, Context>;

export function rateLimit<Context = unknown>(options: ExpressRateLimitOptions<Context>): RequestHandler {
  const entrance = entranceOf(options);
  return (request, response, next) => {
    let passed: ReturnType<typeof pass>;
    try {
      passed = pass(entrance, new ExpressView(request, request), response);
    } catch (error) {
      return next(error);
    }
    if (!isPromise(passed)) return goOn(passed, request, next);
    return passed.then((later) => goOn(later, request, next), next);
  };
}

function goOn(passed: Allowed | undefined, request: Request, next: NextFunction): void {
  if (passed === undefined) return;
  setResult(request, passed.result);
  next();
}

class ExpressView extends NodeView<Request> {
  override get path(): string {
    return this.native.originalUrl;
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
