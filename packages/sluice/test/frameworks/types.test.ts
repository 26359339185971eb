/** What handlers and options are typed as in each framework. Checked by the compiler; nothing runs. */
import type { ExecutionContext } from '@nestjs/common';
import type { Express, Request as ExpressRequest, RequestHandler } from 'express';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Hono } from 'hono';
import type { Context as KoaContext, Middleware } from 'koa';
import { expectTypeOf, test } from 'vitest';
import { rateLimit as express } from '../../src/frameworks/express.ts';
import { rateLimit as fastify } from '../../src/frameworks/fastify.ts';
import { rateLimit as fetching } from '../../src/frameworks/fetch.ts';
import { rateLimit as hono } from '../../src/frameworks/hono.ts';
import { rateLimit as koa } from '../../src/frameworks/koa.ts';
import { RateLimit, RateLimitModule } from '../../src/frameworks/nest.ts';
import { byIp, byUser, type RequestResult } from '../../src/http/index.ts';
import { createLimiter, fixedWindow } from '../../src/index.ts';

const policy = fixedWindow({ limit: 1, window: '1d' });
type Told = RequestResult | undefined;

test('express', () => {
  expectTypeOf(express({ policy })).toEqualTypeOf<RequestHandler>();
  expectTypeOf<ExpressRequest['rateLimit']>().toEqualTypeOf<Told>();
  express({ policy, key: (view) => view.native.get('x-user'), cost: ({ native }) => native.originalUrl.length });
  express({ policy, key: byUser((request) => request.get('x-user')) });
  express({ policy, key: byUser((request: ExpressRequest & { user?: { id: string } }) => request.user?.id) });
  express({ policy, key: ({ header }) => header('x-user') });
  express({ policy, key: byIp(), countOnly: ({ status, view }) => status > 399 && view.native.secure });
  expectTypeOf<Express['use']>().toBeCallableWith(express({ policy }));
});

test('fastify', () => {
  expectTypeOf<FastifyRequest['rateLimit']>().toEqualTypeOf<Told>();
  const app = null as unknown as FastifyInstance;
  const register = () => {
    app.register(fastify, { policy, key: (view) => view.native.id, hook: 'preHandler' });
    app.get('/', { config: { rateLimit: { policy, cost: ({ native }) => native.id.length } } }, async () => '');
    app.get('/', { config: { rateLimit: false } }, async () => '');
    // @ts-expect-error: no such hook
    app.register(fastify, { policy, hook: 'onSend' });
  };
  expectTypeOf(register).toBeFunction();
});

test('hono', () => {
  interface Env {
    Bindings: { SECRET: string };
    Variables: { user: { id: string } };
  }
  const app = new Hono<Env>();
  app.use(hono<Env>({ policy, key: byUser((c) => c.get('user').id), ip: (c) => c.env.SECRET }));
  app.get('/', (c) => {
    expectTypeOf(c.get('rateLimit')).toEqualTypeOf<Told>();
    expectTypeOf(c.var.rateLimit).toEqualTypeOf<Told>();
    return c.text('');
  });
});

test('koa', () => {
  expectTypeOf(koa({ policy })).toEqualTypeOf<Middleware>();
  koa({ policy, key: ({ native }) => native.get('x-user') });
  expectTypeOf<Parameters<NonNullable<Parameters<typeof koa>[0]['skip']>>[0]['native']>().toEqualTypeOf<KoaContext>();
});

test('fetch: whatever goes in beside the request, and what comes out, stay what they are', () => {
  const limited = fetching({ policy });
  expectTypeOf(limited(async (_, _env: { a: 1 }) => new Response())).toEqualTypeOf<
    (request: Request, env: { a: 1 }) => Promise<Response>
  >();
  expectTypeOf(limited(() => undefined)).returns.resolves.toEqualTypeOf<Response | undefined>();
});

test('nest', () => {
  expectTypeOf(RateLimit({ policy })).toExtend<MethodDecorator & ClassDecorator>();
  RateLimitModule.forRoot({ policy, key: byUser((request: { user?: { id: string } }) => request.user?.id) });
  RateLimitModule.forRoot({ policy, exchangeOf: (context: ExecutionContext) => context.getArgByIndex(2) });
});

test('the context is that of the limiter', () => {
  const limiter = createLimiter<{ plan: string }>({ policy: () => policy });
  express({ limiter, context: ({ native }) => ({ plan: native.get('x-plan') ?? 'free' }) });
  // @ts-expect-error: not what its policies are a function of
  express({ limiter, context: () => 5 });
});
