/** The contract on Koa 3 and 2. */
import { createServer } from 'node:http';
import Koa3, { type Context, type Middleware } from 'koa';
import Koa2 from 'koa2';
import { expect, test } from 'vitest';
import { rateLimit } from '../../src/frameworks/koa.ts';
import { byRoute } from '../../src/http/index.ts';
import { fixedWindow } from '../../src/index.ts';
import { type App, frameworkContract } from './contract.ts';
import { listening } from './servers.ts';

const start = (Koa: typeof Koa3) => (app: App) => {
  const server = new Koa();
  const limits = Object.entries(app.routes).map(([path, options]) => [path, rateLimit(options)] as const);
  const others = rateLimit(app.options);
  const limit: Middleware = (ctx, next) => (limits.find(([path]) => path === ctx.path)?.[1] ?? others)(ctx, next);
  server.use(limit);
  server.use((ctx: Context) => {
    const { status, body } = app.answer(ctx.state.rateLimit, (name) => ctx.get(name) || undefined);
    ctx.status = status;
    ctx.body = status === 204 ? null : body;
  });
  server.silent = true;
  return listening(createServer(server.callback()).listen(0, '127.0.0.1'));
};

frameworkContract('koa 3', start(Koa3));
frameworkContract('koa 2', start(Koa2));

test('a route that a router has matched is known', async () => {
  const routes: (string | undefined)[] = [];
  const server = new Koa3();
  server.use((ctx, next) => {
    Object.assign(ctx, ctx.path === '/plain' ? {} : { _matchedRoute: '/users/:id' });
    return next();
  });
  server.use(
    rateLimit({
      policy: fixedWindow({ limit: 9, window: '1d' }),
      key: (view) => routes[routes.push(byRoute()(view)) - 1],
    }),
  );
  server.use((ctx) => {
    ctx.body = '';
  });
  const running = await listening(createServer(server.callback()).listen(0, '127.0.0.1'));
  for (const path of ['/users/1', '/users/2', '/plain']) await fetch(`http://127.0.0.1:${running.port}${path}`);
  await running.stop();
  expect(routes).toEqual(['route:GET /users/:id', 'route:GET /users/:id', 'path:GET /plain']);
});

test.each([
  ['frozen', () => Object.freeze(new Error('mine'))],
  [
    'that tells its headers by a getter',
    () => Object.defineProperty(new Error('mine'), 'headers', { get: () => ({ 'x-mine': 'yes' }) }),
  ],
  ['with the Headers of a response', () => Object.assign(new Error('mine'), { headers: new Headers({ 'x-id': '7' }) })],
])('an error %s arrives as it was thrown', async (_, makeError) => {
  const thrown = makeError() as Error & { headers?: unknown };
  const { headers } = thrown;
  let caught: unknown;
  const server = new Koa3();
  server.silent = true;
  server.use((_ctx, next) =>
    next().catch((error) => {
      caught = error;
    }),
  );
  server.use(rateLimit({ policy: fixedWindow({ limit: 9, window: '1d' }) }));
  server.use(() => Promise.reject(thrown));
  const running = await listening(createServer(server.callback()).listen(0, '127.0.0.1'));
  await fetch(`http://127.0.0.1:${running.port}/`);
  await running.stop();
  expect(caught).toBe(thrown);
  expect(thrown.headers).toEqual(headers);
});

test('a handler that throws has the headers on its error, beside those that it gave it', async () => {
  const server = new Koa3();
  server.silent = true;
  server.use(rateLimit({ policy: fixedWindow({ name: 'day', limit: 9, window: '1d', align: 'first' }) }));
  server.use((ctx) => ctx.throw(400, 'no', { headers: { 'x-mine': 'yes' } }));
  const running = await listening(createServer(server.callback()).listen(0, '127.0.0.1'));
  const { status, headers } = await fetch(`http://127.0.0.1:${running.port}/`);
  await running.stop();
  expect([status, headers.get('ratelimit'), headers.get('x-mine')]).toEqual([400, '"day";r=8;t=86400', 'yes']);
});
