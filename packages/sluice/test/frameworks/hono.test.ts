/** The contract on Hono, as its Node server runs it. */
import type { Server } from 'node:http';
import { serve } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { rateLimit } from '../../src/frameworks/hono.ts';
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
