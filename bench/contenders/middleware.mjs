/**
 * Servers of three frameworks: bare, with Sluice's middleware, and with the peer's, each as its README shows it: state in memory, a client
 * is an address. `like the peer` writes the kind of header fields that the peer of that framework writes; without that, Sluice writes what
 * it writes by default. Beside them floors: a middleware that does nothing, and those that set constant fields and decide nothing.
 */
import { createServer } from 'node:http';
import fastifyRateLimit from '@fastify/rate-limit';
import { getRequestListener } from '@hono/node-server';
import { getConnInfo } from '@hono/node-server/conninfo';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { fastify } from 'fastify';
import { Hono } from 'hono';
import { rateLimiter } from 'hono-rate-limiter';
import { sluice } from '../library.mjs';
import { DAY_MS } from './policies.mjs';

const { slidingWindowCounter } = await sluice();
const { rateLimit: sluiceExpress } = await sluice('/express');
const { rateLimit: sluiceFastify } = await sluice('/fastify');
const { rateLimit: sluiceHono } = await sluice('/hono');

const LIMIT = 10_000_000;
export const BODY = 'hello';

/** By framework: the peers, and the form of Sluice's headers that is of the same kind. */
export const PEERS = {
  express: [
    { variant: 'peer', name: 'express-rate-limit, draft-8', like: 'draft' },
    { variant: 'peer, its default fields', name: 'express-rate-limit, X-RateLimit', like: 'legacy' },
  ],
  fastify: [{ variant: 'peer', name: '@fastify/rate-limit, X-RateLimit', like: 'legacy' }],
  hono: [{ variant: 'peer', name: 'hono-rate-limiter, draft-6', like: 'draft-6' }],
};
export const FRAMEWORKS = Object.keys(PEERS);

/** What Sluice is asked to write in a variant: `sluice draft`. */
const formOf = (variant) => /^sluice (.+)$/.exec(variant)?.[1];
const isSluice = (variant) => variant.startsWith('sluice');

const sluiceOptions = (variant) => ({
  policy: slidingWindowCounter({ limit: LIMIT, window: '1d' }),
  ...(formOf(variant) && { headers: formOf(variant) }),
});

const FIELDS = [
  ['RateLimit-Policy', '"sliding-window-counter";q=10000000;w=86400'],
  ['RateLimit', '"sliding-window-counter";r=9999999;t=1'],
  ['X-RateLimit-Limit', '10000000'],
  ['X-RateLimit-Remaining', '9999999'],
  ['X-RateLimit-Reset', '1794981600'],
];
/** `constant fields: 2`; 0 does nothing. */
const floorFields = (variant) => {
  const [, amount] = /^constant fields: (\d)$/.exec(variant) ?? [];
  return amount === undefined ? undefined : FIELDS.slice(0, Number(amount));
};

const SERVERS = {
  express(variant) {
    const app = express();
    if (isSluice(variant)) app.use(sluiceExpress(sluiceOptions(variant)));
    if (variant === 'peer') {
      app.use(rateLimit({ windowMs: DAY_MS, limit: LIMIT, standardHeaders: 'draft-8', legacyHeaders: false }));
    }
    if (variant === 'peer, its default fields') app.use(rateLimit({ windowMs: DAY_MS, limit: LIMIT }));
    const fields = floorFields(variant);
    if (fields !== undefined) {
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
    if (isSluice(variant)) await app.register(sluiceFastify, sluiceOptions(variant));
    if (variant === 'peer') await app.register(fastifyRateLimit, { max: LIMIT, timeWindow: '1 day' });
    const fields = floorFields(variant)?.map(([name, value]) => [name.toLowerCase(), value]);
    if (fields !== undefined) {
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
    if (isSluice(variant)) app.use(sluiceHono(sluiceOptions(variant)));
    if (variant === 'peer') {
      // It has no key by default.
      const keyGenerator = (context) => getConnInfo(context).remote.address;
      app.use(rateLimiter({ windowMs: DAY_MS, limit: LIMIT, keyGenerator }));
    }
    const fields = floorFields(variant);
    if (fields !== undefined) {
      app.use((context, next) => {
        for (const [name, value] of fields) context.header(name, value);
        return next();
      });
    }
    app.get('/', (context) => context.text(BODY));
    return createServer(getRequestListener(app.fetch));
  },
};

/** Resolves to a server that does not listen yet. */
export const makeServer = async (framework, variant) => SERVERS[framework](variant);
