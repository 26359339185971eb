/**
 * Calls that are under way, and the connections they came on. A client can ask and never read the answer, for HTTP/2 lets it hold back each answer by itself: so
 * a call that is not over after a time, or is among too many of them, costs its connection. Clients that read are not held up by those that do not.
 */
import type { Socket } from 'node:net';
import {
  ResponderBuilder,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  ServerListenerBuilder,
} from '@grpc/grpc-js';

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

interface Call {
  readonly peer: string;
  readonly since: number;
}

export class Calls {
  readonly #limits: CallLimits;
  readonly #sockets = new Map<string, Socket>();
  /** By address. */
  readonly #connections = new Map<string, number>();
  /** Those that began first, first. */
  readonly #open = new Set<Call>();
  #timer: NodeJS.Timeout | undefined;
  /** Calls of which the answer has not been given yet. */
  underWay = 0;

  constructor(limits: CallLimits) {
    this.#limits = limits;
  }

  /** A client has connected. Returns whether it may. */
  admits(socket: Socket): boolean {
    const address = String(socket.remoteAddress);
    const connections = this.#connections.get(address) ?? 0;
    if (connections >= this.#limits.mostConnections) return false;
    this.#connections.set(address, connections + 1);
    const peer = `${address}:${socket.remotePort}`;
    this.#sockets.set(peer, socket);
    socket.once('close', () => {
      this.#cut(peer);
      this.#sockets.delete(peer);
      const left = this.#connections.get(address)! - 1;
      if (left === 0) this.#connections.delete(address);
      else this.#connections.set(address, left);
    });
    return true;
  }

  /** Watches over the calls of one method. */
  interceptor(path: string): ServerInterceptor {
    return (method, next) => {
      if (method.path !== path) return new ServerInterceptingCall(next);
      const call: Call = { peer: next.getPeer(), since: performance.now() };
      this.#open.add(call);
      if (this.#open.size > this.#limits.mostOpen) this.#cutOldest();
      this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref();
      const over = (): void => void this.#open.delete(call);
      const listener = new ServerListenerBuilder().withOnCancel(over).build();
      const responder = new ResponderBuilder().withStart((start) => start(listener)).build();
      return new ServerInterceptingCall(watched(next, over), responder);
    };
  }

  closeConnections(): void {
    for (const socket of this.#sockets.values()) socket.destroy();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #cutOldest(): void {
    const [oldest] = this.#open;
    if (oldest !== undefined) this.#cut(oldest.peer);
  }

  #cut(peer: string): void {
    this.#sockets.get(peer)?.destroy();
    for (const call of this.#open) if (call.peer === peer) this.#open.delete(call);
  }

  #look(): void {
    const now = performance.now();
    let slow = 0;
    for (const { since } of this.#open) {
      if (now - since < MOMENT_MS) break;
      slow += 1;
    }
    let tooMany = slow - this.#limits.mostSlow;
    for (const { peer, since } of this.#open) {
      if (tooMany <= 0 && now - since < this.#limits.timeoutMs) return;
      const before = this.#open.size;
      this.#cut(peer);
      tooMany -= before - this.#open.size;
    }
  }
}

/** A call is over when the client has taken the answer, or when there is none to take. */
function watched(call: ServerInterceptingCallInterface, over: () => void): ServerInterceptingCallInterface {
  let isAnswered = false;
  const own: Partial<ServerInterceptingCallInterface> = {
    sendMessage(message, callback) {
      isAnswered = true;
      call.sendMessage(message, () => {
        over();
        callback();
      });
    },
    sendStatus(status) {
      if (!isAnswered) over();
      call.sendStatus(status);
    },
  };
  return new Proxy(call, {
    get: (_, name) => {
      const method = own[name as keyof typeof own] ?? call[name as keyof ServerInterceptingCallInterface];
      return typeof method === 'function' ? (method as (...args: never[]) => unknown).bind(call) : method;
    },
  });
}
