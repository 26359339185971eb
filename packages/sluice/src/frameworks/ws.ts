/** `sluice/ws`: limits for servers of `ws` 8: how many messages come through a connection, and how many connections there are. */
import type { IncomingMessage } from 'node:http';
import type { RawData, VerifyClientCallbackAsync, WebSocket } from 'ws';
import type { RequestResult } from '../http/gate.ts';
import { Kind } from '../model/errors.ts';
import { invalidOption } from '../model/options.ts';
import { fieldsOf, type Refusal, refusalOf } from './calls.ts';
import { type MessageLimitOptions, MOST_WAITING, messageEntrance, Turns } from './messages.ts';
import { NodeView, releaseOnClose } from './node-http.ts';
import { entranceOf, type NativeView, type RateLimitOptions } from './options.ts';
import { type OutcomeOptions, warnOfError } from './outcome.ts';

/** A message, as `key`, `cost` and `skip` see it in `view.native`. */
export interface WsMessage {
  readonly socket: WebSocket;
  /** The request that opened the connection. */
  readonly request: IncomingMessage;
  readonly data: RawData;
  readonly isBinary: boolean;
}

/** What a denied message gets. */
export type WsDenial = 'answer' | 'drop' | 'close' | ((refusal: Refusal, message: WsMessage) => unknown);

/** What `rateLimit` takes. */
export interface WsRateLimitOptions<Context = unknown> extends MessageLimitOptions<WsMessage, Context> {
  /**
   * What happens to a denied message, besides that nobody gets it. `'answer'` sends `{ error, message, retryAfter }` as JSON, `'drop'`
   * says nothing, `'close'` closes the connection with 1008 (1013 when the limiter itself fails closed), a function does what it likes.
   * Default: `'answer'`.
   */
  readonly onDenied?: WsDenial | undefined;
}

/** A listener of `socket.on('message', ...)`, with what the message was told. */
export type WsListener = (data: RawData, isBinary: boolean, result: RequestResult | undefined) => unknown;

/** Puts a limit around the listener of a connection. */
export type LimitMessages = (
  socket: WebSocket,
  request: IncomingMessage,
  listener: WsListener,
) => (data: RawData, isBinary: boolean) => void;

const CHOICES = ['answer', 'drop', 'close'];
/** What a client that does not read may have waiting for it. */
const MOST_UNREAD = 64 * 1024;
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;

/**
 * A limit for the messages of all connections. Without a `key` it is one for each address; `byConnection()` makes one for each connection.
 *
 * @example
 * const limited = rateLimit({ policy: tokenBucket({ capacity: 20, refillRate: 5 }) });
 * server.on('connection', (socket, request) => {
 *   socket.on('message', limited(socket, request, (data) => socket.send(data)));
 * });
 */
export function rateLimit<Context = unknown>(options: WsRateLimitOptions<Context>): LimitMessages {
  const entrance = messageEntrance(options, 'rateLimit', ['onDenied']);
  const { onError = warnOfError, onDenied = 'answer' } = options;
  if (typeof onDenied !== 'function' && !CHOICES.includes(onDenied)) {
    throw invalidOption(
      'rateLimit.onDenied',
      `${CHOICES.map((each) => `'${each}'`).join(', ')}, or a function`,
      onDenied,
    );
  }
  return (socket, request, listener) => {
    checkConnection(socket, request, listener);
    const turns = new Turns(entrance, onError);
    return (data, isBinary) => {
      const native = { socket, request, data, isBinary };
      const call = { native, method: 'message', path: request.url ?? '/', exchange: native, request };
      // What comes while too much waits stays in the socket, and in the end with the client.
      if (turns.waiting + 1 >= MOST_WAITING) socket.pause();
      void turns
        .ask(call, ({ result, refusal }) => {
          if (refusal !== undefined) deny(refusal, native, onDenied);
          else if (socket.readyState === OPEN) listener.call(socket, data, isBinary, result);
        })
        .then(() => {
          if (socket.isPaused && turns.waiting < MOST_WAITING / 2) socket.resume();
        });
    };
  };
}

const OPEN = 1;

function checkConnection(socket: WebSocket, request: unknown, listener: unknown): void {
  if (typeof socket?.send !== 'function') {
    throw invalidOption('rateLimit(...)(socket, request, listener)', 'a WebSocket first', Kind.of(socket));
  }
  if (typeof (request as IncomingMessage | undefined)?.headers !== 'object') {
    throw invalidOption('rateLimit(...)(socket, request, listener)', 'the request of the connection', Kind.of(request));
  }
  if (typeof listener !== 'function') {
    throw invalidOption('rateLimit(...)(socket, request, listener)', 'a listener last', Kind.of(listener));
  }
}

function deny(refusal: Refusal, message: WsMessage, onDenied: WsDenial): unknown {
  const { socket } = message;
  if (typeof onDenied === 'function') return onDenied(refusal, message);
  if (onDenied === 'drop' || socket.readyState !== OPEN) return undefined;
  if (onDenied === 'close')
    return socket.close(refusal.status === 503 ? TRY_AGAIN_LATER : POLICY_VIOLATION, reasonOf(refusal));
  const { error, message: text, retryAfter } = refusal;
  // Who sends and does not read is not answered for ever: the answers would fill the memory.
  if (socket.bufferedAmount < MOST_UNREAD) socket.send(JSON.stringify({ error, message: text, retryAfter }));
  return undefined;
}

/** A close frame has room for 123 bytes. */
function reasonOf({ message }: Refusal): string {
  const text = message.replace(/[^\x20-\x7e]/g, '?');
  return text.slice(0, 123);
}

const connections = new WeakMap<object, string>();

/** Each connection by itself, for `key` of `rateLimit`. Whoever opens another one has another limit: limit connections, too. */
export function byConnection(): (view: NativeView<WsMessage>) => string {
  return ({ native: { socket } }) => {
    const known = connections.get(socket) ?? `connection:${crypto.randomUUID()}`;
    connections.set(socket, known);
    return known;
  };
}

/** What `rateLimitConnections` takes. */
export type WsConnectionOptions<Context = unknown> = Omit<
  RateLimitOptions<IncomingMessage, Context>,
  Exclude<keyof OutcomeOptions<unknown>, 'onError'>
>;

/**
 * A limit for connections, as the option `verifyClient` of a `WebSocketServer`. Under `concurrency` a place is held until the connection is
 * closed; under other policies each attempt to open one counts. A denied one gets a 429 instead of its upgrade.
 *
 * @example
 * new WebSocketServer({ port: 8080, verifyClient: rateLimitConnections({ policy: concurrency({ limit: 5 }) }) });
 */
export function rateLimitConnections<Context = unknown>(
  options: WsConnectionOptions<Context>,
): VerifyClientCallbackAsync {
  const { enter, conclude } = entranceOf(options, { path: 'rateLimitConnections' });
  if (conclude !== undefined) {
    throw invalidOption(
      'rateLimitConnections',
      'no countOnly and no settle: an upgrade has no response',
      new Kind('one'),
    );
  }
  const { onError = warnOfError } = options;
  return async ({ req }, answer) => {
    try {
      const decision = await enter(new NodeView(req, req, { req }));
      if (decision.allowed) {
        releaseOnClose(req.socket, decision);
        return answer(true);
      }
      const refusal = refusalOf(decision.response, decision.result);
      return answer(false, refusal.status, refusal.message, fieldsOf(refusal));
    } catch (error) {
      onError(error);
      return answer(false, 500, 'The rate limiter failed.');
    }
  };
}

export type { Refusal } from './calls.ts';
export type { NativeView, RateLimitOptions };
