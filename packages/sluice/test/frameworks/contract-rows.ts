/** The rows of the contract: what is set up, what is asked, and the exact status, headers and body that come back. */
import type { RateLimitOptions } from '../../src/frameworks/options.ts';
import { byHeader, byIp, byRoute, byUser, combine, firstOf } from '../../src/http/index.ts';
import {
  createLimiter,
  fixedWindow,
  gcra,
  type Limiter,
  leakyBucket,
  type ManualClock,
  memoryStore,
  type Policy,
  type Store,
  tokenBucket,
} from '../../src/index.ts';
import { deadline, fallback, layered } from '../../src/layers/index.ts';

// biome-ignore lint/suspicious/noExplicitAny: each framework has a request type of its own, and the table is for all.
export type AnyOptions = RateLimitOptions<any, any>;

export interface Ask {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Milliseconds to let pass before. */
  readonly after?: number;
  readonly status: number;
  /** Those of the headers below that come, by name; all of them and no others. */
  readonly sees?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Row {
  readonly title: string;
  readonly options: (clock: ManualClock) => AnyOptions;
  readonly routes?: (clock: ManualClock) => Readonly<Record<string, AnyOptions>>;
  readonly asks: readonly Ask[];
  /** How many of the requests get as far as a handler. */
  readonly handled: number;
}

const bucket = tokenBucket({ name: 'bucket', capacity: 2, refillRate: 0.1 });
/** With the headers of the draft alone, to be short. */
const over = (clock: ManualClock, ...policies: Policy[]) => ({
  limiter: createLimiter({ policies, store: memoryStore({ clock }) }) as Limiter,
  policies,
  headers: 'draft' as const,
});
const twoOfBucket = (clock: ManualClock): AnyOptions => over(clock, bucket);

const FIRST = { 'ratelimit-policy': '"bucket";q=2;w=20', ratelimit: '"bucket";r=1;t=10' };
const SECOND = { 'ratelimit-policy': '"bucket";q=2;w=20', ratelimit: '"bucket";r=0;t=10' };
const THIRD = {
  'ratelimit-policy': '"bucket";q=2;w=20',
  ratelimit: '"bucket";r=0;t=10',
  'retry-after': '10',
  'content-type': 'application/problem+json',
  'cache-control': 'no-store',
};
const PROBLEM =
  '{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",' +
  '"title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,' +
  '"detail":"Too many requests. Retry after 10 seconds.",' +
  '"error":"rate_limited","message":"Too many requests. Retry after 10 seconds.","violated-policies":["bucket"]}';
const REDUCED =
  '{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",' +
  '"title":"Request cannot be satisfied due to temporary server capacity constraints","status":503,' +
  '"detail":"Temporarily unavailable. Retry after 1 second.",' +
  '"error":"temporarily_unavailable","message":"Temporarily unavailable. Retry after 1 second."}';
const noKey = (why: string): string =>
  JSON.stringify({
    type: 'about:blank',
    title: 'Unauthorized',
    status: 401,
    detail: `This request does not say who is calling${why}`,
    error: 'missing_key',
    message: `This request does not say who is calling${why}`,
  });
const MISSING = { 'content-type': 'application/problem+json', 'cache-control': 'no-store' };

const away: Store = { ask: () => Promise.reject(new Error('the store is away')) };
const hung: Store = { ask: () => new Promise(() => {}) };
const as = (user: string): { headers: Record<string, string> } => ({ headers: { 'x-user': user } });
const answers = (status: number): { headers: Record<string, string> } => ({ headers: { 'x-answer': `${status}` } });

export const ROWS: readonly Row[] = [
  {
    title: 'allowed, allowed, denied, and allowed again when it was promised',
    options: twoOfBucket,
    asks: [
      { status: 200, sees: FIRST, body: '1 left' },
      { status: 200, sees: SECOND, body: '0 left' },
      { status: 429, sees: THIRD, body: PROBLEM },
      {
        after: 9999,
        status: 429,
        sees: { ...THIRD, ratelimit: '"bucket";r=0;t=1', 'retry-after': '1' },
        body: PROBLEM.replaceAll('10 seconds', '1 second'),
      },
      { after: 1, status: 200, sees: SECOND, body: '0 left' },
    ],
    handled: 3,
  },
  {
    title: 'handlers read the key of their caller on the result, and JSON does not show it',
    options: (clock) => ({ ...twoOfBucket(clock), key: byHeader('x-user') }),
    asks: [
      { headers: { 'x-user': 'ann', 'x-who': '1' }, status: 200, body: 'header:x-user:ann: 1 left, false' },
      { headers: { 'x-user': 'bob', 'x-who': '1' }, status: 200, body: 'header:x-user:bob: 1 left, false' },
    ],
    handled: 2,
  },
  {
    title: 'the same body as plain JSON for clients that ask for it',
    options: twoOfBucket,
    asks: [
      { status: 200, sees: FIRST },
      { status: 200, sees: SECOND },
      {
        headers: { accept: 'application/json' },
        status: 429,
        sees: { ...THIRD, 'content-type': 'application/json' },
        body: PROBLEM,
      },
      { headers: { accept: 'application/problem+json' }, status: 429, sees: THIRD, body: PROBLEM },
    ],
    handled: 2,
  },
  {
    title: 'legacy headers',
    options: (clock) => ({ ...over(clock, bucket), headers: 'legacy', cost: 2 }),
    asks: [
      {
        status: 200,
        sees: { 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1700000020' },
        body: '0 left',
      },
      {
        status: 429,
        sees: {
          'x-ratelimit-limit': '2',
          'x-ratelimit-remaining': '0',
          'x-ratelimit-reset': '1700000020',
          'retry-after': '20',
          'content-type': 'application/problem+json',
          'cache-control': 'no-store',
        },
      },
    ],
    handled: 1,
  },
  ...[undefined, 'both' as const].map((headers) => ({
    title: `both kinds of headers, ${headers === undefined ? 'by default' : 'if asked for'}`,
    options: (clock: ManualClock) => ({ ...over(clock, bucket), headers }),
    asks: [
      {
        status: 200,
        sees: { ...FIRST, 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': '1700000010' },
      },
      {
        after: 1500,
        status: 200,
        sees: {
          'ratelimit-policy': '"bucket";q=2;w=20',
          ratelimit: '"bucket";r=0;t=9',
          'x-ratelimit-limit': '2',
          'x-ratelimit-remaining': '0',
          'x-ratelimit-reset': '1700000020',
        },
      },
      {
        status: 429,
        sees: {
          ...THIRD,
          ratelimit: '"bucket";r=0;t=9',
          'retry-after': '9',
          'x-ratelimit-limit': '2',
          'x-ratelimit-remaining': '0',
          'x-ratelimit-reset': '1700000020',
        },
      },
    ],
    handled: 2,
  })),
  {
    title: 'an older draft',
    options: (clock) => ({ ...over(clock, bucket), headers: 'draft-6' }),
    asks: [
      {
        status: 200,
        sees: {
          'ratelimit-policy': '2;w=20',
          'ratelimit-limit': '2',
          'ratelimit-remaining': '1',
          'ratelimit-reset': '10',
        },
      },
    ],
    handled: 1,
  },
  {
    title: 'headers of your own',
    options: (clock) => ({
      ...over(clock, bucket),
      headers: ({ remaining }) => ({ 'X-RateLimit-Remaining': `${remaining} of 2` }),
    }),
    asks: [{ status: 200, sees: { 'x-ratelimit-remaining': '1 of 2' } }],
    handled: 1,
  },
  {
    title: 'no headers, though a denial still says when',
    options: (clock) => ({ ...over(clock, bucket), headers: 'none', cost: 2 }),
    asks: [
      { status: 200, sees: {} },
      {
        status: 429,
        sees: { 'retry-after': '20', 'content-type': 'application/problem+json', 'cache-control': 'no-store' },
      },
    ],
    handled: 1,
  },
  {
    title: 'several policies: all are told, and the body names the one that denied',
    options: (clock) =>
      over(
        clock,
        gcra({ name: 'burst', limit: 60, period: '1m', capacity: 1 }),
        fixedWindow({ limit: 9, window: '1h' }),
      ),
    asks: [
      {
        status: 200,
        sees: {
          'ratelimit-policy': '"burst";q=1;w=1, "fixed-window";q=9;w=3600',
          ratelimit: '"burst";r=0;t=1, "fixed-window";r=8;t=2800',
        },
        body: '0 left',
      },
      {
        status: 429,
        sees: {
          'ratelimit-policy': '"burst";q=1;w=1, "fixed-window";q=9;w=3600',
          ratelimit: '"burst";r=0;t=1, "fixed-window";r=8;t=2800',
          'retry-after': '1',
          'content-type': 'application/problem+json',
          'cache-control': 'no-store',
        },
        body: PROBLEM.replaceAll('10 seconds', '1 second').replace('["bucket"]', '["burst"]'),
      },
    ],
    handled: 1,
  },
  {
    title: 'a policy and a store are a limit in that store',
    options: (clock) => ({ policy: bucket, store: memoryStore({ clock }), headers: 'draft' }),
    asks: [
      { status: 200, sees: FIRST },
      { after: 10_000, status: 200, sees: FIRST },
      { status: 200, sees: SECOND },
    ],
    handled: 3,
  },
  {
    title: 'a policy alone is a limit in memory',
    options: () => ({ policy: tokenBucket({ name: 'hourly', capacity: 5, refillRate: '1/h' }), headers: 'draft' }),
    asks: [
      {
        status: 200,
        sees: { 'ratelimit-policy': '"hourly";q=5;w=18000', ratelimit: '"hourly";r=4;t=3600' },
        body: '4 left',
      },
    ],
    handled: 1,
  },
  {
    title: 'skipped: uncounted, and without headers',
    options: (clock) => ({ ...over(clock, bucket), skip: ({ path }) => path.endsWith('/health') }),
    asks: [
      { path: '/health', status: 200, sees: {}, body: 'nothing' },
      { status: 200, sees: FIRST, body: '1 left' },
    ],
    handled: 2,
  },
  {
    title: 'a cost by the request, and one that never fits',
    options: (clock) => ({
      ...over(clock, tokenBucket({ name: 'bucket', capacity: 10, refillRate: 1 })),
      cost: async (view) => Number(view.header('X-Cost')),
    }),
    asks: [
      {
        headers: { 'x-cost': '7' },
        status: 200,
        sees: { 'ratelimit-policy': '"bucket";q=10;w=10', ratelimit: '"bucket";r=3;t=1' },
        body: '3 left',
      },
      {
        headers: { 'x-cost': '11', accept: 'application/json' },
        status: 429,
        sees: {
          'ratelimit-policy': '"bucket";q=10;w=10',
          ratelimit: '"bucket";r=3;t=7',
          'content-type': 'application/json',
          'cache-control': 'no-store',
        },
        body: PROBLEM.replaceAll('Retry after 10 seconds.', 'This request costs more than its limit ever allows.'),
      },
      { headers: { 'x-cost': 'much' }, status: 500, sees: {} },
    ],
    handled: 1,
  },
  {
    title: 'each key has a limit of its own',
    options: (clock) => ({ ...over(clock, bucket), key: byHeader('x-user') }),
    asks: [
      { ...as('ada'), status: 200, sees: FIRST },
      { ...as('bob'), status: 200, sees: FIRST },
      { ...as('ada'), status: 200, sees: SECOND },
      { ...as('ada'), status: 429, sees: THIRD },
      { ...as('bob'), status: 200, sees: SECOND },
    ],
    handled: 4,
  },
  {
    title: 'header taken out of the view',
    options: (clock) => ({ ...over(clock, bucket), key: ({ header }) => header('X-User') }),
    asks: [
      { ...as('ada'), status: 200, sees: FIRST },
      { ...as('bob'), status: 200, sees: FIRST },
    ],
    handled: 2,
  },
  {
    title: 'a header that is missing is a 401 that names it, and nothing is spent',
    options: (clock) => ({ ...over(clock, bucket), key: byHeader('X-User') }),
    asks: [
      { status: 401, sees: MISSING, body: noKey(': the header x-user is missing.') },
      { headers: { 'x-user': '' }, status: 401, sees: MISSING, body: noKey(': the header x-user is missing.') },
      {
        headers: { accept: 'application/json' },
        status: 401,
        sees: { ...MISSING, 'content-type': 'application/json' },
        body: noKey(': the header x-user is missing.'),
      },
      { method: 'HEAD', status: 401, sees: MISSING, body: '' },
      { ...as('ada'), status: 200, sees: FIRST },
    ],
    handled: 1,
  },
  {
    title: 'nobody who is logged in is a 401',
    options: (clock) => ({ ...over(clock, bucket), key: byUser(() => null) }),
    asks: [{ status: 401, sees: MISSING, body: noKey(': a user who is logged in is missing.') }],
    handled: 0,
  },
  {
    title: 'of several keys that one is named that is missing',
    options: (clock) => ({ ...over(clock, bucket), key: combine(byIp(), byHeader('x-user')) }),
    asks: [{ status: 401, sees: MISSING, body: noKey(': the header x-user is missing.') }],
    handled: 0,
  },
  {
    title: 'where one of several would do, all of them are named',
    options: (clock) => ({ ...over(clock, bucket), key: firstOf(byHeader('x-user'), byHeader('x-api-key')) }),
    asks: [{ status: 401, sees: MISSING, body: noKey(': the header x-user or the header x-api-key is missing.') }],
    handled: 0,
  },
  ...([undefined, null, ''] as const).map((nothing) => ({
    title: `a key function of your own that gives ${JSON.stringify(nothing)}: likewise`,
    options: (clock: ManualClock) => ({ ...over(clock, bucket), key: () => nothing }),
    asks: [{ status: 401, sees: MISSING, body: noKey('.') }],
    handled: 0,
  })),
  {
    title: 'a key that is found out later, and is none: likewise',
    options: (clock) => ({ ...over(clock, bucket), key: async () => undefined }),
    asks: [{ status: 401, sees: MISSING, body: noKey('.') }],
    handled: 0,
  },
  {
    title: 'a route that is limited by itself says what is missing, too',
    options: twoOfBucket,
    routes: () => ({ '/login': { policy: bucket, key: byHeader('x-user') } }),
    asks: [{ path: '/login', status: 401, sees: MISSING, body: noKey(': the header x-user is missing.') }],
    handled: 0,
  },
  {
    title: 'another status for what is missing',
    options: (clock) => ({ ...over(clock, bucket), key: byHeader('x-user'), missing: 400 }),
    asks: [
      {
        status: 400,
        sees: MISSING,
        body: noKey(': the header x-user is missing.').replace('Unauthorized', 'Bad Request').replace('401', '400'),
      },
    ],
    handled: 0,
  },
  {
    title: 'an answer of your own for what is missing',
    options: (clock) => ({
      ...over(clock, bucket),
      key: byHeader('x-user'),
      missing: async (denial, { view }) => ({ ...denial, headers: { 'X-Teapot': view.method }, body: 'Who is it?' }),
    }),
    asks: [{ status: 401, sees: { 'x-teapot': 'GET' }, body: 'Who is it?' }],
    handled: 0,
  },
  ...(
    [
      ['that throws', () => Promise.reject(new Error('no'))],
      ['that gives a number', () => 42 as never],
    ] as const
  ).map(([what, key]) => ({
    title: `a key function ${what}: an error of the framework, and no handler runs`,
    options: (clock: ManualClock) => ({ ...over(clock, bucket), key }),
    asks: [{ status: 500, sees: {} }],
    handled: 0,
  })),
  {
    title: 'no key, and somebody to ask instead',
    options: (clock) => ({ ...over(clock, bucket), key: firstOf(byHeader('x-user'), byIp()) }),
    asks: [
      { status: 200, sees: FIRST },
      { ...as('ada'), status: 200, sees: FIRST },
      { status: 200, sees: SECOND },
    ],
    handled: 3,
  },
  {
    title: 'the address of the socket, whatever a header claims',
    options: (clock) => ({ ...over(clock, bucket), key: byIp(), onWarning: () => {} }),
    asks: [
      { headers: { 'x-forwarded-for': '1.1.1.1' }, status: 200, sees: FIRST },
      { headers: { 'x-forwarded-for': '2.2.2.2' }, status: 200, sees: SECOND },
      { headers: { 'x-forwarded-for': '3.3.3.3' }, status: 429, sees: THIRD },
    ],
    handled: 2,
  },
  {
    title: 'the address that a trusted proxy tells',
    options: (clock) => ({ ...over(clock, bucket), key: byIp({ trustedProxies: 1 }) }),
    asks: [
      { headers: { 'x-forwarded-for': '9.9.9.9, 1.1.1.1' }, status: 200, sees: FIRST },
      { headers: { 'x-forwarded-for': '2.2.2.2' }, status: 200, sees: FIRST },
      { headers: { 'x-forwarded-for': '8.8.8.8, 1.1.1.1' }, status: 200, sees: SECOND },
    ],
    handled: 3,
  },
  {
    title: 'by route: HEAD is GET, and spelling gains nothing',
    options: (clock) => ({ ...over(clock, bucket), key: combine(byIp(), byRoute()) }),
    asks: [
      { path: '/one?x=1', status: 200, sees: FIRST },
      { path: '/two', status: 200, sees: FIRST },
      { method: 'POST', path: '/one', status: 200, sees: FIRST },
      { method: 'HEAD', path: '/one?x=2', status: 200, sees: SECOND },
      { path: '/one', status: 429, sees: THIRD },
    ],
    handled: 4,
  },
  {
    title: 'HEAD and OPTIONS count as all others, and a HEAD has no body',
    options: twoOfBucket,
    asks: [
      { method: 'HEAD', status: 200, sees: FIRST, body: '' },
      { method: 'OPTIONS', status: 200, sees: SECOND },
      { method: 'HEAD', status: 429, sees: THIRD, body: '' },
      { method: 'OPTIONS', status: 429, sees: THIRD, body: PROBLEM },
      { method: 'DELETE', status: 429, sees: THIRD, body: PROBLEM },
    ],
    handled: 2,
  },
  {
    title: 'a response of your own for those denied',
    options: (clock) => ({
      ...over(clock, bucket),
      cost: 2,
      onDenied: async (denial) => ({
        status: 418,
        headers: { ...denial.headers, 'Content-Type': 'text/plain', 'X-Teapot': 'yes' },
        body: 'short and stout',
      }),
    }),
    asks: [
      { status: 200, sees: SECOND },
      {
        status: 418,
        sees: {
          ...THIRD,
          ratelimit: '"bucket";r=0;t=20',
          'retry-after': '20',
          'content-type': 'text/plain',
          'x-teapot': 'yes',
        },
        body: 'short and stout',
      },
    ],
    handled: 1,
  },
  {
    title: 'the store fails: an error of the framework, and no handler runs',
    options: () => ({ limiter: createLimiter({ policy: bucket, store: away }) }),
    asks: [{ status: 500, sees: {} }],
    handled: 0,
  },
  {
    title: 'the store fails and falls open: handled',
    options: () => ({
      limiter: createLimiter({ policy: bucket, store: fallback({ to: 'allow' })(away) }),
      policies: [bucket],
      headers: 'draft',
    }),
    asks: [{ status: 200, sees: { 'ratelimit-policy': '"bucket";q=2;w=20', ratelimit: '"bucket";r=2;t=0' } }],
    handled: 1,
  },
  {
    title: 'the store fails and falls closed: 503',
    options: () => ({
      limiter: createLimiter({ policy: bucket, store: fallback({ to: 'deny' })(away) }),
      headers: 'none',
    }),
    asks: [
      {
        status: 503,
        sees: { 'retry-after': '1', 'content-type': 'application/problem+json', 'cache-control': 'no-store' },
        body: REDUCED,
      },
    ],
    handled: 0,
  },
  {
    title: 'the store fails and another one counts: at its limit a 429 as ever',
    options: () => ({
      limiter: createLimiter({ policy: bucket, store: fallback({ to: memoryStore() })(away) }),
      headers: 'none',
    }),
    asks: [{ status: 200, sees: {} }, { status: 200, sees: {} }, { status: 429 }],
    handled: 2,
  },
  {
    title: 'the store hangs: answered when the deadline has passed',
    options: () => ({
      limiter: createLimiter({
        policy: bucket,
        store: layered(hung, deadline({ timeout: '20ms' }), fallback({ to: 'allow' })),
      }),
      headers: 'none',
    }),
    asks: [
      { status: 200, sees: {} },
      { status: 200, sees: {} },
    ],
    handled: 2,
  },
  {
    title: 'a slot that a shaping policy books is waited for',
    options: (clock) => ({
      ...over(clock, leakyBucket({ name: 'even', capacity: 3, leakRate: 1, mode: 'shaping' })),
      sleep: async (ms) => clock.advance(ms),
    }),
    asks: [
      { status: 200, sees: { 'ratelimit-policy': '"even";q=3;w=3', ratelimit: '"even";r=2;t=1' } },
      { status: 200, sees: { 'ratelimit-policy': '"even";q=3;w=3', ratelimit: '"even";r=1;t=1' } },
      { after: 1000, status: 200, sees: { 'ratelimit-policy': '"even";q=3;w=3', ratelimit: '"even";r=2;t=1' } },
    ],
    handled: 3,
  },
  {
    title: 'limits by context',
    options: (clock) => {
      const plans = { free: bucket, paid: tokenBucket({ name: 'bucket', capacity: 100, refillRate: 10 }) };
      return {
        limiter: createLimiter({
          policy: (plan: keyof typeof plans) => plans[plan],
          store: memoryStore({ clock }),
        }),
        policies: Object.values(plans),
        headers: 'draft',
        key: byHeader('x-user'),
        context: (view) => (view.header('x-user') === 'ada' ? 'paid' : 'free'),
      };
    },
    asks: [
      { ...as('bob'), status: 200, sees: FIRST },
      {
        ...as('ada'),
        status: 200,
        sees: { 'ratelimit-policy': '"bucket";q=100;w=10', ratelimit: '"bucket";r=99;t=1' },
      },
    ],
    handled: 2,
  },
  {
    title: 'a route with a limit of its own',
    options: twoOfBucket,
    routes: (clock) => ({ '/login': over(clock, fixedWindow({ name: 'login', limit: 1, window: '1h' })) }),
    asks: [
      {
        path: '/login',
        status: 200,
        sees: { 'ratelimit-policy': '"login";q=1;w=3600', ratelimit: '"login";r=0;t=2800' },
        body: '0 left',
      },
      { path: '/', status: 200, sees: FIRST },
      {
        path: '/login',
        status: 429,
        sees: {
          ...THIRD,
          'ratelimit-policy': '"login";q=1;w=3600',
          ratelimit: '"login";r=0;t=2800',
          'retry-after': '2800',
        },
      },
      { path: '/', status: 200, sees: SECOND },
    ],
    handled: 3,
  },
  ...(
    [
      ['without headers and body', { status: 418 }],
      ['with a status that is none', { status: 9999, headers: {}, body: '' }],
      ['with a header that is none', { status: 302, headers: { Location: '/bu\nsy' }, body: '' }],
    ] as const
  ).map(([what, response]) => ({
    title: `a response of your own ${what} is an error of the request`,
    options: (clock: ManualClock) => ({ ...over(clock, bucket), cost: 2, onDenied: () => response as never }),
    asks: [{ status: 200, sees: SECOND }, { status: 500 }],
    handled: 1,
  })),
  {
    title: 'only failures count, as somebody finds out later',
    options: (clock) => ({ ...over(clock, bucket), countOnly: async ({ status }) => status >= 400 }),
    asks: [
      { ...answers(200), status: 200, sees: FIRST },
      { ...answers(401), status: 401, sees: FIRST },
      { ...answers(200), status: 200, sees: SECOND },
      { ...answers(403), status: 403, sees: SECOND },
      { ...answers(200), status: 429, sees: THIRD },
    ],
    handled: 4,
  },
  {
    title: 'only failures count',
    options: (clock) => ({ ...over(clock, bucket), countOnly: ({ status }) => status >= 400 }),
    asks: [
      { ...answers(200), status: 200, sees: FIRST },
      { ...answers(200), status: 200, sees: FIRST },
      { ...answers(401), status: 401, sees: FIRST },
      { ...answers(204), status: 204, sees: SECOND },
      { ...answers(403), status: 403, sees: SECOND },
      { ...answers(200), status: 429, sees: THIRD },
    ],
    handled: 5,
  },
  {
    title: 'an estimate is reserved, and the truth settled afterwards',
    options: (clock) => ({
      ...over(clock, tokenBucket({ name: 'bucket', capacity: 100, refillRate: 1 })),
      cost: 60,
      settle: async ({ view, status }) => (status === 200 ? Number(view.header('x-used')) : 0),
    }),
    asks: [
      {
        headers: { 'x-used': '20' },
        status: 200,
        sees: { 'ratelimit-policy': '"bucket";q=100;w=100', ratelimit: '"bucket";r=40;t=1' },
        body: '40 left',
      },
      {
        headers: { 'x-used': '75' },
        status: 200,
        sees: { 'ratelimit-policy': '"bucket";q=100;w=100', ratelimit: '"bucket";r=20;t=1' },
      },
      {
        headers: { 'x-used': '1' },
        status: 429,
        sees: {
          ...THIRD,
          'ratelimit-policy': '"bucket";q=100;w=100',
          ratelimit: '"bucket";r=5;t=55',
          'retry-after': '55',
        },
      },
    ],
    handled: 2,
  },
];
