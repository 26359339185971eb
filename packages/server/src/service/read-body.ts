/** The body of a request as JSON, within a size and a time. Nothing of it is kept once either is over. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { HttpError } from './http-error.ts';

export interface BodyLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

export async function readJson(request: IncomingMessage, limits: BodyLimits): Promise<unknown> {
  const value = await readOptionalJson(request, limits);
  if (value === undefined) throw malformed('expected a JSON body, got nothing');
  return value;
}

/** Undefined when there is no body at all. */
export async function readOptionalJson(request: IncomingMessage, limits: BodyLimits): Promise<unknown> {
  const bytes = await readBytes(request, limits);
  if (bytes.length === 0) return undefined;
  const text = textOf(bytes);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw malformed((error as SyntaxError).message.slice(0, 200));
  }
}

/** As it came, for those whose JSON is not everybody's. */
export async function readText(request: IncomingMessage, limits: BodyLimits): Promise<string> {
  return textOf(await readBytes(request, limits));
}

function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw malformed('the body is not UTF-8');
  return bytes.toString();
}

function malformed(message: string): HttpError {
  return new HttpError(400, 'malformed_json', message);
}

function readBytes(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  const { maxBytes, timeoutMs } = limits;
  return new Promise((resolve, reject) => {
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) return reject(tooLarge(maxBytes));
    const chunks: Buffer[] = [];
    let size = 0;
    const patience = patienceOf(limits);
    const awaited = patience.wait(() => settle(tooSlow(timeoutMs)));
    // A promise is settled once, so what comes later is nobody's; the listeners go with the request.
    const settle = (error: HttpError | undefined): void => {
      patience.end(awaited);
      if (error === undefined) resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
      else reject(error);
    };
    request
      .on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size <= maxBytes) chunks.push(chunk);
        else settle(tooLarge(maxBytes));
      })
      .on('end', () => settle(undefined))
      .on('close', () => {
        if (!request.complete) settle(malformed('the connection ended before the body did'));
      });
  });
}

interface Awaited {
  readonly dueAt: number;
  readonly ring: () => void;
}

/** All bodies may take equally long, so they fall due in the order they came: one line and one timer serve all of them. */
class Patience {
  readonly #timeoutMs: number;
  /** In the order they came. */
  readonly #line = new Set<Awaited>();
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  wait(ring: () => void): Awaited {
    const awaited = { dueAt: performance.now() + this.#timeoutMs, ring };
    this.#line.add(awaited);
    this.#timer ??= this.#after(this.#timeoutMs);
    return awaited;
  }

  end(awaited: Awaited): void {
    this.#line.delete(awaited);
  }

  #after(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#look(), ms).unref();
  }

  #look(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const { dueAt, ring } of this.#line) {
      if (dueAt > now) {
        this.#timer = this.#after(Math.ceil(dueAt - now));
        return;
      }
      ring();
    }
  }
}

const patiences = new WeakMap<BodyLimits, Patience>();

function patienceOf(limits: BodyLimits): Patience {
  let known = patiences.get(limits);
  if (known === undefined) {
    known = new Patience(limits.timeoutMs);
    patiences.set(limits, known);
  }
  return known;
}

/** What is left of the body is not read, so the connection cannot go on. */
const CLOSE = { headers: { Connection: 'close' } };

function tooLarge(maxBytes: number): HttpError {
  return new HttpError(413, 'body_too_large', `The body may have ${maxBytes} bytes at most.`, CLOSE);
}

function tooSlow(timeoutMs: number): HttpError {
  return new HttpError(408, 'body_too_slow', `The body has to be here within ${timeoutMs} ms.`, CLOSE);
}
