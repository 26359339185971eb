/** The framework-neutral middle: what an adapter is told to do, and what is refused before the first request. */
import { describe, expect, test, vi } from 'vitest';
import { gateOf } from '../../src/http/gate.ts';
import {
  anonymous,
  byHeader,
  byIp,
  byRoute,
  byUser,
  type GateOptions,
  gate,
  type RequestView,
} from '../../src/http/index.ts';
import {
  checkPolicy,
  createLimiter,
  fixedWindow,
  type Limiter,
  leakyBucket,
  manualClock,
  memoryStore,
  type SluiceError,
  tokenBucket,
} from '../../src/index.ts';
import { resultOf, viewOf } from './support.ts';

const NOW = 1_700_000_000_000;
const policy = tokenBucket({ capacity: 2, refillRate: 0.1 });
const limiterFor = (...policies: Parameters<typeof createLimiter>[0]['policy'][]): Limiter =>
  createLimiter({ policies: policies as never, store: memoryStore({ clock: manualClock(NOW) }) });
const gateWith = (options: Partial<GateOptions> = {}) =>
  gate({ limiter: limiterFor(policy), policies: [policy], onWarning: unexpected, ...options });
const unexpected = (warning: SluiceError): void => expect.unreachable(warning.message);

test('allowed: the result, the headers to set, what was spent', async () => {
  const decision = await gateWith()(viewOf());
  expect(decision).toMatchObject({
    allowed: true,
    result: { remaining: 1, policy: 'token-bucket' },
    headers: {
      'X-RateLimit-Limit': '2',
      'X-RateLimit-Remaining': '1',
      'X-RateLimit-Reset': '1700000010',
      'RateLimit-Policy': '"token-bucket";q=2;w=20',
      RateLimit: '"token-bucket";r=1;t=10',
    },
    spent: { key: 'ip:203.0.113.7', cost: 1 },
  });
});

test('denied: the whole response', async () => {
  const enter = gateWith({ cost: 2 });
  await enter(viewOf());
  const decision = await enter(viewOf({ headers: { accept: 'application/json' } }));
  expect(decision).toMatchObject({ allowed: false, result: { allowed: false, remaining: 0 } });
  expect(decision).toHaveProperty('response', {
    status: 429,
    headers: {
      'X-RateLimit-Limit': '2',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': '1700000020',
      'RateLimit-Policy': '"token-bucket";q=2;w=20',
      RateLimit: '"token-bucket";r=0;t=20',
      'Content-Type': 'application/json',
      'Cache-Control': 'no-store',
      'Retry-After': '20',
    },
    body: expect.stringContaining('"error":"rate_limited","message":"Too many requests. Retry after 20 seconds."'),
  });
});

test('the policies that a limiter says it has need not be repeated', async () => {
  const decision = await gate({ limiter: limiterFor(policy) })(viewOf());
  expect(decision).toHaveProperty(['headers', 'RateLimit-Policy'], '"token-bucket";q=2;w=20');
});

test('where a function chooses the policies the window is left out', async () => {
  const decision = await gate({ limiter: createLimiter({ policy: () => policy }) })(viewOf());
  expect(decision).toHaveProperty(['headers', 'RateLimit-Policy'], '"token-bucket";q=2');
});

test('no headers when none are wanted', async () => {
  expect(await gateWith({ headers: 'none' })(viewOf())).toMatchObject({ headers: {} });
});

test('skipped: nothing is asked and nothing is spent', async () => {
  const limiter = limiterFor(policy);
  const key = vi.fn(byIp());
  const decision = await gate({ limiter, key, skip: (view) => view.path === '/health' })(viewOf({ path: '/health' }));
  expect(decision).toEqual({ allowed: true, result: undefined, headers: {}, spent: undefined });
  expect(key).not.toHaveBeenCalled();
  expect(await limiter.peek('ip:203.0.113.7')).toMatchObject({ remaining: 2 });
});

describe('key, cost and context', () => {
  test('may be functions of the request, also asynchronous ones', async () => {
    const enter = gate<{ user: string; words: number }>({
      limiter: limiterFor(fixedWindow({ limit: 100, window: '1m' })),
      key: async (view) => `tenant:${view.native?.user}`,
      cost: async (view) => view.native?.words ?? 1,
    });
    const decision = await enter(viewOf({ native: { user: 'ada', words: 7 } }));
    expect(decision).toMatchObject({ result: { remaining: 93 }, spent: { key: 'tenant:ada', cost: 7 } });
  });

  test('the context chooses the policies, and the headers know all of them', async () => {
    const free = tokenBucket({ name: 'plan', capacity: 10, refillRate: 1 });
    const paid = tokenBucket({ name: 'plan', capacity: 100, refillRate: 1 });
    const enter = gate({
      limiter: createLimiter<string>({ policy: (plan) => (plan === 'paid' ? paid : free) }),
      policies: [free, paid],
      context: (view) => view.header('x-plan') ?? 'free',
    });
    const quota = async (plan: string | undefined) => {
      const decision = await enter(viewOf({ headers: { 'x-plan': plan } }));
      return decision.allowed && decision.headers['RateLimit-Policy'];
    };
    expect(await quota('paid')).toBe('"plan";q=100;w=100');
    expect(await quota(undefined)).toBe('"plan";q=10;w=10');
  });

  test.each([
    ['undefined', () => undefined],
    ['null', () => null],
    ['an empty one', () => ''],
    ['a promise of none', async () => undefined],
  ])('a key that is %s is a 401, and nothing is spent', async (_, key) => {
    const attempt = vi.fn();
    const enter = gate({ limiter: { ...limiterFor(policy), attempt }, key });
    expect(await enter(viewOf())).toMatchObject({ allowed: false, result: undefined, response: { status: 401 } });
    expect(attempt).not.toHaveBeenCalled();
  });

  test.each([
    ['a number', () => 5 as never],
    ['a promise of an object', async () => ({}) as never],
  ])('a key that is %s is an error, and nothing is spent', async (_, key) => {
    const attempt = vi.fn();
    const enter = gate({ limiter: { ...limiterFor(policy), attempt }, key });
    await expect(enter(viewOf())).rejects.toMatchObject({ code: 'SLUICE_INVALID_HTTP_KEY', path: 'key(request)' });
    expect(attempt).not.toHaveBeenCalled();
  });

  test('what `missing` gives that cannot be sent is an error', async () => {
    const enter = gateWith({ key: () => undefined, missing: () => ({ status: 401 }) as never });
    await expect(enter(viewOf())).rejects.toMatchObject({ code: 'SLUICE_INVALID_OPTION', path: 'missing(denial)' });
  });

  test('a cost that is none is an error', async () => {
    await expect(gateWith({ cost: () => -1 })(viewOf())).rejects.toMatchObject({ code: 'SLUICE_INVALID_COST' });
  });

  test('a store that fails is an error for the framework', async () => {
    const limiter = { ...limiterFor(policy), attempt: () => Promise.reject(new Error('away')) };
    await expect(gate({ limiter })(viewOf())).rejects.toThrow('away');
  });
});

describe('onDenied', () => {
  const denied = { ...limiterFor(policy), attempt: async () => resultOf({ allowed: false, retryAfter: 7 }) };

  test('is told, and the response stays when it gives none', async () => {
    const onDenied = vi.fn();
    const view = viewOf();
    const decision = await gate({ limiter: denied, onDenied })(view);
    expect(decision).toMatchObject({ response: { status: 429 } });
    expect(onDenied).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ status: 429 }), {
      view,
      result: expect.objectContaining({ retryAfter: 7 }),
    });
  });

  test('may give another response, later too', async () => {
    const decision = await gate({
      limiter: denied,
      onDenied: async (denial) => ({ ...denial, status: 403, body: 'slow down' }),
    })(viewOf());
    expect(decision).toMatchObject({ response: { status: 403, body: 'slow down', headers: { 'Retry-After': '7' } } });
  });

  test.each([
    ['no headers and no body', { status: 418 }],
    ['no status', { headers: {}, body: '' }],
    ['a status as text', { status: '429', headers: {}, body: '' }],
    ['a status of no response', { status: 101, headers: {}, body: '' }],
    ['headers of null', { status: 429, headers: null, body: '' }],
    ['a body that is no text', { status: 429, headers: {}, body: { error: 'slow down' } }],
    ['nothing of a response', {}],
  ])('a response with %s is an error', async (_, response) => {
    const enter = gate({ limiter: denied, onDenied: () => response as never });
    await expect(enter(viewOf())).rejects.toMatchObject({ code: 'SLUICE_INVALID_OPTION', path: 'onDenied(denial)' });
  });

  test.each([1, true, 'logged', null])('what is no object is no response: %s', async (given) => {
    const decision = await gate({ limiter: denied, onDenied: () => given as never })(viewOf());
    expect(decision).toMatchObject({ response: { status: 429 } });
  });
});

test('a slot that a shaping policy books is waited for', async () => {
  const slept: number[] = [];
  const enter = gate({
    limiter: limiterFor(leakyBucket({ capacity: 10, leakRate: 3, mode: 'shaping' })),
    sleep: async (ms) => void slept.push(ms),
  });
  for (let request = 0; request < 3; request++) await enter(viewOf());
  expect(slept).toEqual([334, 667]);
});

describe('warnings', () => {
  const listen = () => {
    const codes: string[] = [];
    return { codes, onWarning: (warning: SluiceError) => void codes.push(warning.code) };
  };

  test('X-Forwarded-For and nobody trusted, once', async () => {
    const { codes, onWarning } = listen();
    const enter = gateWith({ onWarning });
    await enter(viewOf());
    expect(codes).toEqual([]);
    for (let request = 0; request < 3; request++) await enter(viewOf({ headers: { 'x-forwarded-for': '1.1.1.1' } }));
    expect(codes).toEqual(['SLUICE_UNTRUSTED_FORWARDED_FOR']);
  });

  test('not when somebody is trusted', async () => {
    const view = viewOf({ headers: { 'x-forwarded-for': '1.1.1.1' } });
    await gateWith({ key: byIp({ trustedProxies: 1 }) })(view);
    await gateWith({ key: byIp({ trustedProxies: ['10.0.0.1'] }) })(view);
  });

  test('one request counted twice for one key by one limiter, once', async () => {
    const { codes, onWarning } = listen();
    const limiter = limiterFor(fixedWindow({ limit: 100, window: '1m' }));
    const [first, second] = [gate({ limiter }), gate({ limiter, onWarning })];
    for (const native of [{}, {}]) {
      await first(viewOf({ native }));
      await second(viewOf({ native }));
    }
    expect(codes).toEqual(['SLUICE_COUNTED_TWICE']);
  });

  test('not for two limiters, two keys, or two requests', async () => {
    const native = {};
    const limiter = limiterFor(fixedWindow({ limit: 100, window: '1m' }));
    await gateWith({ limiter })(viewOf({ native }));
    await gateWith({ limiter, key: byUser(() => 'ada') })(viewOf({ native }));
    await gateWith()(viewOf({ native }));
    await gateWith({ limiter })(viewOf({ native: {} }));
  });

  test.each<[what: string, view: RequestView]>([
    ['a view', viewOf()],
    ['an event of a function', viewOf({ native: { version: '2.0', routeKey: '$default' } })],
  ])('%s that one gate is given again is another request', async (_, view) => {
    const { codes, onWarning } = listen();
    const enter = gateWith({ onWarning });
    await enter(view);
    await enter(view);
    expect(codes).toEqual([]);
  });

  test('but not when the adapter knows that it is the same exchange', async () => {
    const { codes, onWarning } = listen();
    const enter = gateWith({ onWarning });
    const view: RequestView = viewOf({ exchange: {} });
    await enter(view);
    await enter(view);
    expect(codes).toEqual(['SLUICE_COUNTED_TWICE']);
  });

  test('the warning says what happens', async () => {
    const warnings: string[] = [];
    const limiter = limiterFor(fixedWindow({ limit: 100, window: '1m' }));
    const onWarning = ({ sentence }: SluiceError): void => void warnings.push(sentence);
    const view = viewOf();
    for (const enter of [gate({ limiter, onWarning }), gate({ limiter, onWarning })]) await enter(view);
    expect(warnings).toEqual([
      'One request was counted twice for one key: two rate limits spend from the same state, so neither of them holds ' +
        'as it is written. Install the limit once, or give the policies of two limits different names.',
    ]);
  });

  test('go to the runtime by default, once for all gates', async () => {
    const emit = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    for (let gates = 0; gates < 2; gates++) {
      await gate({ limiter: limiterFor(policy) })(viewOf({ headers: { 'x-forwarded-for': '1.1.1.1' } }));
    }
    expect(emit).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: 'SLUICE_UNTRUSTED_FORWARDED_FOR' }));
    emit.mockRestore();
  });

  test('are no trouble where the runtime has no place for them', async () => {
    vi.stubGlobal('process', undefined);
    const [enter, view] = [gate({ limiter: limiterFor(policy) }), viewOf()];
    const twice = Promise.all([enter(view), enter(view)]);
    vi.unstubAllGlobals();
    expect(await twice).toMatchObject([{ allowed: true }, { allowed: true }]);
  });
});

describe('options are refused when the gate is made', () => {
  test.each([undefined, null, 5])('no options at all: %s', (options) => {
    expect(() => gate(options as never)).toThrow(expect.objectContaining({ code: 'SLUICE_INVALID_OPTION' }));
  });

  test.each([
    ['an unknown one', { limits: 5 }, 'gate.limits'],
    ['no limiter', { limiter: undefined }, 'gate.limiter'],
    ['a limiter that is none', { limiter: {} }, 'gate.limiter'],
    ['a policy as limiter', { limiter: policy }, 'gate.limiter'],
    ['a key that is no function', { key: 'x-api-key' }, 'gate.key'],
    ['a status that is none of the caller', { missing: 500 }, 'gate.missing'],
    ['a status as text', { missing: '401' }, 'gate.missing'],
    ['a skip that is no function', { skip: ['/health'] }, 'gate.skip'],
    ['an onDenied that is no function', { onDenied: 'no' }, 'gate.onDenied'],
    ['an onWarning that is no function', { onWarning: true }, 'gate.onWarning'],
    ['a context that is no function', { context: 'paid' }, 'gate.context'],
    ['an unknown form', { headers: 'draft-12' }, 'gate.headers'],
    ['null for none', { headers: null }, 'gate.headers'],
    ['a single policy', { policies: policy }, 'gate.policies'],
    ['a policy that is none', { policies: [{}] }, 'gate.policies[0]'],
    ['a cost that is none', { cost: 1.5 }, 'gate.cost'],
  ])('%s', (_, options, path) => {
    expect(() => gateWith(options as never)).toThrow(expect.objectContaining({ path }));
  });

  test.each([
    [byIp, 'gate.key: byIp makes a key and has to be called. Write key: byIp().'],
    [byHeader, "gate.key: byHeader makes a key and has to be called. Write key: byHeader('x-api-key')."],
    [byRoute, 'gate.key: byRoute makes a key and has to be called. Write key: byRoute().'],
    [anonymous, 'gate.key: anonymous makes a key and has to be called. Write key: anonymous().'],
  ])('a helper that was not called: %o', (key, sentence) => {
    expect(() => gateWith({ key: key as never })).toThrow(
      expect.objectContaining({ code: 'SLUICE_INVALID_OPTION', path: 'gate.key', sentence }),
    );
  });

  test.each([
    [() => byIp({ proxies: 1 } as never), 'SLUICE_INVALID_OPTION', 'byIp.proxies'],
    [() => byIp({ trustedProxies: -1 }), 'SLUICE_INVALID_OPTION', 'byIp.trustedProxies'],
    [() => byIp({ trustedProxies: 1.5 }), 'SLUICE_INVALID_OPTION', 'byIp.trustedProxies'],
    [() => byIp({ trustedProxies: '10.0.0.0/8' as never }), 'SLUICE_INVALID_OPTION', 'byIp.trustedProxies'],
    [() => byIp({ trustedProxies: ['10.0.0.1', 'proxy.local'] }), 'SLUICE_INVALID_OPTION', 'byIp.trustedProxies[1]'],
    [() => byIp({ trustedProxies: ['10.0.0.0/33'] }), 'SLUICE_INVALID_OPTION', 'byIp.trustedProxies[0]'],
    [() => byIp({ trustedProxies: ['fd00::/129'] }), 'SLUICE_INVALID_OPTION', 'byIp.trustedProxies[0]'],
    [() => byIp({ trustedProxies: ['10.0.0.0/'] }), 'SLUICE_INVALID_OPTION', 'byIp.trustedProxies[0]'],
    [() => byIp({ trustedProxies: [null as never] }), 'SLUICE_INVALID_OPTION', 'byIp.trustedProxies[0]'],
    [() => byIp({ trustedProxies: true as never }), 'SLUICE_TRUSTS_EVERYONE', 'byIp.trustedProxies'],
    [() => byIp({ trustedProxies: Number.POSITIVE_INFINITY }), 'SLUICE_TRUSTS_EVERYONE', 'byIp.trustedProxies'],
    [() => byIp({ trustedProxies: 1000 }), 'SLUICE_TRUSTS_EVERYONE', 'byIp.trustedProxies'],
    [() => byIp({ trustedProxies: ['0.0.0.0/0'] }), 'SLUICE_TRUSTS_EVERYONE', 'byIp.trustedProxies[0]'],
    [() => byIp({ trustedProxies: ['128.0.0.0/1'] }), 'SLUICE_TRUSTS_EVERYONE', 'byIp.trustedProxies[0]'],
    [() => byIp({ trustedProxies: ['::/0'] }), 'SLUICE_TRUSTS_EVERYONE', 'byIp.trustedProxies[0]'],
    [() => byIp({ trustedProxies: ['::/64'] }), 'SLUICE_TRUSTS_EVERYONE', 'byIp.trustedProxies[0]'],
    [() => byIp({ trustedProxies: ['::ffff:0:0/96'] }), 'SLUICE_TRUSTS_EVERYONE', 'byIp.trustedProxies[0]'],
    [() => byIp({ trustedProxies: ['64:ff9b::/96'] }), 'SLUICE_TRUSTS_EVERYONE', 'byIp.trustedProxies[0]'],
    [() => byIp({ ipv6Subnet: 0 }), 'SLUICE_INVALID_OPTION', 'byIp.ipv6Subnet'],
    [() => byIp({ ipv6Subnet: 64.5 }), 'SLUICE_INVALID_OPTION', 'byIp.ipv6Subnet'],
    [() => byIp({ header: 'x-client' as never, trustedProxies: 1 }), 'SLUICE_INVALID_OPTION', 'byIp.header'],
    [() => byIp({ header: 'x-real-ip' }), 'SLUICE_INVALID_OPTION', 'byIp.header'],
    [() => byHeader('a b'), 'SLUICE_INVALID_OPTION', 'byHeader(name)'],
    [() => byUser('id' as never), 'SLUICE_INVALID_OPTION', 'byUser(fn)'],
  ])('%s', (define, code, path) => {
    expect(define).toThrow(expect.objectContaining({ code, path }));
  });

  test('the private networks and a whole /8 are no such mistake', () => {
    byIp({ trustedProxies: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', 'fe80::/10', '::1'] });
  });
});

describe('for adapters', () => {
  const limiter = limiterFor(tokenBucket({ capacity: 100, refillRate: 1 }));

  test.each<[string, Partial<GateOptions>]>([
    ['in the common case', {}],
    ['also of a cost', { cost: 5 }],
    [
      'also under several policies',
      { limiter: createLimiter({ policies: [policy, checkPolicy({ ...policy, name: 'other' })] }) },
    ],
  ])('is decided at once where nothing has to be waited for, %s', (_title, options) => {
    const decision = gateOf({ limiter, ...options }, 'rateLimit')(viewOf());
    expect(decision).toMatchObject({ allowed: true, result: { source: 'store' } });
  });

  test('and throws then', () => {
    expect(() => gateOf({ limiter, key: () => 5 as never }, 'rateLimit')(viewOf())).toThrow('SLUICE_INVALID_HTTP_KEY');
  });

  test('and answers a request without a key', () => {
    expect(gateOf({ limiter, key: () => undefined }, 'rateLimit')(viewOf())).toMatchObject({ allowed: false });
  });

  test.each<[string, Partial<GateOptions>]>([
    [
      'a limiter with an attempt of its own',
      { limiter: { ...limiter, attempt: (key: never) => limiter.attempt(key) } },
    ],
    ['a key that has to be found out', { key: async () => 'ada' }],
    ['a cost that has to be found out', { cost: () => 1 }],
    ['a question whether to skip', { skip: () => false }],
  ])('later: %s', async (_title, options) => {
    const decision = gateOf({ limiter, ...options }, 'rateLimit')(viewOf());
    expect(decision).toBeInstanceOf(Promise);
    expect(await decision).toMatchObject({ allowed: true, result: { allowed: true } });
  });
});
