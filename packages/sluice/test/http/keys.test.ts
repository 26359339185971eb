/** Key helpers: what each says, that no two of them ever say the same, and that spelling gains nothing. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anonymous, byHeader, byIp, byRoute, byUser, combine, firstOf, type Key } from '../../src/http/index.ts';
import { viewOf } from './support.ts';

describe('byHeader', () => {
  const key = byHeader('X-Api-Key');
  test.each([
    ['abc', 'header:x-api-key:abc'],
    ['a, b', 'header:x-api-key:a, b'],
    ['', undefined],
    [undefined, undefined],
  ])('%j -> %j', (value, expected) => expect(key(viewOf({ headers: { 'x-api-key': value } }))).toBe(expected));

  test.each(['X-Forwarded-For', 'forwarded'])('%s is for byIp', (name) => {
    expect(() => byHeader(name)).toThrow('byIp({ trustedProxies }) instead');
  });
});

describe('byUser', () => {
  test.each([
    ['ada', 'user:ada'],
    [42, 'user:42'],
    [42n, 'user:42'],
    [0, 'user:0'],
    ['', undefined],
    [null, undefined],
    [undefined, undefined],
  ])('%s -> %s', (id, expected) => expect(byUser(() => id)(viewOf())).toBe(expected));

  test('is given the request of the framework, and the view', () => {
    const key = byUser((request: { user: string }, view) => `${request.user}@${view.path}`);
    expect(key(viewOf({ native: { user: 'ada' }, path: '/x' }))).toBe('user:ada@/x');
  });

  test.each([[{}], [Number.NaN], [true], [Promise.resolve('ada')]])('%s is no id', (id) => {
    expect(() => byUser(() => id as never)(viewOf())).toThrow('SLUICE_INVALID_HTTP_KEY');
  });
});

describe('byRoute', () => {
  test.each([
    ['/login', 'path:GET /login'],
    ['/login?next=/home', 'path:GET /login'],
    ['/login#top', 'path:GET /login'],
    ['/login/', 'path:GET /login'],
    ['//login', 'path:GET /login'],
    ['/LOGIN', 'path:GET /login'],
    ['/%6Cogin', 'path:GET /login'],
    ['/login%2F', 'path:GET /login'],
    ['http://example.org/login', 'path:GET /login'],
    ['HTTP://anything:1@x/login?y', 'path:GET /login'],
    ['http://example.org', 'path:GET /'],
    ['', 'path:GET /'],
    ['*', 'path:GET /*'],
    ['/bad%zz', 'path:GET /bad%zz'],
    ['/caf%C3%A9', 'path:GET /café'],
    ['/x/../login', 'path:GET /login'],
    ['/./login/.', 'path:GET /login'],
    ['/../../login', 'path:GET /login'],
    ['/x/%2E%2e/login', 'path:GET /login'],
    ['/x%2f..%2Flogin', 'path:GET /login'],
    ['/x\\..\\login', 'path:GET /login'],
    ['\\login', 'path:GET /login'],
    ['/login;a=1', 'path:GET /login'],
    ['/login;/x;y/..', 'path:GET /login'],
    ['/..', 'path:GET /'],
    ['/.well-known/a..b/...', 'path:GET /.well-known/a..b/...'],
  ])('%s is %s', (path, expected) => expect(byRoute()(viewOf({ path }))).toBe(expected));

  test('methods are apart, but HEAD is GET', () => {
    expect(byRoute()(viewOf({ method: 'post', path: '/a' }))).toBe('path:POST /a');
    expect(byRoute()(viewOf({ method: 'HEAD', path: '/a' }))).toBe('path:GET /a');
  });

  test('a pattern counts as it is, and is no path', () => {
    expect(byRoute()(viewOf({ route: '/users/:id', path: '/users/7' }))).toBe('route:GET /users/:id');
    expect(byRoute()(viewOf({ path: '/users/:id' }))).toBe('path:GET /users/:id');
  });
});

describe('combine', () => {
  const said =
    (text: string | undefined): Key =>
    () =>
      text;

  test('joins and escapes', () => {
    expect(combine(said('a|b'), said('c%7C'))(viewOf())).toBe('all:a%7Cb|c%257C');
  });

  test('says nothing as soon as one says nothing', () => {
    expect(combine(byIp(), said(undefined))(viewOf())).toBeUndefined();
    expect(combine(byIp(), said(''))(viewOf())).toBeUndefined();
  });

  test('is injective, nested too, and never meets a key that is not combined', () => {
    const texts = fc.string({ unit: fc.constantFrom(...'ab|%7C:user,'), minLength: 1, maxLength: 6 });
    const trees = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof({ maxDepth: 3 }, texts, fc.array(tie('tree'), { minLength: 1, maxLength: 3 })),
    })).tree;
    const keyOf = (tree: unknown): Key =>
      Array.isArray(tree) ? combine(...tree.map(keyOf)) : byUser(() => tree as string);
    fc.assert(
      fc.property(trees, trees, (one, other) => {
        const same = keyOf(one)(viewOf()) === keyOf(other)(viewOf());
        expect(same).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
      { numRuns: 2000 },
    );
  });

  test('helpers never meet each other, whatever a client sends', () => {
    const value = 'ip:1.2.3.4|user:x';
    const view = viewOf({
      ip: '1.2.3.4',
      path: `/${value}`,
      headers: { 'user-agent': value, 'x-a': value, 'x-b': value },
    });
    const keys = [byIp(), byHeader('x-a'), byHeader('x-b'), byUser(() => value), byRoute(), anonymous()];
    const all = [
      ...keys,
      combine(
        byIp(),
        byUser(() => 'x'),
      ),
      combine(byUser(() => value)),
    ].map((key) => key(view));
    expect(new Set(all).size).toBe(all.length);
  });
});

test.each([
  ['combine(...)', combine],
  ['firstOf(...)', firstOf],
])('%s says what is wrong with a part that has to be waited for', (path, together) => {
  const later = (async () => 'ann') as unknown as Key;
  expect(() => together(later, byIp())(viewOf())).toThrow(
    expect.objectContaining({ code: 'SLUICE_INVALID_HTTP_KEY', path, got: 'a promise' }),
  );
});

describe('firstOf', () => {
  const key = firstOf(
    byUser((user: string | undefined) => user),
    byHeader('x-api-key'),
    byIp(),
  );
  test.each([
    ['ada', 'k', 'user:ada'],
    [undefined, 'k', 'header:x-api-key:k'],
    [undefined, undefined, 'ip:203.0.113.7'],
  ])('%s, %s -> %s', (native, header, expected) => {
    expect(key(viewOf({ native, headers: { 'x-api-key': header } }))).toBe(expected);
  });

  test('says nothing when nobody does', () => expect(firstOf(byIp())(viewOf({ ip: undefined }))).toBeUndefined());
});

describe('anonymous', () => {
  const keyOf = (agent: string | undefined, path = '/a', ip = '203.0.113.7') =>
    anonymous()(viewOf({ ip, path, headers: { 'user-agent': agent } }));

  test('is address, route and kind of user agent', () => {
    expect(keyOf('Mozilla/5.0')).toMatch(/^all:ip:203\.0\.113\.7\|path:GET \/a\|agent:\d+$/);
    expect(keyOf('Mozilla/5.0')).toBe(keyOf('Mozilla/5.0'));
    expect(keyOf('Mozilla/5.0')).not.toBe(keyOf('Mozilla/5.0', '/b'));
    expect(keyOf('Mozilla/5.0')).not.toBe(keyOf('Mozilla/5.0', '/a', '203.0.113.8'));
    expect(keyOf(undefined)).toBe(keyOf(''));
  });

  test('a client that changes its user agent all the time has 16 keys and not one more', () => {
    const keys = new Set(Array.from({ length: 5000 }, (_, index) => keyOf(`agent ${index}`)));
    expect(keys.size).toBe(16);
  });

  test('takes the options of byIp', () => {
    const view = viewOf({ ip: '10.0.0.1', headers: { 'x-forwarded-for': '198.51.100.9' } });
    expect(anonymous({ trustedProxies: 1 })(view)).toContain('ip:198.51.100.9|');
  });
});
