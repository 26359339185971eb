/** A request holds its place until its response has ended, was aborted or failed, in every framework. */
import 'reflect-metadata';
import { createServer, get, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { node } from '@elysiajs/node';
import { serve as serveHono } from '@hono/node-server';
import { Controller, Get, Module } from '@nestjs/common';
import { type AbstractHttpAdapter, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Elysia } from 'elysia';
import express from 'express';
import Fastify from 'fastify';
import { H3, serve as serveH3 } from 'h3';
import { createApp, eventHandler, toNodeListener } from 'h3v1';
import { Hono } from 'hono';
import Koa from 'koa';
import { afterEach, describe, expect, test } from 'vitest';
import { rateLimit as forElysia } from '../../src/frameworks/elysia.ts';
import { rateLimit as forExpress } from '../../src/frameworks/express.ts';
import { rateLimit as forFastify } from '../../src/frameworks/fastify.ts';
import { rateLimit as forFetch } from '../../src/frameworks/fetch.ts';
import { rateLimit as forH3 } from '../../src/frameworks/h3.ts';
import { rateLimit as forHono } from '../../src/frameworks/hono.ts';
import { rateLimit as forKoa } from '../../src/frameworks/koa.ts';
import { RateLimitModule } from '../../src/frameworks/nest.ts';
import { rateLimit as forNode, rateLimitUpgrade } from '../../src/frameworks/node.ts';
import { concurrency, createLimiter, type Limiter } from '../../src/index.ts';
import { listening } from './servers.ts';

const KEY = 'everyone';

/** Handlers wait until they are told how to end. */
class Work {
  readonly limiter: Limiter = createLimiter({ policy: concurrency({ limit: 2, ttl: '1h' }) });
  readonly options = { limiter: this.limiter, key: () => KEY, onError: () => {} };
  #ends: ((how: 'answer' | 'fail') => void)[] = [];

  async run(): Promise<string> {
    const how = await new Promise<'answer' | 'fail'>((resolve) => this.#ends.push(resolve));
    if (how === 'fail') throw new Error('the handler failed');
    return 'done';
  }

  /** The oldest one ends. */
  end(how: 'answer' | 'fail'): void {
    this.#ends.shift()!(how);
  }

  get running(): number {
    return this.#ends.length;
  }

  async free(): Promise<number> {
    return (await this.limiter.peek(KEY, { cost: 0 })).remaining;
  }
}

/** `@Controller() class { @Get() answer() { ... } }` */
const nest = (adapter: () => AbstractHttpAdapter) => async (work: Work) => {
  class Answering {
    answer(): Promise<string> {
      return work.run();
    }
  }
  Controller()(Answering);
  Get()(Answering.prototype, 'answer', Object.getOwnPropertyDescriptor(Answering.prototype, 'answer')!);
  class AppModule {}
  Module({ imports: [RateLimitModule.forRoot(work.options)], controllers: [Answering] })(AppModule);
  const options = { logger: false, abortOnError: false, forceCloseConnections: true } as const;
  const server = await NestFactory.create(AppModule, adapter(), options);
  await server.listen(0, '127.0.0.1');
  return { ...(await listening(server.getHttpServer())), stop: () => server.close() };
};

const STARTS: Readonly<Record<string, (work: Work) => Promise<{ port: number; stop(): unknown }>>> = {
  express(work) {
    const app = express();
    app.use(forExpress(work.options));
    app.get('/', async (_request, response) => void response.send(await work.run()));
    app.use((_error: unknown, _request: unknown, response: express.Response, _next: unknown) => {
      response.status(500).end();
    });
    return listening(app.listen(0, '127.0.0.1'));
  },
  async fastify(work) {
    const app = Fastify();
    await app.register(forFastify, work.options);
    app.get('/', () => work.run());
    await app.listen({ port: 0, host: '127.0.0.1' });
    return listening(app.server);
  },
  koa(work) {
    const app = new Koa();
    app.silent = true;
    app.use(forKoa(work.options));
    app.use(async (context) => {
      context.body = await work.run();
    });
    return listening(app.listen(0, '127.0.0.1'));
  },
  async elysia(work) {
    let started: { raw: { ready(): Promise<unknown>; node: { server: Server } } } | undefined;
    new Elysia({ adapter: node() })
      .use(forElysia(work.options))
      .get('/', () => work.run())
      .listen({ port: 0, hostname: '127.0.0.1' }, (info) => {
        started = info as never;
      });
    await started!.raw.ready();
    return listening(started!.raw.node.server);
  },
  async 'h3 2'(work) {
    const app = new H3({ silent: true }).use(forH3(work.options)).get('/', () => work.run());
    const running = serveH3(app, { port: 0, hostname: '127.0.0.1', silent: true });
    await running.ready();
    return listening(running.node!.server as Server);
  },
  'h3 1'(work) {
    const app = createApp({ onError: () => {} });
    app.use(forH3(work.options)).use(eventHandler(() => work.run()));
    return listening(createServer(toNodeListener(app)).listen(0, '127.0.0.1'));
  },
  node(work) {
    const listener = forNode(work.options)(async (_request, response) => {
      try {
        response.end(await work.run());
      } catch {
        response.writeHead(500).end();
      }
    });
    return listening(createServer(listener).listen(0, '127.0.0.1'));
  },
  'hono on Node'(work) {
    const app = new Hono();
    app.use(forHono(work.options));
    app.get('/', async (c) => c.text(await work.run()));
    app.onError((_, c) => c.text('', 500));
    return listening(serveHono({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server);
  },
  'nest on Express': nest(() => new ExpressAdapter()),
  'nest on Fastify': nest(() => new FastifyAdapter()),
};

let stop: (() => unknown) | undefined;
afterEach(async () => {
  await stop?.();
  stop = undefined;
});

const soon = { timeout: 30_000, interval: 10 };

describe.each(Object.keys(STARTS))('%s', (name) => {
  test('answers, failures and clients that hang up give their places back', { timeout: 60_000 }, async () => {
    const work = new Work();
    const running = await STARTS[name]!(work);
    stop = running.stop;
    const url = `http://127.0.0.1:${running.port}/`;
    for (const how of ['answer', 'fail'] as const) {
      const asked = fetch(url);
      await expect.poll(() => work.running, soon).toBe(1);
      expect(await work.free()).toBe(1);
      work.end(how);
      expect((await asked).status).toBe(how === 'answer' ? 200 : 500);
      await expect.poll(() => work.free(), soon).toBe(2);
    }
    const both = [get(url), get(url)];
    for (const request of both) request.on('error', () => {});
    await expect.poll(() => work.running, soon).toBe(2);
    expect((await fetch(url)).status).toBe(429);
    for (const request of both) request.destroy();
    await expect.poll(() => work.free(), soon).toBe(2);
  });
});

describe('responses that are objects', () => {
  const streamed = (): { response: Response; end(): void } => {
    let end!: () => void;
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('first '));
        end = () => {
          controller.enqueue(new TextEncoder().encode('last'));
          controller.close();
        };
      },
    });
    return { response: new Response(body, { headers: { 'x-own': 'yes' } }), end };
  };

  test('fetch: until the body has been read to its end, or was cancelled', async () => {
    const work = new Work();
    const made = streamed();
    const response = await forFetch(work.options)(() => made.response)(new Request('http://localhost/'));
    expect([await work.free(), response.headers.get('x-own')]).toEqual([1, 'yes']);
    made.end();
    expect(await response.text()).toBe('first last');
    expect(await work.free()).toBe(2);
    const other = await forFetch(work.options)(() => streamed().response)(new Request('http://localhost/'));
    await other.body!.cancel();
    expect(await work.free()).toBe(2);
  });

  test('fetch: when there is no body, when the handler fails, and when the client hangs up', async () => {
    const work = new Work();
    const limited = forFetch(work.options);
    await limited(() => new Response(null, { status: 204 }))(new Request('http://localhost/'));
    expect(await work.free()).toBe(2);
    const failing = limited(() => Promise.reject(new Error('no')));
    await expect(failing(new Request('http://localhost/'))).rejects.toThrow('no');
    expect(await work.free()).toBe(2);
    const aborting = new AbortController();
    const pending = limited(async () => new Response(await work.run()))(
      new Request('http://localhost/', { signal: aborting.signal }),
    );
    await expect.poll(() => work.running, soon).toBe(1);
    expect(await work.free()).toBe(1);
    aborting.abort();
    await expect.poll(() => work.free(), soon).toBe(2);
    work.end('answer');
    await pending;
  });

  test('hono, without Node beneath it', async () => {
    const work = new Work();
    const app = new Hono();
    app.use(forHono(work.options));
    const made = streamed();
    app.get('/', () => made.response);
    app.get('/fails', () => {
      throw new Error('no');
    });
    const response = await app.request('/');
    expect(await work.free()).toBe(1);
    made.end();
    expect(await response.text()).toBe('first last');
    expect(await work.free()).toBe(2);
    const failed = await app.request('/fails');
    expect(failed.status).toBe(500);
    await failed.text();
    await expect.poll(() => work.free(), soon).toBe(2);
  });
});

describe('upgrades to WebSocket', () => {
  const ACCEPTED = 'HTTP/1.1 101 Switching Protocols\r\n\r\n';

  async function opened(port: number): Promise<{ socket: Socket; answer: string }> {
    const socket = connect(port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    const [first] = await new Promise<[Buffer]>((resolve, reject) => {
      socket.once('data', (...data) => resolve(data as [Buffer]));
      socket.once('error', reject);
    });
    return { socket, answer: String(first) };
  }

  test('a connection holds its place until the client hangs up, it breaks, or the server ends it', {
    timeout: 60_000,
  }, async () => {
    const work = new Work();
    const server = createServer();
    const accepted: { end(): void; destroy(error?: Error): void }[] = [];
    const limited = rateLimitUpgrade(work.options)((_request, socket) => {
      socket.on('error', () => {});
      // As whoever speaks WebSocket does: an end is noticed by reading.
      socket.on('end', () => socket.end());
      socket.resume();
      socket.write(ACCEPTED);
      accepted.push(socket);
    });
    server.on('upgrade', limited);
    const running = await listening(server.listen(0, '127.0.0.1'));
    stop = () => {
      for (const socket of accepted) socket.destroy();
      return running.stop();
    };
    const [one, two, three] = [await opened(running.port), await opened(running.port), await opened(running.port)];
    expect([one.answer, two.answer]).toEqual([ACCEPTED, ACCEPTED]);
    expect(three.answer.split('\r\n')[0]).toBe('HTTP/1.1 429 Too Many Requests');
    expect(await work.free()).toBe(0);
    // The client hangs up; the server fails; the server ends it.
    one.socket.destroy();
    await expect.poll(() => work.free(), soon).toBe(1);
    accepted[1]!.destroy(new Error('broken'));
    await expect.poll(() => work.free(), soon).toBe(2);
    const last = await opened(running.port);
    expect(await work.free()).toBe(1);
    last.socket.on('end', () => last.socket.end());
    accepted[2]!.end();
    await expect.poll(() => work.free(), soon).toBe(2);
    for (const { socket } of [two, three]) socket.destroy();
  });
});
