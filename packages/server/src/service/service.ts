/** The server: sockets, request ids, who may ask, limits of time and size, and an orderly end. What it answers is in the routes. */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Config } from '../config/config.ts';
import { type Answer, json } from './answer.ts';
import { Holds } from './holds.ts';
import { errorBody, type HttpError, toHttpError } from './http-error.ts';
import { type LiveLimits, liveLimits } from './live-limits.ts';
import { errorText, type Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { OpenStore } from './open-store.ts';
import { type Asked, findRoute, type Route, type RouteContext } from './routes.ts';
import { type Guard, type Protection, tokenGuard } from './token.ts';

export interface ServiceOptions {
  readonly config: Config;
  readonly store: OpenStore;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly token?: string | undefined;
  /** What the token is for. Default: changes. */
  readonly protect?: Protection | undefined;
  readonly logRequests?: boolean | undefined;
  readonly maxBodyBytes?: number | undefined;
  readonly bodyTimeoutMs?: number | undefined;
  readonly maxHolds?: number | undefined;
}

export interface Service {
  readonly limits: LiveLimits;
  listen(port: number, host: string): Promise<AddressInfo>;
  /** Takes nothing new, finishes what it has, and closes the store. What takes longer than that is cut off. */
  drain(timeoutMs: number): Promise<void>;
}

const MAX_BODY_BYTES = 256 * 1024;
const BODY_TIMEOUT_MS = 10_000;
const HEADERS_TIMEOUT_MS = 10_000;
const MAX_HOLDS = 10_000;

export function createService(options: ServiceOptions): Service {
  const { store, metrics, log, bodyTimeoutMs = BODY_TIMEOUT_MS } = options;
  let isDraining = false;
  const limits = liveLimits(store.store, metrics, options.config);
  const context: RouteContext = {
    ...{ limits, metrics, store },
    holds: new Holds(options.maxHolds ?? MAX_HOLDS),
    bodyLimits: { maxBytes: options.maxBodyBytes ?? MAX_BODY_BYTES, timeoutMs: bodyTimeoutMs },
    isDraining: () => isDraining,
    onError: (error) => logUnforeseen(log, error),
  };
  const guard = tokenGuard(options.token, options.protect ?? 'changes');
  const server = createServer(timeLimits(bodyTimeoutMs), (request, response) => {
    void respond(request, response, context, guard, options);
  });
  return {
    limits,
    listen: (port, host) => listen(server, port, host),
    async drain(timeoutMs) {
      isDraining = true;
      await close(server, timeoutMs);
      await store.close();
    },
  };
}

/** Node's own limits are the second line: they also end bodies that nobody reads. */
function timeLimits(bodyTimeoutMs: number) {
  return {
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: HEADERS_TIMEOUT_MS + bodyTimeoutMs,
    connectionsCheckingInterval: 1000,
    keepAliveTimeout: 65_000,
  };
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  context: RouteContext,
  guard: Guard,
  { log, metrics, logRequests = false }: ServiceOptions,
): Promise<void> {
  const startedAt = performance.now();
  const id = requestId(request);
  let answer: Answer;
  try {
    const { route, asked } = routed(request);
    guard(route.access, request.headers.authorization);
    answer = await route.handle(asked, context);
  } catch (error) {
    logUnforeseen(log, error, id);
    answer = refusal(toHttpError(error), id);
  }
  send(response, answer, id, context.isDraining());
  metrics.responded(answer.status);
  if (logRequests) {
    const milliseconds = Math.round((performance.now() - startedAt) * 1e3) / 1e3;
    const path = pathOf(request.url ?? '/').path;
    log.info('request', { requestId: id, method: request.method, path, status: answer.status, milliseconds });
  }
}

function routed(request: IncomingMessage): { route: Route; asked: Asked } {
  const { path, query } = pathOf(request.url ?? '/');
  const { route, parameter } = findRoute(request.method ?? 'GET', path);
  return { route, asked: { request, parameter, query: new URLSearchParams(query) } };
}

function pathOf(url: string): { path: string; query: string } {
  const mark = url.indexOf('?');
  return mark < 0 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) };
}

const REQUEST_ID = /^[\w.:-]{1,128}$/;

/** The caller's own, so that it can be followed through several services; but nothing that could be mistaken in a log. */
function requestId({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
}

function refusal(error: HttpError, id: string): Answer {
  return json(error.status, errorBody(error, id), error.headers);
}

function send(response: ServerResponse, { status, headers, body }: Answer, id: string, isDraining: boolean): void {
  if (response.destroyed) return;
  response.writeHead(status, {
    ...headers,
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': id,
    ...(isDraining ? { Connection: 'close' } : {}),
  });
  response.end(body);
}

/** Refusals are the callers' business. What is ours has to be in the log. */
function logUnforeseen(log: Log, error: unknown, id?: string): void {
  const { status } = toHttpError(error);
  if (status < 500) return;
  const cause = error instanceof Error && error.cause !== undefined ? { cause: errorText(error.cause) } : {};
  const stack = status === 500 && error instanceof Error ? { stack: error.stack } : {};
  log.error('a request failed', { requestId: id, status, error: errorText(error), ...cause, ...stack });
}

function listen(server: Server, port: number, host: string): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve(server.address() as AddressInfo);
    });
  });
}

function close(server: Server, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), timeoutMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}
