/** Somebody always answers, says who, and says it once to the hook. */
import { describe, expect, test } from 'vitest';
import {
  fixedWindow,
  gcra,
  leakyBucket,
  manualClock,
  memoryStore,
  type Policy,
  SluiceError,
  type Store,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../../src/index.ts';
import { type FallbackOptions, fallback } from '../../src/layers/index.ts';
import { ruleOf } from '../../src/model/policy.ts';
import { bucket, change, check, counting, decide, forget, history, puppet, waitedFor } from './support.ts';

const AWAY = ['throws', 'rejects'] as const;

function around(options: FallbackOptions, inner = puppet()) {
  const clock = manualClock(5000);
  return { inner, clock, store: fallback({ clock, warnings: false, ...options })(inner) };
}

describe.each(AWAY)('a store that %s', (mood) => {
  const away = (options: FallbackOptions) => {
    const made = around(options);
    made.inner.behaves = mood;
    return made;
  };

  test('allow: as if nothing were spent', async () => {
    const { store } = away({ to: 'allow' });
    const full = { allowed: true, remaining: 10, retryAfter: 0, resetAfter: 0, delay: 0 };
    expect(await decide(store, [check(), check(bucket, 10)])).toEqual({
      now: 5_000_000,
      verdicts: [full, full],
      source: 'fallback',
    });
    expect(await decide(store, [check(bucket, 11)])).toMatchObject({
      verdicts: [{ ...full, allowed: false, retryAfter: Number.POSITIVE_INFINITY }],
    });
    expect(await change(store, [{ verb: 'refund', key: 'someone', policy: bucket, cost: 1 }])).toEqual({
      now: 5_000_000,
      verdicts: [{ ...full, changed: 0 }],
      source: 'fallback',
    });
  });

  test('deny: come back when the store is asked again', async () => {
    const { store } = away({ to: 'deny', retryAfter: '3s' });
    const none = { allowed: false, remaining: 0, retryAfter: 3_000_000, resetAfter: 3_000_000, delay: 0 };
    expect(await decide(store, [check()])).toEqual({ now: 5_000_000, verdicts: [none], source: 'fail-closed' });
    expect(await decide(store, [check(bucket, 0)])).toMatchObject({
      verdicts: [{ allowed: true, remaining: 0, retryAfter: 0 }],
    });
    expect(await decide(store, [check(bucket, 11)])).toMatchObject({
      verdicts: [{ allowed: false, retryAfter: Number.POSITIVE_INFINITY }],
    });
  });

  test('deny: in a second, unless told', async () => {
    expect(await decide(away({ to: 'deny' }).store, [check()])).toMatchObject({
      verdicts: [{ retryAfter: 1_000_000 }],
    });
  });

  test.each([
    ['at once', (store: Store) => store],
    ['later', waitedFor],
  ])('another store that answers %s', async (_, answering) => {
    const { store } = away({ to: answering(memoryStore({ clock: manualClock(0) })) });
    const told: unknown[] = [];
    for (const cost of [7, 3, 1]) {
      const { verdicts, source } = await decide(store, [check(bucket, cost)]);
      told.push([verdicts[0]!.allowed, verdicts[0]!.remaining, source]);
    }
    expect(told).toEqual([
      [true, 3, 'fallback'],
      [true, 0, 'fallback'],
      [false, 0, 'fallback'],
    ]);
    expect(await decide(store, [check(bucket, 1, 'other')], { dryRun: true })).toMatchObject({
      verdicts: [{ remaining: 10 }],
      source: 'fallback',
    });
  });

  test('a mistake of the caller still rejects, and is no outage', async () => {
    const outages: unknown[] = [];
    const { inner, store } = away({ to: 'allow', onFallback: (event) => outages.push(event) });
    inner.error = new SluiceError({ code: 'SLUICE_INVALID_KEY', path: 'key', expected: 'a string', got: 5 });
    await expect((async () => decide(store, [check()]))()).rejects.toBe(inner.error);
    await expect((async () => change(store, []))()).rejects.toBe(inner.error);
    expect(outages).toEqual([]);
  });

  test('the hooks are told once for each outage', async () => {
    const events: unknown[] = [];
    const { inner, clock, store } = away({
      to: 'allow',
      onFallback: (event) => events.push(['away', event]),
      onRecovered: (event) => events.push(['back', event]),
    });
    const first = inner.error;
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await decide(store, [check()]);
      clock.advance(1000);
      inner.error = new Error('still away');
    }
    inner.behaves = 'answers';
    await decide(store, [check()]);
    await decide(store, [check()]);
    inner.behaves = mood;
    await decide(store, [check()]);
    expect(events).toEqual([
      ['away', { error: first, since: 5 }],
      ['back', { since: 5, answered: 3 }],
      ['away', { error: inner.error, since: 8 }],
    ]);
  });

  test('what nobody else can know still rejects', async () => {
    const local = memoryStore({ clock: manualClock(0) });
    const { store } = away({ to: local });
    await decide(store, [check(bucket, 4)]);
    await expect((async () => forget(store, 'someone', [bucket]))()).rejects.toThrow('connection lost');
    expect(decide(local, [check(bucket, 0)])).toMatchObject({ verdicts: [{ remaining: 10 }] });
    await expect((async () => history(store, 'someone', bucket))()).rejects.toThrow('connection lost');
  });
});

test('while the store answers, nobody else is asked', async () => {
  const other = counting(memoryStore());
  const { store } = around({ to: other });
  expect(await decide(store, [check()])).toMatchObject({ source: 'store', verdicts: [{ remaining: 9 }] });
  expect(other.calls).toEqual([]);
});

test('a store that answers at once is answered for at once', () => {
  const { inner, store } = around({ to: memoryStore() }, puppet(memoryStore()));
  expect(decide(store, [check()])).toMatchObject({ source: 'store' });
  inner.behaves = 'throws';
  expect(decide(store, [check()])).toMatchObject({ source: 'fallback' });
  inner.behaves = 'answers';
  expect(forget(store, 'someone', [bucket])).toMatchObject({ source: 'store', verdicts: [{ remaining: 10 }] });
});

describe('a share', () => {
  /** Units at once, and units in the hour after that, one by one. */
  const granted = async (policy: Policy, share: number): Promise<[number, number]> => {
    const clock = manualClock(3_600_000_000);
    const inner = puppet();
    inner.behaves = 'throws';
    const store = fallback({ to: memoryStore({ clock }), share, warnings: false })(inner);
    const admitted = async (): Promise<number> => {
      let units = 0;
      while ((await decide(store, [check(policy)])).verdicts[0]!.allowed) units += 1;
      return units;
    };
    const atOnce = await admitted();
    let later = 0;
    for (let minute = 0; minute < 60; minute += 1) {
      clock.advance(60_000);
      later += await admitted();
    }
    return [atOnce, later];
  };

  test.each<[Policy, number, [number, number]]>([
    [fixedWindow({ limit: 100, window: '1h' }), 1, [100, 100]],
    [fixedWindow({ limit: 100, window: '1h' }), 0.25, [25, 25]],
    [fixedWindow({ limit: 3, window: '1h' }), 0.25, [1, 1]],
    [slidingWindowLog({ limit: 100, window: '1h' }), 0.5, [50, 50]],
    [slidingWindowCounter({ limit: 100, window: '30m' }), 0.1, [10, 10]],
    [tokenBucket({ capacity: 100, refillRate: '120/h' }), 0.25, [25, 30]],
    [tokenBucket({ capacity: 1, refillRate: '120/h' }), 0.25, [1, 30]],
    [leakyBucket({ capacity: 100, leakRate: '120/h' }), 0.25, [25, 30]],
    [gcra({ limit: 120, period: '1h', capacity: 40 }), 0.25, [10, 30]],
    [gcra({ limit: 1, period: '1m', capacity: 1 }), 0.25, [1, 15]],
  ])('%o x %d', async (policy, share, expected) => {
    expect(await granted(policy, share)).toEqual(expected);
  });

  test('a cost that fits the limit and not the share is not sent away for ever', async () => {
    const inner = puppet();
    inner.behaves = 'throws';
    const to = memoryStore({ clock: manualClock(0) });
    const store = fallback({ to, share: 0.25, retryAfter: '2s', warnings: false })(inner);
    const told = async (cost: number) => (await decide(store, [check(bucket, cost)])).verdicts[0];
    expect(await told(10)).toMatchObject({ allowed: false, remaining: 2, retryAfter: 2_000_000 });
    expect(await told(11)).toMatchObject({ allowed: false, remaining: 2, retryAfter: Number.POSITIVE_INFINITY });
  });

  test('a share that would take longer than a century is the policy itself', async () => {
    const inner = puppet();
    inner.behaves = 'throws';
    const store = fallback({ to: memoryStore({ clock: manualClock(0) }), share: 0.01, warnings: false })(inner);
    const slow = gcra({ limit: 1, period: '36500d', capacity: 1 });
    expect(ruleOf(slow).limit).toBe(1);
    expect(await decide(store, [check(slow)])).toMatchObject({ verdicts: [{ allowed: true, remaining: 0 }] });
  });
});

test('hooks that throw or reject harm nobody', async () => {
  for (const hook of [
    () => {
      throw new Error('logger');
    },
    async () => {
      throw new Error('logger');
    },
  ]) {
    const { inner, store } = around({ to: 'allow', onFallback: hook, onRecovered: hook });
    inner.behaves = 'rejects';
    expect(await decide(store, [check()])).toMatchObject({ source: 'fallback' });
    inner.behaves = 'answers';
    expect(await decide(store, [check()])).toMatchObject({ source: 'store' });
  }
});
