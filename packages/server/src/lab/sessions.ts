/**
 * Who plays: a browser is known by a random id in a cookie, and its state is kept under that id, so that nobody reaches another's. There are
 * never more than `maxSessions`: the one that was used least recently makes room, and what it left in the store is forgotten.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export interface Session {
  readonly id: string;
  /** Undo what the session left behind, by what it is; run when it ends. */
  readonly leftovers: Map<string, () => unknown>;
}

export interface Seated {
  readonly session: Session;
  /** To be sent along: the cookie, when it is new. */
  readonly headers: Readonly<Record<string, string>>;
}

const COOKIE = 'sluice_lab';
const ID = /^[\w-]{22}$/;

export class Sessions {
  /** Least recently used first. */
  readonly #sessions = new Map<string, Session>();
  readonly #maxSessions: number;

  constructor(maxSessions = 1000) {
    this.#maxSessions = maxSessions;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** An id that another process gave, or this one before it was restarted, goes on: its state may still be on Redis. */
  of({ headers, socket }: IncomingMessage): Seated {
    const given = idIn(headers.cookie);
    const id = given ?? randomBytes(16).toString('base64url');
    const session = this.#sessions.get(id) ?? { id, leftovers: new Map() };
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    this.#makeRoom();
    const isSecure = 'encrypted' in socket;
    return { session, headers: given === undefined ? { 'Set-Cookie': cookieOf(id, isSecure) } : {} };
  }

  #makeRoom(): void {
    for (const [id, { leftovers }] of this.#sessions) {
      if (this.#sessions.size <= this.#maxSessions) return;
      this.#sessions.delete(id);
      for (const forget of leftovers.values()) void Promise.resolve(forget()).catch(() => {});
    }
  }
}

/** It ends with the browser's session. Scripts of the page have no use for it, nor has any other site. */
function cookieOf(id: string, isSecure: boolean): string {
  return `${COOKIE}=${id}; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
}

function idIn(cookies: string | undefined): string | undefined {
  const values = (cookies ?? '').split(';').flatMap((pair) => {
    const [name = '', value = ''] = pair.trim().split('=', 2);
    return name === COOKIE && ID.test(value) ? [value] : [];
  });
  return values[0];
}
