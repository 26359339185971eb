/**
 * Lines of text as a template: fields, and what stands between them. A field ends where what follows it begins. Between quotes a backslash
 * escapes: `\"` does not end a field. Only as much of a line is looked at as it takes to find the last field that is wanted.
 */
import { bytesOf, FormatError, LINE, type LineReader, type Spans } from './line-format.ts';

/** A field, by the names it goes by, and the text that stands before it. */
export interface TemplatePart {
  readonly before: string;
  /** None for what nobody asks for. `request` stands for method, path and protocol. */
  readonly names: readonly string[];
}

/** What a line looks like. */
export interface Template {
  readonly parts: readonly TemplatePart[];
  /** What ends the last field; '' for the end of the line. */
  readonly end: string;
}

const SPACE = 32;
const QUOTE = 34;
const HASH = 35;
const COMMA = 44;
const BACKSLASH = 92;

/** One step of reading: skip a text, then take a field up to another. */
interface ReadStep {
  readonly before: Uint8Array;
  readonly until: Uint8Array;
  readonly isQuoted: boolean;
  readonly field: number;
  /** Where parts of the field go when it is a request line. */
  readonly method: number;
  readonly path: number;
  readonly isAddress: boolean;
  readonly isList: boolean;
}

/** What the addresses of a format look like. */
export interface TextOptions {
  /** `10.0.0.1:33317`: the port is not part of it. */
  readonly hasPort?: boolean | undefined;
}

export function templateReader(template: Template, wanted: readonly string[], options: TextOptions = {}): LineReader {
  const has = (name: string): boolean => template.parts.some(({ names }) => offers(names, name));
  for (const name of wanted) if (!has(name)) throw new FormatError(missingField(name, template));
  const steps = stepsOf(template, wanted, options);
  return { dateField: -1, read: (bytes, start, end, spans) => readSteps(steps, bytes, start, end, spans) };
}

function offers(names: readonly string[], name: string): boolean {
  return names.includes(name) || (names.includes('request') && (name === 'method' || name === 'path'));
}

function missingField(name: string, { parts }: Template): string {
  const names = parts.flatMap(({ names }) => (names.includes('request') ? ['method', 'path', ...names] : names));
  return `the log has no field ${JSON.stringify(name)}. It has ${[...new Set(names)].join(', ')}.`;
}

function stepsOf({ parts, end }: Template, wanted: readonly string[], { hasPort }: TextOptions): ReadStep[] {
  const indexIn = (names: readonly string[]): number => wanted.findIndex((name) => names.includes(name));
  const steps = parts.map(({ before, names }, index): ReadStep => {
    const until = parts[index + 1]?.before ?? end;
    const isRequest = names.includes('request');
    return {
      before: bytesOf(index === 0 ? before : ''),
      until: bytesOf(until),
      isQuoted: before.endsWith('"') && until.startsWith('"'),
      field: indexIn(names),
      method: isRequest ? wanted.indexOf('method') : -1,
      path: isRequest ? wanted.indexOf('path') : -1,
      isAddress: hasPort === true && names.includes('ip'),
      isList: names.includes('ip') && until.startsWith(' '),
    };
  });
  const isWanted = ({ field, method, path }: ReadStep): boolean => field >= 0 || method >= 0 || path >= 0;
  return steps.slice(0, steps.map(isWanted).lastIndexOf(true) + 1);
}

function readSteps(steps: readonly ReadStep[], bytes: Uint8Array, start: number, end: number, spans: Spans): number {
  if (start === end || bytes[start] === HASH) return LINE.nothing;
  let at = start;
  for (let index = 0; index < steps.length; index += 1) {
    const step = steps[index]!;
    const { before } = step;
    if (before.length > 0) {
      if (!startsWith(bytes, at, end, before)) return bad(spans, 'does not begin as this format does');
      at += before.length;
    }
    let stop = step.isQuoted ? quoteEnd(bytes, at, end) : findText(bytes, at, end, step.until);
    // A list of hops, as of X-Forwarded-For, goes on after a comma.
    while (step.isList && stop > at && bytes[stop - 1] === COMMA) stop = findText(bytes, stop + 1, end, step.until);
    if (stop < 0) return bad(spans, 'is cut off, or not of this format');
    if (step.method >= 0 || step.path >= 0) splitRequest(step, bytes, at, stop, spans);
    if (step.field >= 0 && !isDash(bytes, at, stop)) {
      spans.set(step.field, at, step.isAddress ? beforePort(bytes, at, stop) : stop);
    }
    at = stop + step.until.length;
  }
  return LINE.request;
}

export function bad(spans: Spans, problem: string): number {
  spans.problem = problem;
  return LINE.bad;
}

function startsWith(bytes: Uint8Array, at: number, end: number, text: Uint8Array): boolean {
  if (end - at < text.length) return false;
  for (let index = 0; index < text.length; index += 1) if (bytes[at + index] !== text[index]) return false;
  return true;
}

/** Where a text begins; the end of the line for none, and -1 when it is not there. */
function findText(bytes: Uint8Array, from: number, end: number, text: Uint8Array): number {
  if (text.length === 0) return end;
  const first = text[0]!;
  const last = end - text.length;
  for (let at = from; at <= last; at += 1) {
    if (bytes[at] === first && (text.length === 1 || startsWith(bytes, at, end, text))) return at;
  }
  return -1;
}

/** The quote that ends a field; -1 when there is none. */
export function quoteEnd(bytes: Uint8Array, from: number, end: number): number {
  for (let at = from; at < end; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at += 1;
  }
  return -1;
}

/** `GET /path HTTP/1.1`; some have no protocol, and scanners send anything: then there is no path. */
function splitRequest({ method, path }: ReadStep, bytes: Uint8Array, start: number, end: number, spans: Spans): void {
  let space = start;
  while (space < end && bytes[space] !== SPACE) space += 1;
  if (space === end || space === start) return;
  if (method >= 0) spans.set(method, start, space);
  if (path < 0) return;
  let last = end;
  // A protocol has no space in it; a path may.
  for (let at = end - 1; at > space; at -= 1) {
    if (bytes[at] !== SPACE) continue;
    if (bytes[at + 1] === 72) last = at;
    break;
  }
  if (last > space + 1) spans.set(path, space + 1, last);
}

function isDash(bytes: Uint8Array, start: number, end: number): boolean {
  return end === start || (end - start === 1 && bytes[start] === 45);
}

/** Without `:33317`, and without the brackets of `[::1]:33317`. */
export function beforePort(bytes: Uint8Array, start: number, end: number): number {
  for (let at = end - 1; at > start; at -= 1) {
    if (bytes[at] === 58) return at;
    if (at < end - 6) break;
  }
  return end;
}
