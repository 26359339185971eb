/** The contract on Express 5 and 4. */
import { createServer, request } from 'node:http';
import express5, { type Express, type NextFunction, type Request, type RequestHandler } from 'express';
import express4 from 'express4';
import { afterEach, expect, test } from 'vitest';
import { rateLimit } from '../../src/frameworks/express.ts';
import { byRoute, byUser } from '../../src/http/index.ts';
import { createLimiter, fixedWindow, tokenBucket } from '../../src/index.ts';
import { type App, frameworkContract, type Running } from './contract.ts';
import { listening } from './servers.ts';

const start = (express: () => Express) => (app: App) => {
  const server = express();
  const handler: RequestHandler = (request, response) => {
    const { status, body } = app.answer(request.rateLimit, (name) => request.get(name));
    response.status(status).send(body);
  };
  for (const [path, options] of Object.entries(app.routes)) server.all(path, rateLimit(options), handler);
  server.use(rateLimit(app.options), handler);
  server.use(((_error, _request, response, _next) => {
    response.status(500).end();
  }) as (error: unknown, ...rest: Parameters<RequestHandler>) => void);
  return listening(createServer(server).listen(0, '127.0.0.1'));
};

frameworkContract('express 5', start(express5));
frameworkContract('express 4', start(express4));

let running: Running | undefined;
afterEach(() => running?.stop());

const serve = async (app: Express): Promise<(path: string, init?: RequestInit) => Promise<Response>> => {
  running = await listening(createServer(app).listen(0, '127.0.0.1'));
  const { port } = running;
  return (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init);
};

test('a route of a router is one key, however its path is spelt', async () => {
  const seen: string[] = [];
  const limiter = createLimiter({ policy: tokenBucket({ capacity: 100, refillRate: 1 }) });
  const router = express5.Router();
  const key: RequestKey = (view) => {
    const route = byRoute()(view)!;
    seen.push(route);
    return route;
  };
  type RequestKey = NonNullable<Parameters<typeof rateLimit>[0]['key']>;
  router.get('/users/:id', rateLimit({ limiter, key }), (_, response) => void response.end());
  const app = express5();
  app.use('/api', router);
  app.get('/users/:id', rateLimit({ limiter, key }), (_, response) => void response.end());
  const get = await serve(app);
  for (const path of ['/api/users/1', '/API/users/2', '/api/USERS/3?x', '/users/4', '/Users/5/']) await get(path);
  expect(seen).toEqual([...Array(3).fill('route:GET /api/users/:id'), ...Array(2).fill('route:GET /users/:id')]);
});

test('a client that hangs up before the answer does not get its attempt back', async () => {
  const limiter = createLimiter({ policy: fixedWindow({ limit: 5, window: '1d' }) });
  let isHandled: () => void = () => {};
  const handled = new Promise<void>((resolve) => {
    isHandled = resolve;
  });
  const closed = new Promise<void>((resolve) => {
    const app = express5();
    app.use(rateLimit({ limiter, key: () => 'eve', countOnly: ({ status }) => status >= 400 }), (_, response) => {
      response.once('close', () => setImmediate(resolve));
      isHandled();
    });
    void serve(app).then(async () => {
      const asking = request({ port: running!.port, host: '127.0.0.1' }).on('error', () => {});
      asking.end();
      await handled;
      asking.destroy();
    });
  });
  await closed;
  expect(await limiter.peek('eve')).toMatchObject({ remaining: 4 });
});

test('the innermost limit is the one that is told', async () => {
  const app = express5();
  app.use(rateLimit({ policy: tokenBucket({ name: 'all', capacity: 100, refillRate: '1/h' }) }));
  app.get(
    '/',
    rateLimit({ policy: tokenBucket({ name: 'one', capacity: 9, refillRate: '1/h' }) }),
    (request, response) => {
      response.json(request.rateLimit?.policy);
    },
  );
  const get = await serve(app);
  const response = await get('/');
  expect(response.headers.get('ratelimit')).toBe('"one";r=8;t=3600');
  expect(await response.json()).toBe('one');
});

test('a user of the request is a key', async () => {
  const app = express5();
  const key = byUser((request: Request) => request.get('authorization'));
  app.use(rateLimit({ policy: fixedWindow({ limit: 1, window: '1d' }), key }), (_, response) => void response.end());
  const get = await serve(app);
  const statuses = ['ada', 'bob', 'ada'].map(
    async (authorization) => (await get('/', { headers: { authorization } })).status,
  );
  expect((await Promise.all(statuses)).sort()).toEqual([200, 200, 429]);
});

test.each([
  ['5', express5],
  ['4', express4],
] as const)(
  'express %s: the result is there in every app that a request passes through, and can be replaced',
  async (_, express) => {
    const limiter = createLimiter({ policy: fixedWindow({ limit: 5, window: '1d' }) });
    const inner = express();
    inner.use(rateLimit({ limiter, key: () => 'ann' }));
    const [app, other] = [express(), express()];
    app.use(inner);
    app.get('/', ((request, response) => {
      const { rateLimit: told } = request;
      Object.assign(request, { rateLimit: undefined });
      response.json([told?.remaining, request.rateLimit ?? null, 'rateLimit' in request]);
    }) as RequestHandler);
    other.get('/', ((request, response) => void response.json(request.rateLimit ?? null)) as RequestHandler);
    const get = await serve(app);
    expect(await (await get('/')).json()).toEqual([4, null, true]);
    expect(await (await get('/')).json()).toEqual([3, null, true]);
    await running!.stop();
    expect(await (await (await serve(other))('/')).json()).toBe(null);
  },
);

test('without Express, it is a property of the request', () => {
  const limiter = createLimiter({ policy: fixedWindow({ limit: 5, window: '1d' }) });
  const headers = {};
  const plain = { headers, socket: {}, method: 'GET', url: '/' } as unknown as Request;
  const passed: unknown[] = [];
  rateLimit({ limiter, key: () => 'ann', headers: 'none' })(
    plain,
    {} as Parameters<RequestHandler>[1],
    ((error) => passed.push(error)) as NextFunction,
  );
  expect([passed, Object.keys(plain), plain.rateLimit?.remaining]).toEqual([
    [undefined],
    ['headers', 'socket', 'method', 'url', 'rateLimit'],
    4,
  ]);
});

test('what a handler makes of the request has it too, and the raw headers look as they came', async () => {
  const seen: unknown[] = [];
  const app = express5();
  app.use(rateLimit({ policy: fixedWindow({ limit: 5, window: '1d' }), headers: 'none' }));
  app.get('/', (request, response) => {
    seen.push(
      Object.create(request).rateLimit.remaining,
      JSON.stringify(request.rawHeaders),
      request.rawHeaders.length % 2,
    );
    request.rateLimit = undefined;
    seen.push(request.rateLimit);
    response.end();
  });
  await (await serve(app))('/', { headers: { 'x-one': '1' } });
  expect(seen).toEqual([4, expect.stringMatching(/^\["(?:[^"]*",")*[^"]*"\]$/), 0, undefined]);
});
