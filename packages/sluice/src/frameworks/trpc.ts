/** `sluice/trpc`: a middleware for procedures of tRPC 11, on whichever adapter. */
import { TRPCError, type TRPCMiddlewareFunction } from '@trpc/server';
import type { GateDecision, RequestResult } from '../http/gate.ts';
import { checkFunction } from '../model/options.ts';
import {
  CallView,
  type Carrier,
  fieldsOf,
  RateLimitError,
  refusalOf,
  requestIn,
  runCall,
  tellHeaders,
} from './calls.ts';
import { type Entrance, entranceOf, type NativeView, type RateLimitOptions } from './options.ts';
import type { Allowed } from './outcome.ts';

/** A call of a procedure, as `key`, `cost` and `skip` see it in `view.native`. */
export interface TrpcCall<Ctx = unknown> {
  /** What `createContext` made. */
  readonly ctx: Ctx;
  /** `query`, `mutation` or `subscription`. */
  readonly type: string;
  /** The path of the procedure, such as `post.byId`: `byRoute()` goes by it. */
  readonly path: string;
  /** What the validators before this middleware made of the input. */
  readonly input: unknown;
  readonly meta: unknown;
}

/** What `rateLimit` takes. */
export interface TrpcRateLimitOptions<Ctx = unknown, Context = unknown>
  extends RateLimitOptions<TrpcCall<Ctx>, Context> {
  /** The request that brought the call, for `byIp()` and `byHeader()`. Default: `ctx.req` or `ctx.request`. */
  readonly request?: ((ctx: Ctx) => Carrier | undefined) | undefined;
}

/** What the middleware adds to `ctx`. */
export interface TrpcRateLimitContext {
  /** What the innermost limit was told; undefined when it was skipped. */
  readonly rateLimit: RequestResult | undefined;
}

/** A middleware, for `t.procedure.use(...)`. */
// biome-ignore lint/suspicious/noExplicitAny: it fits procedures of every context and input.
export type TrpcRateLimit = TRPCMiddlewareFunction<any, any, any, TrpcRateLimitContext, any>;

/**
 * A middleware: each call of a procedure counts, also in a batch. A denied one is a TRPCError `TOO_MANY_REQUESTS` whose cause is a
 * `RateLimitError` with `retryAfter`. Without a `key`, the address of `ctx.req` counts.
 *
 * @example
 * const limited = t.procedure.use(rateLimit({ policy, store, key: byUser(({ ctx }) => ctx.user?.id) }));
 */
export function rateLimit<Ctx = unknown, Context = unknown>(
  options: TrpcRateLimitOptions<Ctx, Context>,
): TrpcRateLimit {
  const entrance = entranceOf(options, { own: ['request'] });
  checkFunction(options.request, 'rateLimit.request');
  const { request = requestIn } = options;
  return async ({ next, ...opts }) => {
    const { ctx, type, path, input, meta, getRawInput } = opts;
    const native = { ctx, type, path, input, meta };
    // The function is made for each call of a batch, and all middlewares of the call are given it.
    const view = new CallView({ native, method: type, path, exchange: getRawInput, request: request(ctx) });
    const entered = entrance.enter(view);
    const decision: GateDecision = await entered;
    if (!decision.allowed) throw errorOf(decision, ctx);
    tellHeaders(ctx, decision.headers);
    const go = () => next({ ctx: { rateLimit: decision.result } });
    return type === 'subscription'
      ? subscribe(entrance, decision, view, opts.signal, go)
      : runCall(entrance, decision, view, go, statusOf);
  };
}

function errorOf({ response, result }: Extract<GateDecision, { allowed: false }>, ctx: unknown): TRPCError {
  const refusal = refusalOf(response, result);
  tellHeaders(ctx, fieldsOf(refusal));
  const code = CODES[refusal.status] ?? 'TOO_MANY_REQUESTS';
  return new TRPCError({ code, message: refusal.message, cause: new RateLimitError(refusal, result) });
}

type Code = TRPCError['code'];

const CODES: Readonly<Record<number, Code>> = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  422: 'UNPROCESSABLE_CONTENT',
  429: 'TOO_MANY_REQUESTS',
  500: 'INTERNAL_SERVER_ERROR',
  503: 'SERVICE_UNAVAILABLE',
};

/** As HTTP would have it, for `countOnly` and `settle`. What has no number here is the caller's mistake. */
function statusOf(ended: { readonly ok: boolean; readonly error?: TRPCError }): number {
  if (ended.ok) return 200;
  const status = Object.keys(CODES).find((each) => CODES[Number(each)] === ended.error!.code);
  return status === undefined ? 400 : Number(status);
}

interface Ended {
  readonly ok: boolean;
  readonly error?: TRPCError;
  readonly data?: unknown;
}

/** A subscription holds its place until its stream has ended or the client has gone. */
async function subscribe<Native, Result extends Ended>(
  entrance: Entrance<Native>,
  passed: Allowed,
  view: NativeView<Native>,
  signal: AbortSignal | undefined,
  go: () => Promise<Result>,
): Promise<Result> {
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  try {
    const result = await go();
    const lasts = result.ok && isIterable(result.data);
    if (signal?.aborted || !(lasts || (result.ok && signal))) end();
    signal?.addEventListener('abort', end, { once: true });
    void runCall(
      entrance,
      passed,
      view,
      () => ended,
      () => statusOf(result),
    );
    return lasts ? { ...result, data: until(result.data as AsyncIterable<unknown>, end) } : result;
  } catch (error) {
    await runCall(
      entrance,
      passed,
      view,
      () => {},
      () => 500,
    );
    throw error;
  }
}

function isIterable(data: unknown): boolean {
  return typeof (data as AsyncIterable<unknown> | undefined)?.[Symbol.asyncIterator] === 'function';
}

async function* until(data: AsyncIterable<unknown>, end: () => void): AsyncGenerator<unknown> {
  try {
    yield* data;
  } finally {
    end();
  }
}

/**
 * Whole seconds until a denied call makes sense again; undefined for every other error. For the error formatter, so that clients read it
 * as `error.data.retryAfter`.
 *
 * @example
 * initTRPC.create({ errorFormatter: ({ shape, error }) => ({ ...shape, data: { ...shape.data, retryAfter: retryAfterOf(error) } }) });
 */
export function retryAfterOf(error: { readonly cause?: unknown }): number | undefined {
  return error.cause instanceof RateLimitError ? error.cause.retryAfter : undefined;
}

export type { Carrier } from './calls.ts';
export { RateLimitError } from './calls.ts';
export type { Outcome, OutcomeOptions } from './outcome.ts';
export type { NativeView, RateLimitOptions };
