/** The body of a request as JSON, within a size and a time. Nothing of it is kept once either is over. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { looksLikeBrowser } from './browser-guard.ts';
import { HttpError } from './http-error.ts';
import { Patience } from './patience.ts';

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

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json *(?:;|$)/i;
/** What `curl -d` and `fetch` send unless they are told otherwise; and so does any web page. */
const USUAL_TYPE = /^(?:application\/x-www-form-urlencoded|text\/plain) *(?:;|$)/i;

/** A page of another site can send texts and forms without asking first, but no JSON. So what is not said to be JSON is taken from programs only. */
function refuseOtherTypes(request: IncomingMessage): void {
  const { 'content-type': type, 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  if (encoding === undefined && (length === undefined || length === '0')) return;
  if (type !== undefined && JSON_TYPE.test(type)) return;
  if ((type === undefined || USUAL_TYPE.test(type)) && !looksLikeBrowser(request)) return;
  const got = type === undefined ? '' : `, not as ${type.slice(0, 60)}`;
  const message = `Send the body with Content-Type: application/json${got}.`;
  throw new HttpError(415, 'unsupported_media_type', message, { path: 'content-type', ...CLOSE });
}

function malformed(message: string): HttpError {
  return new HttpError(400, 'malformed_json', message);
}

function readBytes(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  const { maxBytes, timeoutMs } = limits;
  refuseOtherTypes(request);
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
  return new HttpError(413, 'body_too_large', `The body may have at most ${maxBytes} bytes.`, CLOSE);
}

function tooSlow(timeoutMs: number): HttpError {
  return new HttpError(408, 'body_too_slow', `The body must arrive within ${timeoutMs} ms.`, CLOSE);
}
