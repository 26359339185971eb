/**
 * Headers that stand for one value: who is asking, for which path, under which plan. Node joins several lines of one header with a comma, and the result
 * is nobody's key and matches no rule. One of two lines is the gateway's and one the client's, and nobody knows which is which: so it is refused.
 */
import type { IncomingMessage } from 'node:http';
import { HttpError } from './http-error.ts';

/** Lists by definition: each proxy may add a line. */
const LISTS = ['x-forwarded-for', 'forwarded'];

/** `name` in lower case. */
export function singleHeader({ headers, rawHeaders }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]?.toString();
  if (value === undefined || LISTS.includes(name) || linesOf(name, rawHeaders) < 2) return value;
  const message = `The header ${name} comes twice. Only your gateway may set it: let the gateway remove the client's.`;
  throw new HttpError(400, 'duplicate_header', message, { path: name });
}

/** Names and values in turns. */
function linesOf(name: string, rawHeaders: readonly string[]): number {
  let lines = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const header = rawHeaders[at]!;
    if (header.length === name.length && header.toLowerCase() === name) lines += 1;
  }
  return lines;
}
