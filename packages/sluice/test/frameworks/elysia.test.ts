/** The contract on Elysia, with its server for Node; examples/frameworks.test.ts starts it on Bun. */
import type { Server } from 'node:http';
import { node } from '@elysiajs/node';
import { Elysia } from 'elysia';
import { describe, expect, test } from 'vitest';
import { type ElysiaContext, rateLimit, rateLimitHook, rateLimitOf } from '../../src/frameworks/elysia.ts';
import { byIp, byRoute, byUser } from '../../src/http/index.ts';
import { concurrency, createLimiter, fixedWindow } from '../../src/index.ts';
import { type App, frameworkContract, type Running } from './contract.ts';
import { listening } from './servers.ts';

interface Listening {
  readonly raw: { ready(): Promise<unknown>; readonly node: { readonly server: Server } };
}

/** As a plugin for the whole app, and as hooks of each route. */
const start =
  (everywhere: boolean) =>
  async (app: App): Promise<Running> => {
    const server = new Elysia({ adapter: node() });
    server.onError(() => new Response('', { status: 500 }));
    const handler = ({ request, set }: ElysiaContext) => {
      const { status, body } = app.answer(rateLimitOf(request), (name) => request.headers.get(name) ?? undefined);
      set.status = status;
      return body;
    };
    const own = Object.entries(app.routes);
    if (everywhere && own.length === 0) server.use(rateLimit(app.options));
    const hooks = everywhere && own.length === 0 ? {} : rateLimitHook(app.options);
    for (const [path, options] of own) server.all(path, handler, rateLimitHook(options));
    for (const path of ['/', '/health', '/one', '/two']) server.all(path, handler, hooks);
    let started: Listening | undefined;
    server.listen({ port: 0, hostname: '127.0.0.1' }, (info) => {
      started = info as unknown as Listening;
    });
    await started!.raw.ready();
    return listening(started!.raw.node.server);
  };

frameworkContract('elysia', start(true));
frameworkContract('elysia, by hooks of its routes', start(false));

const policy = fixedWindow({ name: 'day', limit: 9, window: '1d', align: 'first' });
const ask = (path = '/', init?: RequestInit): Request => new Request(`http://localhost${path}`, init);

test('hooks of a route come after those that know who it is, and know the route', async () => {
  const keys: (string | undefined)[] = [];
  const note = (key: string | undefined) => keys[keys.push(key) - 1];
  const byName = byUser((context: ElysiaContext & { user?: string }) => context.user);
  const app = new Elysia()
    .derive(() => ({ user: 'ada' }))
    .get('/users/:id', () => 'hi', rateLimitHook({ policy, key: (view) => note(byName(view as never)) }))
    .get('/posts/:id', () => 'hi', rateLimitHook({ policy, key: (view) => note(byRoute()(view)) }));
  await app.handle(ask('/users/7'));
  await app.handle(ask('/posts/7'));
  expect(keys).toEqual(['user:ada', 'route:GET /posts/:id']);
});

test('the address is what Bun says, or what you do', async () => {
  const keys: (string | undefined)[] = [];
  const key = (view: Parameters<ReturnType<typeof byIp>>[0]) => keys[keys.push(byIp()(view)) - 1];
  const app = new Elysia().use(rateLimit({ policy, key })).get('/', () => 'hi');
  app.server = { requestIP: () => ({ address: '2001:db8::1' }) } as never;
  await app.handle(ask());
  const worker = new Elysia().use(rateLimit({ policy, key, ip: () => '192.0.2.9' })).get('/', () => 'hi');
  await worker.handle(ask());
  expect(keys).toEqual(['ip:2001:db8::/64', 'ip:192.0.2.9']);
});

describe('where Node is not beneath', () => {
  test('a place is free when Elysia has answered, and when the client hangs up', async () => {
    const limiter = createLimiter({ policy: concurrency({ limit: 2, ttl: '1h' }) });
    const free = async () => (await limiter.peek('all', { cost: 0 })).remaining;
    let during = 0;
    let end = (): void => {};
    const app = new Elysia()
      .use(rateLimit({ limiter, key: () => 'all' }))
      .get('/', async () => {
        during = await free();
        return 'hi';
      })
      .get('/fails', () => {
        throw new Error('no');
      })
      .get('/waits', () => new Promise<string>((resolve) => (end = () => resolve('late'))));
    await app.handle(ask());
    expect(during).toBe(1);
    await expect.poll(free).toBe(2);
    expect((await app.handle(ask('/fails'))).status).toBe(500);
    await expect.poll(free).toBe(2);
    const aborting = new AbortController();
    const waiting = app.handle(ask('/waits', { signal: aborting.signal }));
    await expect.poll(free).toBe(1);
    aborting.abort();
    await expect.poll(free).toBe(2);
    end();
    await waiting;
  });

  test('only failures count, by their status', async () => {
    const statuses: number[] = [];
    const countOnly = ({ status }: { status: number }) => statuses.push(status) > 0;
    const app = new Elysia()
      .use(rateLimit({ policy, key: () => 'ada', countOnly }))
      .get('/', () => 'hi')
      .get('/made', () => new Response('', { status: 201 }))
      .get('/lost', ({ status }) => status(404, 'none'));
    for (const path of ['/', '/made', '/lost']) await app.handle(ask(path));
    await expect.poll(() => statuses).toEqual([200, 201, 404]);
  });
});
