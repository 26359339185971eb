/**
 * Servers of three frameworks: bare, with a hand-written Sluice hook (Sluice has no middleware yet), and with the peer's. Everyone
 * keeps its state in memory, takes the key from the same header and answers with the same three header fields.
 */
import fastifyRateLimit from '@fastify/rate-limit';
import { serve } from '@hono/node-server';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { fastify } from 'fastify';
import { Hono } from 'hono';
import { rateLimiter } from 'hono-rate-limiter';
import { createLimiter, gcra } from 'sluice';
import { DAY_MS, HOT_KEY_LIMIT } from './policies.mjs';

export const VARIANTS = ['bare', 'sluice', 'peer'];
export const PEERS = {
  express: 'express-rate-limit',
  fastify: '@fastify/rate-limit',
  hono: 'hono-rate-limiter',
};
export const KEY_HEADER = 'x-user';
const BODY = 'hello';

const sluice = () => createLimiter({ policy: gcra({ limit: HOT_KEY_LIMIT, period: DAY_MS, capacity: HOT_KEY_LIMIT }) });

function tell(set, { limit, remaining, resetAfter }) {
  set('x-ratelimit-limit', String(limit));
  set('x-ratelimit-remaining', String(remaining));
  set('x-ratelimit-reset', String(Math.ceil(resetAfter)));
}

const listening = (server) =>
  new Promise((resolve) => {
    server.once('listening', () => resolve(server.address().port));
  });

const SERVERS = {
  express(variant) {
    const app = express();
    if (variant === 'sluice') {
      const limiter = sluice();
      app.use(async (request, response, next) => {
        const result = await limiter.attempt(request.headers[KEY_HEADER]);
        tell((name, value) => response.setHeader(name, value), result);
        if (result.allowed) next();
        else response.status(429).end();
      });
    }
    if (variant === 'peer') {
      const keyGenerator = (request) => request.headers[KEY_HEADER];
      app.use(rateLimit({ windowMs: DAY_MS, limit: HOT_KEY_LIMIT, keyGenerator }));
    }
    app.get('/', (_request, response) => response.send(BODY));
    return listening(app.listen(0, '127.0.0.1'));
  },

  async fastify(variant) {
    const app = fastify();
    if (variant === 'sluice') {
      const limiter = sluice();
      app.addHook('onRequest', async (request, reply) => {
        const result = await limiter.attempt(request.headers[KEY_HEADER]);
        tell((name, value) => reply.header(name, value), result);
        if (!result.allowed) return reply.code(429).send();
      });
    }
    if (variant === 'peer') {
      const keyGenerator = (request) => request.headers[KEY_HEADER];
      await app.register(fastifyRateLimit, { max: HOT_KEY_LIMIT, timeWindow: DAY_MS, keyGenerator });
    }
    app.get('/', async () => BODY);
    await app.listen({ port: 0, host: '127.0.0.1' });
    return app.server.address().port;
  },

  hono(variant) {
    const app = new Hono();
    if (variant === 'sluice') {
      const limiter = sluice();
      app.use(async (context, next) => {
        const result = await limiter.attempt(context.req.header(KEY_HEADER));
        tell((name, value) => context.header(name, value), result);
        if (!result.allowed) return context.text('', 429);
        await next();
      });
    }
    if (variant === 'peer') {
      const keyGenerator = (context) => context.req.header(KEY_HEADER);
      app.use(rateLimiter({ windowMs: DAY_MS, limit: HOT_KEY_LIMIT, keyGenerator }));
    }
    app.get('/', (context) => context.text(BODY));
    return listening(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }));
  },
};

export const FRAMEWORKS = Object.keys(SERVERS);

/** Resolves to the port. */
export const startFramework = (framework, variant) => SERVERS[framework](variant);
