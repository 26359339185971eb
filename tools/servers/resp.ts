/**
 * Just enough of the Redis protocol (RESP2) to ask a server one question. It exists so that the servers can be
 * watched without any of the client libraries under test. Every command has a connection of its own.
 */

import { connect } from 'node:net';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** A reply: text, a whole number, nothing, a list; an error only inside a list, because at the top it is thrown. */
export type Reply = string | number | null | Error | Reply[];

export function sendCommand(address: Address, args: readonly string[], timeoutMs = 30_000): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...address });
    let received: Buffer = Buffer.alloc(0);
    const fail = (error: Error) => {
      socket.destroy();
      reject(error);
    };
    socket.setTimeout(timeoutMs, () => fail(new Error(`${args[0]}: no reply within ${timeoutMs} ms`)));
    socket.on('connect', () => socket.write(encodeCommand(args)));
    socket.on('error', fail);
    socket.on('close', () => fail(new Error(`${args[0]}: the server closed the connection`)));
    const take = (chunk: Buffer): void => {
      received = Buffer.concat([received, chunk]);
      const parsed = parseReply(received, 0);
      if (parsed === undefined) return;
      if (parsed.value instanceof Error) throw parsed.value;
      resolve(parsed.value);
      socket.destroy();
    };
    socket.on('data', (chunk) => {
      try {
        take(chunk);
      } catch (error) {
        // What listens on a port that was taken may speak anything.
        fail(error as Error);
      }
    });
  });
}

export function encodeCommand(args: readonly string[]): string {
  return `*${args.length}\r\n${args.map((text) => `$${Buffer.byteLength(text)}\r\n${text}\r\n`).join('')}`;
}

interface Parsed<T extends Reply = Reply> {
  readonly value: T;
  readonly end: number;
}

/** Undefined while the reply is incomplete. */
export function parseReply(bytes: Buffer, start: number): Parsed | undefined {
  const lineEnd = bytes.indexOf('\r\n', start);
  if (lineEnd === -1) return undefined;
  const kind = bytes.toString('latin1', start, start + 1);
  const line = bytes.toString('utf8', start + 1, lineEnd);
  const end = lineEnd + 2;
  if (kind === '+') return { value: line, end };
  if (kind === '-') return { value: new Error(line), end };
  if (kind === ':') return { value: Number(line), end };
  if (kind === '$') return parseText(bytes, end, Number(line));
  if (kind === '*') return parseList(bytes, end, Number(line));
  throw new Error(`not a RESP2 reply: ${kind}${line}`);
}

function parseText(bytes: Buffer, start: number, length: number): Parsed | undefined {
  if (length < 0) return { value: null, end: start };
  const end = start + length;
  return bytes.length < end + 2 ? undefined : { value: bytes.toString('utf8', start, end), end: end + 2 };
}

function parseList(bytes: Buffer, start: number, length: number): Parsed | undefined {
  if (length < 0) return { value: null, end: start };
  const value: Reply[] = [];
  let end = start;
  while (value.length < length) {
    const element = parseReply(bytes, end);
    if (element === undefined) return undefined;
    value.push(element.value);
    end = element.end;
  }
  return { value, end };
}
