/**
 * What doors have in common that are asked by calls and messages, not by requests of HTTP: tRPC, GraphQL, MCP, WebSockets. They pass the same gate.
 * What it would send as a response they say in their own way.
 */
import type { Denial } from '../http/denial.ts';
import type { RequestResult } from '../http/gate.ts';
import { type HeaderValues, retryAfterSeconds } from '../http/headers.ts';
import type { ClientAddress } from '../http/request-view.ts';
import { inBackground } from '../model/maybe-promise.ts';
import { type NodeRequest, type NodeResponse, nodeHeader } from './node-http.ts';
import type { Entrance, NativeView } from './options.ts';
import type { Allowed } from './outcome.ts';
import { type ExpressLike, expressClient, fastifyClient } from './proxy-trust.ts';

/** The request of HTTP that brought a call, Node's or the web's, where there is one. */
export type Carrier = Partial<NodeRequest> | { readonly headers: Headers; readonly ip?: string | undefined };

/** What a door says of a call. */
export interface Call<Native> {
  readonly native: Native;
  /** What kind of call it is: `query`, `message`, `tools/call`. */
  readonly method: string;
  /** What is called: the path of a procedure, the name of a tool. `byRoute()` goes by it. */
  readonly path: string;
  /** One object for this call. */
  readonly exchange: object;
  readonly request?: Carrier | undefined;
}

/** A call as keys see it: headers and the address are those of the request that brought it. */
export class CallView<Native> implements NativeView<Native> {
  readonly #call: Call<Native>;

  constructor(call: Call<Native>) {
    this.#call = call;
  }

  get native(): Native {
    return this.#call.native;
  }

  get method(): string {
    return this.#call.method;
  }

  get path(): string {
    return this.#call.path;
  }

  get route(): string {
    return this.#call.path;
  }

  get exchange(): object {
    return this.#call.exchange;
  }

  get ip(): string | undefined {
    const request = this.#call.request;
    if (request === undefined) return undefined;
    return 'socket' in request ? request.socket?.remoteAddress : (request as { readonly ip?: string | undefined }).ip;
  }

  get client(): ClientAddress | undefined {
    const request = this.#call.request as (ExpressLike & { readonly raw?: unknown }) | undefined;
    if (request?.raw !== undefined) return fastifyClient(request);
    return request?.app === undefined ? undefined : expressClient(request);
  }

  /** A function by itself, for those who take it out of the view: `({ header }) => header('x-api-key')`. */
  get header(): (name: string) => string | undefined {
    return (name) => headerOf(this.#call.request, name);
  }
}

function headerOf(request: Carrier | undefined, name: string): string | undefined {
  const headers = request?.headers;
  if (headers === undefined) return undefined;
  if (typeof headers.get === 'function') return (headers as Headers).get(name) ?? undefined;
  return nodeHeader(request as NodeRequest, name);
}

/** The request of a context that people make by habit: `{ req }` or `{ request }`. */
export function requestIn(context: unknown): Carrier | undefined {
  if (typeof context !== 'object' || context === null) return undefined;
  const { req, request } = context as { readonly req?: unknown; readonly request?: unknown };
  return [req, request].find(isCarrier);
}

function isCarrier(value: unknown): value is Carrier {
  const headers = (value as { readonly headers?: unknown } | null | undefined)?.headers;
  return typeof headers === 'object' && headers !== null;
}

/** What a caller is told who is denied. */
export interface Refusal {
  /** As HTTP has it: 429; 503 when the limiter itself fails closed; 401 or what `missing` says when nobody knows who is calling. */
  readonly status: number;
  /** For programs: `rate_limited`. */
  readonly error: string;
  /** For people, in one or two sentences. */
  readonly message: string;
  /** Whole seconds; undefined when waiting does not help. */
  readonly retryAfter: number | undefined;
  readonly headers: HeaderValues;
}

/** A denial in words. A body of the user's own that is no JSON is the message. */
export function refusalOf({ status, headers, body }: Denial, result: RequestResult | undefined): Refusal {
  const retryAfter = result && retryAfterSeconds(result);
  const { error = 'rate_limited', message = body } = saidIn(body);
  return { status, error, message, retryAfter, headers };
}

function saidIn(body: string): { readonly error?: string; readonly message?: string } {
  try {
    const { error, message } = JSON.parse(body) ?? {};
    return { ...(typeof error === 'string' && { error }), ...(typeof message === 'string' && { message }) };
  } catch {
    return {};
  }
}

/** A denial as an error of its own: what tRPC and Socket.IO pass on. */
export class RateLimitError extends Error {
  override readonly name = 'RateLimitError';
  /** Whole seconds until it makes sense to try again; undefined when waiting does not help. */
  readonly retryAfter: number | undefined;
  /** What the limit was told; undefined when nobody knows who is calling. */
  readonly result: RequestResult | undefined;

  constructor({ message, retryAfter }: Pick<Refusal, 'message' | 'retryAfter'>, result?: RequestResult) {
    super(message);
    this.retryAfter = retryAfter;
    this.result = result;
  }
}

/** The place of a call is free, and its cost settled, when it has ended, well or not. */
export async function runCall<Native, T>(
  { conclude }: Entrance<Native>,
  passed: Allowed,
  view: NativeView<Native>,
  run: () => T | Promise<T>,
  statusOf: (value: T) => number = () => 200,
): Promise<T> {
  let status = 500;
  try {
    const value = await run();
    status = statusOf(value);
    return value;
  } finally {
    inBackground(() => passed.permit?.release());
    if (conclude !== undefined) void conclude(passed, view, status);
  }
}

/** Where a context has a response to set headers on: Node's as `res`, the web's as `resHeaders`. */
export function tellHeaders(context: unknown, headers: HeaderValues): void {
  const { res, resHeaders } = (context ?? {}) as {
    readonly res?: Partial<NodeResponse> & { readonly raw?: Partial<NodeResponse> };
    readonly resHeaders?: Partial<Headers>;
  };
  if (typeof resHeaders?.set === 'function') for (const name in headers) resHeaders.set(name, headers[name]!);
  // Fastify has Node's beneath its own, and frameworks may have sent it already.
  const response = res?.raw ?? res;
  if (typeof response?.setHeader !== 'function' || response.headersSent === true) return;
  for (const name in headers) response.setHeader(name, headers[name]!);
}

/** Of a denial: the fields of the limit, without those that describe a body that is not sent. */
export function fieldsOf({ headers }: Refusal): HeaderValues {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'Content-Type'));
}
