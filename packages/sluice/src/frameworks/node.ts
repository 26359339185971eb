/** `sluice/node`: around a listener of a bare `node:http` server, for requests and for upgrades to WebSocket. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Denial } from '../http/denial.ts';
import type { RequestResult } from '../http/gate.ts';
import { Kind, type SluiceError } from '../model/errors.ts';
import { invalidOption } from '../model/options.ts';
import { NodeView, pass, releaseOnClose, send } from './node-http.ts';
import { entranceOf, type NativeView, type RateLimitOptions } from './options.ts';
import { type OutcomeOptions, warnOfError } from './outcome.ts';

/** A request that was let through, and what the innermost `rateLimit` was told; undefined when it was skipped. */
export type LimitedRequest = IncomingMessage & { rateLimit?: RequestResult | undefined };
/** What `rateLimit` takes. */
export type NodeRateLimitOptions<Context = unknown> = RateLimitOptions<IncomingMessage, Context>;
/** A listener of `http.createServer`. `request.rateLimit` is what the request was told. */
export type NodeListener = (request: LimitedRequest, response: ServerResponse) => unknown;

/**
 * A limit to put around the listener of a server. There is no framework to hand an error to: when the limiter fails, the answer is a 500
 * and `onError` is called. Errors of the listener stay its own.
 *
 * @example
 * createServer(rateLimit({ policy, store: redisStore(client) })((request, response) => response.end('hello')));
 */
export function rateLimit<Context = unknown>(
  options: NodeRateLimitOptions<Context>,
): (listener: NodeListener) => (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const entrance = entranceOf(options);
  const { onError = warnOfError } = options;
  return (listener) => async (request: LimitedRequest, response) => {
    try {
      const passed = await pass(entrance, new NodeView(request, request, response), response);
      if (passed === undefined) return;
      request.rateLimit = passed.result;
    } catch (error) {
      onError(error);
      send(response, FAILED);
      return;
    }
    await listener(request, response);
  };
}

const FAILED: Denial = { status: 500, headers: {}, body: '' };

/** What `rateLimitUpgrade` takes. */
export type UpgradeOptions<Context = unknown> = Omit<
  NodeRateLimitOptions<Context>,
  Exclude<keyof OutcomeOptions<unknown>, 'onError'>
>;
/** A listener of `server.on('upgrade', ...)`. */
export type UpgradeListener = (request: LimitedRequest, socket: Duplex, head: Buffer) => unknown;

/** The same for `server.on('upgrade', ...)`. What is allowed is answered by whoever speaks WebSocket, so without headers of ours. */
export function rateLimitUpgrade<Context = unknown>(
  options: UpgradeOptions<Context>,
): (listener: UpgradeListener) => (request: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void> {
  const { enter, conclude } = entranceOf(options, { path: 'rateLimitUpgrade' });
  if (conclude !== undefined) throw noOutcome(options);
  const { onError = warnOfError } = options;
  return (listener) => async (request: LimitedRequest, socket, head) => {
    // Nobody else listens yet, and a client that hangs up meanwhile must not bring the server down.
    socket.on('error', ignore);
    try {
      const decision = await enter(new NodeView(request, request, { req: request }));
      if (!decision.allowed) return refuse(socket, decision.response);
      request.rateLimit = decision.result;
      // A place is held for as long as the connection is open.
      releaseOnClose(socket, decision);
    } catch (error) {
      onError(error);
      return refuse(socket, FAILED);
    }
    socket.off('error', ignore);
    await listener(request, socket, head);
  };
}

/** Units would stay reserved, or spent, that somebody meant to give back. */
function noOutcome(options: OutcomeOptions<unknown>): SluiceError {
  const name = options.settle === undefined ? 'countOnly' : 'settle';
  return invalidOption(`rateLimitUpgrade.${name}`, 'none, since an upgrade has no response to go by', new Kind('one'));
}

function ignore(): void {}

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

/** Node has no response for an upgrade: it is written by hand. */
function refuse(socket: Duplex, { status, headers, body }: Denial): void {
  const length = new TextEncoder().encode(body).length;
  const fields = { ...headers, 'Content-Length': `${length}`, Connection: 'close' };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value.replace(/[\r\n]/g, ' ')}\r\n`);
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${REASONS[status] ?? 'Denied'}\r\n${lines.join('')}\r\n${body}`);
}

export type { Outcome, OutcomeOptions } from './outcome.ts';
export type { NativeView, RateLimitOptions };
