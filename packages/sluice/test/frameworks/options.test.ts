/** What `rateLimit` refuses when it is called, the same in every framework, and what it says of errors that come too late. */
import { fastify } from 'fastify';
import { Hono } from 'hono';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { rateLimit as elysia, rateLimitHook } from '../../src/frameworks/elysia.ts';
import { rateLimit as express } from '../../src/frameworks/express.ts';
import { rateLimit as plugin } from '../../src/frameworks/fastify.ts';
import { rateLimit as fetching } from '../../src/frameworks/fetch.ts';
import { rateLimit as graphql } from '../../src/frameworks/graphql.ts';
import { rateLimit as h3 } from '../../src/frameworks/h3.ts';
import { rateLimit as hono } from '../../src/frameworks/hono.ts';
import { rateLimit as koa } from '../../src/frameworks/koa.ts';
import { rateLimit as mcp } from '../../src/frameworks/mcp.ts';
import { rateLimit as node, rateLimitUpgrade } from '../../src/frameworks/node.ts';
import { rateLimit as sveltekit } from '../../src/frameworks/sveltekit.ts';
import { rateLimit as trpc } from '../../src/frameworks/trpc.ts';
import { byIp } from '../../src/http/index.ts';
import { createLimiter, fixedWindow, memoryStore, type Store } from '../../src/index.ts';

const policy = fixedWindow({ limit: 2, window: '1d' });
const limiter = createLimiter({ policy });
const countOnly = (): boolean => true;
const settle = (): number => 0;

const ROWS: readonly [title: string, options: object, path: string][] = [
  ['no limit at all', {}, 'rateLimit'],
  ['a limiter and a policy', { limiter, policy }, 'rateLimit'],
  ['a limiter and a store', { limiter, store: memoryStore() }, 'rateLimit.store'],
  ['a store that is none', { policy, store: {} }, 'rateLimit.store'],
  ['a key that was not called', { policy, key: byIp }, 'rateLimit.key'],
  ['a status that is none of the caller', { policy, missing: 200 }, 'rateLimit.missing'],
  ['a policy and policies', { policy, policies: [policy] }, 'createLimiter'],
  ['a policy that is none', { policy: { limit: 5 } }, 'policy'],
  ['a limiter that is none', { limiter: { limit: 5 } }, 'rateLimit.limiter'],
  ['a limiter that is none, beside settle', { limiter: { limit: 5 }, settle }, 'rateLimit.limiter'],
  ['an unknown option', { policy, max: 5 }, 'rateLimit.max'],
  ['a key that is no function', { policy, key: 'ip' }, 'rateLimit.key'],
  ['a cost that is none', { policy, cost: -1 }, 'rateLimit.cost'],
  ['an unknown form of headers', { policy, headers: true }, 'rateLimit.headers'],
  ['countOnly that is no function', { policy, countOnly: true }, 'rateLimit.countOnly'],
  ['settle that is no function', { policy, settle: 5 }, 'rateLimit.settle'],
  ['onError that is no function', { policy, onError: 'log' }, 'rateLimit.onError'],
  ['countOnly and settle', { policy, countOnly, settle }, 'rateLimit'],
  ['settleWithin without settle', { policy, settleWithin: '1m' }, 'rateLimit.settleWithin'],
  ['settleWithin that is no duration', { policy, settle, settleWithin: 'soon' }, 'rateLimit.settleWithin'],
];

type RateLimit = (options: never) => unknown;
const ADAPTERS: Record<string, RateLimit> = { express, koa, hono, fetch: fetching, node, sveltekit, h3 };
const ALL: Record<string, RateLimit> = { ...ADAPTERS, elysia, 'a hook of elysia': rateLimitHook, trpc, graphql, mcp };

/** GraphQL settles by itself, and tools may have policies of their own beside a limiter. */
const FINE: Record<string, string> = { graphql: 'settleWithin without settle', mcp: 'a limiter and a store' };

describe.each(Object.entries(ALL))('%s', (name, rateLimit) => {
  test.each(ROWS.filter(([title]) => FINE[name] !== title))('%s', (_title, options, path) => {
    expect(() => rateLimit(options as never)).toThrow(expect.objectContaining({ path }));
  });
});

describe('an error names what is meant', () => {
  const POLICY = "The limit is a policy, as in policy: slidingWindowCounter({ limit: 100, window: '1m' }).";
  test.each<[options: unknown, sentence: string]>([
    [limiter, 'rateLimit: expected options, got a limiter. Write it in braces: { limiter }.'],
    [policy, 'rateLimit: expected options, got a policy. Write it in braces: { policy }.'],
    [memoryStore(), 'rateLimit: expected options, got a store. Write it in braces: { store }.'],
    [{ windowMs: 60_000, limit: 5 }, `rateLimit: unknown option \`windowMs\`. ${POLICY}`],
    [{ max: 5 }, `rateLimit: unknown option \`max\`. ${POLICY}`],
    [
      { policy, keyGenerator: () => '' },
      'rateLimit: unknown option `keyGenerator`. Use `key`, as in key: byIp(), or a function of the request.',
    ],
    [
      { policy, standardHeaders: 'draft-8' },
      "rateLimit: unknown option `standardHeaders`. Use `headers`: 'both', 'draft', 'legacy' or 'none'.",
    ],
    [
      { policy, trustProxy: 1 },
      'rateLimit: unknown option `trustProxy`. It is an option of byIp, as in key: byIp({ trustedProxies: 1 }).',
    ],
    [{ policy, coast: 1 }, 'rateLimit: unknown option `coast`. Did you mean `cost`?'],
    [{ policy, key: byIp }, 'rateLimit.key: byIp makes a key and has to be called. Write key: byIp().'],
    [
      {},
      "rateLimit: there is no limit. Give it a policy, as in policy: slidingWindowCounter({ limit: 100, window: '1m' }), or a limiter.",
    ],
    [{ limiter, policy }, 'rateLimit: a limiter has its policy already. Give it a `limiter` or a `policy`, not both.'],
    [
      { limiter, store: memoryStore() },
      'rateLimit: a limiter has its store already. Give the store to createLimiter({ policy, store }).',
    ],
  ])('%o', (options, sentence) => {
    for (const rateLimit of Object.values(ADAPTERS)) {
      expect(() => rateLimit(options as never)).toThrow(expect.objectContaining({ sentence }));
    }
  });
});

test.each([
  ['countOnly', { policy, countOnly }],
  ['settle', { policy, settle }],
])('an upgrade has no response to go by: %s', (name, options) => {
  expect(() => rateLimitUpgrade(options as never)).toThrow(
    expect.objectContaining({ path: `rateLimitUpgrade.${name}` }),
  );
});

test('an option of the adapter itself is checked too', () => {
  expect(() => hono({ policy, ip: '::1' as never })).toThrow(expect.objectContaining({ path: 'rateLimit.ip' }));
  expect(() => fetching({ policy, ip: '::1' as never })).toThrow(expect.objectContaining({ path: 'rateLimit.ip' }));
  expect(() => rateLimitUpgrade({ max: 5 } as never)).toThrow(
    expect.objectContaining({ path: 'rateLimitUpgrade.max' }),
  );
});

describe('an error that comes too late for the request', () => {
  const broken = { ...limiter, refund: () => Promise.reject(new Error('away')) };
  const request = new Request('http://localhost/');
  const later = () => new Promise((resolve) => setImmediate(resolve));

  test('goes to onError', async () => {
    const onError = vi.fn();
    const limited = fetching({ limiter: broken, key: () => 'one', countOnly: () => false, onError });
    expect((await limited(() => new Response())(request)).status).toBe(200);
    await later();
    expect(onError).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ message: 'away' }));
  });

  test('by default to the runtime', async () => {
    const emit = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    await fetching({ limiter: broken, key: () => 'two', countOnly: () => false })(() => new Response())(request);
    const failing = () => Promise.reject('just a text');
    await fetching({ limiter, key: () => 'three', settle: failing })(() => new Response())(request);
    await later();
    expect(emit.mock.calls.map(([warning]) => (warning as Error).message)).toEqual(['away', 'just a text']);
    emit.mockRestore();
  });
});

describe('a limit in memory, in a worker of a cluster', () => {
  const inWorker = (isWorker: boolean) =>
    vi.spyOn(process, 'getBuiltinModule').mockImplementation(() => ({ isWorker }) as never);
  afterEach(() => void vi.restoreAllMocks());

  test('is warned of once, to each who listens', () => {
    inWorker(true);
    const [one, other] = [vi.fn(), vi.fn()];
    for (const onWarning of [one, one, other]) express({ policy, onWarning });
    for (const told of [one, other]) {
      expect(told).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: 'SLUICE_MEMORY_IN_CLUSTER' }));
    }
    const emit = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    for (const rateLimit of Object.values(ADAPTERS)) rateLimit({ policy } as never);
    expect(emit).toHaveBeenCalledOnce();
  });

  test.each<[how: string, options: object]>([
    ['as a policy', { policy }],
    ['as policies', { policies: [policy] }],
    ['as a limiter', { limiter }],
    ['as a limiter with a store', { limiter: createLimiter({ policy, store: memoryStore() }) }],
  ])('however it was given: %s', (_, options) => {
    inWorker(true);
    const onWarning = vi.fn();
    express({ ...options, onWarning });
    expect(onWarning).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: 'SLUICE_MEMORY_IN_CLUSTER' }));
  });

  test('of a plugin too, which has a store for all of its routes', async () => {
    inWorker(true);
    const onWarning = vi.fn();
    for (const store of [undefined, memoryStore()]) await fastify().register(plugin, { policy, store, onWarning });
    expect(onWarning).toHaveBeenCalledOnce();
  });

  test('not with a store that is elsewhere, nor in the only process', () => {
    const onWarning = vi.fn();
    inWorker(true);
    const memory = memoryStore();
    const elsewhere: Store = { ask: async (question) => memory.ask(question) };
    express({ limiter: createLimiter({ policy, store: elsewhere }), onWarning });
    inWorker(false);
    for (const options of [{ policy }, { limiter }]) express({ ...options, onWarning });
    expect(onWarning).not.toHaveBeenCalled();
  });
});

describe('one request counted twice', () => {
  const store = memoryStore();
  const over = (more: object = {}) =>
    createLimiter({ policy: fixedWindow({ name: 'api', limit: 9, window: '1d', ...more }), store });
  test.each<[title: string, outer: object, inner: object, isNoticed: boolean]>([
    ['settle twice', { limiter, settle }, { limiter, settle }, true],
    ['settle and plain', { limiter, settle }, { limiter }, true],
    ['two limiters over one store, with the same policy', { limiter: over() }, { limiter: over() }, true],
    ['with a policy that only has other numbers', { limiter: over() }, { limiter: over({ window: '1h' }) }, true],
    ['not with another policy', { limiter: over() }, { limiter: over({ name: 'other' }) }, false],
    [
      'nor over another store',
      { limiter: over() },
      { policy: fixedWindow({ name: 'api', limit: 9, window: '1d' }) },
      false,
    ],
  ])('is noticed: %s', async (_title, outer, inner, isNoticed) => {
    const codes: string[] = [];
    const common = { key: () => 'ada', onWarning: ({ code }: { code: string }) => codes.push(code) };
    await limiter.reset('ada');
    const twice = fetching({ ...common, ...outer })(fetching({ ...common, ...inner })(() => new Response()));
    await twice(new Request('http://localhost/'));
    expect(codes).toEqual(isNoticed ? ['SLUICE_COUNTED_TWICE'] : []);
  });

  describe('but an object that is used again, as in tests, is another request', () => {
    const codes: string[] = [];
    const common = { limiter, key: () => 'ada', onWarning: ({ code }: { code: string }) => codes.push(code) };
    afterEach(() => expect(codes.splice(0)).toEqual([]));

    test('a Request', async () => {
      const handler = fetching(common)(() => new Response());
      const request = new Request('http://localhost/');
      for (let time = 0; time < 3; time++) await handler(request);
    });

    test('a Request of Hono', async () => {
      const app = new Hono().use(hono(common)).get('/', (c) => c.text(''));
      const request = new Request('http://localhost/');
      for (let time = 0; time < 3; time++) await app.request(request);
    });

    test('a mock of Express, with a response of its own and with the same one', () => {
      const request = { method: 'GET', url: '/', headers: {}, socket: {} };
      const response = () => ({ setHeader() {}, end() {}, once() {} });
      const middleware = express(common) as (...args: unknown[]) => void;
      const same = response();
      for (const each of [response(), response(), same, same]) middleware(request, each, () => {});
    });
  });

  test('a middleware that is installed twice is noticed', async () => {
    const codes: string[] = [];
    const limit = hono({ limiter, key: () => 'bob', onWarning: ({ code }) => codes.push(code) });
    const app = new Hono().use(limit).use(limit);
    app.get('/', (c) => c.text(''));
    await app.request('/');
    expect(codes).toEqual(['SLUICE_COUNTED_TWICE']);
  });
});
