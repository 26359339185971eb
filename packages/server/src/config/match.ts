/**
 * Which requests a rule is about. Patterns are compared part by part, never searched, so that no request can keep a pattern busy:
 * `*` is one whole segment of a path, `**` (only at the end) any number of them, and `abc*` the beginning of a header's value.
 */
import type { RequestView } from 'sluice/http';
import { claimTexts, hasClaim } from './jwt.ts';
import type { TokenOf } from './read-jwt.ts';
import type { RequestPaths } from './request-paths.ts';

export interface Matcher {
  /** Upper case. Undefined: every method. */
  readonly methods: readonly string[] | undefined;
  /** Undefined: every path. Any of them will do. */
  readonly paths: readonly PathPattern[] | undefined;
  /** All of them are wanted. */
  readonly headers: readonly ValuePattern[];
  readonly claims: readonly ValuePattern[];
  /** Where there are claims. */
  readonly tokenOf: TokenOf | undefined;
}

export interface PathPattern {
  readonly text: string;
  readonly segments: readonly string[];
  readonly isOpen: boolean;
}

/** Of a header, or of a claim: one of its items will do. */
export interface ValuePattern {
  /** A header's in lower case. */
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

export interface Matching {
  readonly view: RequestView;
  readonly paths: RequestPaths;
  /** Whether all readings of the path have to be meant, and not only one of them. */
  readonly isSure: boolean;
}

/** Why the request is not meant; undefined when it is. */
export function mismatch(matcher: Matcher, { view, paths, isSure }: Matching): string | undefined {
  return (
    methodMismatch(matcher, view) ??
    pathMismatch(matcher, paths, isSure) ??
    headerMismatch(matcher, view) ??
    claimMismatch(matcher, view)
  );
}

function methodMismatch({ methods }: Matcher, view: RequestView): string | undefined {
  const method = view.method.toUpperCase();
  const isMeant = methods === undefined || methods.includes(method) || (method === 'HEAD' && methods.includes('GET'));
  return isMeant ? undefined : `its method is ${method}, not ${methods.join(' or ')}`;
}

function pathMismatch(matcher: Matcher, paths: RequestPaths, isSure: boolean): string | undefined {
  if (matcher.paths === undefined) return undefined;
  const { readings } = paths;
  const meant = isSure ? readings.filter((reading) => isMeant(matcher.paths!, reading)) : meantAmong(matcher, paths);
  if (isSure ? meant.length === readings.length : meant.length > 0) return undefined;
  return `its path is ${readingsText(readings)}, not ${matcher.paths.map(({ text }) => text).join(' or ')}`;
}

/** The readings of a path that the patterns of a rule may be about. */
export function meantAmong({ paths }: Matcher, { readings }: RequestPaths): readonly string[] {
  if (paths === undefined) return readings;
  return readings.filter(
    (reading) => isMeant(paths, reading) || (readings.mayEndWithSlash && isMeant(paths, `${reading}/`)),
  );
}

/** With a slash at the end the last segment is an empty one, for which only a star stands. */
function isMeant(paths: readonly PathPattern[], path: string): boolean {
  const segments = path === '/' ? [] : path.slice(1).split('/');
  return paths.some((pattern) => fits(pattern, segments));
}

const MOST_TOLD = 3;

function readingsText(readings: readonly string[]): string {
  const told = readings.length > MOST_TOLD ? [...readings.slice(-MOST_TOLD), '...'] : readings;
  return told.join(' or ');
}

function fits({ segments, isOpen }: PathPattern, given: readonly string[]): boolean {
  if (isOpen ? given.length < segments.length : given.length !== segments.length) return false;
  return segments.every((segment, index) => segment === '*' || segment === given[index]);
}

function headerMismatch({ headers }: Matcher, view: RequestView): string | undefined {
  for (const pattern of headers) {
    const value = view.header(pattern.name);
    const reason = valueMismatch('header', pattern, value !== undefined, value === undefined ? [] : [value]);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function claimMismatch({ claims, tokenOf }: Matcher, view: RequestView): string | undefined {
  if (claims.length === 0 || tokenOf === undefined) return undefined;
  const token = tokenOf(view);
  const said = 'claims' in token ? token.claims : {};
  for (const pattern of claims) {
    const { name } = pattern;
    const reason = valueMismatch('claim', pattern, hasClaim(said, name), claimTexts(said, name));
    if (reason !== undefined) return 'problem' in token ? `${reason}: ${token.problem}` : reason;
  }
  return undefined;
}

function valueMismatch(
  kind: string,
  { name, wanted }: ValuePattern,
  isThere: boolean,
  values: readonly string[],
): string | undefined {
  if (wanted === false) return isThere ? `it has the ${kind} ${name}` : undefined;
  if (!isThere) return `it has no ${kind} ${name}`;
  if (wanted === true || values.some((value) => isWanted(value, wanted))) return undefined;
  const told = values.map((value) => JSON.stringify(value)).join(', ') || 'no text';
  return `its ${kind} ${name} is ${told}, not ${JSON.stringify(wanted)}`;
}

function isWanted(value: string, wanted: string): boolean {
  return wanted.endsWith('*') ? value.startsWith(wanted.slice(0, -1)) : value === wanted;
}
