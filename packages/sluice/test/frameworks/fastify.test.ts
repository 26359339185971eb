/** The contract on Fastify. */
import { type FastifyInstance, type FastifyRequest, fastify } from 'fastify';
import { describe, expect, test } from 'vitest';
import {
  type FastifyRateLimitOptions,
  type NativeView,
  rateLimit,
  rateLimitHook,
} from '../../src/frameworks/fastify.ts';
import { byRoute, byUser } from '../../src/http/index.ts';
import { fixedWindow, memoryStore, type Policy, type SluiceError, tokenBucket } from '../../src/index.ts';
import { type App, frameworkContract } from './contract.ts';
import { listening } from './servers.ts';

frameworkContract('fastify', async (app: App) => {
  const server = fastify({ forceCloseConnections: true });
  await server.register(rateLimit, app.options);
  const handler = (request: FastifyRequest, reply: { code(status: number): { send(body: string): unknown } }) => {
    const { status, body } = app.answer(request.rateLimit, (name) => request.headers[name]?.toString());
    return reply.code(status).send(body);
  };
  for (const [path, options] of Object.entries(app.routes)) {
    server.all(path, { config: { rateLimit: options } }, handler);
  }
  for (const path of ['/', '/health', '/one', '/two']) server.all(path, handler);
  await server.listen({ port: 0, host: '127.0.0.1' });
  return { ...(await listening(server.server)), stop: () => server.close() };
});

const day = (name: string, limit: number): Policy => fixedWindow({ name, limit, window: '1d', align: 'first' });
const remainingOf = (reply: { headers: Record<string, unknown> }): string | undefined =>
  /r=(\d+)/.exec(String(reply.headers.ratelimit))?.[1];

/** What is left after each of these requests, as the headers tell it. */
const left = async (app: FastifyInstance, ...asks: string[]): Promise<(string | undefined)[]> => {
  const seen = [];
  for (const ask of asks) {
    const [method, url] = ask.split(' ');
    seen.push(remainingOf(await app.inject({ method: method as 'GET', url: url! })));
  }
  return seen;
};

describe('routes', () => {
  test('take the limit of the plugin, one of their own, or none', async () => {
    const app = fastify();
    await app.register(rateLimit, { policy: day('all', 9) });
    app.get('/', async () => '');
    app.get('/own', { config: { rateLimit: { policy: day('own', 5) } } }, async () => '');
    app.get('/dear', { config: { rateLimit: { cost: 3 } } }, async () => '');
    app.get('/free', { config: { rateLimit: false } }, async () => '');
    expect(await left(app, 'GET /', 'GET /own', 'GET /', 'GET /own', 'GET /free', 'HEAD /')).toEqual([
      ...['8', '4', '7', '3', undefined, '6'],
    ]);
    expect(await left(app, 'GET /dear', 'GET /', 'GET /dear')).toEqual(['3', '2', '2']);
  });

  test('with the same policy have a limit each, also in a store that all share; HEAD is GET', async () => {
    const app = fastify();
    const shared = { policy: day('own', 5) };
    await app.register(rateLimit, { policy: day('own', 9), store: memoryStore() });
    app.get('/', async () => '');
    app.get('/one', { config: { rateLimit: shared } }, async () => '');
    app.get('/two', { config: { rateLimit: shared } }, async () => '');
    app.get('/users/:id', { config: { rateLimit: shared } }, async () => '');
    const asks = ['GET /', 'GET /one', 'GET /two', 'HEAD /one', 'GET /', 'GET /users/1', 'GET /users/2'];
    expect(await left(app, ...asks)).toEqual(['8', '4', '4', '3', '7', '4', '3']);
  });

  test('for several methods have one limit, and HEAD is in it', async () => {
    const app = fastify();
    await app.register(rateLimit, {});
    const config = { rateLimit: { policy: day('own', 5) } };
    app.route({ method: ['GET', 'POST'], url: '/', config, handler: async () => '' });
    app.route({ method: ['DELETE'], url: '/', config, handler: async () => '' });
    expect(await left(app, 'GET /', 'POST /', 'HEAD /', 'DELETE /', 'GET /')).toEqual(['4', '3', '2', '4', '1']);
  });

  test('are told apart also when a key looks like a part of another route', async () => {
    const app = fastify();
    await app.register(rateLimit, {});
    const policy = day('own', 5);
    app.get('/a', { config: { rateLimit: { policy, key: () => 'b|x' } } }, async () => '');
    app.get('/a|b', { config: { rateLimit: { policy, key: () => 'x' } } }, async () => '');
    expect(await left(app, 'GET /a', 'GET /a|b')).toEqual(['4', '4']);
  });

  test('of two versions have a limit each', async () => {
    const app = fastify();
    await app.register(rateLimit, {});
    const config = { rateLimit: { policy: day('own', 5) } };
    for (const version of ['1.0.0', '2.0.0']) app.get('/', { config, constraints: { version } }, async () => '');
    const ask = async (version: string): Promise<string | undefined> =>
      remainingOf(await app.inject({ url: '/', headers: { 'accept-version': version } }));
    expect([await ask('1.x'), await ask('2.x'), await ask('1.x')]).toEqual(['4', '4', '3']);
  });

  test('say nothing and are not limited when the plugin has no limit, or is not for all', async () => {
    for (const options of [{}, { policy: day('all', 9), global: false }]) {
      const app = fastify();
      await app.register(rateLimit, options);
      app.get('/', async () => '');
      app.get('/own', { config: { rateLimit: { policy: day('own', 5) } } }, async () => '');
      expect(await left(app, 'GET /', 'GET /own')).toEqual([undefined, '4']);
    }
  });

  test('of a scope within are limited too, and keep their own hooks', async () => {
    const app = fastify();
    const order: string[] = [];
    await app.register(rateLimit, { policy: day('all', 9), onWarning: () => {}, key: () => `${order.push('limit')}` });
    await app.register(async (scope) => {
      const onRequest = async (): Promise<void> => void order.push('own');
      scope.get('/within', { onRequest }, async () => '');
      scope.get('/several', { onRequest: [onRequest, onRequest] }, async () => '');
    });
    await left(app, 'GET /within', 'GET /several');
    expect(order).toEqual(['limit', 'own', 'limit', 'own', 'own']);
  });
});

test('a later hook knows who was logged in meanwhile', async () => {
  const app = fastify();
  app.decorateRequest('user', '');
  app.addHook('onRequest', async (request) => void Object.assign(request, { user: 'ada' }));
  const keys: (string | undefined)[] = [];
  const key = (view: NativeView<FastifyRequest>): string | undefined => {
    const user = byUser<FastifyRequest>((request) => (request as { user?: string }).user)(view);
    keys.push(user);
    return user;
  };
  await app.register(rateLimit, { policy: day('all', 9), hook: 'preHandler', key });
  app.get('/', async () => '');
  expect(await left(app, 'GET /')).toEqual(['8']);
  expect(keys).toEqual(['user:ada']);
});

describe.each(['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const)('at the hook %s', (hook) => {
  test.each([
    ['at once', () => 'ada'],
    ['later', async () => 'ada'],
  ])('a request passes with its body, and the next one is denied, by a key that is known %s', async (_, key) => {
    const app = fastify();
    await app.register(rateLimit, { policy: day('all', 1), hook, key });
    app.post('/', async (request) => request.body);
    const ask = () => app.inject({ method: 'POST', url: '/', payload: { a: 1 } });
    const [passed, denied] = [await ask(), await ask()];
    expect([passed.statusCode, passed.body, denied.statusCode]).toEqual([200, '{"a":1}', 429]);
  });
});

test('a hook alone is for what is no route', async () => {
  const app = fastify();
  app.setNotFoundHandler({ preHandler: rateLimitHook({ policy: day('lost', 1) }) }, (_, reply) =>
    reply.code(404).send(),
  );
  const statuses = [await app.inject('/nowhere'), await app.inject('/nowhere')].map(({ statusCode }) => statusCode);
  expect(statuses).toEqual([404, 429]);
});

test('the pattern of a route is known', async () => {
  const routes: (string | undefined)[] = [];
  const app = fastify();
  await app.register(rateLimit, { policy: day('all', 9), key: (view) => routes[routes.push(byRoute()(view)) - 1] });
  app.get('/users/:id', async () => '');
  await left(app, 'GET /users/1', 'HEAD /users/2?x');
  expect(routes).toEqual(['route:GET /users/:id', 'route:GET /users/:id']);
});

test('two of them do not meet', async () => {
  const app = fastify();
  await app.register(rateLimit, { policy: day('one', 9) });
  await app.register(rateLimit, { policy: day('two', 5) });
  app.get('/', async () => '');
  expect(await left(app, 'GET /', 'GET /')).toHaveLength(2);
});

describe('what is wrong is said when the app starts', () => {
  const registered = (options: object): Promise<unknown> =>
    Promise.resolve(fastify().register(rateLimit, options as FastifyRateLimitOptions));
  const routed = async (config: unknown): Promise<unknown> => {
    const app = fastify();
    await app.register(rateLimit, {});
    return app.get('/x', { config: { rateLimit: config as never } }, async () => '');
  };

  test.each([
    ['an unknown option', () => registered({ policy: day('all', 9), max: 5 }), 'rateLimit.max'],
    ['an unknown option without a limit', () => registered({ max: 5 }), 'rateLimit.max'],
    ['a policy that is null, which is no way to say none', () => registered({ policy: null }), 'rateLimit'],
    ['a route with a policy that is null', () => routed({ policy: null }), 'GET /x: config.rateLimit'],
    ['a hook that is none', () => registered({ policy: day('all', 9), hook: 'onSend' }), 'rateLimit.hook'],
    ['global without a limit', () => registered({ global: true }), 'rateLimit.global'],
    ['global that is no flag', () => registered({ policy: day('all', 9), global: 'yes' }), 'rateLimit.global'],
    ['a store that is none', () => registered({ policy: day('all', 9), store: {} }), 'rateLimit.store'],
    ['a route that has no limit', () => routed({ cost: 5 }), 'GET /x: config.rateLimit'],
    ['a route with true', () => routed(true), 'GET /x: config.rateLimit'],
    ['a route with an unknown option', () => routed({ policy: day('x', 1), max: 5 }), 'GET /x: config.rateLimit.max'],
  ])('%s', async (_, mistake, path) => {
    await expect(mistake()).rejects.toMatchObject({ path });
  });
});

describe('routes that were there before the plugin', () => {
  const limit = () => {
    const told: string[] = [];
    const onWarning = ({ code, path }: SluiceError) => void told.push(`${code} ${path}`);
    return { told, options: { policy: tokenBucket({ capacity: 5, refillRate: 1 }), onWarning } };
  };
  const hello = async () => 'hello';

  test('are not limited, which is said with the first request to one', async () => {
    const { told, options } = limit();
    const app = fastify();
    app.register(rateLimit, options);
    app.get('/', hello);
    app.post('/other', hello);
    await app.ready();
    expect(told).toEqual([]);
    expect((await app.inject('/')).headers).not.toHaveProperty('ratelimit');
    await app.inject('/');
    await app.inject({ method: 'POST', url: '/other' });
    expect(told).toEqual(['SLUICE_UNLIMITED_ROUTE GET /']);
  });

  test('those declared after it, of whatever methods, and those that nothing is known of are no mistake', async () => {
    const { told, options } = limit();
    const app = fastify();
    app.get('/free before', { config: { rateLimit: false } }, hello);
    app.get('/before', hello);
    await app.register(rateLimit, options);
    app.route({ method: ['GET', 'PUT'], url: '/after', handler: hello });
    app.get('/free', { config: { rateLimit: false } }, hello);
    for (const method of ['GET', 'HEAD', 'PUT'] as const) {
      expect((await app.inject({ method, url: '/after' })).headers).toHaveProperty('ratelimit');
    }
    for (const url of ['/free before', '/free', '/nowhere']) await app.inject(url);
    expect(told).toEqual([]);
    await app.inject('/before');
    expect(told).toEqual(['SLUICE_UNLIMITED_ROUTE GET /before']);
  });

  test('also where only those are limited that ask for it', async () => {
    const { told, options } = limit();
    const app = fastify();
    app.register(rateLimit, { onWarning: options.onWarning });
    app.get('/free', hello);
    app.get('/', { config: { rateLimit: { policy: options.policy } } }, hello);
    for (const url of ['/free', '/']) expect((await app.inject(url)).headers).not.toHaveProperty('ratelimit');
    expect(told).toEqual(['SLUICE_UNLIMITED_ROUTE GET /']);
  });

  test('nor are those of another scope, or of a plugin that limits only who asks for it', async () => {
    const [{ told, options }, other] = [limit(), limit()];
    const app = fastify();
    app.get('/health', hello);
    app.register(async (scope) => {
      await scope.register(rateLimit, options);
      scope.get('/api', hello);
    });
    app.register(async (scope) => {
      scope.get('/own', hello);
      await scope.register(rateLimit, { ...other.options, global: false });
    });
    for (const url of ['/health', '/api', '/own']) expect((await app.inject(url)).statusCode).toBe(200);
    expect([...told, ...other.told]).toEqual([]);
  });
});
