/** The body of a request as JSON, within a size and a time. Nothing of it is kept once either is over. */
import type { IncomingMessage } from 'node:http';
import { HttpError } from './http-error.ts';

export interface BodyLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

export async function readJson(request: IncomingMessage, limits: BodyLimits): Promise<unknown> {
  const bytes = await readBytes(request, limits);
  if (bytes.length === 0) throw malformed('expected a JSON body, got nothing');
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw malformed(error instanceof SyntaxError ? error.message.slice(0, 200) : 'the body is not UTF-8');
  }
}

function malformed(message: string): HttpError {
  return new HttpError(400, 'malformed_json', message);
}

function readBytes(request: IncomingMessage, { maxBytes, timeoutMs }: BodyLimits): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) return reject(tooLarge(maxBytes));
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(() => settle(() => reject(tooSlow(timeoutMs))), timeoutMs);
    const settle = (how: () => void): void => {
      clearTimeout(timer);
      request.off('data', take).off('end', end).off('close', gone);
      how();
    };
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > maxBytes) settle(() => reject(tooLarge(maxBytes)));
      else chunks.push(chunk);
    };
    const end = (): void => settle(() => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    const gone = (): void => settle(() => reject(malformed('the connection ended before the body did')));
    request.on('data', take).on('end', end).on('close', gone);
  });
}

/** What is left of the body is not read, so the connection cannot go on. */
const CLOSE = { headers: { Connection: 'close' } };

function tooLarge(maxBytes: number): HttpError {
  return new HttpError(413, 'body_too_large', `The body may have ${maxBytes} bytes at most.`, CLOSE);
}

function tooSlow(timeoutMs: number): HttpError {
  return new HttpError(408, 'body_too_slow', `The body has to be here within ${timeoutMs} ms.`, CLOSE);
}
