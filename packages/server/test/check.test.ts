/** The endpoints for gateways: a status, all headers, and a body that says why. */
import { memoryStore, type Store } from 'sluice';
import { fallback, layered } from 'sluice/layers';
import { checksOf } from 'sluice/store';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { configOf, heapBytes, type RunningService, startService } from './support.ts';

let running: RunningService;
beforeEach(async () => {
  running = await startService();
});
afterEach(() => running.stop());

describe('/v1/check/:policy', () => {
  test('allowed: 200 and every header', async () => {
    const { status, headers, body } = await running.get('/v1/check/api?key=a&cost=3');
    expect([status, body.remaining]).toEqual([200, 7]);
    expect(Object.fromEntries(headers)).toMatchObject({
      'ratelimit-policy': '"api";q=10;w=10',
      ratelimit: '"api";r=7;t=1',
      'x-ratelimit-limit': '10',
      'x-ratelimit-remaining': '7',
      'x-ratelimit-reset': '1003',
    });
  });

  test('denied: 429, when to come back, and a problem', async () => {
    await running.get('/v1/check/api?key=a&cost=10');
    const { status, headers, body } = await running.get('/v1/check/api?key=a&cost=4');
    expect([status, headers.get('retry-after'), headers.get('cache-control')]).toEqual([429, '4', 'no-store']);
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(headers.get('ratelimit')).toBe('"api";r=0;t=4');
    expect(body).toMatchObject({ status: 429, 'violated-policies': ['api'] });
  });

  test('a policy with visible: false decides, and no header and no 429 names it', async () => {
    const config = configOf(`policies:
  api: { algorithm: fixed-window, limit: 5, window: 1m }
  abuse: { algorithm: fixed-window, limit: 1, window: 1d, visible: false }
rules:
  - { name: all, key: header:x-api-key, policies: [api, abuse] }
`);
    const service = await startService({ config });
    const ask = () =>
      service.get('/v1/check', { 'x-api-key': 'a', 'x-forwarded-uri': '/', 'x-forwarded-method': 'GET' });
    const [first, second] = [await ask(), await ask()];
    expect([first.status, second.status]).toEqual([200, 429]);
    // What a gateway reads with a 200 says it, marked as not visible; clients read headers, and the body of a 429.
    expect(`${[...first.headers].join()}${[...second.headers].join()}${second.text}`).not.toContain('abuse');
    expect(first.headers.get('ratelimit-policy')).toBe('"api";q=5;w=60');
    await service.stop();
  });

  test('denied for nginx: 403 with the same headers', async () => {
    await running.get('/v1/check/api?key=a&cost=10');
    const { status, headers } = await running.get('/v1/check/api?key=a&deny=403');
    expect([status, headers.get('retry-after')]).toEqual([403, '1']);
  });

  test('denied for nginx: the problem also in a header, because nginx drops the body', async () => {
    await running.get('/v1/check/api?key=a&cost=10');
    const { headers, text } = await running.get('/v1/check/api?key=a&deny=403');
    expect(headers.get('x-sluice-problem')).toBe(text);
    expect((await running.get('/v1/check/api?key=a')).headers.get('x-sluice-problem')).toBeNull();
  });

  test('deny=403 does not hide that a limiter fails closed', async () => {
    const fail = () => Promise.reject(new Error('away'));
    const store = layered({ ask: fail }, fallback({ to: 'deny' }));
    const failsClosed = { failsClosed: true, description: 'away', isUp: async () => false, close: async () => {} };
    const service = await startService({ store: { store, ...failsClosed } });
    expect((await service.get('/v1/check/api?key=a&deny=403')).status).toBe(503);
    await service.stop();
  });

  test.each([
    ['a query', (key: string) => [`/v1/check/api?key=${key}&plan=${'p'.repeat(20_000)}`, {}] as const],
    ['an address', (key: string) => ['/v1/check', { 'x-forwarded-uri': `/${key}?${'p'.repeat(20_000)}` }] as const],
  ])('a key is kept without the rest of %s', async (_, questionOf) => {
    const kept: string[] = [];
    const inner = memoryStore();
    const store: Store = {
      ...inner,
      ask(question) {
        if (question.verb === 'attempt') kept.push(...checksOf(question).map(({ key }) => key));
        return inner.ask(question);
      },
    };
    const opened = { store, description: 'test', failsClosed: false, isUp: async () => true, close: async () => {} };
    const config = configOf(`
policies: { api: { algorithm: fixed-window, limit: 9, window: 1h } }
rules: [{ key: route, policy: api }]
`);
    const service = await startService({ store: opened, config });
    const ask = async (count: number): Promise<void> => {
      for (let time = 0; time < count; time++) {
        const [path, headers] = questionOf(`somebody-with-a-name-${kept.length}`);
        expect((await service.get(path, headers)).status).toBe(200);
      }
    };
    await ask(50);
    const before = heapBytes();
    await ask(1500);
    expect(kept).toHaveLength(1550);
    expect(heapBytes() - before).toBeLessThan(12 * 2 ** 20);
    await service.stop();
  });

  test.each([
    ['query', '/v1/check/api?key=a', {}, 'a'],
    ['header', '/v1/check/api', { 'x-sluice-key': 'b' }, 'b'],
    ['a header of the request', '/v1/check/api?by=header:x-api-key', { 'x-api-key': 'k' }, 'header:x-api-key:k'],
    ['the address', '/v1/check/api?by=ip', { 'x-forwarded-for': '6.6.6.6, 9.9.9.9' }, 'ip:9.9.9.9'],
    ['the first there is', '/v1/check/api?by=header:x-api-key%7Cip', {}, 'ip:127.0.0.1'],
    [
      "the URL, before a header that may be the client's",
      '/v1/check/api?by=ip',
      { 'x-sluice-key': 'b' },
      'ip:127.0.0.1',
    ],
    ['the URL, before all else', '/v1/check/api?key=a&by=ip', { 'x-sluice-key': 'b' }, 'a'],
  ])('the key from %s', async (_, path, headers, key) => {
    expect((await running.get(path, headers)).status).toBe(200);
    expect((await running.post('/v1/peek', { policy: 'api', key })).body.remaining).toBe(9);
  });

  test.each([
    ['/v1/check/api', 400, 'no_key'],
    ['/v1/check/api?key=', 400, 'invalid_field'],
    ['/v1/check/api?by=header:x-api-key', 400, 'no_key'],
    ['/v1/check/api?by=moon', 400, 'invalid_field'],
    [`/v1/check/api?by=${'ip|'.repeat(100)}`, 400, 'invalid_field'],
    ['/v1/check/api?key=a&cost=1.5', 400, 'invalid_field'],
    ['/v1/check/api?key=a&cost=-1', 400, 'invalid_field'],
    ['/v1/check/api?key=a&deny=500', 400, 'invalid_field'],
    ['/v1/check/api?key=a&color=red', 400, 'invalid_field'],
    ['/v1/check/api?key=a&key=b', 400, 'invalid_field'],
    ['/v1/check/api?key=a&cost=1&cost=0', 400, 'invalid_field'],
    ['/v1/check/api?key=%ff', 400, 'malformed_query'],
    ['/v1/check/api?key=%E0%A4%A', 400, 'malformed_query'],
    ['/v1/check/api?key=100%', 400, 'malformed_query'],
    ['/v1/check/nope?key=a', 404, 'unknown_policy'],
    ['/v1/check/api,nope?key=a', 404, 'unknown_policy'],
    ['/v1/check/api,api?key=a', 400, 'invalid_field'],
    ['/v1/check/?key=a', 404, 'not_found'],
    ['/v1/check/%ff?key=a', 404, 'not_found'],
    ['/v1/check/a/b?key=a', 404, 'not_found'],
  ])('%s is a %i', async (path, status, error) => {
    expect(await running.get(path)).toMatchObject({ status, body: { error } });
  });

  test('several policies, by POST, with a plan', async () => {
    const { status, headers } = await running.post('/v1/check/api,daily?key=a&plan=pro', '');
    expect([status, headers.get('ratelimit')]).toEqual([200, '"api";r=99;t=1, "daily";r=19;t=86400']);
  });

  test('waits for the slot of a policy that shapes', async () => {
    const startedAt = performance.now();
    for (let time = 0; time < 3; time++) expect((await running.get('/v1/check/shaped?key=a')).status).toBe(200);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(149);
  });
});

describe('/v1/check, by the rules', () => {
  const check = (uri: string, headers: Record<string, string> = {}, query = '') =>
    running.get(`/v1/check${query}`, { 'x-forwarded-uri': uri, ...headers });

  test('what matches is spent, all or nothing', async () => {
    const upload = () => check('/upload/1', { 'x-forwarded-method': 'POST', 'x-api-key': 'k' });
    const first = await upload();
    expect(first.headers.get('ratelimit')).toBe('"daily";r=5;t=86400, "api";r=9;t=1');
    expect(first.text).not.toContain('x-api-key');
    expect(await upload()).toMatchObject({ status: 429, body: { 'violated-policies': ['daily'] } });
    expect((await running.post('/v1/peek', { policy: 'api', key: 'header:x-api-key:k' })).body.remaining).toBe(9);
  });

  test('as nginx describes a request', async () => {
    const headers = { 'x-original-uri': '/a?b', 'x-original-method': 'PUT', 'x-plan': 'pro' };
    expect((await running.get('/v1/check', headers)).body).toMatchObject({ allowed: true, remaining: 99 });
  });

  test('two descriptions that differ', async () => {
    const asked = await check('/a', { 'x-original-uri': '/health' });
    expect(asked).toMatchObject({ status: 400, body: { path: 'x-original-uri' } });
    const method = await check('/a', { 'x-forwarded-method': 'POST', 'x-original-method': 'GET' });
    expect(method).toMatchObject({ status: 400, body: { path: 'x-original-method' } });
    expect((await check('/health', { 'x-original-uri': '/health' })).status).toBe(200);
  });

  test('unlimited', async () => {
    const { status, body, headers } = await check('/health');
    expect([status, body, headers.get('ratelimit')]).toEqual([200, { allowed: true, limited: false }, null]);
  });

  test('no key, no description, a giant key', async () => {
    expect(await check('/upload/1', { 'x-original-method': 'POST' })).toMatchObject({
      status: 400,
      body: { error: 'no_key' },
    });
    expect(await running.get('/v1/check')).toMatchObject({ status: 400, body: { path: 'x-forwarded-uri' } });
    expect(await check('/', { 'x-api-key': 'k'.repeat(5000) })).toMatchObject({ status: 400, body: { path: 'key' } });
  });

  test('a path that may be that of two routes spends from both', async () => {
    const config = configOf(`
policies: { api: { algorithm: fixed-window, limit: 2, window: 1h } }
rules: [{ key: route, policy: api }]
`);
    const service = await startService({ config });
    const at = async (path: string) => (await service.get('/v1/check', { 'x-forwarded-uri': path })).status;
    const left = async (key: string) => (await service.post('/v1/peek', { policy: 'api', key })).body.remaining;
    expect(await at('/x%2fy/../login')).toBe(200);
    expect([await left('path:GET /login'), await left('path:GET /x/login')]).toEqual([1, 1]);
    expect([await at('/login'), await at('/z%2fy/../login')]).toEqual([200, 429]);
    expect(await left('path:GET /z/login')).toBe(2);
    await service.stop();
  });

  test('a path that can be read in hundreds of ways is refused, and nothing is spent', async () => {
    const path = `/${'a%2f%5c%3b%3f%2e%2e;x//..%ff%c0%af%u002f%252e'.repeat(3)}`;
    const upload = { 'x-forwarded-method': 'POST', 'x-api-key': 'k' };
    expect(await check(path, upload)).toMatchObject({
      status: 400,
      body: { error: 'unreadable_path', path: 'x-forwarded-uri' },
    });
    expect((await running.post('/v1/peek', { policy: 'api', key: 'header:x-api-key:k' })).body.remaining).toBe(10);
  });

  test('403 for nginx', async () => {
    for (let time = 0; time < 10; time++) expect((await check('/', {}, '?deny=403')).status).toBe(200);
    expect((await check('/', {}, '?deny=403')).status).toBe(403);
  });
});
