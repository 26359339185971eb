/** `sluice/socket.io`: limits for servers of Socket.IO 4: how many events come through a connection, and how many connections there are. */
import type { Socket } from 'socket.io';
import type { GateDecision } from '../http/gate.ts';
import { Kind } from '../model/errors.ts';
import { inBackground } from '../model/maybe-promise.ts';
import { invalidOption } from '../model/options.ts';
import { CallView, type Carrier, RateLimitError, type Refusal, refusalOf } from './calls.ts';
import { type MessageLimitOptions, MOST_WAITING, messageEntrance, Turns } from './messages.ts';
import { entranceOf, type NativeView, type RateLimitOptions } from './options.ts';
import { type OutcomeOptions, warnOfError } from './outcome.ts';

/** An event, as `key`, `cost` and `skip` see it in `view.native`. */
export interface SocketIoEvent {
  readonly socket: Socket;
  /** Its name: `byRoute()` goes by it. */
  readonly event: string;
  readonly args: readonly unknown[];
}

/** What a denied event gets. */
export type SocketIoDenial = 'answer' | 'drop' | 'close' | ((refusal: Refusal, event: SocketIoEvent) => unknown);

/** What `rateLimit` takes. */
export interface SocketIoRateLimitOptions<Context = unknown> extends MessageLimitOptions<SocketIoEvent, Context> {
  /**
   * What happens to a denied event, besides that nobody gets it. `'answer'` calls the acknowledgement with `{ error, message,
   * retryAfter }`, or sends that as the event `rate_limited` where the client wants none; `'drop'` says nothing; `'close'`
   * disconnects; a function does what it likes. Default: `'answer'`.
   */
  readonly onDenied?: SocketIoDenial | undefined;
}

/** A middleware of a namespace: `io.use(...)`. */
export type SocketIoMiddleware = (socket: Socket, next: (error?: Error) => void) => void;

const CHOICES = ['answer', 'drop', 'close'];

/**
 * A limit for the events of all connections of a namespace. Without a `key` it is one for each address; `byConnection()` makes one for each
 * connection.
 *
 * @example
 * io.use(rateLimit({ policy: tokenBucket({ capacity: 20, refillRate: 5 }), key: byUser(({ socket }) => socket.data.user) }));
 */
export function rateLimit<Context = unknown>(options: SocketIoRateLimitOptions<Context>): SocketIoMiddleware {
  const entrance = messageEntrance(options, 'rateLimit', ['onDenied']);
  const { onError = warnOfError, onDenied = 'answer' } = options;
  if (typeof onDenied !== 'function' && !CHOICES.includes(onDenied)) {
    throw invalidOption(
      'rateLimit.onDenied',
      `${CHOICES.map((each) => `'${each}'`).join(', ')}, or a function`,
      onDenied,
    );
  }
  return (socket, goOn) => {
    const turns = new Turns(entrance, onError);
    socket.use(([event, ...args], next) => {
      const native = { socket, event: String(event), args };
      // Socket.IO cannot be paused: what comes while too much waits is denied unasked.
      if (turns.waiting >= MOST_WAITING) {
        deny(BUSY, native, onDenied);
        return;
      }
      const call = { native, method: 'event', path: native.event, exchange: native, request: requestOf(socket) };
      void turns.ask(call, ({ refusal }) => (refusal === undefined ? next() : deny(refusal, native, onDenied)));
    });
    goOn();
  };
}

const BUSY: Refusal = {
  status: 503,
  error: 'temporarily_unavailable',
  message: 'Too many events wait to be counted. Retry after 1 second.',
  retryAfter: 1,
  headers: {},
};

function deny(refusal: Refusal, about: SocketIoEvent, onDenied: SocketIoDenial): unknown {
  const { socket, args, event } = about;
  if (typeof onDenied === 'function') return onDenied(refusal, about);
  if (onDenied === 'drop') return undefined;
  if (onDenied === 'close') return socket.disconnect(true);
  const { error, message, retryAfter } = refusal;
  const acknowledge = args.at(-1);
  if (typeof acknowledge === 'function') return acknowledge({ error, message, retryAfter });
  // Volatile: to a client that does not read, notices do not pile up; of many at the same time it gets the first.
  return socket.volatile.emit('rate_limited', { event, error, message, retryAfter });
}

/** Each connection by itself, for `key` of `rateLimit`. Whoever opens another one has another limit: limit connections, too. */
export function byConnection(): (view: NativeView<SocketIoEvent>) => string {
  return ({ native: { socket } }) => `connection:${socket.id}`;
}

/** What `rateLimitConnections` takes. */
export type SocketIoConnectionOptions<Context = unknown> = Omit<
  RateLimitOptions<Socket, Context>,
  'headers' | Exclude<keyof OutcomeOptions<unknown>, 'onError'>
>;

/**
 * A limit for connections to a namespace. Under `concurrency` a place is held until the client disconnects; under other policies each
 * attempt counts. A denied client gets `connect_error` with `error.data.retryAfter`.
 *
 * @example
 * io.use(rateLimitConnections({ policy: concurrency({ limit: 5 }) }));
 */
export function rateLimitConnections<Context = unknown>(
  options: SocketIoConnectionOptions<Context>,
): SocketIoMiddleware {
  const { enter, conclude } = entranceOf(options as RateLimitOptions<Socket, Context>, {
    path: 'rateLimitConnections',
  });
  if (conclude !== undefined) {
    throw invalidOption(
      'rateLimitConnections',
      'no countOnly and no settle: a connection has no response',
      new Kind('one'),
    );
  }
  const { onError = warnOfError } = options;
  const pass = async (socket: Socket): Promise<Error | undefined> => {
    const path = socket.nsp.name;
    const view = new CallView({
      native: socket,
      method: 'connect',
      path,
      exchange: socket,
      request: requestOf(socket),
    });
    const entered = enter(view);
    const decision: GateDecision = await entered;
    if (!decision.allowed) return errorOf(refusalOf(decision.response, decision.result));
    const { permit } = decision;
    if (permit === undefined) return undefined;
    const release = (): void => {
      socket.conn.off('close', release);
      inBackground(() => permit.release());
    };
    // The connection beneath, too: a client may go before it is let in, and then the socket is never told.
    if (socket.conn.readyState === 'closed') release();
    socket.once('disconnect', release);
    socket.conn.once('close', release);
    return undefined;
  };
  return (socket, next) => {
    pass(socket).then(next, (error) => {
      onError(error);
      next(new Error('The rate limiter failed.'));
    });
  };
}

/** Socket.IO sends the message and `data` of an error to the client. */
function errorOf(refusal: Refusal): Error {
  const { error, retryAfter } = refusal;
  return Object.assign(new RateLimitError(refusal), { data: { error, retryAfter } });
}

function requestOf(socket: Socket): Carrier {
  return socket.request;
}

export { RateLimitError, type Refusal } from './calls.ts';
export type { NativeView, RateLimitOptions };
