/** reserve, commit, cancel: estimate, work, settle. Whatever happens, nothing is minted. */
import { describe, expect, test } from 'vitest';
import {
  createLimiter,
  fixedWindow,
  type Hold,
  type Limiter,
  manualClock,
  memoryStore,
  slidingWindowLog,
  tokenBucket,
} from '../../src/index.ts';
import { recordingStore, virtualTimers, withAttempts } from './support.ts';

const START = 1_763_280_000_000;
const budget = tokenBucket({ name: 'tokens', capacity: 1000, refillRate: 10 });
const daily = fixedWindow({ name: 'daily', limit: 5000, window: '1d' });

/** The store's clock and the limiter's own are two, as they are in life. */
function withMemory() {
  const clock = manualClock(START);
  const timers = virtualTimers();
  const limiter = createLimiter({ policies: [budget, daily], store: memoryStore({ clock }), timers });
  const pass = (ms: number): void => {
    clock.advance(ms);
    timers.clock.advance(ms);
  };
  const left = async (): Promise<number[]> =>
    (await limiter.peek('user:42')).decisions.map(({ remaining }) => remaining);
  return { limiter, pass, left, timers };
}

describe('a budget of LLM tokens', () => {
  test('less was used: the rest comes back', async () => {
    const { limiter, pass, left } = withMemory();
    const hold = await limiter.reserve('user:42', { cost: 800 });
    expect([hold.allowed, hold.cost, hold.result.remaining]).toEqual([true, 800, 200]);
    expect((await limiter.reserve('user:42', { cost: 300 })).allowed).toBe(false);
    pass(2000);
    expect(await hold.commit(512)).toMatchObject({ changed: 288, missing: 0, expired: false, remaining: 508 });
    expect(await left()).toEqual([508, 4488]);
  });

  test('all of it was used', async () => {
    const { limiter, left } = withMemory();
    expect(await (await limiter.reserve('user:42', { cost: 800 })).commit(800)).toMatchObject({
      changed: 0,
      missing: 0,
    });
    expect(await (await limiter.reserve('user:42', { cost: 100 })).commit()).toMatchObject({ changed: 0, missing: 0 });
    expect(await left()).toEqual([100, 4100]);
  });

  test('more was used: the difference is spent', async () => {
    const { limiter, left } = withMemory();
    const hold = await limiter.reserve('user:42', { cost: 800 });
    expect(await hold.commit(900)).toMatchObject({ changed: 100, missing: 0, remaining: 100 });
    expect(await left()).toEqual([100, 4100]);
  });

  test('far more was used: into empty, and the settlement says what was missing', async () => {
    const { limiter, left } = withMemory();
    const hold = await limiter.reserve('user:42', { cost: 800 });
    expect(await hold.commit(1300)).toMatchObject({ changed: 200, missing: 300, remaining: 0 });
    expect(await left()).toEqual([0, 3700]);
  });

  test('nothing was used: cancel', async () => {
    const { limiter, left } = withMemory();
    const hold = await limiter.reserve('user:42', { cost: 800 });
    expect(await hold.cancel()).toMatchObject({ changed: 800, missing: 0, remaining: 1000 });
    expect(await left()).toEqual([1000, 5000]);
  });

  test('never settled: it counts as spent', async () => {
    const { limiter, pass, left } = withMemory();
    await limiter.reserve('user:42', { cost: 800, ttl: '1s' });
    pass(10_000);
    expect(await left()).toEqual([300, 4200]);
  });

  test('time that has refilled the bucket is not credited twice', async () => {
    const { limiter, pass, left } = withMemory();
    const hold = await limiter.reserve('user:42', { cost: 100 });
    pass(10_000);
    await limiter.attempt('user:42', { cost: 1000 });
    expect(await hold.cancel()).toMatchObject({ changed: 0 });
    expect(await left()).toEqual([0, 4000]);
  });

  test('a settlement touches its own spend and no later one', async () => {
    const clock = manualClock(START);
    const limiter = createLimiter({
      policy: slidingWindowLog({ limit: 10, window: '1m' }),
      store: memoryStore({ clock }),
    });
    const hold = await limiter.reserve('user:42', { cost: 4 });
    clock.advance(1000);
    await limiter.attempt('user:42', { cost: 3 });
    await hold.commit(1);
    expect(await limiter.history('user:42')).toEqual([
      { at: START / 1000, cost: 1 },
      { at: START / 1000 + 1, cost: 3 },
    ]);
  });
});

describe('what the store is told', () => {
  const key = 'user:42';
  const spent = { at: 1_763_280_000_123_456, until: 1_763_280_005_123_456, cost: 8 };
  const rows: readonly [title: string, settle: (hold: Hold) => Promise<unknown>, changes: object[]][] = [
    ['commit of less', (hold) => hold.commit(3), [{ key, policy: budget, verb: 'refund', cost: 5, spent }]],
    ['commit of nothing', (hold) => hold.commit(0), [{ key, policy: budget, verb: 'refund', cost: 8, spent }]],
    ['cancel', (hold) => hold.cancel(), [{ key, policy: budget, verb: 'refund', cost: 8, spent }]],
    ['commit of more', (hold) => hold.commit(11), [{ key, policy: budget, verb: 'penalize', cost: 3 }]],
    ['commit of the same', (hold) => hold.commit(8), []],
    ['commit', (hold) => hold.commit(), []],
  ];

  test.each(rows)('%s', async (_, settle, changes) => {
    const store = recordingStore();
    const hold = await createLimiter({ policy: budget, store }).reserve(key, { cost: 8 });
    await settle(hold);
    expect(store.decided).toEqual([[{ key, policy: budget, cost: 8 }]]);
    expect(store.changed.flat()).toEqual(changes);
  });

  test('the policies are those of the reservation', async () => {
    const store = recordingStore();
    let chosen = budget as typeof budget | typeof daily;
    const limiter = createLimiter({ policy: () => chosen, store });
    const hold = await limiter.reserve(key, { cost: 8 });
    chosen = daily;
    await hold.cancel();
    expect(store.changed.flat()).toMatchObject([{ policy: budget, cost: 8 }]);
  });

  test('an answer of somebody else than the store is not given back to it', async () => {
    const inner = recordingStore();
    const store = withAttempts(inner, async (question) => ({ ...(await inner.ask(question)), source: 'fallback' }));
    const hold = await createLimiter({ policy: budget, store }).reserve(key, { cost: 8 });
    expect(await hold.cancel()).toMatchObject({ changed: 0, source: 'fallback' });
    expect([inner.changed.length, inner.decided.length]).toEqual([0, 1]);
  });
});

const SETTLED = { code: 'SLUICE_HOLD_SETTLED', got: 'one that was settled already' };

describe('a hold is settled once', () => {
  const settles: readonly ((hold: Hold) => Promise<unknown>)[] = [
    (hold) => hold.commit(),
    (hold) => hold.commit(3),
    (hold) => hold.commit(20),
    (hold) => hold.cancel(),
  ];
  const pairs = settles.flatMap((first) =>
    settles.map((second) => [`${first}, then ${second}`, first, second] as const),
  );

  test.each(pairs)('%s', async (_, first, second) => {
    const { limiter, left } = withMemory();
    const hold = await limiter.reserve('user:42', { cost: 8 });
    await first(hold);
    const after = await left();
    await expect(second(hold)).rejects.toMatchObject(SETTLED);
    expect(await left()).toEqual(after);
  });

  test('also while the first one is under way', async () => {
    const store = recordingStore();
    const hold = await createLimiter({ policy: budget, store }).reserve('user:42', { cost: 8 });
    const outcomes = await Promise.allSettled([hold.cancel(), hold.cancel(), hold.commit(2)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(store.changed).toHaveLength(1);
  });

  test('also when its reply was lost: it may have been carried out', async () => {
    const lost = new Error('connection reset');
    const store = recordingStore({ change: () => Promise.reject(lost) });
    const hold = await createLimiter({ policy: budget, store }).reserve('user:42', { cost: 8 });
    await expect(hold.commit(3)).rejects.toBe(lost);
    await expect(hold.commit(3)).rejects.toMatchObject(SETTLED);
    await expect(hold.cancel()).rejects.toMatchObject(SETTLED);
    expect(store.changed).toHaveLength(1);
  });

  test('but what is no cost does not settle it', async () => {
    const { limiter } = withMemory();
    const hold = await limiter.reserve('user:42', { cost: 8 });
    for (const actual of [-1, 1.5, Number.NaN, null, '3']) {
      await expect(hold.commit(actual as never)).rejects.toMatchObject({
        code: 'SLUICE_INVALID_COST',
        path: 'commit(actual)',
      });
    }
    expect(await hold.commit(3)).toMatchObject({ changed: 5 });
  });

  test('one that was denied holds nothing: there is nothing to settle', async () => {
    const { limiter, left } = withMemory();
    await limiter.attempt('user:42', { cost: 999 });
    const hold = await limiter.reserve('user:42', { cost: 8 });
    expect([hold.allowed, hold.result.retryAfter]).toEqual([false, 0.7]);
    for (const settle of settles) {
      await expect(settle(hold)).rejects.toMatchObject({
        code: 'SLUICE_HOLD_SETTLED',
        got: 'one that was denied, so that it holds nothing',
      });
    }
    expect(await left()).toEqual([1, 4001]);
  });
});

describe('after its ttl', () => {
  async function heldFor(
    ms: number,
    options = {},
  ): Promise<{ hold: Hold; left(): Promise<number[]>; limiter: Limiter }> {
    const { limiter, pass, left } = withMemory();
    const hold = await limiter.reserve('user:42', { cost: 900, ...options });
    pass(ms);
    return { hold, left, limiter };
  }

  test('nothing is given back, and the settlement says so', async () => {
    const { hold, left } = await heldFor(60_000);
    expect(await hold.commit(100)).toMatchObject({ changed: 0, expired: true });
    expect(await left()).toEqual([700, 4100]);
  });

  test('a microsecond before, it is', async () => {
    const { hold, left } = await heldFor(59_999.999);
    expect(await hold.commit(100)).toMatchObject({ expired: false, changed: 300.00001 });
    expect(await left()).toEqual([1000, 4900]);
  });

  test('more than was reserved is still charged', async () => {
    const { hold, left } = await heldFor(1000, { ttl: '1s' });
    expect(await hold.commit(1000)).toMatchObject({ changed: 100, missing: 0, expired: true });
    expect(await left()).toEqual([10, 4000]);
  });

  test('it is settled all the same', async () => {
    const { hold } = await heldFor(1000, { ttl: '1s' });
    await hold.cancel();
    await expect(hold.commit(1000)).rejects.toMatchObject(SETTLED);
  });

  test('it counts from before the reserve was sent', async () => {
    const timers = virtualTimers();
    const inner = recordingStore();
    const slow = withAttempts(inner, (question) => {
      timers.clock.advance(700);
      return inner.ask(question);
    });
    const hold = await createLimiter({ policy: budget, store: slow, timers }).reserve('user:42', {
      cost: 8,
      ttl: '1s',
    });
    timers.clock.advance(300);
    expect(await hold.cancel()).toMatchObject({ changed: 0, expired: true });
    expect(inner.changed).toEqual([]);
  });
});
