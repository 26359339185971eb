/** The contract on h3 2 and on h3 1, each on Node; and h3 2 without Node beneath it. */
import { createServer } from 'node:http';
import { H3, type H3Event, HTTPError, serve } from 'h3';
import { createApp, eventHandler, type H3Event as H3Event1, setResponseStatus, toNodeListener } from 'h3v1';
import { describe, expect, test } from 'vitest';
import { rateLimit } from '../../src/frameworks/h3.ts';
import { byIp, type RequestResult } from '../../src/http/index.ts';
import { concurrency, createLimiter, fixedWindow } from '../../src/index.ts';
import { type App, frameworkContract, type Running } from './contract.ts';
import { listening } from './servers.ts';

const told = (event: { context: object }): RequestResult | undefined =>
  (event.context as { rateLimit?: RequestResult }).rateLimit;

const start = (respond: (event: H3Event, body: string, status: number) => unknown) => async (app: App) => {
  const server = new H3({ silent: true });
  const common = rateLimit<H3Event>(app.options);
  const routes = new Map(Object.entries(app.routes).map(([path, options]) => [path, rateLimit<H3Event>(options)]));
  server.use((event, next) => (routes.get(event.url.pathname) ?? common)(event, next));
  server.all('/**', (event) => {
    const { status, body } = app.answer(told(event), (name) => event.req.headers.get(name) ?? undefined);
    return respond(event, body, status);
  });
  const running = serve(server, { port: 0, hostname: '127.0.0.1', silent: true });
  await running.ready();
  return listening(running.node!.server as never);
};

frameworkContract(
  'h3 2',
  start((event, body, status) => {
    event.res.status = status;
    return body;
  }),
);
frameworkContract(
  'h3 2, with handlers that make a Response by themselves',
  start((_, body, status) => new Response(status === 204 ? null : body, { status })),
);

const startOne = (app: App): Promise<Running> => {
  const server = createApp({ onError: () => {} });
  const common = rateLimit<H3Event1>(app.options);
  for (const [path, options] of Object.entries(app.routes)) server.use(path, rateLimit<H3Event1>(options));
  server.use(eventHandler((event) => (event.path.split('?')[0]! in app.routes ? undefined : common(event))));
  server.use(
    eventHandler((event) => {
      const { status, body } = app.answer(told(event), (name) => event.headers.get(name) ?? undefined);
      setResponseStatus(event, status);
      return status === 204 ? null : body;
    }),
  );
  return listening(createServer(toNodeListener(server)).listen(0, '127.0.0.1'));
};

frameworkContract('h3 1', startOne);

const policy = fixedWindow({ name: 'day', limit: 9, window: '1d', align: 'first' });

describe('h3 2 where there is no Node', () => {
  const limiter = () => createLimiter({ policy: concurrency({ limit: 2, ttl: '1h' }) });
  const ask = (server: InstanceType<typeof H3>, path = '/') => server.request(`http://localhost${path}`);

  test('the address is what the server of the runtime says, or what you do', async () => {
    const keys: (string | undefined)[] = [];
    const key = (view: Parameters<ReturnType<typeof byIp>>[0]) => keys[keys.push(byIp()(view)) - 1];
    const server = new H3({ silent: true });
    server.use(rateLimit({ policy, key })).get('/', () => 'hi');
    const request = Object.assign(new Request('http://localhost/'), { ip: '192.0.2.1' });
    await server.fetch(request);
    const other = new H3({ silent: true });
    other.use(rateLimit({ policy, key, ip: () => '192.0.2.9' })).get('/', () => 'hi');
    await ask(other);
    expect(keys).toEqual(['ip:192.0.2.1', 'ip:192.0.2.9']);
  });

  test('a place is free when the handler has answered or failed, or when the body has been read', async () => {
    const work = limiter();
    const free = async () => (await work.peek('all', { cost: 0 })).remaining;
    const server = new H3({ silent: true });
    server.use(rateLimit({ limiter: work, key: () => 'all' }));
    let during = 0;
    server.get('/', async () => {
      during = await free();
      return 'hi';
    });
    server.get('/fails', () => Promise.reject(new Error('no')));
    server.get('/stream', () => new Response(new Blob(['body']).stream()));
    await (await ask(server)).text();
    expect([during, await free()]).toEqual([1, 2]);
    expect((await ask(server, '/fails')).status).toBe(500);
    expect(await free()).toBe(2);
    const streamed = await ask(server, '/stream');
    expect(await free()).toBe(1);
    expect(await streamed.text()).toBe('body');
    expect(await free()).toBe(2);
  });

  test('only failures count, by their status', async () => {
    const statuses: number[] = [];
    const countOnly = ({ status }: { status: number }) => statuses.push(status) > 0;
    const server = new H3({ silent: true });
    server.use(rateLimit({ policy, key: () => 'ada', countOnly }));
    server.get('/', () => 'hi');
    server.get('/made', () => new Response('', { status: 201 }));
    server.get('/lost', () => {
      throw new HTTPError({ status: 404 });
    });
    for (const path of ['/', '/made', '/lost']) await ask(server, path);
    expect(statuses).toEqual([200, 201, 404]);
  });
});
