/**
 * Servers of three frameworks: bare, with Sluice's middleware, once without header fields, and with the peer's. Everyone keeps its state in
 * memory and takes the key from the same header. The fields are each one's own: two of the draft for Sluice, three or four for the peers.
 * Beside them two floors: a middleware that does nothing, and one that sets two constant fields and decides nothing.
 */
import { createServer } from 'node:http';
import fastifyRateLimit from '@fastify/rate-limit';
import { getRequestListener } from '@hono/node-server';
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
export const FLOORS = ['nothing', 'two fields'];
export const PEERS = {
  express: 'express-rate-limit',
  fastify: '@fastify/rate-limit',
  hono: 'hono-rate-limiter',
};
export const KEY_HEADER = 'x-user';
export const BODY = 'hello';
const FIELDS = [
  ['RateLimit-Policy', '"gcra";q=10000000;w=86400'],
  ['RateLimit', '"gcra";r=9999999;t=1'],
];

const isSluice = (variant) => variant.startsWith('sluice');

function options(variant) {
  const limiter = createLimiter({ policy: gcra({ limit: HOT_KEY_LIMIT, period: DAY_MS, capacity: HOT_KEY_LIMIT }) });
  return { limiter, key: byHeader(KEY_HEADER), headers: variant === 'sluice' ? 'draft' : 'none' };
}

/** What a floor sets. */
const fieldsOf = (variant) => (variant === 'two fields' ? FIELDS : []);

const SERVERS = {
  express(variant) {
    const app = express();
    if (isSluice(variant)) app.use(sluiceExpress(options(variant)));
    if (variant === 'peer') {
      const keyGenerator = (request) => request.headers[KEY_HEADER];
      app.use(rateLimit({ windowMs: DAY_MS, limit: HOT_KEY_LIMIT, keyGenerator }));
    }
    if (FLOORS.includes(variant)) {
      const fields = fieldsOf(variant);
      app.use((_request, response, next) => {
        for (const [name, value] of fields) response.setHeader(name, value);
        next();
      });
    }
    app.get('/', (_request, response) => response.send(BODY));
    return createServer(app);
  },

  async fastify(variant) {
    const app = fastify();
    if (isSluice(variant)) await app.register(sluiceFastify, options(variant));
    if (variant === 'peer') {
      const keyGenerator = (request) => request.headers[KEY_HEADER];
      await app.register(fastifyRateLimit, { max: HOT_KEY_LIMIT, timeWindow: DAY_MS, keyGenerator });
    }
    if (FLOORS.includes(variant)) {
      const fields = fieldsOf(variant);
      app.addHook('onRequest', (_request, reply, done) => {
        for (const [name, value] of fields) reply.header(name, value);
        done();
      });
    }
    app.get('/', async () => BODY);
    await app.ready();
    return app.server;
  },

  hono(variant) {
    const app = new Hono();
    if (isSluice(variant)) app.use(sluiceHono(options(variant)));
    if (variant === 'peer') {
      const keyGenerator = (context) => context.req.header(KEY_HEADER);
      app.use(rateLimiter({ windowMs: DAY_MS, limit: HOT_KEY_LIMIT, keyGenerator }));
    }
    if (FLOORS.includes(variant)) {
      const fields = fieldsOf(variant);
      app.use((context, next) => {
        for (const [name, value] of fields) context.header(name, value);
        return next();
      });
    }
    app.get('/', (context) => context.text(BODY));
    return createServer(getRequestListener(app.fetch));
  },
};

export const FRAMEWORKS = Object.keys(SERVERS);

/** Resolves to a server that does not listen yet. */
export const makeServer = async (framework, variant) => SERVERS[framework](variant);
