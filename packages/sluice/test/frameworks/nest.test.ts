/** The contract on Nest, over Express and over Fastify. Decorators are called as the functions they are: no compiler needed. */
import 'reflect-metadata';
import {
  All,
  type ArgumentsHost,
  type CanActivate,
  Catch,
  Controller,
  type ExecutionContext,
  Get,
  type INestApplication,
  Module,
  type ModuleMetadata,
  Req,
  Res,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { type AbstractHttpAdapter, APP_FILTER, ExternalContextCreator, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  type NativeView,
  type NestRequest,
  RateLimit,
  RateLimitException,
  RateLimitGuard,
  RateLimitModule,
  SkipRateLimit,
} from '../../src/frameworks/nest.ts';
import { byRoute, byUser } from '../../src/http/index.ts';
import { fixedWindow, memoryStore, type Policy } from '../../src/index.ts';
import { type App, frameworkContract } from './contract.ts';
import { listening } from './servers.ts';

interface Reply {
  status(status: number): { send(body: string): unknown };
}

/** `@Controller() class { @RateLimit(options) @All(path) answer(@Req() request, @Res() reply) { ... } }` */
function controllerOf(app: App, path: string, options?: App['options']): new () => object {
  class Answering {
    answer(request: NestRequest, reply: Reply): void {
      const { status, body } = app.answer(request.rateLimit, (name) => request.headers?.[name]?.toString());
      reply.status(status).send(body);
    }
  }
  const method = Object.getOwnPropertyDescriptor(Answering.prototype, 'answer')!;
  Controller()(Answering);
  All(path)(Answering.prototype, 'answer', method);
  Req()(Answering.prototype, 'answer', 0);
  Res()(Answering.prototype, 'answer', 1);
  if (options !== undefined) RateLimit(options)(Answering.prototype, 'answer', method);
  return Answering;
}

const start = (adapter: () => AbstractHttpAdapter) => async (app: App) => {
  class AppModule {}
  Module({
    imports: [RateLimitModule.forRoot(app.options)],
    controllers: [
      ...Object.entries(app.routes).map(([path, options]) => controllerOf(app, path, options)),
      ...['/', '/health', '/one', '/two'].map((path) => controllerOf(app, path)),
    ],
  })(AppModule);
  const server: INestApplication = await NestFactory.create(AppModule, adapter(), {
    logger: false,
    abortOnError: false,
    forceCloseConnections: true,
  });
  await server.listen(0, '127.0.0.1');
  return { ...(await listening(server.getHttpServer())), stop: () => server.close() };
};

frameworkContract(
  'nest over express',
  start(() => new ExpressAdapter()),
);
frameworkContract(
  'nest over fastify',
  start(() => new FastifyAdapter()),
);

const day = (name: string, limit: number): Policy => fixedWindow({ name, limit, window: '1d', align: 'first' });

let application: INestApplication | undefined;
afterEach(() => application?.close());

type Decorate = (prototype: object, name: string, method: PropertyDescriptor) => void;

/** A controller with a handler for each path that decorators say more about. */
function controller(
  paths: Record<string, readonly Decorate[]>,
  ...ofClass: readonly ClassDecorator[]
): new () => object {
  class Answering {}
  Controller()(Answering);
  for (const decorate of ofClass) decorate(Answering);
  for (const [path, decorators] of Object.entries(paths)) {
    const method = { value: { [path]: () => '' }[path]!, configurable: true };
    Object.defineProperty(Answering.prototype, path, method);
    Get(path)(Answering.prototype, path, method);
    for (const decorate of decorators) decorate(Answering.prototype, path, method);
  }
  return Answering;
}

async function serve(
  metadata: ModuleMetadata,
  prepare: (app: INestApplication) => unknown = () => {},
): Promise<(path: string) => Promise<Response>> {
  class AppModule {}
  Module(metadata)(AppModule);
  application = await NestFactory.create(AppModule, new ExpressAdapter(), { logger: false, abortOnError: false });
  prepare(application);
  await application.listen(0, '127.0.0.1');
  const { port } = await listening(application.getHttpServer());
  return (path) => fetch(`http://127.0.0.1:${port}/${path}`);
}

/** What is left after each of these requests, as the headers tell it. */
async function left(get: (path: string) => Promise<Response>, ...paths: string[]): Promise<(string | undefined)[]> {
  const seen = [];
  for (const path of paths) seen.push(/r=(\d+)/.exec((await get(path)).headers.get('ratelimit') ?? '')?.[1]);
  return seen;
}

describe('decorators', () => {
  const own = RateLimit({ policy: day('own', 5) });

  test('a handler has the limit of the module, one of its own, or none', async () => {
    const get = await serve({
      imports: [RateLimitModule.forRoot({ policy: day('all', 9) })],
      controllers: [
        controller({ one: [], two: [own], three: [own], dear: [RateLimit({ cost: 3 })], free: [SkipRateLimit()] }),
      ],
    });
    expect(await left(get, 'one', 'two', 'three', 'one', 'two', 'free')).toEqual(['8', '4', '4', '7', '3', undefined]);
    expect(await left(get, 'dear', 'one', 'dear')).toEqual(['4', '3', '0']);
  });

  test.each([
    ['the default', {}],
    ['one that was given', { store: memoryStore() }],
  ])(
    'a controller has one limit for its handlers, and a handler one before it, in a store that is %s',
    async (_, options) => {
      const get = await serve({
        imports: [RateLimitModule.forRoot(options)],
        controllers: [
          controller({ one: [], two: [], three: [RateLimit({ policy: day('own', 3) })], free: [SkipRateLimit()] }, own),
          controller({ other: [] }),
          controller({ skipped: [], again: [own] }, SkipRateLimit()),
        ],
      });
      expect(await left(get, 'one', 'two', 'three', 'free', 'other', 'skipped', 'again')).toEqual([
        ...['4', '3', '2', undefined, undefined, undefined, '4'],
      ]);
    },
  );

  test.each([
    ['at two paths', ['v1', 'v2'], ['v1/one', 'v2/one']],
    ['in two versions', [{ version: '1' }, { version: '2' }], ['v1/one', 'v2/one']],
  ])('controllers of one name %s do not share the limits they have by policy', async (_, places, paths) => {
    const controllers = places.map((place) => controller({ one: [own] }, Controller(place as string)));
    const get = await serve(
      { imports: [RateLimitModule.forRoot()], controllers },
      (app) => places.some((place) => typeof place === 'object') && app.enableVersioning(),
    );
    expect(await left(get, ...paths, ...paths)).toEqual(['4', '4', '3', '3']);
  });

  test('what is wrong in one is said with its name, where it is', () => {
    const wrong = RateLimit({ max: 5 } as never);
    expect(() => controller({ one: [wrong] })).toThrow(
      expect.objectContaining({ path: '@RateLimit() of Answering.one.max' }),
    );
    expect(() => controller({ one: [] }, wrong)).toThrow(
      expect.objectContaining({ path: '@RateLimit() of Answering.max' }),
    );
  });

  test('what only the module can tell is wrong is said with its name too', async () => {
    const onError = vi.fn();
    class Told {
      catch(error: unknown, host: ArgumentsHost): void {
        onError(error);
        host.switchToHttp().getResponse().end();
      }
    }
    Catch()(Told);
    const get = await serve({
      imports: [RateLimitModule.forRoot()],
      controllers: [controller({ one: [RateLimit({ cost: 5 })] })],
      providers: [{ provide: APP_FILTER, useClass: Told }],
    });
    await get('one');
    expect(onError).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ path: '@RateLimit() of Answering.one' }));
  });
});

describe('the guard in several modules', () => {
  const guarded = (path: string): ModuleMetadata['imports'] => {
    const module = class {};
    Module({ controllers: [controller({ [path]: [UseGuards(RateLimitGuard)] })] })(module);
    return [module];
  };

  test('keeps to one limit', async () => {
    const all = RateLimitModule.forRoot({ policy: day('all', 9), global: false });
    const get = await serve({ imports: [all, ...guarded('one')!, ...guarded('two')!] });
    expect(await left(get, 'one', 'two', 'one')).toEqual(['8', '7', '6']);
  });

  test('and is noticed when it stands before every handler already', async () => {
    const codes: string[] = [];
    const onWarning = ({ code }: { code: string }): void => void codes.push(code);
    const get = await serve({
      imports: [RateLimitModule.forRoot({ policy: day('all', 9), onWarning }), ...guarded('one')!],
    });
    expect(await left(get, 'one')).toEqual(['7']);
    expect(codes).toEqual(['SLUICE_COUNTED_TWICE']);
  });
});

test('the guard may stand after the one that knows who it is', async () => {
  class AuthGuard implements CanActivate {
    canActivate(context: ExecutionContext): boolean {
      context.switchToHttp().getRequest().user = 'ada';
      return true;
    }
  }
  const keys: (string | undefined)[] = [];
  const byName = byUser((request: { user?: string }) => request.user);
  const get = await serve({
    imports: [
      RateLimitModule.forRootAsync({
        global: false,
        inject: ['LIMIT'],
        imports: [{ module: class {}, providers: [{ provide: 'LIMIT', useValue: 7 }], exports: ['LIMIT'] }],
        useFactory: async (limit: number) => ({
          policy: day('all', limit),
          key: (view: NativeView<{ user?: string }>) => keys[keys.push(byName(view)) - 1],
        }),
      }),
    ],
    controllers: [controller({ one: [UseGuards(AuthGuard, RateLimitGuard)], open: [] })],
  });
  expect(await left(get, 'one', 'open')).toEqual(['6', undefined]);
  expect(keys).toEqual(['user:ada']);
});

test('a filter of the app may answer instead, with the headers there already', async () => {
  class Told {
    catch(error: RateLimitException, host: ArgumentsHost): void {
      const response = host.switchToHttp().getResponse();
      response.status(error.getStatus()).json({ left: error.result?.remaining });
    }
  }
  Catch(RateLimitException)(Told);
  const get = await serve({
    imports: [RateLimitModule.forRoot({ policy: day('all', 1) })],
    controllers: [controller({ one: [UseFilters(new Told())] })],
  });
  await get('one');
  const response = await get('one');
  expect([response.status, await response.json()]).toEqual([429, { left: 0 }]);
  expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
});

test('the pattern of the route is known', async () => {
  const routes: (string | undefined)[] = [];
  const get = await serve({
    imports: [
      RateLimitModule.forRoot({ policy: day('all', 9), key: (view) => routes[routes.push(byRoute()(view)) - 1] }),
    ],
    controllers: [controller({ 'users/:id': [] })],
  });
  await left(get, 'users/1', 'Users/2');
  expect(routes).toEqual(['route:GET /users/:id', 'route:GET /users/:id']);
});

test('what is no HTTP passes, unless you say where its request is', async () => {
  const context = {
    getType: () => 'rpc',
    getClass: () => Object,
    getHandler: () => serve,
  } as unknown as ExecutionContext;
  const setHeader = vi.fn();
  const exchange = { request: { headers: {}, socket: {} }, response: { setHeader } } as never;
  expect(await new RateLimitGuard({ policy: day('all', 9), key: () => 'x' }).canActivate(context)).toBe(true);
  const guard = new RateLimitGuard({ policy: day('all', 9), key: () => 'x', exchangeOf: () => exchange });
  expect(await guard.canActivate(context)).toBe(true);
  expect(setHeader).toHaveBeenCalledWith('RateLimit', '"all";r=8;t=86400');
});

test('a denial of what is no HTTP is thrown to whoever asked', async () => {
  const exchangeOf = () => ({ request: { headers: {}, socket: {} }, response: { setHeader: () => {} } }) as never;
  class Resolver {
    answer(): string {
      return 'data';
    }
  }
  await serve({
    imports: [RateLimitModule.forRoot({ policy: day('all', 1), key: () => 'x', exchangeOf })],
    providers: [Resolver],
  });
  const resolver = application!.get(Resolver);
  const every = { guards: true, filters: true, interceptors: true };
  const creator = application!.get(ExternalContextCreator);
  const ask = creator.create(
    resolver,
    resolver.answer,
    'answer',
    undefined,
    undefined,
    undefined,
    undefined,
    every,
    'graphql',
  );
  expect(await ask({}, {}, {})).toBe('data');
  await expect(ask({}, {}, {})).rejects.toThrow(RateLimitException);
});

test('options of the module are checked when the app starts', async () => {
  const starting = (options: object) => serve({ imports: [RateLimitModule.forRoot(options)] });
  await expect(starting({ max: 5 })).rejects.toMatchObject({ path: 'RateLimitModule.max' });
  await expect(starting({ policy: null })).rejects.toMatchObject({ path: 'RateLimitModule' });
  await expect(starting({ store: {} })).rejects.toMatchObject({ path: 'RateLimitModule.store' });
  await expect(starting({ exchangeOf: 5 })).rejects.toMatchObject({ path: 'RateLimitModule.exchangeOf' });
});
