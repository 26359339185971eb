/**
 * Which requests a rule is about. Patterns are compared part by part, never searched, so that no request can keep a pattern busy:
 * `*` is one whole segment of a path, `**` (only at the end) any number of them, and `abc*` the beginning of a header's value.
 */
import { byRoute, type RequestView } from 'sluice/http';

export interface Matcher {
  /** Upper case. Undefined: every method. */
  readonly methods: readonly string[] | undefined;
  /** Undefined: every path. Any of them will do. */
  readonly paths: readonly PathPattern[] | undefined;
  /** All of them are wanted. */
  readonly headers: readonly HeaderPattern[];
}

export interface PathPattern {
  readonly text: string;
  readonly segments: readonly string[];
  readonly isOpen: boolean;
}

export interface HeaderPattern {
  /** Lower case. */
  readonly name: string;
  /** True: it is there; false: it is not; a text: its value, or with `*` at the end how it begins. */
  readonly wanted: boolean | string;
}

export function parsePathPattern(text: string): PathPattern {
  const segments = text.toLowerCase().split('/').filter(Boolean);
  const isOpen = segments.at(-1) === '**';
  return { text, segments: isOpen ? segments.slice(0, -1) : segments, isOpen };
}

/** What is wrong with a pattern, if anything. */
export function pathPatternMistake(text: string): string | undefined {
  if (!text.startsWith('/')) return 'expected a path that begins with /';
  const wild = text.split('/').slice(1);
  const isMisplaced = (segment: string, index: number): boolean =>
    segment.includes('*') && segment !== '*' && !(segment === '**' && index === wild.length - 1);
  return wild.some(isMisplaced) ? 'expected * as a whole segment, or ** as the last one' : undefined;
}

/** Why the request is not meant; undefined when it is. */
export function mismatch(matcher: Matcher, view: RequestView): string | undefined {
  return methodMismatch(matcher, view) ?? pathMismatch(matcher, view) ?? headerMismatch(matcher, view);
}

function methodMismatch({ methods }: Matcher, view: RequestView): string | undefined {
  const method = view.method.toUpperCase();
  const isMeant = methods === undefined || methods.includes(method) || (method === 'HEAD' && methods.includes('GET'));
  return isMeant ? undefined : `its method is ${method}, not ${methods.join(' or ')}`;
}

function pathMismatch({ paths }: Matcher, view: RequestView): string | undefined {
  if (paths === undefined) return undefined;
  const path = plainPath(view);
  const segments = path.split('/').filter(Boolean);
  if (paths.some((pattern) => fits(pattern, segments))) return undefined;
  return `its path is ${path}, not ${paths.map(({ text }) => text).join(' or ')}`;
}

function fits({ segments, isOpen }: PathPattern, given: readonly string[]): boolean {
  if (isOpen ? given.length < segments.length : given.length !== segments.length) return false;
  return segments.every((segment, index) => segment === '*' || segment === given[index]);
}

/** As the laxest router reads it, so that a client gains nothing by spelling. It is what `byRoute` makes keys of. */
function plainPath({ path, header }: RequestView): string {
  const prefix = 'path:GET ';
  return byRoute()({ method: 'GET', path, header, ip: undefined })!.slice(prefix.length);
}

function headerMismatch({ headers }: Matcher, view: RequestView): string | undefined {
  for (const { name, wanted } of headers) {
    const value = view.header(name);
    if (!isWanted(value, wanted)) return headerReason(name, wanted, value);
  }
  return undefined;
}

function isWanted(value: string | undefined, wanted: boolean | string): boolean {
  if (typeof wanted === 'boolean') return (value !== undefined) === wanted;
  if (value === undefined) return false;
  return wanted.endsWith('*') ? value.startsWith(wanted.slice(0, -1)) : value === wanted;
}

function headerReason(name: string, wanted: boolean | string, value: string | undefined): string {
  if (wanted === false) return `it has the header ${name}`;
  if (value === undefined) return `it has no header ${name}`;
  return `its header ${name} is ${JSON.stringify(value)}, not ${JSON.stringify(wanted)}`;
}
