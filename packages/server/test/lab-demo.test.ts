/** The demo routes as a browser, curl or a program drives them: counts, waits, sessions, and what is refused. */
import { manualClock, memoryStore } from 'sluice';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openLab } from '../src/lab/lab.ts';
import { jsonLog } from '../src/service/log.ts';
import { type RunningService, startService } from './support.ts';

const clock = manualClock(0);
const demoStore = memoryStore({ clock });
const silent = jsonLog(() => {});
let running: RunningService;
beforeAll(async () => {
  running = await startService({ beside: await openLab({ demoStore }, silent) });
});
afterAll(() => running.stop());
beforeEach(() => clock.set(1_200_000_000));

/** A browser: it keeps the cookie. */
function browser() {
  let cookie = '';
  return async (path: string, body: unknown = '') => {
    const reply = await running.post(`/api/rate-limit/${path}`, body, cookie === '' ? {} : { cookie });
    cookie = reply.headers.get('set-cookie')?.split(';')[0] ?? cookie;
    expect(reply.status, reply.text).toBe(200);
    return reply.body;
  };
}

interface Row {
  readonly path: string;
  readonly config?: object;
  readonly count: number;
  readonly allowed: number;
  readonly limit: number;
  /** Of everything that is denied. */
  readonly retryAfter: number;
  /** Of the second that is allowed. */
  readonly delay?: number;
  /** Milliseconds after which exactly one more is allowed. */
  readonly next: number;
}

const shaping = { mode: 'shaping' };
const ROWS: readonly Row[] = [
  { path: 'fixed-window', count: 12, allowed: 10, limit: 10, retryAfter: 10, next: 10_000 },
  { path: 'sliding-window-log', count: 12, allowed: 10, limit: 10, retryAfter: 10, next: 10_000 },
  { path: 'sliding-window-counter', count: 12, allowed: 10, limit: 10, retryAfter: 10.000001, next: 10_000.001 },
  { path: 'token-bucket', count: 12, allowed: 10, limit: 10, retryAfter: 1, next: 1000 },
  { path: 'leaky-bucket', count: 12, allowed: 10, limit: 10, retryAfter: 1, next: 1000 },
  { path: 'leaky-bucket', config: shaping, count: 12, allowed: 10, limit: 10, retryAfter: 1, delay: 1, next: 1000 },
  { path: 'gcra', count: 12, allowed: 10, limit: 10, retryAfter: 1, next: 1000 },
  {
    path: 'fixed-window',
    config: { maxRequests: 3, windowSeconds: 0.5 },
    count: 5,
    allowed: 3,
    limit: 3,
    retryAfter: 0.5,
    next: 500,
  },
  {
    path: 'sliding-window-log',
    config: { maxRequests: 3 },
    count: 5,
    allowed: 3,
    limit: 3,
    retryAfter: 10,
    next: 10_000,
  },
  {
    path: 'sliding-window-counter',
    config: { windowSeconds: 60 },
    count: 11,
    allowed: 10,
    limit: 10,
    retryAfter: 60.000001,
    next: 60_000.001,
  },
  {
    path: 'token-bucket',
    config: { maxTokens: 4, refillRate: 0.5 },
    count: 6,
    allowed: 4,
    limit: 4,
    retryAfter: 2,
    next: 2000,
  },
  {
    path: 'leaky-bucket',
    config: { capacity: 4, leakRate: 2, mode: 'policing' },
    count: 6,
    allowed: 4,
    limit: 4,
    retryAfter: 0.5,
    next: 500,
  },
  {
    path: 'leaky-bucket',
    config: { capacity: 4, leakRate: 2, mode: 'shaping' },
    count: 6,
    allowed: 4,
    limit: 4,
    retryAfter: 0.5,
    delay: 0.5,
    next: 500,
  },
  {
    path: 'gcra',
    config: { maxRequests: 60, windowSeconds: 60, capacity: 5 },
    count: 7,
    allowed: 5,
    limit: 5,
    retryAfter: 1,
    next: 1000,
  },
  {
    path: 'token-bucket',
    config: { maxTokens: 1000, refillRate: 1 },
    count: 1000,
    allowed: 1000,
    limit: 1000,
    retryAfter: 1,
    next: 1000,
  },
];

const bodyOf = ({ config }: Row): object => (config === undefined ? {} : { config });

test.each(ROWS)('$path $config: a burst of $count is answered one by one, in order', async (row) => {
  const { path, count, allowed, limit, retryAfter, delay } = row;
  const results = await browser()(`${path}/burst`, { count, ...bodyOf(row) });
  expect(results).toEqual(
    Array.from({ length: count }, (_, index) => ({
      allowed: index < allowed,
      remaining: Math.max(0, allowed - 1 - index),
      limit,
      retryAfter: index < allowed ? null : expect.closeTo(retryAfter, 9),
      delay: delay === undefined || index === 0 || index >= allowed ? null : expect.closeTo(delay * index, 9),
    })),
  );
});

const SMALL = ROWS.filter(({ count }) => count <= 20);

test.each(SMALL)('$path $config: and so are single requests, until exactly when it says', async (row) => {
  const { path, allowed, next } = row;
  const send = browser();
  const body = bodyOf(row);
  for (let sent = 0; sent < allowed; sent += 1) expect((await send(path, body)).remaining).toBe(allowed - 1 - sent);
  expect(await send(path, body)).toMatchObject({ allowed: false, remaining: 0, delay: null });
  clock.advance(next - 0.001);
  expect((await send(path, body)).allowed).toBe(false);
  clock.advance(0.001);
  expect((await send(path, body)).allowed).toBe(true);
});

test('a burst comes at one instant, on a clock that does not stand still', async () => {
  const service = await startService({ beside: await openLab({}, silent) });
  const config = { maxTokens: 500, refillRate: 100_000 };
  const { body } = await service.post('/api/rate-limit/token-bucket/burst', { count: 1000, config });
  expect(body.map(({ allowed }: { allowed: boolean }) => allowed)).toEqual([
    ...Array(500).fill(true),
    ...Array(500).fill(false),
  ]);
  await service.stop();
});

describe('what may be left out', () => {
  test.each(['', '{}', '{"config":{}}'])('the body %j means the defaults', async (body) => {
    expect(await browser()('fixed-window', body)).toEqual({
      ...{ allowed: true, remaining: 9, limit: 10, retryAfter: null, delay: null },
    });
    expect(await browser()('gcra/burst', body)).toHaveLength(10);
  });

  test('nobody asks for a content type', async () => {
    const response = await fetch(`${running.url}/api/rate-limit/gcra`, {
      method: 'POST',
      body: new TextEncoder().encode('{"config":{"maxRequests":2}}'),
    });
    expect(await response.json()).toMatchObject({ allowed: true, limit: 2 });
  });
});

describe('sessions', () => {
  test('each browser has its own, and a cookie that scripts cannot read', async () => {
    const [ann, bob] = [browser(), browser()];
    await ann('token-bucket/burst', { count: 10 });
    expect((await ann('token-bucket')).allowed).toBe(false);
    expect((await bob('token-bucket')).remaining).toBe(9);
    const { headers } = await running.post('/api/rate-limit/gcra', '');
    expect(headers.get('set-cookie')).toMatch(/^sluice_lab=[\w-]{22}; Path=\/; HttpOnly; SameSite=Strict$/);
  });

  test('who comes with a cookie gets no other one', async () => {
    const { headers } = await running.post('/api/rate-limit/gcra', '');
    const cookie = `theme=dark; ${headers.get('set-cookie')!.split(';')[0]}; x=y`;
    const again = await running.post('/api/rate-limit/gcra', '', { cookie });
    expect([again.headers.get('set-cookie'), again.body.remaining]).toEqual([null, 8]);
  });

  test.each([
    'sluice_lab=',
    'sluice_lab=x',
    `sluice_lab=${'a'.repeat(23)}`,
    'sluice_lab=aaaaaaaaaa{aaaaaaaaaaa',
    'other=1',
  ])('a cookie that is none of ours (%s) gets a new one', async (cookie) => {
    const { headers, body } = await running.post('/api/rate-limit/gcra', '', { cookie });
    expect([headers.get('set-cookie') === null, body.remaining]).toEqual([false, 9]);
  });

  test('the algorithms of a session do not share, and a reset clears all of them and nobody else', async () => {
    const [ann, bob] = [browser(), browser()];
    const paths = [
      'fixed-window',
      'sliding-window-log',
      'sliding-window-counter',
      'token-bucket',
      'leaky-bucket',
      'gcra',
    ];
    const spendAll = async () => {
      for (const path of paths) expect((await ann(`${path}/burst`, { count: 10 })).at(-1).allowed).toBe(true);
      expect((await ann('leaky-bucket/burst', { count: 10, config: shaping })).at(-1).delay).toBe(9);
    };
    await spendAll();
    await bob('gcra');
    for (const path of paths) expect((await ann(path)).allowed).toBe(false);
    expect(await ann('reset')).toEqual({ reset: true });
    expect((await bob('gcra')).remaining).toBe(8);
    await spendAll();
  });

  test('there are so many at most: the oldest makes room, and what it left is forgotten', async () => {
    const store = memoryStore({ clock });
    const beside = await openLab({ demoStore: store, maxSessions: 3 }, silent);
    const service = await startService({ beside });
    const first = await service.post('/api/rate-limit/gcra', '');
    const cookie = first.headers.get('set-cookie')!.split(';')[0]!;
    for (let others = 0; others < 3; others += 1) await service.post('/api/rate-limit/gcra', '');
    expect(store.stats().keys).toBe(3);
    expect((await service.post('/api/rate-limit/gcra', '', { cookie })).body.remaining).toBe(9);
    expect(store.stats().keys).toBe(3);
    await service.stop();
  });
});

describe('what is refused', () => {
  /** Path, body, field. */
  const BAD: readonly (readonly [path: string, body: unknown, field: string | undefined])[] = [
    ['no-such', {}, 'algorithm'],
    ['no-such/burst', {}, 'algorithm'],
    ['constructor', {}, 'algorithm'],
    ['Fixed-Window', {}, 'algorithm'],
    ['reset/burst', {}, 'algorithm'],
    ['fixed-window', '{', undefined],
    ['fixed-window', 'null', 'body'],
    ['fixed-window', '[]', 'body'],
    ['fixed-window', '5', 'body'],
    ['fixed-window', { maxRequests: 5 }, 'maxRequests'],
    ['fixed-window', { count: 5 }, 'count'],
    ['fixed-window', { config: null }, 'config'],
    ['fixed-window', { config: [] }, 'config'],
    ['fixed-window', { config: 'x' }, 'config'],
    ['fixed-window', { config: { maxRequests: 0 } }, 'config.maxRequests'],
    ['fixed-window', { config: { maxRequests: -1 } }, 'config.maxRequests'],
    ['fixed-window', { config: { maxRequests: 1.5 } }, 'config.maxRequests'],
    ['fixed-window', { config: { maxRequests: '10' } }, 'config.maxRequests'],
    ['fixed-window', { config: { maxRequests: null } }, 'config.maxRequests'],
    ['fixed-window', { config: { maxRequests: 1_000_001 } }, 'config.maxRequests'],
    ['fixed-window', '{"config":{"maxRequests":1e999}}', 'config.maxRequests'],
    ['sliding-window-log', { config: { maxRequests: 10_001 } }, 'config.maxRequests'],
    ['fixed-window', { config: { windowSeconds: 0 } }, 'config.windowSeconds'],
    ['fixed-window', { config: { windowSeconds: -5 } }, 'config.windowSeconds'],
    ['fixed-window', { config: { windowSeconds: '10s' } }, 'config.windowSeconds'],
    ['sliding-window-counter', { config: { windowSeconds: 86_401 } }, 'config.windowSeconds'],
    ['fixed-window', { config: { maxTokens: 5 } }, 'config.maxTokens'],
    ['fixed-window', { config: { mode: 'shaping' } }, 'config.mode'],
    ['fixed-window', '{"config":{"__proto__":{}}}', 'config.__proto__'],
    ['token-bucket', { config: { maxTokens: 0 } }, 'config.maxTokens'],
    ['token-bucket', { config: { refillRate: 0 } }, 'config.refillRate'],
    ['token-bucket', { config: { refillRate: '1/s' } }, 'config.refillRate'],
    ['token-bucket', { config: { capacity: 5 } }, 'config.capacity'],
    ['token-bucket', { config: { maxTokens: 1_000_000, refillRate: 1 } }, 'config.refillRate'],
    ['leaky-bucket', { config: { mode: 'queueing' } }, 'config.mode'],
    ['leaky-bucket', { config: { mode: null } }, 'config.mode'],
    ['leaky-bucket', { config: { leakRate: -1 } }, 'config.leakRate'],
    ['leaky-bucket', { config: { capacity: {} } }, 'config.capacity'],
    ['gcra', { config: { capacity: 0 } }, 'config.capacity'],
    ['gcra', { config: { capacity: 1_000_000 } }, 'config.capacity'],
    ['gcra', { config: { leakRate: 1 } }, 'config.leakRate'],
    ['gcra/burst', { count: 0 }, 'count'],
    ['gcra/burst', { count: 1001 }, 'count'],
    ['gcra/burst', { count: 2.5 }, 'count'],
    ['gcra/burst', { count: '5' }, 'count'],
    ['gcra/burst', { count: 5, config: { maxRequests: 'x' } }, 'config.maxRequests'],
    ['gcra/burst', { size: 5 }, 'size'],
    ['reset', { all: true }, 'all'],
  ];

  test.each(BAD)('%s %j names %s', async (path, body, field) => {
    const reply = await running.post(`/api/rate-limit/${path}`, body);
    expect(reply.status).toBe(400);
    expect(reply.body.path).toBe(field);
    if (field !== undefined) expect(reply.body.message).toMatch(/^\S+: expected .+, got .+/);
    expect(reply.headers.get('set-cookie')).toBeNull();
  });

  test('a way to ask that is none', async () => {
    expect((await running.get('/api/rate-limit/gcra')).status).toBe(405);
    expect((await running.post('/api/rate-limit/gcra/more', '')).status).toBe(404);
    expect((await running.post('/api/rate-limit/', '')).status).toBe(404);
  });
});

test('nothing of it is a decision of the limits, or of the memory that they have', async () => {
  await browser()('gcra/burst', { count: 10 });
  expect((await running.get('/metrics')).text).not.toMatch(/sluice_decisions_total\{.*\} [1-9]/);
  const { body } = await running.get('/v1/live');
  expect(body.top.busiest).toEqual([]);
});
