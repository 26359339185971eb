/** The setting that a framework has for proxies is kept to: one table for each, asked over real sockets from 127.0.0.1. */
import 'reflect-metadata';
import { createServer } from 'node:http';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import express5, { type Express } from 'express';
import express4 from 'express4';
import { type FastifyServerOptions, fastify } from 'fastify';
import { Hono } from 'hono';
import Koa3 from 'koa';
import Koa2 from 'koa2';
import { afterEach, describe, expect, test } from 'vitest';
import { rateLimit as expressLimit } from '../../src/frameworks/express.ts';
import { rateLimit as fastifyLimit } from '../../src/frameworks/fastify.ts';
import { rateLimit as fetchLimit } from '../../src/frameworks/fetch.ts';
import { rateLimit as honoLimit } from '../../src/frameworks/hono.ts';
import { rateLimit as koaLimit } from '../../src/frameworks/koa.ts';
import { RateLimitModule } from '../../src/frameworks/nest.ts';
import { anonymous, byIp, byUser, combine, type Key } from '../../src/http/index.ts';
import { createLimiter, type Limiter, type SluiceError, tokenBucket } from '../../src/index.ts';
import type { Running } from './contract.ts';
import { listening } from './servers.ts';

interface Options {
  readonly limiter: Limiter;
  readonly key?: Key | undefined;
  onWarning(warning: SluiceError): void;
}

const EVERYONE = 'SLUICE_TRUSTS_EVERYONE';
const UNTRUSTED = 'SLUICE_UNTRUSTED_FORWARDED_FOR';

let running: Running | undefined;
afterEach(async () => {
  await running?.stop();
  running = undefined;
});

/** What is asked of the limiter for requests with these headers, and what is warned of. */
async function seenBy(
  start: (options: Options) => Promise<Running>,
  key: Key | undefined,
  ...requests: Readonly<Record<string, string>>[]
): Promise<{ keys: string[]; warnings: string[] }> {
  const [keys, warnings]: string[][] = [[], []];
  const limiter = createLimiter({ policy: tokenBucket({ capacity: 100, refillRate: 1 }) });
  const attempt = ((asked: string) => {
    keys!.push(asked);
    return limiter.attempt(asked);
  }) as Limiter['attempt'];
  const onWarning = ({ code }: SluiceError): void => void warnings!.push(code);
  running = await start({ limiter: { ...limiter, attempt }, key, onWarning });
  for (const headers of requests) {
    expect((await fetch(`http://127.0.0.1:${running.port}/`, { headers })).status).toBe(200);
  }
  return { keys: keys!, warnings: warnings! };
}

const forwarded = (value: string): Record<string, string> => ({ 'x-forwarded-for': value });

type Row = [setting: unknown, forwardedFor: string, key: string, warnings: string[]];

/** What Express and Fastify mean the same by. */
const SHARED: Row[] = [
  [false, '1.1.1.1', 'ip:127.0.0.1', [UNTRUSTED]],
  [true, '9.9.9.9, 1.1.1.1', 'ip:9.9.9.9', [EVERYONE]],
  ['127.0.0.1', '9.9.9.9, 1.1.1.1', 'ip:1.1.1.1', []],
  ['loopback, 10.0.0.0/8', '9.9.9.9, 1.1.1.1, 10.0.0.2', 'ip:1.1.1.1', []],
  [['loopback', 'uniquelocal'], '9.9.9.9, 1.1.1.1, 10.0.0.2', 'ip:1.1.1.1', []],
  [['10.0.0.0/8'], '1.1.1.1', 'ip:127.0.0.1', []],
  [(address: string) => address === '127.0.0.1', '9.9.9.9, 1.1.1.1', 'ip:1.1.1.1', []],
  [() => true, '9.9.9.9, 1.1.1.1', 'ip:9.9.9.9', [EVERYONE]],
  ['loopback', '2001:db8:1:2:3:4:5:6', 'ip:2001:db8:1:2::/64', []],
  ['loopback', '::ffff:1.2.3.4', 'ip:1.2.3.4', []],
  ['loopback', 'unknown', 'ip:127.0.0.1', []],
];

const HOPS: Row[] = [
  [1, '9.9.9.9, 1.1.1.1', 'ip:1.1.1.1', []],
  [2, '9.9.9.9, 1.1.1.1, 10.0.0.2', 'ip:1.1.1.1', []],
  [1000, '9.9.9.9, 1.1.1.1', 'ip:9.9.9.9', [EVERYONE]],
];

const expressWith =
  (express: () => Express, setting: unknown, mount = (app: Express) => app) =>
  (options: Options) => {
    const app = express();
    app.use(expressLimit(options), (_request: unknown, response: { end(): void }) => response.end());
    const outer = mount(app);
    outer.set('trust proxy', setting);
    return listening(createServer(outer).listen(0, '127.0.0.1'));
  };

describe.each([
  ['5', express5],
  ['4', express4],
] as const)('express %s', (_version, express) => {
  test.each([...SHARED, ...HOPS])('trust proxy %s: %s is %s, warned of %j', async (setting, header, key, warnings) => {
    const seen = await seenBy(expressWith(express, setting), undefined, forwarded(header), forwarded(header));
    expect(seen).toEqual({ keys: [key, key], warnings });
  });

  test('an app inside of an app takes over its setting', async () => {
    const inOther = (app: Express): Express => {
      const outer = express();
      outer.use(app);
      return outer;
    };
    const seen = await seenBy(expressWith(express, 1, inOther), undefined, forwarded('9.9.9.9, 1.1.1.1'));
    expect(seen).toEqual({ keys: ['ip:1.1.1.1'], warnings: [] });
  });

  test.each<[what: string, key: Key, said: string]>([
    ['trustedProxies of byIp go first', byIp({ trustedProxies: 2 }), 'ip:9.9.9.9'],
    ['also when they are none, which is no mistake then', byIp({ trustedProxies: 0 }), 'ip:127.0.0.1'],
    ['the subnet is that of byIp', byIp({ ipv6Subnet: 48 }), 'ip:1.1.1.1'],
    ['in a combination', combine(byIp()), 'all:ip:1.1.1.1'],
  ])('%s', async (_what, key, said) => {
    const seen = await seenBy(expressWith(express, 1), key, forwarded('9.9.9.9, 1.1.1.1'));
    expect(seen).toEqual({ keys: [said], warnings: [] });
  });

  test('anonymous callers too', async () => {
    const { keys, warnings } = await seenBy(expressWith(express, 1), anonymous(), forwarded('9.9.9.9, 1.1.1.1'));
    expect([keys[0]?.split('|')[0], warnings]).toEqual(['all:ip:1.1.1.1', []]);
  });

  test('a key that does not use the address warns of none', async () => {
    const key = byUser(() => 'ada');
    const seen = await seenBy(expressWith(express, true), key, forwarded('1.1.1.1'));
    expect(seen).toEqual({ keys: ['user:ada'], warnings: [] });
  });
});

const fastifyWith = (trustProxy: unknown) => async (options: Options) => {
  const app = fastify({ trustProxy } as FastifyServerOptions);
  await app.register(fastifyLimit, options);
  app.get('/', async () => '');
  await app.listen({ port: 0, host: '127.0.0.1' });
  return { ...(await listening(app.server)), stop: () => app.close() };
};

describe('fastify', () => {
  test.each(SHARED)('trustProxy %s: %s is %s, warned of %j', async (setting, header, key, warnings) => {
    const seen = await seenBy(fastifyWith(setting), undefined, forwarded(header), forwarded(header));
    expect(seen).toEqual({ keys: [key, key], warnings });
  });

  test('a number of hops is what this Fastify does not trust, which is said when it matters', async () => {
    const seen = await seenBy(fastifyWith(1), undefined, {}, forwarded('9.9.9.9, 1.1.1.1'));
    expect(seen).toEqual({ keys: ['ip:127.0.0.1', 'ip:127.0.0.1'], warnings: [UNTRUSTED] });
    await running!.stop();
    expect(await seenBy(fastifyWith(1), undefined, {})).toEqual({ keys: ['ip:127.0.0.1'], warnings: [] });
  });

  test('trustedProxies of byIp go first', async () => {
    const seen = await seenBy(fastifyWith(true), byIp({ trustedProxies: 1 }), forwarded('9.9.9.9, 1.1.1.1'));
    expect(seen).toEqual({ keys: ['ip:1.1.1.1'], warnings: [] });
  });
});

describe.each([
  ['3', Koa3],
  ['2', Koa2],
])('koa %s', (_version, Koa) => {
  test.each<[setting: object, headers: Record<string, string>, key: string, warnings: string[]]>([
    [{}, forwarded('1.1.1.1'), 'ip:127.0.0.1', [UNTRUSTED]],
    [{ proxy: true }, forwarded('9.9.9.9, 1.1.1.1'), 'ip:9.9.9.9', [EVERYONE]],
    [{ proxy: true }, {}, 'ip:127.0.0.1', [EVERYONE]],
    [{ proxy: true, maxIpsCount: 1 }, forwarded('9.9.9.9, 1.1.1.1'), 'ip:1.1.1.1', []],
    [{ proxy: true, maxIpsCount: 2 }, forwarded('9.9.9.9, 1.1.1.1, 10.0.0.2'), 'ip:1.1.1.1', []],
    [{ proxy: true, proxyIpHeader: 'X-Real-IP' }, { 'x-real-ip': '1.1.1.1' }, 'ip:1.1.1.1', []],
    [{ proxy: true, proxyIpHeader: 'X-Real-IP' }, forwarded('1.1.1.1'), 'ip:127.0.0.1', []],
    [{ proxy: true, maxIpsCount: 1 }, forwarded('2001:db8::1'), 'ip:2001:db8::/64', []],
  ])('%j: %j is %s, warned of %j', async (setting, headers, key, warnings) => {
    const start = (options: Options) => {
      const app = new Koa(setting);
      app.use(koaLimit(options));
      app.use((ctx) => {
        ctx.body = '';
        ctx.status = 200;
      });
      return listening(createServer(app.callback()).listen(0, '127.0.0.1'));
    };
    expect(await seenBy(start, undefined, headers, headers)).toEqual({ keys: [key, key], warnings });
  });
});

describe('nest', () => {
  const nestWith = (adapter: () => ExpressAdapter | FastifyAdapter) => async (options: Options) => {
    class Answering {
      answer(): string {
        return '';
      }
    }
    Controller()(Answering);
    Get('/')(Answering.prototype, 'answer', Object.getOwnPropertyDescriptor(Answering.prototype, 'answer')!);
    class AppModule {}
    Module({ imports: [RateLimitModule.forRoot(options)], controllers: [Answering] })(AppModule);
    const app = await NestFactory.create(AppModule, adapter(), { logger: false, forceCloseConnections: true });
    await app.listen(0, '127.0.0.1');
    return { ...(await listening(app.getHttpServer())), stop: () => app.close() };
  };
  const overExpress = (setting: unknown) => () => {
    const adapter = new ExpressAdapter();
    adapter.set('trust proxy', setting);
    return adapter;
  };
  const overFastify = (trustProxy: unknown) => () => new FastifyAdapter({ trustProxy: trustProxy as string[] });

  test.each<[title: string, adapter: () => ExpressAdapter | FastifyAdapter, key: string, warnings: string[]]>([
    ['Express that trusts none', overExpress(false), 'ip:127.0.0.1', [UNTRUSTED]],
    ['Express with a number', overExpress(1), 'ip:1.1.1.1', []],
    ['Express with a list', overExpress(['loopback']), 'ip:1.1.1.1', []],
    ['Express that trusts everyone', overExpress(true), 'ip:9.9.9.9', [EVERYONE]],
    ['Fastify that trusts none', overFastify(false), 'ip:127.0.0.1', [UNTRUSTED]],
    ['Fastify with a list', overFastify(['loopback']), 'ip:1.1.1.1', []],
    // The Fastify of Nest is an older one, which counts hops.
    ['Fastify with a number', overFastify(1), 'ip:1.1.1.1', []],
    ['Fastify with far too large a number', overFastify(1000), 'ip:9.9.9.9', [EVERYONE]],
    ['Fastify that trusts everyone', overFastify(true), 'ip:9.9.9.9', [EVERYONE]],
  ])('over %s', async (_title, adapter, key, warnings) => {
    const seen = await seenBy(nestWith(adapter), undefined, forwarded('9.9.9.9, 1.1.1.1'));
    expect(seen).toEqual({ keys: [key], warnings });
  });
});

describe('an ip function of your own', () => {
  const policy = tokenBucket({ capacity: 100, refillRate: 1 });
  const unexpected = (warning: SluiceError): never => expect.unreachable(warning.message);
  const headers = { 'x-forwarded-for': '9.9.9.9', 'x-real-ip': '1.1.1.1' };

  test('hono: is believed, and a forwarded header beside it is no mistake', async () => {
    const app = new Hono();
    const ip = (c: { req: { header(name: string): string | undefined } }) => c.req.header('x-real-ip');
    app.use(honoLimit({ policy, ip, onWarning: unexpected })).get('/', (c) => c.text(''));
    expect((await app.request('/', { headers })).status).toBe(200);
  });

  test('fetch: likewise, and null is none', async () => {
    const limited = fetchLimit({ policy, ip: (request) => request.headers.get('x-real-ip'), onWarning: unexpected });
    expect((await limited(() => new Response())(new Request('http://localhost/', { headers }))).status).toBe(200);
  });
});
