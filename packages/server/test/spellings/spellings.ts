/** Random ways to write a path: those that some server takes for the path, and many that none does. */
import fc from 'fast-check';

/** Between two segments. */
const SLASHES = ['/', '/', '/', '/', '//', '/./', '/.//', '\\', '%2f', '%2F', '%5c', '%252f', '/%2e/', '///'];
/** Segments that a `..` takes away again, many of them unreadable. */
const JUNK = [
  ...['x', 'health', 'static', '.well-known', 'a b'.replace(' ', '%20'), 'a;b=1', ';', 'é', '\xff', '%'],
  ...[
    'x%ff',
    '%ff',
    '%c3%28',
    '%c0%af',
    '%e0%80%80',
    '%zz',
    '%4',
    'a%2fb',
    'a%5cb',
    '%2f',
    '%00',
    'x%3fy',
    'x%23y',
    '%252e',
  ],
];
const UP = ['..', '..', '..', '%2e%2e', '%2E.', '.%2e', '%252e%252e', '..;x', '%2e%2e;', '..%2f', '..%ff'];
const ENDS = [
  ...[
    '/',
    '.',
    '%20',
    '%00',
    ';',
    ';a=1',
    '#x',
    '%3f',
    '%23',
    '%2f',
    '%2f..',
    '\\',
    '/.',
    '/%2e',
    '%ff',
    '%',
    '/x/..',
    '//',
  ],
  ...['%09', '.%20', '%c0%ae', '%u002f', '/;/', '%5c', '%25', '%0a'],
];
const STARTS = [
  '//x',
  '///x/',
  '/\\x',
  'http://x',
  '/x%2fy/..',
  '/%ff/..',
  '/%ff%2fx/..',
  '/..',
  '/./..',
  '//',
  '/%2e%2e',
  '/;/..',
];

type Draw = <T>(values: readonly T[]) => T;

/** `oneIn(4)`: with a chance of a quarter. */
interface Chance {
  readonly draw: Draw;
  oneIn(count: number): boolean;
}

/** A path of these segments in some spelling. */
export function spellingOf(...segments: readonly string[]): fc.Arbitrary<string> {
  return fc.gen().map((gen) => {
    const draw: Draw = (values) => gen(fc.constantFrom, ...values) as never;
    return spelled(segments, { draw, oneIn: (count) => gen(fc.nat, { max: count - 1 }) === 0 });
  });
}

function spelled(segments: readonly string[], chance: Chance): string {
  const { draw, oneIn } = chance;
  const start = oneIn(4) ? draw(STARTS) : '';
  const path = segments.map((segment) => slash(chance) + detour(chance) + disguised(segment, chance)).join('');
  const end = oneIn(3) ? draw(ENDS) : '';
  return `${start}${path}${end}${oneIn(5) ? '?x=/y' : ''}`;
}

function slash({ draw, oneIn }: Chance): string {
  return oneIn(3) ? draw(SLASHES) : '/';
}

function detour(chance: Chance): string {
  if (!chance.oneIn(3)) return '';
  return `${chance.draw(JUNK)}${slash(chance)}${chance.draw(UP)}${slash(chance)}`;
}

function disguised(segment: string, chance: Chance): string {
  if (!chance.oneIn(2)) return segment;
  return [...segment].map((letter) => (chance.oneIn(3) ? letterAs(letter, chance) : letter)).join('');
}

function letterAs(letter: string, { draw }: Chance): string {
  const code = letter.charCodeAt(0).toString(16);
  return draw([
    ...[`%${code}`, `%${code.toUpperCase()}`, `%${code}`, `%25${code}`, letter.toUpperCase(), `%u00${code}`],
    ...[`${letter}%ff`, `%ff${letter}`, `${letter};x`, `${letter}%c0%80`],
  ]);
}

const WORDS = [
  'users',
  'files',
  'api',
  'v1',
  'logins',
  'log',
  'sessions',
  'index.html',
  'a%20b',
  'caf%C3%A9',
  '100%25',
  'x%2Fy',
];
const MORE_WORDS = [
  '2026-11-18',
  'ann@example.com',
  'q;v=1',
  '%E2%9C%93',
  '~me',
  'a+b',
  'What%3F',
  '.well-known',
  'x.tar.gz',
  '50%',
];

/** A path as people and programs send them, that is none of those that are limited. */
export const plainPath = fc
  .array(fc.constantFrom(...WORDS, ...MORE_WORDS), { minLength: 1, maxLength: 5 })
  .map((words) => `/${words.join('/')}`);
