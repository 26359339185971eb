/** The contract on Hono, as its Node server runs it. */
import type { Server } from 'node:http';
import { serve } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { expect, test } from 'vitest';
import { rateLimit } from '../../src/frameworks/hono.ts';
import { byIp, byRoute, type Key, type RequestView } from '../../src/http/index.ts';
import { createLimiter, fixedWindow } from '../../src/index.ts';
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
  app.onError((_, c) => c.text('', 500));
  expect((await app.request('/')).status).toBe(500);
  const worker = new Hono()
    .use(rateLimit({ policy, key: recording(keys, byIp()), ip: (c) => c.req.header('cf-connecting-ip') }))
    .get('/', (c) => c.text(''));
  await worker.request('/', { headers: { 'CF-Connecting-IP': '192.0.2.9' } });
  expect(keys).toEqual(['ip:2001:db8::/64', 'ip:192.0.2.1', undefined, 'ip:192.0.2.9']);
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
  app.use(rateLimit({ policy: { ...policy, limit: 1 }, key: () => 'ada' }), rateLimit({ policy, key: () => 'ada' }));
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
