/** The server: sockets, request ids, who may ask, limits of time and size, and an orderly end. What it answers is in the routes. */

import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { sharedExceptions } from 'sluice/exceptions';
import type { Config } from '../config/config.ts';
import type { EnvoyServerOptions } from '../envoy/grpc/server.ts';
import { DEFAULT_SETTINGS, type EnvoySettings } from '../envoy/settings.ts';
import type { TlsFiles } from '../files/tls.ts';
import type { Address } from '../grpc/door.ts';
import type { GrpcServer } from '../grpc/server.ts';
import type { OpenSpan, Tracer } from '../telemetry/tracer.ts';
import { type Answer, constantJson, json } from './answer.ts';
import { BrowserGuard, type Openness } from './browser-guard.ts';
import { CONNECTION_LIMITS, type ConnectionLimits, Connections, CountedRequest } from './connections.ts';
import { type Crew, type Report, reportOf } from './crew.ts';
import { errorBody, HttpError, toHttpError } from './http-error.ts';
import { type LiveLimits, liveLimits } from './live-limits.ts';
import { errorText, type Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { OpenStore } from './open-store.ts';
import { openApi, type Paths } from './openapi.ts';
import { type Asked, type FindRoute, ROUTES, type Route, type RouteContext, routeFinder } from './routes.ts';
import { type Protection, tokenGuard } from './token.ts';
import { refuseUnreadable } from './unreadable.ts';
import { contextOf } from './watch-tls.ts';

/** What `createService` takes. */
export interface ServiceOptions {
  readonly config: Config;
  readonly store: OpenStore;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Default: both ports speak plainly. */
  readonly tls?: TlsFiles | undefined;
  readonly token?: string | undefined;
  /** What the token is for. Default: changes. */
  readonly protect?: Protection | undefined;
  /** Names under which browsers may ask, besides addresses and names without a dot. */
  readonly allowedHosts?: readonly string[] | undefined;
  readonly logRequests?: boolean | undefined;
  /** Keys of exceptions may stand in the log. Default: they do not. */
  readonly logKeys?: boolean | undefined;
  readonly maxBodyBytes?: number | undefined;
  readonly headersTimeoutMs?: number | undefined;
  readonly bodyTimeoutMs?: number | undefined;
  /** What one connection may keep in memory. */
  readonly connectionLimits?: ConnectionLimits | undefined;
  /** Of gRPC: how long connections live, and how many calls are answered at a time. */
  readonly grpc?: Pick<EnvoyServerOptions, 'connectionAge' | 'maxConcurrent'> | undefined;
  /** Records spans of requests. Default: nothing is traced. */
  readonly tracer?: Tracer | undefined;
  /** How the Envoy service behaves. */
  readonly envoy?: EnvoySettings | undefined;
  /** What else is served beside the limits. */
  readonly beside?: Beside | undefined;
  /** The processes that answer beside this one on the same port. Default: there are none. */
  readonly crew?: Crew | undefined;
}

export interface Beside {
  readonly routes: readonly Route[];
  /** Their description, as OpenAPI has it. */
  readonly paths: Paths;
}

/** A service that can listen, and close. */
export interface Service {
  readonly limits: LiveLimits;
  listen(port: number, host: string): Promise<AddressInfo>;
  /** On a Unix socket. */
  listenAt(path: string): Promise<void>;
  /** The Envoy service over gRPC, on a port or on a Unix socket. Resolves to the port. */
  listenGrpc(port: number, host: string): Promise<number>;
  listenGrpcAt(path: string): Promise<void>;
  /** What this process says of itself to the others of its crew, with the last `seconds` one by one. */
  report(seconds: number): Promise<Report>;
  /** For connections from now on, on both ports. Without TLS it does nothing. */
  useCertificate(tls: TlsFiles): void;
  /** Answers a request that another process of the crew has checked already. */
  answer(route: Route, asked: Asked): Promise<Answer>;
  /**
   * Takes nothing new, finishes what it has, and closes the store. What takes longer than that is cut off. `othersAreDone` is called when
   * nothing is left, and the store is closed when it resolves.
   */
  drain(timeoutMs: number, othersAreDone?: () => Promise<void>): Promise<void>;
}

const MAX_BODY_BYTES = 256 * 1024;
const BODY_TIMEOUT_MS = 10_000;
const HEADERS_TIMEOUT_MS = 10_000;
/** More than gateways take from clients, or a long header would make the question fail, and pass where a gateway fails open. */
const MAX_HEADER_BYTES = 32 * 1024;

/** The service over HTTP and, for Envoy, gRPC. It takes nothing before `listen` is called. */
export function createService(options: ServiceOptions): Service {
  const { store, metrics, log, headersTimeoutMs = HEADERS_TIMEOUT_MS, bodyTimeoutMs = BODY_TIMEOUT_MS } = options;
  let isDraining = false;
  let { tls } = options;
  const exceptions = sharedExceptions({
    port: store.exceptions,
    onWarning: ({ sentence, code }) => log.warn(sentence, { code }),
  });
  const limits = liveLimits(store, metrics, options.config, exceptions);
  const guard = tokenGuard(options.token, options.protect ?? 'changes');
  const context: RouteContext = {
    ...{ limits, metrics, store, crew: options.crew, exceptions, log, logKeys: options.logKeys ?? false },
    envoy: options.envoy ?? DEFAULT_SETTINGS,
    description: constantJson(openApi(options.beside?.paths)),
    guard,
    browsers: new BrowserGuard(options.allowedHosts ?? [], options.tls !== undefined),
    bodyLimits: { maxBytes: options.maxBodyBytes ?? MAX_BODY_BYTES, timeoutMs: bodyTimeoutMs },
    isDraining: () => isDraining,
    certificate: () => tls,
    onError: (error) => logUnforeseen(log, error),
  };
  const find = routeFinder([...ROUTES, ...(options.beside?.routes ?? [])]);
  const connections = new Connections(options.connectionLimits ?? CONNECTION_LIMITS, () => metrics.cutOff());
  const answer = (request: IncomingMessage, response: ServerResponse): void =>
    connections.begin(request, response, () => {
      void respond(request, response, find, context, options).then((bytes) =>
        connections.written(request, response, bytes),
      );
    });
  const server = httpServer(options, { answer, limits: serverLimits(headersTimeoutMs, bodyTimeoutMs) });
  let grpc: GrpcServer | undefined;
  const openGrpc = async (address: Address): Promise<number> => {
    // Only those who want gRPC wait for it to be loaded.
    const { openGrpcServer } = await import('./grpc-server.ts');
    const opened = openGrpcServer(context, { ...options, tls });
    const bound = await opened.listen(address);
    grpc = opened;
    return bound;
  };
  return {
    limits,
    listen: (port, host) => listen(server, port, host),
    listenAt: (path) => listenAt(server, path),
    listenGrpc: (port, host) => openGrpc({ port, host }),
    listenGrpcAt: async (path) => void (await openGrpc({ path })),
    useCertificate(changed) {
      if (tls === undefined) return;
      tls = changed;
      (server as TlsServer).setSecureContext(contextOf(changed));
      grpc?.useCertificate(changed);
    },
    report: (seconds) => reportOf(context, seconds),
    answer: (route, asked) => route.handle(asked, context),
    async drain(timeoutMs, othersAreDone) {
      isDraining = true;
      await Promise.all([close(server, timeoutMs), grpc?.drain(timeoutMs)]);
      await othersAreDone?.();
      exceptions.close();
      await store.close();
    },
  };
}

interface Answering {
  answer(request: IncomingMessage, response: ServerResponse): void;
  readonly limits: ReturnType<typeof serverLimits>;
}

function httpServer({ tls, metrics }: ServiceOptions, { answer, limits }: Answering): Server {
  const create: typeof createServer = tls === undefined ? createServer : createTlsServer;
  const server = create({ ...limits, ...tlsOptions(tls) }, answer)
    // Which of them it can meet, its answer says too.
    .on('checkExpectation', answer)
    .on('clientError', (error: Error, socket) => {
      const status = refuseUnreadable(error, socket);
      if (status !== undefined) metrics.responded(status);
    });
  // The size of headers is limited, not their number: beyond 1000 Node drops them without a word, and the gateway's own may be the last.
  server.maxHeadersCount = 0;
  return server;
}

/** Node's own limits are the second line: they also end bodies that nobody reads. */
function serverLimits(headersTimeoutMs: number, bodyTimeoutMs: number) {
  return {
    IncomingMessage: CountedRequest,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: headersTimeoutMs,
    requestTimeout: headersTimeoutMs + bodyTimeoutMs,
    connectionsCheckingInterval: 1000,
    // Looked at here, for an answer that looks as all others do.
    requireHostHeader: false,
    keepAliveTimeout: 65_000,
  };
}

function tlsOptions(tls: TlsFiles | undefined): TlsOptions {
  return tls === undefined ? {} : { ...contextOf(tls), requestCert: tls.clientCa !== undefined };
}

/** Resolves to the bytes of the answer's body. */
async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  find: FindRoute,
  context: RouteContext,
  { log, metrics, tracer, logRequests = false }: ServiceOptions,
): Promise<number> {
  const startedAt = performance.now();
  const id = requestId(request);
  let answer: Answer;
  let path = '';
  const span = tracer?.begin(request.headers.traceparent as string | undefined);
  try {
    const { route, asked } = routed(request, find);
    path = route.path;
    context.browsers.check(request, route.openness === undefined ? CLOSED : { ...CLOSED, ...route.openness });
    context.guard(route.access, request.headers.authorization);
    answer = await (span === undefined
      ? route.handle(asked, context)
      : span.within(() => route.handle(asked, context)));
  } catch (error) {
    logUnforeseen(log, error, id);
    answer = refusal(toHttpError(error), id);
  }
  const bytes = send(response, answer, id, context.isDraining());
  metrics.responded(answer.status);
  if (span !== undefined && !UNTRACED.includes(path)) endSpan(span, request, path, answer.status);
  if (logRequests) {
    const milliseconds = Math.round((performance.now() - startedAt) * 1e3) / 1e3;
    const asked = pathOf(request.url ?? '/').path;
    log.info('request', { requestId: id, method: request.method, path: asked, status: answer.status, milliseconds });
  }
  return bytes;
}

/** Asked every few seconds by machines, and of no interest to anybody who follows a request. */
const UNTRACED = ['/healthz', '/readyz', '/metrics'];

/** As https://opentelemetry.io/docs/specs/semconv/http/http-spans/ has it, without what may hold a key: path and query. */
function endSpan(span: OpenSpan, { method = 'GET', socket }: IncomingMessage, route: string, status: number): void {
  const isError = status >= 500;
  span.end(
    route === '' ? method : `${method} ${route}`,
    {
      'http.request.method': method,
      ...(route === '' ? {} : { 'http.route': route }),
      'http.response.status_code': status,
      'url.scheme': 'encrypted' in socket ? 'https' : 'http',
      ...(isError ? { 'error.type': String(status) } : {}),
    },
    isError,
  );
}

function routed(request: IncomingMessage, find: FindRoute): { route: Route; asked: Asked } {
  refuseUnwelcome(request);
  const { path, query } = pathOf(request.url ?? '/');
  const { route, parameter } = find(request.method ?? 'GET', path);
  return { route, asked: { request, parameter, query: query === '' ? NO_QUERY : readQuery(query) } };
}

/** Nothing but programs. */
const CLOSED: Openness = { isForEveryone: false, isUnderAnyHost: false, isForGateways: false };

/** What HTTP/1.1 itself wants refused. Whether a body follows nobody knows, so the connection cannot go on. */
function refuseUnwelcome({ headers: { host, expect }, httpVersionMinor }: IncomingMessage): void {
  const headers = { Connection: 'close' };
  if (host === undefined && httpVersionMinor > 0) {
    throw new HttpError(400, 'malformed_request', 'HTTP/1.1 needs the header Host.', { path: 'host', headers });
  }
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    const message = 'This server supports only Expect: 100-continue.';
    throw new HttpError(417, 'expectation_failed', message, { path: 'expect', headers });
  }
}

/** What is no UTF-8 would become one and the same text, and different keys one key. */
function readQuery(query: string): URLSearchParams {
  try {
    decodeURIComponent(query);
  } catch {
    throw new HttpError(400, 'malformed_query', 'the query is not UTF-8 in percent-encoding', { path: 'query' });
  }
  return new URLSearchParams(query);
}

/** Nobody writes into a query. */
const NO_QUERY = new URLSearchParams();

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

/** Returns the bytes of the body. */
function send(response: ServerResponse, { status, headers, body }: Answer, id: string, isDraining: boolean): number {
  if (response.destroyed) return 0;
  const bytes = Buffer.byteLength(body);
  // A flat list, because making one object out of several costs more than everything else here.
  const list = ['X-Request-Id', id, 'Content-Length', String(bytes), 'X-Content-Type-Options', 'nosniff'];
  for (const name in headers) list.push(name, headers[name]!);
  if (isDraining) list.push('Connection', 'close');
  response.writeHead(status, list);
  response.end(body);
  return bytes;
}

/** Refusals are the callers' business, and whoever can cause them at will could fill the log. What is ours has to be in it. */
function logUnforeseen(log: Log, error: unknown, id?: string): void {
  const { status } = toHttpError(error);
  if (error instanceof HttpError || status < 500) return;
  const cause = error instanceof Error && error.cause !== undefined ? { cause: errorText(error.cause) } : {};
  const stack = status === 500 && error instanceof Error ? { stack: error.stack } : {};
  log.error('a request failed', { requestId: id, status, error: errorText(error), ...cause, ...stack });
}

function listenAt(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.off('error', reject);
      resolve();
    });
  });
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
