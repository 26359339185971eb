/**
 * What one connection may keep in memory. A client can send requests without waiting for answers (pipelining) and never read one: Node
 * takes in a few thousand of them at a time and keeps each with its answer. So a connection has a few requests answered at a time, some that wait, and is
 * closed when it sends more; an answer has to be read within a time; and when unread answers take too much memory, the connections that have
 * not read for longest are closed. Whoever reads is not held up by those who do not.
 */
import { IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Awaited, Patience } from './patience.ts';

export interface ConnectionLimits {
  /** Requests of one connection that are answered at the same time. Further ones wait. */
  readonly mostAtOnce: number;
  /** Requests of one connection that are answered or wait. With more it is closed. */
  readonly mostPipelined: number;
  /** Requests of all connections that wait. */
  readonly mostWaiting: number;
  /** Of answers that clients have not read, in all connections. */
  readonly mostUnreadBytes: number;
  /** How long a client may take to read an answer. */
  readonly readTimeoutMs: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  mostAtOnce: 8,
  mostPipelined: 100,
  mostWaiting: 2000,
  mostUnreadBytes: 32 * 1024 * 1024,
  readTimeoutMs: 30_000,
};

/** What Node keeps for a request and its answer, besides the bytes. Measured, and rounded up. */
const OVERHEAD_BYTES = 4096;

/**
 * A request as the server makes it out of what it reads. Those that come after a connection was closed, in the same piece of data, are still read one by
 * one, thousands of them, and each is kept until the socket is gone. Node stops reading requests where one asks for another protocol: so does the
 * first of these, and nothing of the rest is kept.
 */
export class CountedRequest extends IncomingMessage {
  constructor(socket: Socket) {
    super(socket);
    if (socket.destroyed) Object.defineProperty(this, 'upgrade', { get: () => true, set: () => {} });
  }
}

interface Connection {
  readonly socket: Socket;
  /** Requests that are answered or wait. */
  open: number;
  readonly waiting: (() => void)[];
  readonly unread: Map<ServerResponse, Unread>;
}

interface Unread {
  readonly connection: Connection;
  readonly bytes: number;
  readonly awaited: Awaited;
}

export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #onCut: () => void;
  readonly #patience: Patience;
  readonly #connections = new WeakMap<Socket, Connection>();
  /** Those that wait for longest first. */
  readonly #unread = new Set<Unread>();
  #unreadBytes = 0;
  #waiting = 0;

  /** `onCut` is called with each connection that is closed. */
  constructor(limits: ConnectionLimits, onCut: () => void) {
    this.#limits = limits;
    this.#onCut = onCut;
    this.#patience = new Patience(limits.readTimeoutMs);
  }

  /** Calls `answer` when it is this request's turn, which is at once for clients that wait for their answers; or never. */
  begin({ socket }: IncomingMessage, response: ServerResponse, answer: () => void): void {
    if (socket.destroyed) return;
    const connection = this.#connectionOf(socket);
    if (this.#isTooMany(connection)) {
      this.#cut(connection);
      return;
    }
    const hasToWait = connection.open >= this.#limits.mostAtOnce;
    connection.open += 1;
    response.once('close', () => this.#closed(connection, response));
    if (hasToWait) {
      this.#waiting += 1;
      connection.waiting.push(answer);
    } else answer();
  }

  #isTooMany({ open }: Connection): boolean {
    const { mostAtOnce, mostPipelined, mostWaiting } = this.#limits;
    return open >= mostPipelined || (open >= mostAtOnce && this.#waiting >= mostWaiting);
  }

  /** The answer has been written. What the system did not take from us waits for the client. */
  written({ socket }: IncomingMessage, response: ServerResponse, bytes: number): void {
    if (socket.destroyed || (response.socket !== null && socket.writableLength === 0)) return;
    const connection = this.#connectionOf(socket);
    const awaited = this.#patience.wait(() => this.#cut(connection));
    const unread = { connection, bytes: bytes + OVERHEAD_BYTES, awaited };
    connection.unread.set(response, unread);
    this.#unread.add(unread);
    this.#unreadBytes += unread.bytes;
    for (const oldest of this.#unread) {
      if (this.#unreadBytes <= this.#limits.mostUnreadBytes) return;
      this.#cut(oldest.connection);
    }
  }

  #connectionOf(socket: Socket): Connection {
    const known = this.#connections.get(socket);
    if (known !== undefined) return known;
    const connection: Connection = { socket, open: 0, waiting: [], unread: new Map() };
    this.#connections.set(socket, connection);
    socket.once('close', () => this.#forget(connection));
    return connection;
  }

  #closed(connection: Connection, response: ServerResponse): void {
    connection.open -= 1;
    const unread = connection.unread.get(response);
    if (unread !== undefined) this.#wasRead(response, unread);
    const next = connection.waiting.shift();
    if (next === undefined) return;
    this.#waiting -= 1;
    next();
  }

  #wasRead(response: ServerResponse, unread: Unread): void {
    unread.connection.unread.delete(response);
    this.#unread.delete(unread);
    this.#unreadBytes -= unread.bytes;
    this.#patience.end(unread.awaited);
  }

  #cut(connection: Connection): void {
    if (!connection.socket.destroyed) this.#onCut();
    connection.socket.destroy();
    this.#forget(connection);
  }

  /** Of a connection that is closed, nothing waits any longer: neither its requests nor its answers. */
  #forget(connection: Connection): void {
    this.#waiting -= connection.waiting.length;
    connection.waiting.length = 0;
    for (const [response, unread] of connection.unread) this.#wasRead(response, unread);
  }
}
