/** `/v1/history`: page by page, never more than so many entries, by GET and by POST. `/v1/penalize` beside it. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { configOf, type RunningService, startService } from './support.ts';

const CONFIG = `
policies:
  login: { algorithm: sliding-window-log, limit: 5000, window: 1h, plans: { pro: { limit: 9000 } } }
  api: { algorithm: token-bucket, capacity: 10, refillRate: 1/s }
`;

let service: RunningService;
beforeEach(async () => {
  service = await startService({ config: configOf(CONFIG) });
});
afterEach(() => service.stop());

/** One attempt each millisecond. */
async function spend(count: number): Promise<void> {
  for (let time = 0; time < count; time++) {
    await service.post('/v1/attempt', { policy: 'login', key: 'ann', cost: (time % 3) + 1 });
    service.clock.advance(1);
  }
}

const ask = (question: object) => service.post('/v1/history', { policy: 'login', key: 'ann', ...question });
type Entry = { at: number; cost: number };

describe('/v1/history', () => {
  test('of a key that has done nothing', async () => {
    expect((await ask({})).body).toEqual({ policy: 'login', entries: [], next: null });
  });

  test('oldest first, with when and how much; by GET the same', async () => {
    await spend(3);
    const expected = {
      policy: 'login',
      entries: [1000, 1000.001, 1000.002].map((at, index) => ({ at, cost: index + 1 })),
      next: null,
    };
    expect((await ask({})).body).toEqual(expected);
    const got = await service.get('/v1/history?policy=login&key=ann');
    expect([got.status, got.body, got.headers.get('cache-control')]).toEqual([200, expected, 'no-store']);
  });

  test.each([
    ['POST', (after: number | null) => ask({ limit: 40, ...(after === null ? {} : { after }) })],
    [
      'GET',
      (after: number | null) =>
        service.get(`/v1/history?policy=login&key=ann&limit=40${after === null ? '' : `&after=${after}`}`),
    ],
  ])('page by page by %s, nothing twice and nothing left out', async (_, page) => {
    await spend(101);
    const all: Entry[] = [];
    let after: number | null = null;
    const sizes: number[] = [];
    do {
      const { body } = await page(after);
      all.push(...body.entries);
      sizes.push(body.entries.length);
      after = body.next;
    } while (after !== null);
    expect(sizes).toEqual([40, 40, 21]);
    expect(all.map(({ at }) => Math.round((at - 1000) * 1e3))).toEqual(
      Array.from({ length: 101 }, (_, index) => index),
    );
    expect(all.reduce((sum, { cost }) => sum + cost, 0)).toBe(201);
  });

  test('never more than a thousand, and a hundred unless told otherwise', async () => {
    await spend(1100);
    expect((await ask({})).body.entries).toHaveLength(100);
    const { body } = await ask({ limit: 1000 });
    expect([body.entries.length, body.next]).toEqual([1000, body.entries[999].at]);
  });

  test('of an inline policy, and with a plan', async () => {
    const policy = { algorithm: 'sliding-window-log', name: 'mine', limit: 5, window: '1m' };
    await service.post('/v1/attempt', { policy, key: 'bob', cost: 2 });
    expect((await service.post('/v1/history', { policy, key: 'bob' })).body.entries).toEqual([{ at: 1000, cost: 2 }]);
    await spend(1);
    expect((await ask({ plan: 'pro' })).body.entries).toHaveLength(1);
  });

  test.each([
    [{ policy: 'api' }, 'SLUICE_NO_HISTORY'],
    [{ policy: 'nope' }, 'unknown_policy'],
    [{ limit: 0 }, 'invalid_field'],
    [{ limit: 1001 }, 'invalid_field'],
    [{ limit: '5' }, 'invalid_field'],
    [{ after: 'yesterday' }, 'invalid_field'],
    [{ after: -1 }, 'invalid_field'],
    [{ cost: 1 }, 'invalid_field'],
    [{ policies: ['login'] }, 'invalid_field'],
    [{ key: '' }, 'invalid_field'],
  ])('%j is a 400', async (question, error) => {
    expect(await ask(question)).toMatchObject({ status: 400, body: { error } });
  });

  test.each([
    '',
    'policy=login',
    'key=ann',
    'policy=login&key=ann&limit=0',
    'policy=login&key=ann&limit=x',
    'policy=login&key=ann&key=b',
  ])('GET with %j is a 400', async (query) => expect((await service.get(`/v1/history?${query}`)).status).toBe(400));

  test('not in a list, which could be an answer of any size', async () => {
    expect((await service.post('/v1/history', [{ policy: 'login', key: 'ann' }])).status).toBe(400);
  });
});

test('/v1/penalize takes what does not fit, down to nothing, and no more', async () => {
  const penalize = (cost: number) => service.post('/v1/penalize', { policy: 'api', key: 'ann', cost });
  expect((await penalize(4)).body).toMatchObject({ changed: 4, remaining: 6 });
  expect((await penalize(40)).body).toMatchObject({ changed: 6, remaining: 0 });
  expect((await service.post('/v1/attempt', { policy: 'api', key: 'ann' })).body).toMatchObject({
    allowed: false,
    retryAfter: 1,
  });
  const list = await service.post('/v1/penalize', [
    { policy: 'api', key: 'bob' },
    { policy: 'api', key: 'bob', cost: -1 },
  ]);
  expect(list.body).toMatchObject([
    { changed: 1, remaining: 9 },
    { error: 'invalid_field', path: '[1].cost' },
  ]);
});
