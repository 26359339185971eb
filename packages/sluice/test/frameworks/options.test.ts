/** What `rateLimit` refuses when it is called, the same in every framework, and what it says of errors that come too late. */
import { fastify } from 'fastify';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { rateLimit as express } from '../../src/frameworks/express.ts';
import { rateLimit as plugin } from '../../src/frameworks/fastify.ts';
import { rateLimit as fetching } from '../../src/frameworks/fetch.ts';
import { rateLimit as hono } from '../../src/frameworks/hono.ts';
import { rateLimit as koa } from '../../src/frameworks/koa.ts';
import { rateLimit as node, rateLimitUpgrade } from '../../src/frameworks/node.ts';
import { createLimiter, fixedWindow, memoryStore, type Store } from '../../src/index.ts';

const policy = fixedWindow({ limit: 2, window: '1d' });
const limiter = createLimiter({ policy });
const countOnly = (): boolean => true;
const settle = (): number => 0;

const ROWS: readonly [title: string, options: object, path: string][] = [
  ['no limit at all', {}, 'rateLimit'],
  ['a limiter and a policy', { limiter, policy }, 'rateLimit'],
  ['a policy and policies', { policy, policies: [policy] }, 'createLimiter'],
  ['a policy that is none', { policy: { limit: 5 } }, 'policy.algorithm'],
  ['a limiter that is none', { limiter: { limit: 5 } }, 'rateLimit.limiter'],
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
const ADAPTERS: Record<string, RateLimit> = { express, koa, hono, fetch: fetching, node };

describe.each(Object.entries(ADAPTERS))('%s', (_, rateLimit) => {
  test.each(ROWS)('%s', (_title, options, path) => {
    expect(() => rateLimit(options as never)).toThrow(expect.objectContaining({ path }));
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
    const elsewhere = { ...memory, decide: async (...asked: Parameters<Store['decide']>) => memory.decide(...asked) };
    express({ limiter: createLimiter({ policy, store: elsewhere }), onWarning });
    inWorker(false);
    for (const options of [{ policy }, { limiter }]) express({ ...options, onWarning });
    expect(onWarning).not.toHaveBeenCalled();
  });
});

describe('one request counted twice', () => {
  const store = memoryStore();
  const over = (more: object = {}) =>
    createLimiter({ policy: fixedWindow({ limit: 9, window: '1d', ...more }), store });
  test.each<[title: string, outer: object, inner: object, isNoticed: boolean]>([
    ['settle twice', { limiter, settle }, { limiter, settle }, true],
    ['settle and plain', { limiter, settle }, { limiter }, true],
    ['two limiters over one store, with the same policy', { limiter: over() }, { limiter: over() }, true],
    ['with a policy that only has other numbers', { limiter: over() }, { limiter: over({ window: '1h' }) }, true],
    ['not with another policy', { limiter: over() }, { limiter: over({ name: 'other' }) }, false],
    ['nor over another store', { limiter: over() }, { policy: fixedWindow({ limit: 9, window: '1d' }) }, false],
  ])('is noticed: %s', async (_title, outer, inner, isNoticed) => {
    const codes: string[] = [];
    const common = { key: () => 'ada', onWarning: ({ code }: { code: string }) => codes.push(code) };
    await limiter.reset('ada');
    const twice = fetching({ ...common, ...outer })(fetching({ ...common, ...inner })(() => new Response()));
    await twice(new Request('http://localhost/'));
    expect(codes).toEqual(isNoticed ? ['SLUICE_COUNTED_TWICE'] : []);
  });
});
