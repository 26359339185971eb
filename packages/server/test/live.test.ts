/** What happens right now: the sketch keeps its promise for any stream, and /v1/live says what was decided. */
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { HeavyHitters, mostFrequent } from '../src/service/heavy-hitters.ts';
import { Live } from '../src/service/live.ts';
import { type RunningService, startService } from './support.ts';

/** Streams of skewed items: some are frequent, most are not. */
const stream = fc.array(
  fc.oneof(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 60 })).map((number) => `item ${number}`),
  { maxLength: 400 },
);

function countsOf(items: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

function sketchOf(items: readonly string[], capacity: number): HeavyHitters {
  const sketch = new HeavyHitters(capacity);
  for (const item of items) sketch.add(item);
  return sketch;
}

describe('heavy hitters', () => {
  test('one stream or several: counts are never too low, never more than the error too high, and none that is frequent is missing', () => {
    fc.assert(
      fc.property(
        fc.array(stream, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 12 }),
        (streams, capacity) => {
          const found = mostFrequent(
            streams.map((items) => sketchOf(items, capacity)),
            1e3,
          );
          const all = streams.flat();
          const counts = countsOf(all);
          for (const { item, count, error } of found) {
            const real = counts.get(item) ?? 0;
            expect(count).toBeGreaterThanOrEqual(real);
            expect(count - error).toBeLessThanOrEqual(real);
          }
          const names = found.map(({ item }) => item);
          for (const [item, count] of counts) if (count > all.length / capacity) expect(names).toContain(item);
        },
      ),
    );
  });

  test('with room for all it counts exactly, the largest first', () => {
    const sketch = sketchOf([...'abracadabra'], 5);
    expect(mostFrequent([sketch], 3)).toEqual([
      { item: 'a', count: 5, error: 0 },
      { item: 'b', count: 2, error: 0 },
      { item: 'r', count: 2, error: 0 },
    ]);
  });

  test('a million different items take no more room than a few', () => {
    const sketch = new HeavyHitters(50);
    for (let index = 0; index < 1e6; index++) {
      sketch.add(`spray ${index}`);
      if (index % 10 === 0) sketch.add('the one');
    }
    expect(sketch.hitters).toHaveLength(50);
    const [first] = mostFrequent([sketch], 1);
    expect(first).toMatchObject({ item: 'the one' });
    expect(first!.count - first!.error).toBeLessThanOrEqual(1e5);
    expect(first!.count).toBeGreaterThanOrEqual(1e5);
  });
});

const NO_COUNTS = { allowed: 0, denied: 0, deniedByOthers: 0, wouldDeny: 0 };
const NO_RATES = { allowedPerSecond: 0, deniedPerSecond: 0, wouldDenyPerSecond: 0, deniedShare: 0, wouldDenyShare: 0 };
const policy = (name: string, counts: object) => ({ name, ...NO_COUNTS, ...NO_RATES, ...counts });

describe('the last seconds', () => {
  let now = 0;
  let live: Live;
  beforeEach(() => {
    now = 5_000;
    live = new Live(() => now);
  });
  const decided = (key: string, allowed: boolean, source = 'store', seconds = 0.001): void => {
    live.answered([{ policy: 'api', key, allowed, shadow: false }], source, seconds);
    live.requested(allowed);
  };

  test('rates, shares and keys', () => {
    for (let time = 0; time < 6; time++) decided('ann', true);
    for (let time = 0; time < 2; time++) decided('bob', false);
    now += 4_000;
    expect(live.view(10, 5, ['idle', 'api'])).toEqual({
      seconds: 4,
      requests: { allowed: 6, denied: 2, allowedPerSecond: 1.5, deniedPerSecond: 0.5, deniedShare: 0.25 },
      policies: [
        policy('idle', {}),
        policy('api', { allowed: 6, denied: 2, allowedPerSecond: 1.5, deniedPerSecond: 0.5, deniedShare: 0.25 }),
      ],
      store: { p50Ms: expect.any(Number), p99Ms: expect.any(Number), fallbackShare: 0 },
      top: {
        denied: [{ policy: 'api', key: 'bob', count: 2, error: 0 }],
        busiest: [
          { policy: 'api', key: 'ann', count: 6, error: 0 },
          { policy: 'api', key: 'bob', count: 2, error: 0 },
        ],
        wouldDeny: [],
      },
    });
  });

  test('a request that one of two policies denies is one denied request, and the other policy did not allow it', () => {
    const both = (allowed: boolean): void => {
      const decisions = ['api', 'daily'].map((policy) => ({ policy, key: 'ann', allowed: true, shadow: false }));
      live.answered([{ ...decisions[0]!, allowed }, decisions[1]!], 'store', 0.001);
      live.requested(allowed);
    };
    for (let time = 0; time < 3; time++) both(true);
    both(false);
    now += 2_000;
    const { requests, policies, top } = live.view(10, 5);
    expect(requests).toMatchObject({ allowed: 3, denied: 1, deniedShare: 0.25, allowedPerSecond: 1.5 });
    expect(policies).toMatchObject([
      { name: 'api', allowed: 3, denied: 1, deniedByOthers: 0, deniedShare: 0.25 },
      { name: 'daily', allowed: 3, denied: 0, deniedByOthers: 1, deniedShare: 0 },
    ]);
    expect(top.denied).toEqual([{ policy: 'api', key: 'ann', count: 1, error: 0 }]);
  });

  test('a policy in the shadow denies nobody: what it would deny is counted apart', () => {
    for (const allowed of [true, false, false]) {
      live.answered([{ policy: 'search', key: 'crawler', allowed, shadow: true }], 'store', 0.001);
      live.requested(true);
    }
    now += 1_000;
    const { requests, policies, top } = live.view(10, 5);
    expect(requests).toMatchObject({ allowed: 3, denied: 0, deniedShare: 0 });
    expect(policies).toMatchObject([
      { allowed: 3, denied: 0, wouldDeny: 2, wouldDenyPerSecond: 2, wouldDenyShare: 0.6667, deniedShare: 0 },
    ]);
    expect([top.denied, top.wouldDeny]).toEqual([[], [{ policy: 'search', key: 'crawler', count: 2, error: 0 }]]);
  });

  test('each second by itself, the oldest first, those in which nothing came too', () => {
    now = 10_400;
    decided('ann', true);
    now = 12_100;
    decided('ann', false);
    decided('ann', true, 'fallback');
    now = 13_500;
    const history = live.history(60);
    expect(history.map(({ secondsAgo, requests }) => [secondsAgo, requests])).toEqual([
      ...[5, 6, 7, 8, 9].map((second) => [13.5 - second - 1, { allowed: 0, denied: 0 }]),
      [2.5, { allowed: 1, denied: 0 }],
      [1.5, { allowed: 0, denied: 0 }],
      [0.5, { allowed: 1, denied: 1 }],
    ]);
    expect(history.map(({ second }) => second)).toEqual([5, 6, 7, 8, 9, 10, 11, 12]);
    expect(history.at(-1)).toMatchObject({
      policies: { api: { allowed: 1, denied: 1, deniedByOthers: 0, wouldDeny: 0 } },
      fallbackShare: 0.5,
    });
    now = 90_000;
    expect(live.history(60)).toHaveLength(60);
    expect(live.history(2)).toHaveLength(2);
  });

  test('since when the store is away: since the first answer that was not its own, or since somebody looked', () => {
    expect(live.storeState(true)).toEqual({ state: 'up', secondsAgo: 0 });
    now += 1_000;
    decided('ann', true);
    now += 1_000;
    decided('ann', true, 'fallback');
    now += 1_000;
    decided('ann', true, 'fallback');
    expect(live.storeState(false)).toEqual({ state: 'down', secondsAgo: 1 });
    now += 1_000;
    expect(live.storeState(false)).toEqual({ state: 'down', secondsAgo: 2 });
    expect(live.storeState(true)).toEqual({ state: 'up', secondsAgo: 0 });
    now += 1_500;
    expect(live.storeState(true)).toEqual({ state: 'up', secondsAgo: 1.5 });
    decided('ann', true, 'fallback');
    decided('ann', true, 'store');
    expect(live.storeState(false)).toEqual({ state: 'down', secondsAgo: 0 });
  });

  test('what is older is not in it, and after a minute it is gone', () => {
    decided('ann', true);
    now += 20_000;
    decided('bob', true);
    const keys = (seconds: number) => live.view(seconds, 5).top.busiest.map(({ key }) => key);
    expect(keys(10)).toEqual(['bob']);
    expect(keys(20).sort()).toEqual(['ann', 'bob']);
    now += 61_000;
    expect(keys(60)).toEqual([]);
    decided('carl', true);
    expect(keys(60)).toEqual(['carl']);
    expect(live.view(60, 5).seconds).toBe(60);
  });

  test('how fast the store is, without the answers that were not its own', () => {
    for (let time = 0; time < 98; time++) decided('a', true, 'store', 0.001);
    for (let time = 0; time < 2; time++) decided('a', true, 'store', 0.04);
    for (let time = 0; time < 50; time++) decided('a', false, 'deny-cache', 0);
    for (let time = 0; time < 50; time++) decided('a', true, 'fallback', 3);
    const { p50Ms, p99Ms, fallbackShare } = live.view(10, 5).store;
    expect(p50Ms).toBeGreaterThanOrEqual(1);
    expect(p50Ms).toBeLessThanOrEqual(1.2);
    expect(p99Ms).toBeGreaterThanOrEqual(40);
    expect(p99Ms).toBeLessThanOrEqual(48);
    expect(fallbackShare).toBe(0.25);
    expect(new Live(() => 0).view(1, 1).store).toEqual({ p50Ms: null, p99Ms: null, fallbackShare: 0 });
  });
});

describe('GET /v1/live', () => {
  let running: RunningService;
  beforeEach(async () => {
    running = await startService();
  });
  afterEach(() => running.stop());

  test('tells what was decided, with the keys as they were sent', async () => {
    const attempt = (policy: unknown, key: string, cost = 1) => running.post('/v1/attempt', { policy, key, cost });
    for (let time = 0; time < 4; time++) await attempt('api', 'new\nline', 4);
    for (let time = 0; time < 3; time++) await attempt('trial', 'ann');
    await attempt({ algorithm: 'gcra', name: 'mine', limit: 1, period: '1s' }, 'bob');
    await running.post('/v1/peek', { policy: 'daily', key: 'ann' });
    const { status, headers, body } = await running.get('/v1/live?seconds=60&top=2');
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(body.at).toBeCloseTo(Date.now() / 1e3, -2);
    const counts = body.policies.map(({ name, shadow, allowed, denied, wouldDeny }: Record<string, unknown>) => [
      ...[name, shadow, allowed, denied, wouldDeny],
    ]);
    expect(counts).toEqual([
      ['api', false, 2, 2, 0],
      ['daily', false, 0, 0, 0],
      ['trial', true, 3, 0, 2],
      ['shaped', false, 0, 0, 0],
      ['inline', false, 1, 0, 0],
    ]);
    expect(body.requests).toMatchObject({ allowed: 6, denied: 2, deniedShare: 0.25 });
    expect(body.top).toEqual({
      denied: [{ policy: 'api', key: 'new\nline', count: 2, error: 0 }],
      busiest: [
        { policy: 'api', key: 'new\nline', count: 4, error: 0 },
        { policy: 'trial', key: 'ann', count: 3, error: 0 },
      ],
      wouldDeny: [{ policy: 'trial', key: 'ann', count: 2, error: 0 }],
    });
  });

  test('a request under several policies, one of them in the shadow, is one request', async () => {
    const ask = () => running.post('/v1/attempt', { policies: ['api', 'daily', 'trial'], key: 'ann', cost: 5 });
    const answers = await Promise.all([ask(), ask(), ask()]);
    expect(answers.map(({ body }) => body.allowed)).toEqual([true, true, false]);
    const { body } = await running.get('/v1/live?seconds=60');
    expect(body.requests).toMatchObject({ allowed: 2, denied: 1, deniedShare: 0.3333 });
    expect(body.policies.slice(0, 3)).toMatchObject([
      { name: 'api', allowed: 2, denied: 1, deniedByOthers: 0 },
      { name: 'daily', allowed: 2, denied: 0, deniedByOthers: 1 },
      { name: 'trial', allowed: 2, denied: 0, deniedByOthers: 0, wouldDeny: 2 },
    ]);
  });

  test('says what each policy allows, whether anybody asked or not, and whether the store is there', async () => {
    const { body } = await running.get('/v1/live');
    expect(body.policies.map(({ limits }: { limits: object }) => limits)).toMatchObject([
      { algorithm: 'token-bucket', capacity: 10, refillRate: 1 },
      { algorithm: 'fixed-window', limit: 20, window: 86_400_000 },
      { algorithm: 'fixed-window', limit: 1 },
      { algorithm: 'leaky-bucket', mode: 'shaping' },
    ]);
    expect(body.store).toMatchObject({ state: 'up', since: expect.closeTo(Date.now() / 1e3, -2), description: 'test' });
    expect(body.history).toEqual([]);
  });

  test('tells of each second on demand', async () => {
    for (let time = 0; time < 3; time++) await running.post('/v1/attempt', { policy: 'api', key: 'ann', cost: 4 });
    type Second = { at: number; requests: { allowed: number; denied: number } };
    let history: Second[] = [];
    const sum = (name: 'allowed' | 'denied') => history.reduce((all, { requests }) => all + requests[name], 0);
    // They may have come in two seconds, and a second is told once it is over.
    while (sum('allowed') + sum('denied') < 3) history = (await running.get('/v1/live?history=60')).body.history;
    expect([sum('allowed'), sum('denied')]).toEqual([2, 1]);
    for (const { at } of history) expect(at).toBeCloseTo(Date.now() / 1e3, -2);
  });

  test.each(['seconds=0', 'seconds=61', 'seconds=x', 'top=0', 'top=101', 'top=1e1', 'history=61', 'history=-1'])(
    '?%s is refused',
    async (query) => {
      expect(await running.get(`/v1/live?${query}`)).toMatchObject({ status: 400, body: { error: 'invalid_field' } });
    },
  );
});
