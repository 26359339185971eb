/**
 * `sluice/lambda`: around a handler of AWS Lambda, behind API Gateway (HTTP and REST), a function URL or an Application Load Balancer; also
 * around one that streams its response.
 */
import type { Denial } from '../http/denial.ts';
import type { RequestResult } from '../http/gate.ts';
import type { HeaderValues } from '../http/headers.ts';
import type { MaybePromise } from '../model/maybe-promise.ts';
import { callOf } from './exchange.ts';
import { kindOf, type LambdaEvent, type LambdaKind, LambdaView } from './lambda-event.ts';
import { entranceOf, type NativeView, type RateLimitOptions } from './options.ts';
import type { Allowed } from './outcome.ts';

export type { LambdaEvent } from './lambda-event.ts';
export type { Outcome, OutcomeOptions } from './outcome.ts';
export type { NativeView, RateLimitOptions };

/** What `rateLimit` takes. */
export type LambdaRateLimitOptions<Event extends LambdaEvent = LambdaEvent, Context = unknown> = RateLimitOptions<
  Event,
  Context
>;

/** The response that a denied request gets, as all of them take it. */
export interface LambdaResponse {
  statusCode: number;
  headers?: Record<string, string>;
  multiValueHeaders?: Record<string, string[]>;
  statusDescription?: string;
  body: string;
  isBase64Encoded: boolean;
}

/** Puts a limit around an async handler, or around one that streams: `awslambda.streamifyResponse(limited(handler))`. */
export type LimitLambda<Base extends LambdaEvent> = <Event extends Base, Beside extends readonly unknown[], Result>(
  handler: (event: Event, ...beside: Beside) => MaybePromise<Result>,
) => (event: Event, ...beside: Beside) => Promise<Result | LambdaResponse>;

/**
 * A limit to put around handlers. The default key is the address that AWS itself says.
 *
 * @example
 * const limited = rateLimit({ policy: slidingWindowCounter({ limit: 100, window: '1m' }), store: redisStore(client) });
 * export const handler = limited(async (event: APIGatewayProxyEventV2) => ({ statusCode: 200, body: 'hello' }));
 */
export function rateLimit<Event extends LambdaEvent = LambdaEvent, Context = unknown>(
  options: LambdaRateLimitOptions<Event, Context>,
): LimitLambda<Event> {
  const { enter, conclude } = entranceOf(options);
  return (handler) =>
    async (event, ...beside) => {
      const kind = kindOf(event);
      const call = callOf(event);
      const view = new LambdaView(event, kind, call.exchange);
      try {
        const stream = streamOf(beside);
        if (stream !== undefined) doNotWait(beside[1]);
        const decision = await enter(view);
        if (!decision.allowed) {
          if (stream === undefined) return responseOf(decision.response, kind);
          return sendInto(stream, decision.response) as never;
        }
        remember(event, decision);
        const result = await holding(decision, () => handler(event, ...beside));
        // A function is frozen as soon as it has answered: what is left to do is done before.
        await conclude?.(decision, view, statusOf(result));
        return stream === undefined ? withHeaders(result, decision.headers, kind) : result;
      } finally {
        call.leave();
      }
    };
}

const results = new WeakMap<object, Allowed>();

function remember(event: object, decision: Allowed): void {
  results.set(event, decision);
}

/** What the innermost `rateLimit` around a handler was told; undefined when it was skipped. */
export function rateLimitOf(event: LambdaEvent): RequestResult | undefined {
  return results.get(event)?.result;
}

/**
 * The rate limit headers of a request that was allowed, for a handler that streams: they go to its `HttpResponseStream.from`.
 *
 * @example
 * const body = awslambda.HttpResponseStream.from(stream, { statusCode: 200, headers: { ...rateLimitHeadersOf(event) } });
 */
export function rateLimitHeadersOf(event: LambdaEvent): HeaderValues {
  return results.get(event)?.headers ?? {};
}

/** A place is free when the handler is done. */
async function holding<Result>({ permit }: Allowed, handle: () => MaybePromise<Result>): Promise<Result> {
  try {
    return await handle();
  } finally {
    // What a release that fails leaves behind is free when its time is over.
    await permit?.release().catch(() => false);
  }
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

function responseOf({ status, headers, body }: Denial, kind: LambdaKind): LambdaResponse {
  const response = { statusCode: status, body, isBase64Encoded: false };
  if (kind === 'http' || kind === 'rest') return { ...response, headers: { ...headers } };
  // A load balancer may send its own words otherwise.
  const described = { ...response, statusDescription: `${status} ${REASONS[status] ?? 'Denied'}` };
  return kind === 'alb'
    ? { ...described, headers: { ...headers } }
    : { ...described, multiValueHeaders: severalOf(headers) };
}

/** A target group with multi-value headers takes no others. */
function severalOf(headers: HeaderValues): Record<string, string[]> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
}

interface Structured {
  readonly statusCode: number;
  readonly headers?: object | undefined;
  readonly multiValueHeaders?: object | undefined;
}

function isStructured(result: unknown): result is Structured {
  return typeof result === 'object' && result !== null && 'statusCode' in result;
}

function statusOf(result: unknown): number {
  return isStructured(result) ? Number(result.statusCode) : 200;
}

/** With the rate limit headers. In format 2.0 a result without a status is the body of a response that is inferred. */
function withHeaders<Result>(result: Result, headers: HeaderValues, kind: LambdaKind): Result {
  if (isStructured(result)) {
    return kind === 'alb-multi'
      ? { ...result, multiValueHeaders: { ...result.multiValueHeaders, ...severalOf(headers) } }
      : { ...result, headers: { ...result.headers, ...headers } };
  }
  if (kind !== 'http') return result;
  const body = typeof result === 'string' ? result : JSON.stringify(result ?? null);
  return {
    statusCode: 200,
    headers: { 'content-type': 'application/json', ...headers },
    body,
    isBase64Encoded: false,
  } as Result;
}

/** What is used of the stream that a handler under `streamifyResponse` is given. */
interface ResponseStream {
  write(piece: string): unknown;
  end(): unknown;
}

function streamOf(beside: readonly unknown[]): ResponseStream | undefined {
  const stream = beside[0] as Partial<ResponseStream> | null | undefined;
  return typeof stream?.write === 'function' && typeof stream.end === 'function'
    ? (stream as ResponseStream)
    : undefined;
}

/**
 * After a streamed response, and only there, the runtime waits until nothing is open any more before it takes the next event. A connection to the
 * store is always open: the function would run until its timeout.
 */
function doNotWait(context: unknown): void {
  if (typeof context === 'object' && context !== null) Reflect.set(context, 'callbackWaitsForEmptyEventLoop', false);
}

interface StreamingRuntime {
  readonly awslambda: { readonly HttpResponseStream: { from(stream: object, metadata: object): ResponseStream } };
}

/** The runtime sends the status and the headers before the first piece. */
function sendInto(stream: ResponseStream, { status, headers, body }: Denial): void {
  const { HttpResponseStream } = (globalThis as unknown as StreamingRuntime).awslambda;
  const response = HttpResponseStream.from(stream, { statusCode: status, headers: { ...headers } });
  response.write(body);
  response.end();
}
