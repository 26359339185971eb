/**
 * What never becomes a request: bytes that are no HTTP, too long a head, too slow a client. They are answered as everything else is, with a
 * word for programs and a request id, by which a gateway tells a refusal of this service from the service being away: what it takes for
 * the latter it may let through.
 */
import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorBody, HttpError } from './http-error.ts';

type Refusal = readonly [status: number, word: string, message: string];

const BY_CODE: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: [431, 'headers_too_large', 'The line of the request and its headers are too long.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'body_too_large', 'The chunks of the body have extensions that are too long.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_too_slow', 'The request took too long to arrive.'],
};
const NO_HTTP: Refusal = [400, 'malformed_request', 'This is no HTTP request.'];

const LINGER_MS = 5000;

/** Answers and closes. Returns the status; undefined when nobody is there to be told. */
export function refuseUnreadable({ code }: NodeJS.ErrnoException, socket: Duplex): number | undefined {
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return undefined;
  }
  const refusal = code !== undefined && Object.hasOwn(BY_CODE, code) ? BY_CODE[code]! : NO_HTTP;
  // What was written is still sent; what the client goes on sending is not waited for.
  socket.end(responseText(refusal), () => socket.destroy());
  // Nor a client that reads nothing.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
  return refusal[0];
}

function responseText(refusal: Refusal): string {
  const id = randomUUID();
  const body = `${JSON.stringify(errorBody(new HttpError(...refusal), id))}\n`;
  const [status] = refusal;
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `X-Request-Id: ${id}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Content-Type: application/json',
    'X-Content-Type-Options: nosniff',
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}
