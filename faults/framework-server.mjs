/**
 * One HTTP server in a process of its own, with an adapter of Sluice over `redisStore(client)` as a user would write it. Its answer is who
 * answered the limiter. Beside it a plain server that answers after `plainMs`. It notes what its own event loop was late by.
 *   in    { do: 'listen', framework, target, plainMs } -> { port, plainPort };    { do: 'lags' } -> [[when, how late], ...]
 */
import { createServer } from 'node:http';
import { serve } from '@hono/node-server';
import { Redis } from 'ioredis';
import { createLimiter, tokenBucket } from 'sluice';
import { redisStore } from 'sluice/ioredis';
import { answerRequests } from '../bench/measure/child.mjs';
import { watchLag } from './lag.mjs';

const SERVERS = {
  async express(limiter) {
    const { default: express } = await import('express');
    const { rateLimit } = await import('sluice/express');
    const app = express();
    app.get('/', rateLimit({ limiter }), (request, response) => response.send(request.rateLimit.source));
    return listening(app.listen(0, '127.0.0.1'));
  },
  async fastify(limiter) {
    const { fastify } = await import('fastify');
    const { rateLimit } = await import('sluice/fastify');
    const app = fastify();
    await app.register(rateLimit, { limiter });
    app.get('/', async (request) => request.rateLimit.source);
    await app.listen({ port: 0, host: '127.0.0.1' });
    return app.server.address().port;
  },
  async hono(limiter) {
    const { Hono } = await import('hono');
    const { rateLimit } = await import('sluice/hono');
    const app = new Hono();
    app.get('/', rateLimit({ limiter }), (c) => c.text(c.get('rateLimit').source));
    return listening(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }));
  },
  async koa(limiter) {
    const { default: Koa } = await import('koa');
    const { rateLimit } = await import('sluice/koa');
    const app = new Koa();
    app.use(rateLimit({ limiter }));
    app.use((ctx) => {
      ctx.body = ctx.state.rateLimit.source;
    });
    return listening(app.listen(0, '127.0.0.1'));
  },
  /** Its decorators by hand: this is JavaScript. */
  async nest(limiter) {
    await import('reflect-metadata');
    const { Controller, Get, Module, Req } = await import('@nestjs/common');
    const { NestFactory } = await import('@nestjs/core');
    const { RateLimitModule } = await import('sluice/nest');
    class Home {
      source(request) {
        return request.rateLimit.source;
      }
    }
    Req()(Home.prototype, 'source', 0);
    Get()(Home.prototype, 'source', Object.getOwnPropertyDescriptor(Home.prototype, 'source'));
    Controller()(Home);
    class App {}
    Module({ imports: [RateLimitModule.forRoot({ limiter })], controllers: [Home] })(App);
    const app = await NestFactory.create(App, { logger: false });
    await app.listen(0, '127.0.0.1');
    return app.getHttpServer().address().port;
  },
  async fetch(limiter) {
    const { rateLimit, rateLimitOf } = await import('sluice/fetch');
    const ip = (_request, { incoming }) => incoming.socket.remoteAddress;
    const handler = rateLimit({ limiter, ip })((request, _beside) => new Response(rateLimitOf(request).source));
    return listening(serve({ fetch: handler, port: 0, hostname: '127.0.0.1' }));
  },
  async node(limiter) {
    const { rateLimit } = await import('sluice/node');
    const listener = rateLimit({ limiter })((request, response) => response.end(request.rateLimit.source));
    return listening(createServer(listener).listen(0, '127.0.0.1'));
  },
};

async function listening(server) {
  if (!server.listening) await new Promise((resolve) => server.once('listening', resolve));
  return server.address().port;
}

function listenPlainly(waitMs) {
  const server = createServer((_request, response) => setTimeout(() => response.end(), waitMs));
  return listening(server.listen(0, '127.0.0.1'));
}

const lags = watchLag();
answerRequests({
  async listen({ framework, target, plainMs }) {
    const client = new Redis(target).on('error', () => undefined);
    await client.ping();
    const policy = tokenBucket({ capacity: 1_000_000, refillRate: 1_000_000 });
    const port = await SERVERS[framework](createLimiter({ policy, store: redisStore(client) }));
    return { port, plainPort: await listenPlainly(plainMs) };
  },
  lags: () => lags,
});
process.on('disconnect', () => process.exit());
