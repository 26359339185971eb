/**
 * A path in every way a server may read it.
 *
 * Between a client and a handler stand proxies and routers, and no two of them agree on what one path is. Some decode escapes once, some
 * twice, some never. Some take `%2f` or `\` for a slash, `..` for the folder above, `;a=1` for nothing. Bytes that are not UTF-8 become
 * whatever the server likes. So this file does not choose one form. Each of these habits is a small step; the steps are applied in every
 * order, as often as they change something, and every result is a reading. A limit that looks at all readings cannot be avoided by
 * spelling, whoever reads the path in the end.
 */

/** All readings of one path: lower case, single slashes, no slash at the end. In the last one nothing is left to decode or resolve. */
export interface PathReadings extends ReadonlyArray<string> {
  /** False: there are more readings than these. Nobody but an attacker sends such a path: refuse it. */
  readonly isComplete: boolean;
  /** Some server reads it with a slash at the end: for some routers an empty segment follows, and `/session/` is a `/session/:id`. */
  readonly mayEndWithSlash: boolean;
}

/** Readings of one path. Paths that people and programs send have up to a few dozen. */
const MOST_READINGS = 512;
/** Characters of all readings together, so that a long path cannot keep a server busy. */
const MOST_CHARACTERS = 1 << 16;

/**
 * Every way in which a server may read the path of a request, without its origin and query. Most paths have one reading.
 *
 * @example
 * pathReadings('/Login/'); // ['/login']
 * pathReadings('/x/../login'); // ['/x/../login', '/login']
 * // A limit applies when one reading matches, an exception only when all of them do:
 * const isLogin = pathReadings(path).includes('/login');
 * const isHealth = pathReadings(path).every((reading) => reading === '/health');
 */
export function pathReadings(target: string): PathReadings {
  const path = lowerCaseAscii(withoutQuery(target));
  if (!AMBIGUOUS.test(path)) {
    return Object.assign([finished(path)], { isComplete: true, mayEndWithSlash: path.endsWith('/') });
  }
  const { paths, isComplete } = everyOrder(path);
  const readings = new Set<string>();
  let mayEndWithSlash = false;
  for (const each of paths) {
    readings.add(finished(each));
    mayEndWithSlash ||= each.endsWith('/');
  }
  const last = finished(usualOrder(path));
  readings.delete(last);
  return Object.assign([...readings, last], { isComplete, mayEndWithSlash });
}

/** The path with each escape decoded by itself: escapes that are not UTF-8 stay as they are. Without its origin and query. */
export function plainPath(target: string): string {
  return finished(decodeCharacters(withoutQuery(target), (_, character) => character));
}

/** Ends where no host goes on: some parsers take what follows an escape for the path. */
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[\w.:@[\]~!$&'()*+,=-]*/i;

/** A raw `#` stays: for some servers the path ends there, for others it does not. */
function withoutQuery(target: string): string {
  const relative = target[0] === '/' ? target : target.replace(ORIGIN, '');
  const [path = ''] = relative.split('?', 1);
  return path[0] === '/' ? path : `/${path}`;
}

/** Only ASCII: bytes of UTF-8 that were read as Latin-1 would become other bytes. */
function lowerCaseAscii(path: string): string {
  return path.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Case and slashes are left out of every reading: where a server tells two spellings apart, the limit holds for both. */
function finished(path: string): string {
  return `/${path.toLowerCase().split('/').filter(Boolean).join('/')}`;
}

/** What a step may change: anything but plain characters, a dot at the end of a segment, two slashes at the beginning. */
const AMBIGUOUS = /[^\w/~:@!$&'()*+,=.-]|\.(?:\/|$)|^\/\//;

type Step = (path: string) => string;

const replacing =
  (pattern: RegExp, replacement: string): Step =>
  (path) =>
    path.replace(pattern, replacement);

/** Escapes that separate or change segments. Decoders differ in whether they decode these, so each has a step of its own. */
const DELIMITERS = new Set(['%2f', '%5c', '%3b', '%3f', '%23', '%2e']);

const DECODING: readonly Step[] = [
  (path) => decodeCharacters(path, (code, character) => (DELIMITERS.has(code) ? code : character)),
  replacing(/%2f/g, '/'),
  replacing(/%5c/g, '\\'),
  replacing(/%3b/g, ';'),
  (path) => path.replace(/%3f/g, '?').replace(/%23/g, '#'),
  replacing(/%2e/g, '.'),
  // The form of IIS.
  (path) => path.replace(/%u([\da-f]{4})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16))),
];

/** For bytes that are not UTF-8: longer than allowed (`%c0%af` for a slash), Latin-1, the replacement character, or left out. */
const GUESSING: readonly Step[] = [
  (path) => path.replace(/%c[01]%[89ab][\da-f]/g, overlongCharacter),
  (path) => replaceInvalidBytes(path, (byte) => String.fromCharCode(byte)),
  (path) => replaceInvalidBytes(path, () => '\uFFFD'),
  (path) => replaceInvalidBytes(path, () => ''),
];

/** NUL ends texts in C; `new URL()` leaves out tabs and line ends. */
const [FROM_NUL, CONTROLS] = ['\\0.*$', '[\\0-\\x1f\\x7f]+'];

const RESOLVING: readonly Step[] = [
  replacing(/\\/g, '/'),
  replacing(/;[^/]*/g, ''),
  // For some routers the query begins here.
  replacing(/;.*$/s, ''),
  replacing(/\?.*$/s, ''),
  replacing(/#.*$/s, ''),
  replacing(/\/{2,}/g, '/'),
  resolveDots,
  replacing(new RegExp(FROM_NUL, 's'), ''),
  replacing(new RegExp(CONTROLS, 'g'), ''),
  // Windows leaves out dots and spaces at the end of a name.
  replacing(/([^/. ])[. ]+(?=\/|$)/g, '$1'),
];

/** UTF-8 that was read as Latin-1, as Node reads headers; letters that stand for others (`ſ`, a full-width `／`); letters whose upper case is another's. */
const FOLDING: readonly Step[] = [
  (path) => (/^[\0-\xff]*$/.test(path) ? fromBytes(path) : path),
  (path) => path.normalize('NFKC'),
  // Composed again: `ῶ` comes back from its upper case as two characters.
  (path) => path.toUpperCase().toLowerCase().normalize('NFKC'),
];

/** For `new URL(target, base)` a host follows two slashes. */
const withoutHost = replacing(/^[\\/]{2,}[^\\/?#]*\/?/, '/');

const STEPS: readonly Step[] = [...DECODING, ...GUESSING, ...RESOLVING];
const ALL_STEPS: readonly Step[] = [...STEPS, ...FOLDING];

function stepsFor(path: string): readonly Step[] {
  return /[^\0-\x7f]/.test(path) ? ALL_STEPS : STEPS;
}

/** Everything the steps make of a path. Each step takes something away, so this ends. */
function everyOrder(start: string): { readonly paths: Iterable<string>; readonly isComplete: boolean } {
  const paths = new Set([start]);
  let characters = start.length;
  for (const path of paths) {
    for (const step of [...stepsFor(path), withoutHost]) {
      const next = step(path);
      if (next === path || paths.has(next)) continue;
      characters += next.length;
      if (paths.size >= MOST_READINGS || characters > MOST_CHARACTERS) return { paths, isComplete: false };
      paths.add(next);
    }
  }
  return { paths, isComplete: true };
}

/** Decoded first, then resolved, as most servers do it, until no step changes anything. */
function usualOrder(start: string): string {
  let path = start;
  for (let time = 0; time < MOST_READINGS; time++) {
    const before = path;
    for (const step of stepsFor(path)) path = step(path);
    if (path === before) break;
  }
  return path;
}

const DOT_SEGMENT = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/;
const TWO_DOTS = /^(?:\.|%2e){2}$/;
const ONE_DOT = /^(?:\.|%2e)$/;

/** Escaped dots too: browsers and `new URL()` resolve them without decoding anything else. */
function resolveDots(path: string): string {
  if (!DOT_SEGMENT.test(path)) return path;
  const kept: string[] = [];
  const segments = path.slice(1).split('/');
  for (const segment of segments) {
    if (TWO_DOTS.test(segment)) kept.pop();
    else if (!ONE_DOT.test(segment)) kept.push(segment);
  }
  // A folder, not what is in it.
  const isFolder = kept.length > 0 && DOT_SEGMENT.test(segments.at(-1)!);
  return `/${kept.join('/')}${isFolder ? '/' : ''}`;
}

const TAIL = '%[89ab][\\da-f]';
/** One character in one to four bytes of UTF-8. */
const CHARACTER = [
  '%[0-7][\\da-f]',
  `%(?:c[2-9a-f]|d[\\da-f])${TAIL}`,
  `%(?:e0%[ab][\\da-f]|ed%[89][\\da-f]|e[1-9a-cef]${TAIL})${TAIL}`,
  `%(?:f0%[9ab][\\da-f]|f[1-3]${TAIL}|f4%8[\\da-f])${TAIL}${TAIL}`,
].join('|');
/** A character, or a byte that is part of none. A pattern, because a decoder that throws is a hundred times slower, and clients choose how often it would. */
const CHARACTER_OR_BYTE = new RegExp(`(${CHARACTER})|%[89a-f][\\da-f]`, 'gi');
const HIGH_BYTE = /%[89a-f][\da-f]/;

/** Calls `become` with each escaped character, as it is written and decoded. Bytes that are not UTF-8 stay. */
function decodeCharacters(path: string, become: (code: string, character: string) => string): string {
  if (!path.includes('%')) return path;
  return path.replace(CHARACTER_OR_BYTE, (code, character) =>
    character === undefined ? code : become(code, decodeURIComponent(code)),
  );
}

/** Calls `become` with each escaped byte that is part of no character. */
function replaceInvalidBytes(path: string, become: (byte: number) => string): string {
  if (!HIGH_BYTE.test(path)) return path;
  return path.replace(CHARACTER_OR_BYTE, (code, character) =>
    character === undefined ? become(Number.parseInt(code.slice(1), 16)) : code,
  );
}

/** Two bytes for a character that takes one. */
function overlongCharacter(code: string): string {
  const [first, second] = [code.slice(1, 3), code.slice(4)].map((byte) => Number.parseInt(byte, 16));
  return String.fromCharCode(((first! & 1) << 6) | (second! & 0x3f));
}

/** Only when all of it is UTF-8. */
function fromBytes(path: string): string {
  if (!/[\xc2-\xf4][\x80-\xbf]/.test(path)) return path;
  const escaped = path.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
  const text = decodeCharacters(escaped, (code, character) => (HIGH_BYTE.test(code) ? character : code));
  return HIGH_BYTE.test(text) ? path : text;
}
