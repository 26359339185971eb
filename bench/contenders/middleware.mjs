/**
 * Servers of three frameworks: bare, with Sluice's middleware, once without header fields, and with the peer's. Everyone keeps its state in
 * memory and takes the key from the same header. The fields are each one's own: two of the draft for Sluice, three or four for the peers.
 */
import fastifyRateLimit from '@fastify/rate-limit';
import { serve } from '@hono/node-server';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { fastify } from 'fastify';
import { Hono } from 'hono';
import { rateLimiter } from 'hono-rate-limiter';
import { createLimiter, gcra } from 'sluice';
import { rateLimit as sluiceExpress } from 'sluice/express';
import { rateLimit as sluiceFastify } from 'sluice/fastify';
import { rateLimit as sluiceHono } from 'sluice/hono';
import { byHeader } from 'sluice/http';
import { DAY_MS, HOT_KEY_LIMIT } from './policies.mjs';

export const VARIANTS = ['bare', 'sluice', 'sluice without headers', 'peer'];
export const PEERS = {
  express: 'express-rate-limit',
  fastify: '@fastify/rate-limit',
  hono: 'hono-rate-limiter',
};
export const KEY_HEADER = 'x-user';
const BODY = 'hello';

const isSluice = (variant) => variant.startsWith('sluice');

function options(variant) {
  const limiter = createLimiter({ policy: gcra({ limit: HOT_KEY_LIMIT, period: DAY_MS, capacity: HOT_KEY_LIMIT }) });
  return { limiter, key: byHeader(KEY_HEADER), headers: variant === 'sluice' ? 'draft' : 'none' };
}

const listening = (server) =>
  new Promise((resolve) => {
    server.once('listening', () => resolve(server.address().port));
  });

const SERVERS = {
  express(variant) {
    const app = express();
    if (isSluice(variant)) app.use(sluiceExpress(options(variant)));
    if (variant === 'peer') {
      const keyGenerator = (request) => request.headers[KEY_HEADER];
      app.use(rateLimit({ windowMs: DAY_MS, limit: HOT_KEY_LIMIT, keyGenerator }));
    }
    app.get('/', (_request, response) => response.send(BODY));
    return listening(app.listen(0, '127.0.0.1'));
  },

  async fastify(variant) {
    const app = fastify();
    if (isSluice(variant)) await app.register(sluiceFastify, options(variant));
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
    if (isSluice(variant)) app.use(sluiceHono(options(variant)));
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
