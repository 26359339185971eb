/**
 * Calls that are under way, and the connections they came on. A client can ask and never read the answer, for HTTP/2 lets it hold back each answer by itself: so
 * a call that is not over after a time, or is among too many of them, costs its connection. Clients that read are not held up by those that do not.
 */
import type { Http2Session, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';

export interface CallLimits {
  /** Connections of one address: what comes in one piece on all of them is taken in before any of them can be closed. */
  readonly mostConnections: number;
  /** How long a call may take, from its first byte to the last one of its answer. */
  readonly timeoutMs: number;
  /** Calls that may be under way for longer than a moment. */
  readonly mostSlow: number;
  /** Calls that may be under way at all: more than one process answers while it waits for Redis. */
  readonly mostOpen: number;
}

export const CALL_LIMITS: CallLimits = { mostConnections: 64, timeoutMs: 30_000, mostSlow: 500, mostOpen: 2000 };

/** Within it every answer of ours is given, and read by everybody who reads. */
const MOMENT_MS = 1000;
const LOOK_MS = 500;

export class Calls {
  readonly #limits: CallLimits;
  readonly #sockets = new Set<Socket>();
  /** By address. */
  readonly #connections = new Map<string, number>();
  /** When each began; those that began first, first. */
  readonly #open = new Map<ServerHttp2Stream, number>();
  #timer: NodeJS.Timeout | undefined;
  /** Calls of which the answer has not been given yet. */
  underWay = 0;

  constructor(limits: CallLimits) {
    this.#limits = limits;
  }

  /** A client has connected. Returns whether it may. */
  admits(socket: Socket): boolean {
    // Everybody on a Unix socket is one address, and is let in by the permissions of its file.
    const address = socket.remoteAddress;
    const connections = this.#connections.get(address ?? '') ?? 0;
    if (address !== undefined && connections >= this.#limits.mostConnections) return false;
    if (address !== undefined) this.#connections.set(address, connections + 1);
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      if (address === undefined) return;
      const left = this.#connections.get(address)! - 1;
      if (left === 0) this.#connections.delete(address);
      else this.#connections.set(address, left);
    });
    return true;
  }

  /** Watches over a call until its stream is closed, which is when the client has taken the answer. */
  watch(stream: ServerHttp2Stream): void {
    this.#open.set(stream, performance.now());
    if (this.#open.size > this.#limits.mostOpen) this.#cutOldest();
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref();
  }

  closed(stream: ServerHttp2Stream): void {
    this.#open.delete(stream);
  }

  closeConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #cutOldest(): void {
    const [oldest] = this.#open.keys();
    if (oldest !== undefined) this.#cut(oldest);
  }

  #cut(stream: ServerHttp2Stream): void {
    const session: Http2Session | undefined = stream.session;
    this.#open.delete(stream);
    if (session === undefined || session.destroyed) return;
    for (const other of this.#open.keys()) if (other.session === session) this.#open.delete(other);
    session.destroy();
  }

  #look(): void {
    const now = performance.now();
    let slow = 0;
    for (const since of this.#open.values()) {
      if (now - since < MOMENT_MS) break;
      slow += 1;
    }
    let tooMany = slow - this.#limits.mostSlow;
    for (const [stream, since] of this.#open) {
      if (tooMany <= 0 && now - since < this.#limits.timeoutMs) return;
      const before = this.#open.size;
      this.#cut(stream);
      tooMany -= before - this.#open.size;
    }
  }
}
