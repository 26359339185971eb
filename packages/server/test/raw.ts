/** Bytes to a socket and the responses that come back: for what no HTTP library would send. */
import { connect } from 'node:net';

export interface RawResponse {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Resolves when so many responses are here, or the connection has ended before that. It is closed then. */
export function exchange(
  port: number,
  pieces: readonly (string | Uint8Array)[],
  expected = Number.POSITIVE_INFINITY,
): Promise<RawResponse[]> {
  return new Promise((resolve) => {
    const responses: RawResponse[] = [];
    let received = Buffer.alloc(0);
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    socket
      .on('data', (chunk) => {
        received = takeResponses(Buffer.concat([received, chunk]), responses);
        if (responses.length >= expected) socket.destroy();
      })
      .on('error', () => {})
      .on('close', () => resolve(responses));
    for (const piece of pieces) socket.write(piece);
  });
}

/** Moves whole responses to the list; what is left of the bytes is returned. */
function takeResponses(bytes: Buffer, responses: RawResponse[]): Buffer<ArrayBuffer> {
  let rest = bytes;
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) return Buffer.from(rest);
    const head = rest.toString('latin1', 0, end);
    const bodyAt = end + 4;
    const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
    if (rest.length < bodyAt + length) return Buffer.from(rest);
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]);
    if (status !== 100) responses.push({ status, head, body: rest.toString('utf8', bodyAt, bodyAt + length) });
    rest = rest.subarray(bodyAt + length);
  }
}

/** A request as bytes. Its body goes whole, or in chunks of so many bytes. */
export function rawRequest(
  line: string,
  headers: readonly string[],
  body: string | Uint8Array = '',
  chunkBytes?: number,
): Buffer {
  const bytes = Buffer.from(body);
  const framing = chunkBytes === undefined ? `Content-Length: ${bytes.length}` : 'Transfer-Encoding: chunked';
  const head = [`${line} HTTP/1.1`, 'Host: x', framing, ...headers, '', ''].join('\r\n');
  return Buffer.concat([Buffer.from(head, 'latin1'), chunkBytes === undefined ? bytes : inChunks(bytes, chunkBytes)]);
}

function inChunks(bytes: Buffer, size: number): Buffer {
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    const chunk = bytes.subarray(at, at + size);
    chunks.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'));
  }
  return Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]);
}
