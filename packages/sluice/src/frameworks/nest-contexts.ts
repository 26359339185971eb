/** Where the guard finds a request in each kind of context that Nest has: HTTP, GraphQL (Apollo and Mercurius), WebSockets (ws and Socket.IO). */
import type { ExecutionContext } from '@nestjs/common';
import { CallView, type Carrier, type Refusal } from './calls.ts';
import type { NestExchange, NestRequest } from './nest.ts';
import type { NodeRequest } from './node-http.ts';

/** The exchange of a context, if it has one: what is neither HTTP nor GraphQL has none. */
export function exchangeIn(context: ExecutionContext): NestExchange | undefined {
  const type: string = context.getType();
  if (type === 'graphql') return graphqlExchange(context);
  if (type !== 'http') return undefined;
  const http = context.switchToHttp();
  return { request: http.getRequest(), response: http.getResponse() };
}

interface GraphqlContext {
  /** Apollo's driver, by default; Express has the response there, too. */
  readonly req?: (NestRequest & { readonly res?: NestExchange['response'] }) | undefined;
  readonly res?: NestExchange['response'];
  /** Mercurius */
  readonly reply?: (NonNullable<NestExchange['response']> & { readonly request?: NestRequest }) | undefined;
}

interface FieldInfo {
  readonly fieldName: string;
  readonly parentType: { readonly name: string };
}

/** A resolver is called with its parent, arguments, context and info. Each field that is resolved, also under another name, is a call of its own. */
function graphqlExchange(context: ExecutionContext): NestExchange | undefined {
  const { req, res, reply } = (context.getArgByIndex(2) ?? {}) as GraphqlContext;
  const request = req ?? reply?.request;
  const info = context.getArgByIndex(3) as FieldInfo | undefined;
  if (request === undefined || info === undefined) return undefined;
  return {
    request,
    response: res ?? reply ?? req?.res,
    call: { id: info, route: `${info.parentType.name}.${info.fieldName}` },
  };
}

/** What is used of a client, Socket.IO's or that of ws. */
interface WsClient {
  /** Socket.IO; with ws, where `handleConnection(client, request)` of a gateway has put it. */
  readonly request?: Carrier | undefined;
  /** ws */
  readonly _socket?: NodeRequest['socket'] | undefined;
  /** Socket.IO */
  readonly handshake?: unknown;
  send?(data: string): void;
}

/** Keys see the client of Nest in `view.native`. */
export function messageView(context: ExecutionContext): CallView<NestRequest> {
  const ws = context.switchToWs();
  const client = ws.getClient<WsClient>();
  const request = client.request ?? { headers: {}, ...(client._socket && { socket: client._socket }) };
  const native = client as unknown as NestRequest;
  return new CallView({ native, method: 'message', path: String(ws.getPattern()), exchange: context, request });
}

/** What clients get with the event `exception`. Nest sends it by itself through Socket.IO, and through ws not at all. */
export function tellClient(context: ExecutionContext, { error, message, retryAfter }: Refusal): object {
  const said = { status: 'error', error, message, retryAfter };
  const client = context.switchToWs().getClient<WsClient>();
  if (client.handshake === undefined) client.send?.(JSON.stringify({ event: 'exception', data: said }));
  return said;
}
