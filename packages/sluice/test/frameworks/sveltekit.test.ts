/**
 * The contract on a `handle` hook, called as SvelteKit calls it, behind a server of Node; test/runtimes/sveltekit.test.ts builds and starts an app of
 * SvelteKit itself.
 */
import type { IncomingMessage, Server } from 'node:http';
import { serve } from '@hono/node-server';
import { describe, expect, test, vi } from 'vitest';
import { rateLimit, type SvelteKitEvent } from '../../src/frameworks/sveltekit.ts';
import { byIp, byRoute, type RequestResult } from '../../src/http/index.ts';
import { concurrency, createLimiter, fixedWindow } from '../../src/index.ts';
import { type App, frameworkContract } from './contract.ts';
import { listening } from './servers.ts';

const eventOf = (request: Request, address: string, more: Partial<SvelteKitEvent> = {}): SvelteKitEvent => ({
  request,
  locals: {},
  route: { id: null },
  isSubRequest: false,
  getClientAddress: () => address,
  ...more,
});
const told = ({ locals }: SvelteKitEvent) => (locals as { rateLimit?: RequestResult }).rateLimit;

frameworkContract('sveltekit', (app: App) => {
  const routes = new Map(Object.entries(app.routes).map(([path, options]) => [path, rateLimit(options)]));
  const others = rateLimit(app.options);
  const resolve = (event: SvelteKitEvent): Response => {
    const { status, body } = app.answer(told(event), (name) => event.request.headers.get(name) ?? undefined);
    return new Response(status === 204 ? null : body, { status });
  };
  const fetch = async (request: Request, { incoming }: { incoming: IncomingMessage }): Promise<Response> => {
    const event = eventOf(request, incoming.socket.remoteAddress!);
    // As SvelteKit answers an error in a hook.
    const handle = routes.get(new URL(request.url).pathname) ?? others;
    // Adapters say the address of the socket unless they are told of a proxy; here keys are tried with both.
    const native = Object.assign(event, { platform: undefined });
    return handle({ event: native, resolve }).catch(() => new Response(null, { status: 500 }));
  };
  return listening(serve({ fetch: fetch as never, port: 0, hostname: '127.0.0.1' }) as Server);
});

const policy = fixedWindow({ name: 'day', limit: 9, window: '1d', align: 'first' });
const ask = (path = '/') => new Request(`http://localhost${path}`);
const ok = () => new Response('ok');

describe('what is not counted', () => {
  test.each([
    ['a request that SvelteKit makes to itself', eventOf(ask(), '192.0.2.1', { isSubRequest: true })],
    [
      'a page that is prerendered',
      eventOf(new Request('http://sveltekit-prerender/about'), '', {
        getClientAddress: () => {
          throw new Error('Cannot read clientAddress during prerendering');
        },
      }),
    ],
  ])('%s', async (_, event) => {
    const key = vi.fn(() => 'all');
    expect(await (await rateLimit({ policy, key })({ event, resolve: ok })).text()).toBe('ok');
    expect(key).not.toHaveBeenCalled();
  });
});

test('keys know the route and the address, or that of your own', async () => {
  const keys: (string | undefined)[] = [];
  const note = (key: string | undefined) => keys[keys.push(key) - 1];
  const event = () => eventOf(ask('/users/7'), '192.0.2.1', { route: { id: '/users/[id]' } });
  await rateLimit({ policy, key: (view) => note(byRoute()(view)) })({ event: event(), resolve: ok });
  await rateLimit({ policy, key: (view) => note(byIp()(view)) })({ event: event(), resolve: ok });
  await rateLimit({ policy, key: (view) => note(byIp()(view)), ip: () => '192.0.2.9' })({
    event: event(),
    resolve: ok,
  });
  expect(keys).toEqual(['route:GET /users/[id]', 'ip:192.0.2.1', 'ip:192.0.2.9']);
});

test('a place is held until the body has been read, and a worker waits for it', async () => {
  const limiter = createLimiter({ policy: concurrency({ limit: 2, ttl: '1h' }) });
  const free = async () => (await limiter.peek('all', { cost: 0 })).remaining;
  const waitUntil = vi.fn();
  const handle = rateLimit({ limiter, key: () => 'all' });
  const event = eventOf(ask(), '192.0.2.1', { platform: { ctx: { waitUntil } } });
  const response = await handle({ event, resolve: () => new Response(new Blob(['body']).stream()) });
  expect(await free()).toBe(1);
  expect(await response.text()).toBe('body');
  expect(await free()).toBe(2);
  expect(waitUntil).toHaveBeenCalled();
  await expect(handle({ event, resolve: () => Promise.reject(new Error('no')) })).rejects.toThrow('no');
  expect(await free()).toBe(2);
});
