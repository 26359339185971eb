/** The contract on Hono, as its Node server runs it. */
import type { Server, ServerResponse } from 'node:http';
import { serve } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { type Context, Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import { rateLimit } from '../../src/frameworks/hono.ts';
import { byHeader, byIp, byRoute, firstOf, type Key, type RequestView } from '../../src/http/index.ts';
import { checkPolicy, createLimiter, fixedWindow } from '../../src/index.ts';
import { type App, frameworkContract } from './contract.ts';
import { listening } from './servers.ts';

type Status = Parameters<Context['status']>[0];

const start = (respond: (c: Context, body: string, status: Status) => Response) => (app: App) => {
  const server = new Hono();
  const handler = (c: Context): Response => {
    const { status, body } = app.answer(c.get('rateLimit'), (name) => c.req.header(name));
    return respond(c, body, status as Status);
  };
  server.onError((_, c) => c.text('', 500));
  for (const [path, options] of Object.entries(app.routes)) server.all(path, rateLimit(options), handler);
  server.use(async (c, next) => (c.req.path in app.routes ? next() : limit(c, next)));
  const limit = rateLimit(app.options);
  for (const path of ['/', '/health', '/one', '/two']) {
    server.on(['GET', 'POST', 'OPTIONS', 'DELETE'], path, handler);
  }
  return listening(serve({ fetch: server.fetch, port: 0, hostname: '127.0.0.1' }) as Server);
};

frameworkContract(
  'hono',
  start((c, body, status) => (status === 204 ? c.body(null, status) : c.text(body, status as 200))),
);
frameworkContract(
  'hono, with handlers that make a Response by themselves',
  start((_, body, status) => new Response(status === 204 ? null : body, { status })),
);

const policy = fixedWindow({ name: 'day', limit: 9, window: '1d', align: 'first' });
const recording = (keys: (string | undefined)[], key: Key) => (view: RequestView) => keys[keys.push(key(view)) - 1];

test('the address of the peer, as Bun and Deno tell it, or as you do', async () => {
  const keys: (string | undefined)[] = [];
  const app = new Hono().use(rateLimit({ policy, key: recording(keys, byIp()) })).get('/', (c) => c.text(''));
  const bun = { requestIP: () => ({ address: '2001:db8::1' }) };
  await app.request('/', {}, bun);
  await app.request('/', {}, { remoteAddr: { transport: 'tcp', hostname: '192.0.2.1', port: 5 } });
  const worker = new Hono()
    .use(rateLimit({ policy, key: recording(keys, byIp()), ip: (c) => c.req.header('cf-connecting-ip') }))
    .get('/', (c) => c.text(''));
  await worker.request('/', { headers: { 'CF-Connecting-IP': '192.0.2.9' } });
  expect(keys).toEqual(['ip:2001:db8::/64', 'ip:192.0.2.1', 'ip:192.0.2.9']);
});

describe('without a socket, as in a test, nobody knows the address', () => {
  const SENTENCE =
    'The server does not know the address of this client, so it cannot count the request. ' +
    'Give rateLimit an `ip` function that finds the address, or another `key`.';

  test('the answer says so, and a warning does', async () => {
    const codes: string[] = [];
    const limit = rateLimit({ policy, onWarning: ({ code, sentence }) => void codes.push(`${code}: ${sentence}`) });
    const app = new Hono().use(limit).get('/', (c) => c.text(''));
    const seen = [await app.request('/'), await app.request('/')];
    expect(await seen[0]!.json()).toEqual({
      type: 'about:blank',
      title: 'Internal Server Error',
      status: 500,
      detail: SENTENCE,
      error: 'no_client_address',
      message: SENTENCE,
    });
    expect([seen[1]!.status, codes]).toEqual([500, [`SLUICE_NO_ADDRESS: ${SENTENCE}`]]);
  });

  test('a status of your own goes first', async () => {
    const limit = rateLimit({ policy, missing: 400, onWarning: () => {} });
    const app = new Hono().use(limit).get('/', (c) => c.text(''));
    expect((await app.request('/')).status).toBe(400);
  });

  test('it is passed along like this', async () => {
    const app = new Hono().use(rateLimit({ policy })).get('/', (c) => c.text(''));
    const env = { incoming: { headers: {}, socket: { remoteAddress: '127.0.0.1' } } };
    expect((await app.request('/', {}, env)).status).toBe(200);
  });

  test('a key that also goes by a header, which the caller could have sent, is a 401', async () => {
    const limit = rateLimit({ policy, key: firstOf(byHeader('x-api-key'), byIp()) });
    const app = new Hono().use(limit).get('/', (c) => c.text(''));
    const response = await app.request('/');
    expect([response.status, await response.json()]).toEqual([
      401,
      expect.objectContaining({
        detail:
          'This request does not say who is calling: the header x-api-key or the address of the client is missing.',
      }),
    ]);
  });
});

test('the pattern of the handler, also for a middleware of the whole app', async () => {
  const keys: (string | undefined)[] = [];
  const app = new Hono();
  app.use(rateLimit({ policy, key: recording(keys, byRoute()) }));
  app.get('/users/:id', (c) => c.text(''));
  app.get('*', (c) => c.text('', 404));
  for (const path of ['/users/1', '/users/2', '/nowhere']) await app.request(path);
  await app.request('/users/3', { method: 'HEAD' });
  await app.request('/users/3', { method: 'PUT' });
  expect(keys).toEqual([
    ...['route:GET /users/:id', 'route:GET /users/:id', 'route:GET /*', 'route:GET /users/:id', 'route:PUT /*'],
  ]);
});

test('a worker is told to wait for what comes after the response', async () => {
  const limiter = createLimiter({ policy });
  const waiting: Promise<unknown>[] = [];
  const context = { waitUntil: (work: Promise<unknown>) => void waiting.push(work), passThroughOnException: () => {} };
  const app = new Hono()
    .use(rateLimit({ limiter, key: () => 'ada', countOnly: () => false }))
    .get('/', (c) => c.text(''));
  await app.request('/', {}, {}, { ...context, props: {} });
  expect(waiting).toHaveLength(1);
  await Promise.all(waiting);
  expect(await limiter.peek('ada')).toMatchObject({ remaining: 9 });
});

test('a denial keeps what middlewares further out have set, as every response of Hono does', async () => {
  const app = new Hono();
  app.use((c, next) => {
    c.header('x-request-id', '7');
    return next();
  });
  app.use(
    rateLimit({ policy: checkPolicy({ ...policy, limit: 1 }), key: () => 'ada' }),
    rateLimit({ policy, key: () => 'ada' }),
  );
  app.get('/', (c) => c.text(''));
  const seen = [await app.request('/'), await app.request('/')];
  expect(seen.map(({ status, headers }) => [status, headers.get('x-request-id'), headers.get('content-type')])).toEqual(
    [
      [200, '7', 'text/plain; charset=UTF-8'],
      [429, '7', 'application/problem+json'],
    ],
  );
});

test('a handler that throws has the headers on its error', async () => {
  const app = new Hono();
  app.onError(() => new Response('sorry', { status: 503 }));
  app.use(rateLimit({ policy, key: () => 'eve' })).get('/', () => {
    throw new Error('no');
  });
  const response = await app.request('/');
  expect([response.status, response.headers.get('ratelimit')]).toEqual([503, '"day";r=8;t=86400']);
});

describe('on Node, the fields are sent with the head, however a response is made', () => {
  const outgoingOf = (c: Context): ServerResponse => (c.env as { outgoing: ServerResponse }).outgoing;
  type Handler = (c: Context, outgoing: ServerResponse) => Response | undefined;
  /** One that gives nothing back has written the response by itself. */
  const ROWS: [how: string, handler: Handler, field?: string][] = [
    ['text', (c) => c.text('body')],
    ['json with a field of its own', (c) => c.json('body', 200, { 'x-own': '1' })],
    ['a stream', () => new Response(new Blob(['body']).stream())],
    ['a field of the same name, which stays', (c) => c.text('body', 200, { RateLimit: 'mine' }), 'mine'],
    ['the same on the response of Node', (c, out) => out.setHeader('RateLimit', 'mine') && c.text('body'), 'mine'],
    ['another on the response of Node', (c, out) => out.setHeader('x-own', '1') && c.text('body')],
    ['by hand', (_, out) => void out.end('body')],
    ['by hand, with a head', (_, out) => void out.writeHead(200, { 'x-own': '1' }).end('body')],
    ['by hand, with a reason', (_, out) => void out.writeHead(200, 'Fine', { 'x-own': '1' }).end('body')],
    ['by hand, with a list', (_, out) => void out.writeHead(200, ['x-own', '1']).end('body')],
  ];

  test.each(ROWS)('%s', async (_how, handler, field = '"day";r=8;t=86400') => {
    const app = new Hono().use(rateLimit({ policy, headers: 'draft-11' }));
    app.get('/', (c) => handler(c, outgoingOf(c)) ?? RESPONSE_ALREADY_SENT);
    const running = await listening(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server);
    const response = await fetch(`http://127.0.0.1:${running.port}`);
    const body = await response.text();
    await running.stop();
    expect([response.status, response.headers.get('ratelimit'), response.headers.get('ratelimit-policy')]).toEqual([
      200,
      field,
      '"day";q=9;w=86400',
    ]);
    expect(body).toContain('body');
  });

  test('of two limits the inner one is told', async () => {
    const inner = checkPolicy({ ...policy, name: 'inner', limit: 3 });
    const app = new Hono().use(rateLimit({ policy }), rateLimit({ policy: inner })).get('/', (c) => c.text(''));
    const running = await listening(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server);
    const { headers } = await fetch(`http://127.0.0.1:${running.port}`);
    await running.stop();
    expect([headers.get('ratelimit'), headers.get('x-ratelimit-limit')]).toEqual(['"inner";r=2;t=86400', '3']);
  });
});
