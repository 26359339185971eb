/** In which ways a path can be read, row by row. That real servers read it in one of these is tested with real servers, in packages/server. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pathReadings } from '../../src/http/index.ts';
import { plainPath } from '../../src/http/path-readings.ts';

describe('every reading, the most resolved one last', () => {
  test.each([
    ['/login', ['/login']],
    ['/Login/', ['/login']],
    ['//a//b', ['/', '/b', '/a/b']],
    ['', ['/']],
    ['*', ['/*']],
    ['/login?next=/x', ['/login']],
    ['http://example.org/login', ['/login']],
    ['http://x%2flogin', ['/%2flogin', '/', '/login']],
    ['/files/report.pdf', ['/files/report.pdf']],
    ['/50%/x', ['/50%/x']],
    ['/bad%zz', ['/bad%zz']],
    ['/%6cogin', ['/%6cogin', '/login']],
    ['/%256cogin', ['/%256cogin', '/%6cogin', '/login']],
    ['/caf%C3%A9', ['/caf%c3%a9', '/café']],
    ['/health/../Login', ['/health/../login', '/login']],
    ['/x/%2E%2e/login', ['/x/%2e%2e/login', '/x/../login', '/login']],
    ['/login;a=1?b', ['/login;a=1', '/login']],
    ['/login;/x', ['/login;/x', '/login', '/login/x']],
    ['/a\\b', ['/a\\b', '/a/b']],
    ['/a/b%2Fc', ['/a/b%2fc', '/a/b/c']],
    // A server that decodes before it resolves, and one that does not.
    ['/x%2fy/../login', ['/x%2fy/../login', '/x/y/../login', '/login', '/x/login']],
    ['/what%3fx', ['/what%3fx', '/what?x', '/what']],
    ['/login#x', ['/login#x', '/login']],
    ['/login.', ['/login.', '/login']],
    ['/login%20', ['/login%20', '/login ', '/login']],
    ['/a%00b', ['/a%00b', '/a\0b', '/ab', '/a']],
    // No UTF-8: as it is, as Latin-1, as the replacement character, left out.
    ['/a%ff', ['/a%ff', '/a\ufffd', '/a', '/a\xff']],
    ['/%c0%af', ['/%c0%af', '/\ufffd\ufffd', '/\xe0\u00af', '/\xe0 \u0304', '/']],
    ['/l%u006fgin', ['/l%u006fgin', '/login']],
    // UTF-8 that was read as Latin-1.
    ['/caf\xc3\xa9', ['/caf\xe3\xa9', '/café']],
    ['/\uff4cogin', ['/\uff4cogin', '/login']],
  ])('%j is %j', (path, expected) => {
    const readings = pathReadings(path);
    expect(new Set(readings)).toEqual(new Set(expected));
    expect(readings.at(-1)).toBe(expected.at(-1));
    expect(readings.isComplete).toBe(true);
  });
});

test.each([
  ['/session', false],
  ['/session/', true],
  ['/session/?x', true],
  ['/session%2f', true],
  ['/session/x/..', true],
  ['/session/.', true],
  ['/session/x/%2e%2e', true],
  ['/session\\', true],
  ['/a%20b', false],
])('%s may end with a slash: %s', (path, expected) => expect(pathReadings(path).mayEndWithSlash).toBe(expected));

test.each([
  ['/App/', '/app'],
  ['/%41pp%ff/x', '/app%ff/x'],
  ['/a%2fb?c', '/a/b'],
])('the plain path of %s is %s', (path, expected) => expect(plainPath(path)).toBe(expected));

const piece = fc.oneof(
  fc.constantFrom(
    '/',
    '//',
    '\\',
    '..',
    '.',
    ';',
    '%2f',
    '%2e',
    '%5c',
    '%25',
    '%ff',
    '%c3',
    '%a9',
    '%00',
    '#',
    '?',
    '%3f',
    ' ',
    '%u002e',
  ),
  fc.string({ maxLength: 4, unit: 'binary' }),
);
const anyPath = fc.array(piece, { maxLength: 12 }).map((pieces) => `/${pieces.join('')}`);

describe('whatever is sent', () => {
  test('a path in which nothing is left to resolve is its own only reading', () => {
    fc.assert(
      fc.property(anyPath, (path) => {
        const readings = pathReadings(path);
        const last = readings.at(-1)!;
        if (readings.isComplete) expect([...pathReadings(last)]).toEqual([last.replace(/[?#].*/s, '')]);
      }),
      { numRuns: 2000 },
    );
  });

  test('letters that come apart in upper case have one last reading', () => {
    for (const letter of ['ῶ', 'ß', 'ŉ', 'ΐ', 'ﬀ', 'ǰ', 'İ', 'ϓ']) {
      const last = pathReadings(`/${letter}`).at(-1)!;
      expect([...pathReadings(last)], letter).toEqual([last]);
    }
  });

  test('what a second server makes of the reading of a first is a reading too', () => {
    fc.assert(
      fc.property(anyPath, (path) => {
        const readings = pathReadings(path);
        if (!readings.isComplete) return;
        for (const reading of readings.slice(0, 20)) {
          const next = pathReadings(reading);
          expect(
            next.filter((each) => !readings.includes(each)),
            `${path} as ${reading}`,
          ).toEqual([]);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('readings are bounded in number and size, and said to be incomplete', () => {
    const mixed = 'a%2f%5c%3b%3f%23%2e%2e;x//..\\b%ff%c0%af%u002f%252e%2525';
    for (const path of [mixed, mixed.repeat(5), mixed.repeat(500), `/%${'25'.repeat(10_000)}2f`]) {
      const readings = pathReadings(`/${path}`);
      expect(readings.isComplete).toBe(false);
      expect(readings.length).toBeLessThanOrEqual(513);
      expect(readings.join('').length).toBeLessThan(2 * 65_536 + path.length);
    }
  });
});
