/** The contract on a bare `(request) => response`, served by Hono's Node server, which passes Node's request along. */
import type { IncomingMessage, Server } from 'node:http';
import { serve } from '@hono/node-server';
import { rateLimit, rateLimitOf } from '../../src/frameworks/fetch.ts';
import { type AnyOptions, type App, frameworkContract } from './contract.ts';
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
