/** The guard of Nest before resolvers of GraphQL (Apollo and Mercurius) and before gateways of WebSockets (ws and Socket.IO), on real servers. */
import 'reflect-metadata';
import { once } from 'node:events';
import { ApolloDriver } from '@nestjs/apollo';
import { type INestApplication, Module, type ModuleMetadata, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GraphQLModule, Mutation, Query, Resolver } from '@nestjs/graphql';
import { MercuriusDriver } from '@nestjs/mercurius';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { IoAdapter } from '@nestjs/platform-socket.io';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { io as openSocketIo, type Socket } from 'socket.io-client';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import {
  type NestRateLimitOptions,
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
  SkipRateLimit,
} from '../../src/frameworks/nest.ts';
import { byHeader, byRoute } from '../../src/http/index.ts';
import { concurrency, createLimiter, fixedWindow, manualClock, memoryStore } from '../../src/index.ts';

const day = (name: string, limit: number) => fixedWindow({ name, limit, window: '1d', align: 'first' });
const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

/** As decorators would do it. */
function decorate(target: { prototype: object }, methods: Record<string, MethodDecorator[]>): void {
  for (const [name, decorators] of Object.entries(methods)) {
    const descriptor = Object.getOwnPropertyDescriptor(target.prototype, name)!;
    for (const each of decorators) each(target.prototype, name, descriptor);
  }
}

async function start(
  metadata: ModuleMetadata,
  adapter: ExpressAdapter | FastifyAdapter,
  sockets?: (app: INestApplication) => unknown,
) {
  class AppModule {}
  Module(metadata)(AppModule);
  const app = await NestFactory.create(AppModule, adapter as ExpressAdapter, { logger: false });
  if (sockets !== undefined) app.useWebSocketAdapter(sockets(app) as never);
  stops.push(() => app.close());
  await app.listen(0, '127.0.0.1');
  return app.getHttpServer().address().port as number;
}

const DRIVERS = {
  apollo: () => ({ driver: ApolloDriver, adapter: new ExpressAdapter() }),
  mercurius: () => ({ driver: MercuriusDriver, adapter: new FastifyAdapter() }),
};

const typeDefs = 'type Query { hello: String own: String open: String } type Mutation { change: String }';

function resolver() {
  const ran: string[] = [];
  class Resolving {
    hello() {
      return ran.push('hello') && 'hi';
    }
    own() {
      return ran.push('own') && 'own';
    }
    open() {
      return 'open';
    }
    change() {
      return 'changed';
    }
  }
  Resolver()(Resolving);
  decorate(Resolving, {
    hello: [Query('hello')],
    own: [Query('own'), RateLimit({ policy: day('own', 1) })],
    open: [Query('open'), SkipRateLimit()],
    change: [Mutation('change')],
  });
  return { Resolving, ran };
}

describe.each(Object.entries(DRIVERS))('GraphQL: %s', (_, make) => {
  const serve = async (options: NestRateLimitOptions) => {
    const { driver, adapter } = make();
    const { Resolving, ran } = resolver();
    const imports = [GraphQLModule.forRoot({ driver, typeDefs }), RateLimitModule.forRoot(options)];
    const port = await start({ imports, providers: [Resolving] }, adapter);
    const ask = async (query: string, headers: Record<string, string> = {}) => {
      const response = await fetch(`http://127.0.0.1:${port}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ query }),
      });
      return { status: response.status, headers: response.headers, ...((await response.json()) as Answer) };
    };
    return { ask, ran };
  };
  interface Answer {
    data?: Record<string, string | null> | null;
    errors?: { message: string; path: string[]; extensions: Record<string, unknown> }[];
  }

  test('a resolver that is denied is an error with a code and a time, and does not run', async () => {
    const { ask, ran } = await serve({
      policy: day('all', 2),
      store: memoryStore({ clock: manualClock() }),
      headers: 'draft',
    });
    expect((await ask('{ hello }')).data).toEqual({ hello: 'hi' });
    const second = await ask('mutation { change }');
    expect([second.data, second.headers.get('ratelimit')]).toEqual([{ change: 'changed' }, '"all";r=0;t=86400']);
    const { errors, headers } = await ask('{ hello }');
    expect(errors).toEqual([
      expect.objectContaining({
        message: 'Too many requests. Retry after 86400 seconds.',
        path: ['hello'],
        extensions: expect.objectContaining({ code: 'RATE_LIMITED', retryAfter: 86_400 }),
      }),
    ]);
    expect(headers.get('retry-after')).toBe('86400');
    expect(ran).toEqual(['hello']);
    expect((await ask('{ open }')).data).toEqual({ open: 'open' });
    expect((await ask('{ own }')).data).toEqual({ own: 'own' });
    expect((await ask('{ own }')).errors).toHaveLength(1);
  });

  test('each alias counts, and nobody is warned of it', async () => {
    const onWarning = vi.fn();
    const { ask, ran } = await serve({ policy: day('all', 2), onWarning });
    const { errors } = await ask('{ a: hello b: hello c: hello d: hello }');
    expect([errors?.length, ran.length]).toEqual([2, 2]);
    expect(onWarning).not.toHaveBeenCalled();
  });

  test('keys see the request and the resolver; nobody there is UNAUTHENTICATED', async () => {
    const keys: (string | undefined)[] = [];
    const { ask } = await serve({ policy: day('all', 9), key: (view) => keys[keys.push(byRoute()(view)) - 1] });
    await ask('{ hello }');
    expect(keys).toEqual(['route:POST Query.hello']);
    const strict = await serve({ policy: day('all', 9), key: byHeader('x-user') });
    expect((await strict.ask('{ hello }', { 'x-user': 'ada' })).data).toEqual({ hello: 'hi' });
    const { errors } = await strict.ask('{ hello }');
    expect(errors![0]).toMatchObject({
      message: 'This request does not say who is calling: the header x-user is missing.',
      extensions: { code: 'UNAUTHENTICATED' },
    });
  });

  test('a place is held until the response has been sent', async () => {
    const limiter = createLimiter({ policy: concurrency({ limit: 2, ttl: '1h' }) });
    const { ask } = await serve({ limiter, key: () => 'all' });
    expect((await ask('{ a: hello b: hello c: hello }')).errors).toHaveLength(1);
    await expect.poll(async () => (await limiter.peek('all', { cost: 0 })).remaining, { timeout: 20_000 }).toBe(2);
  });
});

function gateway(heard: unknown[]) {
  class Gateway {
    say(_client: unknown, data: unknown) {
      heard.push(data);
      return { event: 'said', data };
    }
    open() {
      return { event: 'open', data: 'open' };
    }
    handleConnection(client: { request?: unknown }, request: unknown) {
      if (request !== undefined) client.request = request; // with ws: keys see its headers
    }
  }
  WebSocketGateway()(Gateway);
  // The module's guard is for HTTP and GraphQL: Nest puts guards before gateways only where you say so.
  UseGuards(RateLimitGuard)(Gateway);
  decorate(Gateway, { say: [SubscribeMessage('say')], open: [SubscribeMessage('open'), SkipRateLimit()] });
  return Gateway;
}

describe('gateways', () => {
  const serve = async (options: NestRateLimitOptions, sockets: (app: INestApplication) => unknown) => {
    const heard: unknown[] = [];
    const imports = [RateLimitModule.forRoot(options)];
    const port = await start({ imports, providers: [gateway(heard)] }, new ExpressAdapter(), sockets);
    return { port, heard };
  };
  const soon = { timeout: 20_000 };
  const DENIED = {
    status: 'error',
    error: 'rate_limited',
    message: 'Too many requests. Retry after 86400 seconds.',
    retryAfter: 86_400,
  };
  const options = (): NestRateLimitOptions => ({ policy: day('all', 2), store: memoryStore({ clock: manualClock() }) });

  const openWs = async (port: number, headers: Record<string, string> = {}) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}`, { headers });
    stops.push(() => socket.terminate());
    const got: unknown[] = [];
    socket.on('message', (data) => got.push(JSON.parse(String(data))));
    await once(socket, 'open');
    const say = (event: string, data: unknown) => socket.send(JSON.stringify({ event, data }));
    return { got, say };
  };

  test('ws: a denied message is told by the event exception, and nobody hears it', async () => {
    const { port, heard } = await serve(options(), (app) => new WsAdapter(app));
    const { got, say } = await openWs(port);
    for (const text of ['one', 'two', 'three']) say('say', text);
    say('open', '');
    await expect.poll(() => got.length, soon).toBe(4);
    expect(got).toContainEqual({ event: 'exception', data: DENIED });
    expect(got).toContainEqual({ event: 'open', data: 'open' });
    expect(heard).toHaveLength(2);
  });

  test('ws: keys see the headers of the request that handleConnection keeps', async () => {
    const { port, heard } = await serve(
      { policy: day('all', 1), key: byHeader('x-user') },
      (app) => new WsAdapter(app),
    );
    for (const user of ['ada', 'ada', 'bob']) {
      const { got, say } = await openWs(port, { 'x-user': user });
      say('say', user);
      await expect.poll(() => got.length, soon).toBe(1);
    }
    expect(heard).toEqual(['ada', 'bob']);
  });

  test('Socket.IO: likewise', async () => {
    const { port, heard } = await serve({ ...options(), key: byHeader('x-user') }, (app) => new IoAdapter(app));
    const connect = async (user: string): Promise<Socket> => {
      const socket = openSocketIo(`http://127.0.0.1:${port}`, {
        transports: ['websocket'],
        forceNew: true,
        extraHeaders: { 'x-user': user },
      });
      stops.push(() => socket.disconnect());
      await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('connect_error', reject));
      return socket;
    };
    const ada = await connect('ada');
    const [said, denied] = [vi.fn(), vi.fn()];
    ada.on('said', said).on('exception', denied);
    for (const text of ['one', 'two', 'three']) ada.emit('say', text);
    await expect.poll(() => denied.mock.calls, soon).toEqual([[DENIED]]);
    await expect.poll(() => said.mock.calls.length, soon).toBe(2);
    const bob = await connect('bob');
    bob.emit('say', 'bob');
    await expect.poll(() => heard, soon).toHaveLength(3);
  });
});
