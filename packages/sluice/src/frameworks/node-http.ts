/** What Express, Fastify, Koa, Nest and bare `node:http` have in common: the two objects of Node beneath them. */
import type { Denial } from '../http/denial.ts';
import type { GateDecision } from '../http/gate.ts';
import type { HeaderValues } from '../http/headers.ts';
import type { ClientAddress } from '../http/request-view.ts';
import { inBackground, type MaybePromise, proceedWith } from '../model/maybe-promise.ts';
import type { Entrance, NativeView } from './options.ts';
import type { Allowed, Conclude } from './outcome.ts';

/** What is used of an `http.IncomingMessage`, also of HTTP/2's. */
export interface NodeRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** What is used of an `http.ServerResponse`, also of HTTP/2's. */
export interface NodeResponse {
  /** The request it answers. */
  readonly req?: unknown;
  statusCode: number;
  readonly headersSent: boolean;
  setHeader(name: string, value: string): unknown;
  end(body?: string): unknown;
  once(event: 'close', listener: () => void): unknown;
  /** Whether it has been closed already: then nothing is told of it any more. */
  readonly closed?: boolean | undefined;
  readonly destroyed?: boolean | undefined;
}

/** Nothing is read before somebody asks: most keys need one header, or the address alone. */
export class NodeView<Native> implements NativeView<Native> {
  readonly native: Native;
  readonly incoming: NodeRequest;
  protected readonly response: { readonly req?: unknown };

  constructor(native: Native, incoming: NodeRequest, response: { readonly req?: unknown }) {
    this.native = native;
    this.incoming = incoming;
    this.response = response;
  }

  /** Undefined where the response is none of this request, as in tests that use both again. */
  get exchange(): object | undefined {
    return this.response.req === this.incoming ? this.response : undefined;
  }

  get method(): string {
    return this.incoming.method ?? 'GET';
  }

  get path(): string {
    return this.incoming.url ?? '/';
  }

  get route(): string | undefined {
    return undefined;
  }

  get ip(): string | undefined {
    return this.incoming.socket.remoteAddress;
  }

  /** Frameworks that have a setting of their own for proxies say what it is. */
  get client(): ClientAddress | undefined {
    return undefined;
  }

  /** A function by itself, for those who take it out of the view: `({ header }) => header('x-api-key')`. */
  get header(): (name: string) => string | undefined {
    return (name) => nodeHeader(this.incoming, name);
  }
}

/** Of a framework that keeps the target as it came, whatever a router has cut off. */
export class OriginalView<Native extends { readonly originalUrl: string }> extends NodeView<Native> {
  override get path(): string {
    return this.native.originalUrl;
  }
}

/** Node has the names in lower case, and lines that may be repeated joined already. */
export function nodeHeader({ headers }: NodeRequest, name: string): string | undefined {
  const value = headers[name] ?? headers[lowerCase(name)];
  return typeof value === 'object' ? value.join(', ') : value;
}

const lowerCaseNames = new Map<string, string>();
const MOST_NAMES = 1000;

/** Of the few names that are asked for again and again: no new text for every request. */
export function lowerCase(name: string): string {
  const known = lowerCaseNames.get(name);
  if (known !== undefined) return known;
  const made = name.toLowerCase();
  if (lowerCaseNames.size < MOST_NAMES) lowerCaseNames.set(name, made);
  return made;
}

export function setHeaders(response: Pick<NodeResponse, 'setHeader'>, headers: HeaderValues): void {
  for (const name in headers) response.setHeader(name, headers[name]!);
}

/** Whole, so that Node knows its length; to a HEAD it sends no body by itself. */
export function send(response: NodeResponse, { status, headers, body }: Denial): void {
  response.statusCode = status;
  setHeaders(response, headers);
  response.end(body);
}

/** What is used of a reply of Fastify. */
export interface FastifyReplyLike {
  code(status: number): FastifyReplyLike;
  headers(values: HeaderValues): FastifyReplyLike;
  send(body: Uint8Array): unknown;
}

/** As bytes: Fastify would add a charset to the type of a text, which JSON does not have. */
export function sendReply<Reply extends FastifyReplyLike>(to: Reply, { status, headers, body }: Denial): Reply {
  to.code(status).headers(headers).send(new TextEncoder().encode(body));
  return to;
}

/** Anything that tells when it has been closed: a response, a socket. */
type Closing = Pick<NodeResponse, 'once' | 'closed' | 'destroyed'>;

/** The place of a request is free when its response has ended, also when the client has hung up, maybe before anybody listened. */
export function releaseOnClose(closing: Closing, { permit }: Pick<Allowed, 'permit'>): void {
  if (permit === undefined) return;
  const release = (): void => inBackground(() => permit.release());
  if (closing.closed === true || closing.destroyed === true) release();
  else closing.once('close', release);
}

/** `close` comes after the last byte, and also when the client has hung up; without a response there is nothing to conclude from. */
export function concludeOnClose<Native>(
  response: Pick<NodeResponse, 'statusCode' | 'headersSent'> & Closing,
  conclude: Conclude<Native> | undefined,
  passed: Allowed,
  view: NativeView<Native>,
): void {
  releaseOnClose(response, passed);
  if (conclude === undefined || passed.result === undefined) return;
  response.once('close', () => {
    if (response.headersSent) void conclude(passed, view, response.statusCode);
  });
}

/** The whole way of a request: undefined when its response was sent. Throws and rejects as the gate does. */
export function pass<Native>(
  { enter, conclude }: Entrance<Native>,
  view: NativeView<Native>,
  response: NodeResponse,
): MaybePromise<Allowed | undefined> {
  return proceedWith(enter(view), admit, conclude, view, response);
}

function admit<Native>(
  decision: GateDecision,
  conclude: Conclude<Native> | undefined,
  view: NativeView<Native>,
  response: NodeResponse,
): Allowed | undefined {
  if (!decision.allowed) {
    send(response, decision.response);
    return undefined;
  }
  concludeOnClose(response, conclude, decision, view);
  setHeaders(response, decision.headers);
  return decision;
}
