/** The contract on a bare `(request) => response`, served by Hono's Node server, which passes Node's request along. */
import type { IncomingMessage, Server } from 'node:http';
import { serve } from '@hono/node-server';
import { describe, expect, test } from 'vitest';
import { rateLimit, rateLimitOf } from '../../src/frameworks/fetch.ts';
import { byIp } from '../../src/http/index.ts';
import { createLimiter, fixedWindow } from '../../src/index.ts';
import { type App, frameworkContract } from './contract.ts';
import type { AnyOptions } from './contract-rows.ts';
import { listening } from './servers.ts';

interface Beside {
  readonly incoming: IncomingMessage;
}

const start = (respond: (body: string | null, status: number) => Response) => (app: App) => {
  const handler = (request: Request): Response => {
    const { status, body } = app.answer(rateLimitOf(request), (name) => request.headers.get(name) ?? undefined);
    return respond(status === 204 ? null : body, status);
  };
  const ip = (_: Request, beside: unknown): string | undefined => (beside as Beside).incoming.socket.remoteAddress;
  const limited = (options: AnyOptions) =>
    rateLimit({ ...options, ip })((request: Request, _: unknown) => handler(request));
  const routes = new Map(Object.entries(app.routes).map(([path, options]) => [path, limited(options)]));
  const others = limited(app.options);
  const fetch = (request: Request, beside: unknown) =>
    (routes.get(new URL(request.url).pathname) ?? others)(request, beside).catch(
      () => new Response(null, { status: 500 }),
    );
  return listening(serve({ fetch, port: 0, hostname: '127.0.0.1' }) as Server);
};

frameworkContract(
  'fetch',
  start((body, status) => new Response(body, { status })),
);

frameworkContract(
  'fetch, with responses that cannot be written to',
  start((body, status) => frozen(new Response(body, { status }))),
);

/** As a response of `fetch` is, or of `Response.redirect`. */
function frozen(response: Response): Response {
  const refuse = (): never => {
    throw new TypeError('immutable');
  };
  Object.assign(response.headers, { set: refuse, append: refuse });
  return response;
}

const policy = fixedWindow({ name: 'day', limit: 9, window: '1d', align: 'first' });
const limited = rateLimit({ policy, key: () => 'ada' });
const request = (): Request => new Request('http://localhost/');

describe('answers that are no ordinary responses', () => {
  test('a redirect gets the headers', async () => {
    const response = await rateLimit({ policy, key: () => 'bob' })(() => Response.redirect('http://localhost/x'))(
      request(),
    );
    expect([response.status, response.headers.get('location')]).toEqual([302, 'http://localhost/x']);
    expect(response.headers.get('ratelimit')).toBe('"day";r=8;t=86400');
  });

  test('a switch of protocols is left alone, as is an error', async () => {
    const switching = { status: 101 } as Response;
    expect(await limited(() => switching)(request())).toBe(switching);
    const error = Response.error();
    expect(await limited(() => error)(request())).toBe(error);
  });

  test.each([undefined, null])('nothing stays nothing: %s', async (nothing) => {
    expect(await limited(() => nothing)(request())).toBe(nothing);
  });

  test('what a handler throws is thrown', async () => {
    await expect(limited(() => Promise.reject(new Error('mine')))(request())).rejects.toThrow('mine');
  });
});

test('what the runtime passes along is passed on, and tells the address', async () => {
  const keys: (string | undefined)[] = [];
  const byPeer = rateLimit({ policy, key: (view) => keys[keys.push(byIp()(view)) - 1] });
  const bun = { requestIP: () => ({ address: '192.0.2.1' }) };
  const seen = byPeer((_, server: typeof bun) => Response.json(server.requestIP()));
  expect(await (await seen(request(), bun)).json()).toEqual({ address: '192.0.2.1' });
  await byPeer((_, _info: object) => new Response())(request(), { remoteAddr: { hostname: '192.0.2.2' } });
  const worker = rateLimit({
    policy,
    key: (view) => keys[keys.push(byIp()(view)) - 1],
    ip: (request) => request.headers.get('cf-connecting-ip') ?? undefined,
  });
  const fromEdge = new Request('http://localhost/', { headers: { 'CF-Connecting-IP': '192.0.2.3' } });
  await worker((_request, _env: object, _context: object) => new Response())(fromEdge, {}, {});
  expect(keys).toEqual(['ip:192.0.2.1', 'ip:192.0.2.2', 'ip:192.0.2.3']);
});

test('where nobody knows the address, the answer says so', async () => {
  const codes: string[] = [];
  const byAddress = rateLimit({ policy, onWarning: ({ code }) => void codes.push(code) });
  const response = await byAddress(() => new Response())(request());
  expect([response.status, await response.json(), codes]).toEqual([
    500,
    expect.objectContaining({ error: 'no_client_address' }),
    ['SLUICE_NO_ADDRESS'],
  ]);
});

test('whoever asked to be told waits for what comes after the response', async () => {
  const limiter = createLimiter({ policy });
  const waiting: Promise<unknown>[] = [];
  const context = { waitUntil: (work: Promise<unknown>) => void waiting.push(work) };
  const handler = rateLimit({ limiter, key: () => 'ada', countOnly: () => false })(
    (_request, _env: object, _context: object) => new Response(),
  );
  await handler(request(), {}, context);
  expect(waiting).toHaveLength(1);
  await Promise.all(waiting);
  expect(await limiter.peek('ada')).toMatchObject({ remaining: 9 });
});

test('header may be taken out of the view', async () => {
  const keys: (string | undefined)[] = [];
  const byKey = rateLimit({ policy, key: ({ header }) => keys[keys.push(header('X-Api-Key')) - 1] });
  await byKey(() => new Response())(new Request('http://localhost/', { headers: { 'x-api-key': 'abc' } }));
  expect(keys).toEqual(['abc']);
});
