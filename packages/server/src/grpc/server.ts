/**
 * gRPC over Node's own HTTP/2: calls with one question and one answer, and calls with many. It knows no message: methods take bytes and give bytes.
 * What a client can do to a server is bounded here and in calls.ts: connections of an address, calls of a connection, bytes of headers and messages, time.
 */
import { randomInt } from 'node:crypto';
import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerStreamResponseOptions,
} from 'node:http2';
import type { Server as NetServer } from 'node:net';
import type { TlsFiles } from '../files/tls.ts';
import { CALL_LIMITS, type CallLimits, Calls } from './calls.ts';
import { type Address, doorOf, listen } from './door.ts';
import { ENCODINGS, MessagesIn } from './messages-in.ts';
import { ProtobufError } from './protobuf.ts';
import { GrpcError, headerText, STATUS, timeoutMs } from './status.ts';

/** What a method knows of the one who calls. */
export interface Caller {
  readonly authorization: string | undefined;
  /** How long the caller waits for the answer, as far as it said so. */
  readonly waitsMs: number;
}

/** One question, one answer: a framed message, from a `Writer` with `FRAME_ROOM`. */
export interface UnaryMethod {
  answer(message: Buffer, caller: Caller): Promise<Buffer>;
}

/** The side of a call with many messages that a method sees. */
export interface OpenCall {
  readonly caller: Caller;
  /** A framed message. Nothing happens once the call is over. */
  send(message: Buffer): void;
  /** Over, and well. */
  end(): void;
  fail(error: unknown): void;
  /** Resolves when the client has got all that was sent before. Rejects when the connection is gone. */
  roundTrip(): Promise<void>;
  /** Closes the connection: what the client has not got it never gets. */
  cut(): void;
}

/** What a method does with its side of a call with many messages. */
export interface CallHandler {
  message(message: Buffer): void;
  /** The client sends no more. */
  ended(): void;
  /** The call is over, whoever ended it. */
  closed(): void;
}

export interface StreamMethod {
  open(call: OpenCall): CallHandler;
}

export type Method = { readonly unary: UnaryMethod } | { readonly stream: StreamMethod };

export interface GrpcServerOptions {
  /** By path, such as `/grpc.health.v1.Health/Check`. */
  readonly methods: ReadonlyMap<string, Method>;
  /** Called with what is no mistake of the client. */
  onError(error: unknown): void;
  readonly maxMessageBytes?: number | undefined;
  readonly callLimits?: CallLimits | undefined;
  readonly connectionAge?: ConnectionAge | undefined;
  /** Calls with one question that are answered at a time; further ones fail. Default: as many as come. */
  readonly maxConcurrent?: number | undefined;
  readonly tls?: TlsFiles | undefined;
}

/** So that clients find new servers behind a balancer now and then. */
export interface ConnectionAge {
  /** After it, give or take a tenth, a connection takes no further call. */
  readonly mostMs: number;
  /** How long those under way may take then. */
  readonly graceMs: number;
}

export interface GrpcServer {
  /** Resolves to the port; 0 for a Unix socket. */
  listen(address: Address): Promise<number>;
  /** For connections from now on. */
  useCertificate(tls: TlsFiles): void;
  /** Takes nothing new, and finishes what it has. What takes longer is cut off. */
  drain(timeoutMs: number): Promise<void>;
}

const MAX_MESSAGE_BYTES = 256 * 1024;
export const CONNECTION_AGE: ConnectionAge = { mostMs: 24 * 3600 * 1000, graceMs: 60_000 };

/** Calls with many messages that may be open at a time, over all connections. */
const MOST_STREAMS = 1000;

const SESSION_OPTIONS = {
  settings: {
    // Each is some 10 kB while its answer is not read. Envoy opens further connections for more.
    maxConcurrentStreams: 100,
    maxHeaderListSize: 16 * 1024,
    enablePush: false,
  },
  // In MB, of one connection, beyond which it takes no further call.
  maxSessionMemory: 4,
  maxHeaderListPairs: 100,
  maxSettings: 32,
  maxOutstandingPings: 100,
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
} as const;

const ANSWER_HEADERS = { ':status': 200, 'content-type': 'application/grpc' } as const;
/** No date in it: nobody who speaks gRPC looks at that. */
const ANSWER_OPTIONS: ServerStreamResponseOptions & { sendDate: boolean } = { waitForTrailers: true, sendDate: false };
const ONLY_HEADERS: ServerStreamResponseOptions & { sendDate: boolean } = { endStream: true, sendDate: false };
const OK_TRAILERS = { 'grpc-status': '0' } as const;

export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  const calls = new Calls(options.callLimits ?? CALL_LIMITS);
  const age = options.connectionAge ?? CONNECTION_AGE;
  const server = http2Server(options.tls);
  const sessions = new Set<ServerHttp2Session>();
  const context: Context = { ...options, calls, most: options.maxMessageBytes ?? MAX_MESSAGE_BYTES, open: new Set() };
  server.on('session', (session) => {
    sessions.add(session);
    const stop = growOld(session, age);
    session.once('close', () => {
      sessions.delete(session);
      stop();
    });
    // A client that breaks the rules, or goes away, is no error of ours; its connection is closed.
    session.on('error', () => {});
  });
  server.on('sessionError', () => {});
  server.on('stream', (stream, headers) => take(stream, headers, context));
  const door = doorOf(server, calls);
  return {
    listen: (address) => listen(door, address),
    useCertificate: (tls) => {
      if ('setSecureContext' in server) (server as Http2SecureServer).setSecureContext(secureContext(tls));
    },
    async drain(timeoutMs) {
      await shutDown({ door, sessions, context, timeoutMs });
      calls.close();
    },
  };
}

interface Context {
  readonly methods: GrpcServerOptions['methods'];
  readonly onError: GrpcServerOptions['onError'];
  readonly calls: Calls;
  readonly most: number;
  readonly maxConcurrent?: number | undefined;
  /** Calls with many messages. */
  readonly open: Set<ServerHttp2Stream>;
}

function http2Server(tls: TlsFiles | undefined): Http2Server | Http2SecureServer {
  return tls === undefined
    ? createServer(SESSION_OPTIONS)
    : createSecureServer({ ...SESSION_OPTIONS, ...secureContext(tls), requestCert: tls.clientCa !== undefined });
}

function secureContext({ cert, key, clientCa }: TlsFiles) {
  return { cert, key, ...(clientCa === undefined ? {} : { ca: clientCa }) };
}

/** Gives a function that stops the clock. */
function growOld(session: ServerHttp2Session, { mostMs, graceMs }: ConnectionAge): () => void {
  const later = (ms: number, act: () => void): NodeJS.Timeout => setTimeout(act, Math.min(ms, 2 ** 31 - 1)).unref();
  // Not all of them at the same time, or a balancer would move all clients together.
  let timer = later((mostMs * (90 + randomInt(21))) / 100, () => {
    session.close();
    timer = later(graceMs, () => session.destroy());
  });
  return () => clearTimeout(timer);
}

/** A call has begun. */
function take(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, context: Context): void {
  stream.on('error', () => {});
  const problem = httpProblem(headers);
  if (problem !== undefined) {
    stream.respond({ ':status': problem }, { endStream: true });
    stream.close();
    return;
  }
  const method = context.methods.get(String(headers[':path']));
  if (method === undefined) {
    fail(stream, new GrpcError(STATUS.UNIMPLEMENTED, `there is no method ${String(headers[':path']).slice(0, 200)}`));
    return;
  }
  const messages = new MessagesIn(context.most, headers['grpc-encoding'] as string | undefined);
  const caller: Caller = {
    authorization: headers.authorization,
    waitsMs: timeoutMs(headers['grpc-timeout'] as string | undefined),
  };
  if ('unary' in method) takeUnary(stream, method.unary, { messages, caller, context });
  else takeStream(stream, method.stream, { messages, caller, context });
}

/** The HTTP status for what is no gRPC at all. */
function httpProblem(headers: IncomingHttpHeaders): number | undefined {
  if (headers[':method'] !== 'POST') return 405;
  return String(headers['content-type']).startsWith('application/grpc') ? undefined : 415;
}

interface Taken {
  readonly messages: MessagesIn;
  readonly caller: Caller;
  readonly context: Context;
}

function takeUnary(stream: ServerHttp2Stream, method: UnaryMethod, { messages, caller, context }: Taken): void {
  const { calls } = context;
  calls.watch(stream);
  stream.once('close', () => calls.closed(stream));
  let question: Buffer | undefined;
  stream.on('data', (piece: Buffer) => {
    messages.push(piece);
    guarded(stream, () => {
      for (let message = messages.next(); message !== undefined; message = messages.next()) {
        if (question !== undefined)
          throw new GrpcError(STATUS.UNIMPLEMENTED, 'the method takes one message, not several');
        question = message;
      }
    });
  });
  stream.once('end', () =>
    guarded(stream, () => {
      // It has failed already.
      if (stream.headersSent || stream.closed) return;
      if (question === undefined || !messages.isWhole) {
        throw new GrpcError(STATUS.INTERNAL, 'the message did not come whole');
      }
      if (calls.underWay >= (context.maxConcurrent ?? Number.POSITIVE_INFINITY)) {
        const reason = `more than ${context.maxConcurrent} calls are being answered: try again`;
        throw new GrpcError(STATUS.RESOURCE_EXHAUSTED, reason);
      }
      calls.underWay += 1;
      method
        .answer(question, caller)
        .then(
          (answer) => sendOnly(stream, answer),
          (error: unknown) => fail(stream, error, context.onError),
        )
        .finally(() => {
          calls.underWay -= 1;
        });
    }),
  );
}

/** The one answer of a call, and its end. */
function sendOnly(stream: ServerHttp2Stream, message: Buffer): void {
  if (stream.destroyed || stream.closed) return;
  stream.respond(ANSWER_HEADERS, ANSWER_OPTIONS);
  stream.once('wantTrailers', () => stream.sendTrailers(OK_TRAILERS));
  stream.end(message);
}

function takeStream(stream: ServerHttp2Stream, method: StreamMethod, { messages, caller, context }: Taken): void {
  if (context.open.size >= MOST_STREAMS) {
    fail(stream, new GrpcError(STATUS.RESOURCE_EXHAUSTED, 'too many calls are open'));
    return;
  }
  context.open.add(stream);
  const call = openCall(stream, caller, context);
  let handler: CallHandler | undefined;
  stream.once('close', () => {
    context.open.delete(stream);
    handler?.closed();
  });
  guarded(stream, () => {
    handler = method.open(call);
  });
  stream.on('data', (piece: Buffer) => {
    messages.push(piece);
    guarded(stream, () => {
      for (let message = messages.next(); message !== undefined; message = messages.next()) handler?.message(message);
    });
  });
  stream.once('end', () => guarded(stream, () => handler?.ended()));
}

/** Bytes that a client leaves unread before it is given up. */
const MOST_UNREAD_BYTES = 1024 * 1024;

function openCall(stream: ServerHttp2Stream, caller: Caller, { onError }: Context): OpenCall {
  let isOver = false;
  const begin = (): void => {
    if (!stream.headersSent) stream.respond(ANSWER_HEADERS, ANSWER_OPTIONS);
  };
  return {
    caller,
    send(message) {
      if (isOver || stream.destroyed || stream.closed) return;
      begin();
      stream.write(message);
      if (stream.writableLength > MOST_UNREAD_BYTES) stream.close();
    },
    end() {
      if (isOver || stream.destroyed || stream.closed) return;
      isOver = true;
      begin();
      stream.once('wantTrailers', () => stream.sendTrailers(OK_TRAILERS));
      stream.end();
    },
    fail(error) {
      if (isOver) return;
      isOver = true;
      fail(stream, error, onError);
    },
    roundTrip: () => roundTrip(stream),
    cut: () => stream.session?.destroy(),
  };
}

/** By a ping: frames of a connection come in the order they were sent. */
function roundTrip({ session }: ServerHttp2Stream): Promise<void> {
  return new Promise((resolve, reject) => {
    const gone = new Error('the connection is gone');
    if (session === undefined || session.destroyed) reject(gone);
    else if (!session.ping((error) => (error === null ? resolve() : reject(error)))) reject(gone);
  });
}

/** What a client did wrong ends its call, and nothing else. */
function guarded(stream: ServerHttp2Stream, act: () => void): void {
  try {
    act();
  } catch (error) {
    fail(stream, error);
  }
}

/** `onError` is called with what no client can be blamed for. */
function fail(stream: ServerHttp2Stream, error: unknown, onError?: (error: unknown) => void): void {
  const known = asGrpcError(error);
  if (known.code === STATUS.UNKNOWN && !(error instanceof GrpcError)) onError?.(error);
  if (stream.destroyed || stream.closed) return;
  const trailers = { 'grpc-status': String(known.code), 'grpc-message': headerText(known.message) };
  if (stream.headersSent) {
    stream.once('wantTrailers', () => stream.sendTrailers(trailers));
    stream.end();
    return;
  }
  const encodings = known.code === STATUS.UNIMPLEMENTED ? { 'grpc-accept-encoding': ENCODINGS } : {};
  stream.respond({ ...ANSWER_HEADERS, ...trailers, ...encodings }, ONLY_HEADERS);
  // What else it sends is not read.
  if (!stream.readableEnded) stream.close();
}

function asGrpcError(error: unknown): GrpcError {
  if (error instanceof GrpcError) return error;
  if (error instanceof ProtobufError) return new GrpcError(STATUS.INTERNAL, error.message);
  return new GrpcError(STATUS.UNKNOWN, error instanceof Error ? error.message : String(error));
}

interface Closing {
  readonly door: NetServer;
  readonly sessions: ReadonlySet<ServerHttp2Session>;
  readonly context: Context;
  readonly timeoutMs: number;
}

const LOOK_MS = 50;
/** Time for the last answers, and for the news that the server is not healthy, to get out. */
const IDLE_LOOKS = 5;

/** Streams that never end, such as one who watches the health, are not waited for once no call is under way. */
function shutDown({ door, sessions, context, timeoutMs }: Closing): Promise<void> {
  const { calls } = context;
  return new Promise((resolve) => {
    const endsAt = performance.now() + timeoutMs;
    let idleLooks = 0;
    const timer = setInterval(() => {
      idleLooks = calls.underWay === 0 ? idleLooks + 1 : 0;
      if (idleLooks < IDLE_LOOKS && performance.now() <= endsAt) return;
      calls.closeConnections();
    }, LOOK_MS);
    // Each client is told to go elsewhere; the door is closed when the last of them has gone.
    for (const session of sessions) session.close();
    door.close(() => {
      clearInterval(timer);
      resolve();
    });
  });
}
