/** acquire and schedule: who gets a turn when, to the microsecond, and what is left behind by those who go. */
import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import {
  type AcquireOptions,
  createLimiter,
  fixedWindow,
  type Limiter,
  leakyBucket,
  memoryStore,
  type Policy,
  type Store,
  slidingWindowLog,
  tokenBucket,
} from '../../src/index.ts';
import { recordingStore, settled, type VirtualTimers, virtualTimers, withAttempts } from './support.ts';

/** The store's clock is the one that sleeping moves, so that every moment is exact. */
function limiterWith(policy: Policy, options: { queueLimit?: number } = {}) {
  const timers = virtualTimers();
  const store = memoryStore({ clock: timers.clock });
  return { timers, store, limiter: createLimiter({ policy, store, timers, ...options }) };
}

/** Who got a turn, and when; or why not, and when. */
class Diary {
  readonly lines: [who: unknown, at: number, what: string][] = [];
  readonly #timers: VirtualTimers;

  constructor(timers: VirtualTimers) {
    this.#timers = timers;
  }

  acquire(who: unknown, limiter: Limiter, options?: AcquireOptions<unknown>): void {
    limiter.acquire('api', options).then(
      () => this.#write(who, 'turn'),
      (error: { code?: string; message: string }) => this.#write(who, error.code ?? error.message),
    );
  }

  get times(): number[] {
    return this.lines.map(([, at]) => at);
  }

  #write(who: unknown, what: string): void {
    this.lines.push([who, this.#timers.clock.now(), what]);
  }
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const bucket = tokenBucket({ capacity: 10, refillRate: 10 });

function expectNothingLeft(limiter: Limiter, timers: VirtualTimers, signal?: AbortSignal): void {
  expect(limiter.waiting('api')).toBe(0);
  expect(timers.pending).toBe(0);
  if (signal !== undefined) expect(getEventListeners(signal, 'abort')).toEqual([]);
}

describe('first come, first served', () => {
  test('100 waiters at a token bucket: the capacity at once, then one at a time', async () => {
    const { limiter, timers } = limiterWith(bucket);
    const diary = new Diary(timers);
    for (const who of upTo(100)) diary.acquire(who, limiter);
    expect(limiter.waiting('api')).toBe(100);
    await timers.run();
    const expected = upTo(100).map((who) => [who, Math.max(0, who - 9) * 100, 'turn']);
    expect(diary.lines).toEqual(expected);
    expect(timers.slept).toEqual(upTo(90).map(() => 100));
    expectNothingLeft(limiter, timers);
  });

  test('only the head asks, and not again before its time', async () => {
    const timers = virtualTimers();
    const inner = memoryStore({ clock: timers.clock });
    const asked: number[] = [];
    const store = withAttempts(inner, (question) => {
      asked.push(timers.clock.now());
      return inner.ask(question);
    });
    const limiter = createLimiter({
      policy: tokenBucket({ capacity: 1, refillRate: 1 }),
      store,
      timers,
    });
    const diary = new Diary(timers);
    for (const who of upTo(4)) diary.acquire(who, limiter);
    await timers.run();
    expect(diary.times).toEqual([0, 1000, 2000, 3000]);
    expect(asked).toEqual([0, 0, 1000, 1000, 2000, 2000, 3000]);
  });

  test('at a rate that is no whole number of microseconds nobody is denied twice', async () => {
    const { limiter, timers } = limiterWith(tokenBucket({ capacity: 1, refillRate: 3 }));
    const diary = new Diary(timers);
    for (const who of upTo(5)) diary.acquire(who, limiter);
    await timers.run();
    expect(diary.times).toEqual([0, 333.334, 666.668, 1000.002, 1333.336]);
    expect(timers.slept).toEqual([333.334, 333.334, 333.334, 333.334]);
  });

  test('a cheap one does not overtake a dear one', async () => {
    const { limiter, timers } = limiterWith(bucket);
    const diary = new Diary(timers);
    await limiter.attempt('api', { cost: 5 });
    diary.acquire('dear', limiter, { cost: 10 });
    diary.acquire('cheap', limiter, { cost: 1 });
    await timers.run();
    expect(diary.lines).toEqual([
      ['dear', 500, 'turn'],
      ['cheap', 600, 'turn'],
    ]);
  });

  test('other keys and other policies have lines of their own', async () => {
    const timers = virtualTimers();
    const plans = {
      free: tokenBucket({ name: 'free', capacity: 1, refillRate: 1 }),
      paid: tokenBucket({ name: 'paid', capacity: 10, refillRate: 10 }),
    };
    const limiter = createLimiter<'free' | 'paid'>({
      policy: (plan) => plans[plan],
      store: memoryStore({ clock: timers.clock }),
      timers,
    });
    const turns: string[] = [];
    const acquire = (key: string, context: 'free' | 'paid') =>
      limiter.acquire(key, { context }).then(() => turns.push(`${context} ${key} at ${timers.clock.now()}`));
    const all = [acquire('a', 'free'), acquire('a', 'free'), acquire('b', 'free'), acquire('a', 'paid')];
    expect([limiter.waiting('a'), limiter.waiting('b'), limiter.waiting('c')]).toEqual([3, 1, 0]);
    await timers.run();
    await Promise.all(all);
    expect(turns.sort()).toEqual(['free a at 0', 'free a at 1000', 'free b at 0', 'paid a at 0']);
  });

  test('a fixed window lets its limit in at once, when it opens', async () => {
    const { limiter, timers } = limiterWith(fixedWindow({ limit: 3, window: '10s' }));
    const diary = new Diary(timers);
    for (const who of upTo(7)) diary.acquire(who, limiter);
    await timers.run();
    expect(diary.times).toEqual([0, 0, 0, 10_000, 10_000, 10_000, 20_000]);
  });

  test('what is told is the attempt that was allowed', async () => {
    const { limiter, timers } = limiterWith(bucket);
    await limiter.attempt('api', { cost: 10 });
    const turn = limiter.acquire('api', { cost: 4 });
    await timers.run();
    expect(await turn).toMatchObject({ allowed: true, remaining: 0, resetAfter: 1, resetAt: 1.4, delay: null });
  });
});

describe('shaping', () => {
  const shaper = leakyBucket({ capacity: 100, leakRate: 10, mode: 'shaping' });

  test('two limiters over one store act exactly 1 / rate apart', async () => {
    const timers = virtualTimers();
    const store = memoryStore({ clock: timers.clock });
    const [one, other] = [
      createLimiter({ policy: shaper, store, timers }),
      createLimiter({ policy: shaper, store, timers }),
    ];
    const diary = new Diary(timers);
    for (const who of upTo(10)) {
      diary.acquire(`one ${who}`, one);
      diary.acquire(`other ${who}`, other);
    }
    await settled();
    expect([one.waiting('api'), other.waiting('api')]).toEqual([9, 10]);
    await timers.run();
    expect(diary.times).toEqual(upTo(20).map((slot) => slot * 100));
    const order = (name: string) => diary.lines.map(([who]) => String(who)).filter((who) => who.startsWith(name));
    expect(order('one')).toEqual(upTo(10).map((who) => `one ${who}`));
    expect(order('other')).toEqual(upTo(10).map((who) => `other ${who}`));
    expectNothingLeft(one, timers);
    expectNothingLeft(other, timers);
  });

  test('when the queue of the shaper is full, the head waits for room in it', async () => {
    const { limiter, timers } = limiterWith(leakyBucket({ capacity: 2, leakRate: 1, mode: 'shaping' }));
    const diary = new Diary(timers);
    for (const who of upTo(5)) diary.acquire(who, limiter);
    await timers.run();
    expect(diary.lines).toEqual(upTo(5).map((who) => [who, who * 1000, 'turn']));
  });

  test('nobody need wait after acquire: the result tells no delay', async () => {
    const { limiter, timers } = limiterWith(shaper);
    await limiter.acquire('api');
    const second = limiter.acquire('api');
    await timers.run();
    expect(await second).toMatchObject({ delay: null, decisions: [{ delay: 0.1 }] });
  });

  test('a slot beyond the timeout is refused at once and given back', async () => {
    const { limiter, timers } = limiterWith(shaper);
    await limiter.attempt('api', { cost: 10 });
    const late = limiter.acquire('api', { cost: 5, timeout: '999ms' });
    await expect(late).rejects.toMatchObject({
      code: 'SLUICE_ACQUIRE_TIMEOUT',
      expected: 'a turn within 999 ms',
      got: 'one in 1000 ms at the earliest',
    });
    expect([timers.clock.now(), (await limiter.peek('api')).remaining]).toEqual([0, 90]);
    expectNothingLeft(limiter, timers);
    const inTime = limiter.acquire('api', { cost: 5, timeout: '1s' });
    await timers.run();
    expect((await inTime).allowed).toBe(true);
  });

  test('whoever aborts while waiting for the last slot gives it back', async () => {
    const { limiter, timers } = limiterWith(shaper);
    const diary = new Diary(timers);
    const controller = new AbortController();
    diary.acquire('first', limiter);
    diary.acquire('second', limiter);
    diary.acquire('gone', limiter, { signal: controller.signal });
    await timers.run(50);
    expect(timers.pending).toBe(2);
    controller.abort();
    expect([timers.pending, getEventListeners(controller.signal, 'abort')]).toEqual([1, []]);
    await settled();
    diary.acquire('instead', limiter);
    await timers.run();
    expect(diary.lines).toEqual([
      ['first', 0, 'turn'],
      ['gone', 50, 'SLUICE_ABORTED'],
      ['second', 100, 'turn'],
      ['instead', 200, 'turn'],
    ]);
  });

  test('but a slot in the middle stays empty: those behind go on waiting for theirs', async () => {
    const { limiter, timers } = limiterWith(shaper);
    const diary = new Diary(timers);
    const controller = new AbortController();
    diary.acquire('first', limiter);
    diary.acquire('gone', limiter, { signal: controller.signal });
    diary.acquire('third', limiter);
    await timers.run(50);
    controller.abort();
    await settled();
    diary.acquire('fourth', limiter);
    await timers.run();
    expect(diary.lines.filter(([, , what]) => what === 'turn')).toEqual([
      ['first', 0, 'turn'],
      ['third', 200, 'turn'],
      ['fourth', 300, 'turn'],
    ]);
  });
});

function abortable(): { signal: AbortSignal; abort(): void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

describe('timeout', () => {
  test('a wait that is longer is refused at once, and nothing is spent', async () => {
    const { limiter, timers } = limiterWith(bucket);
    await limiter.attempt('api', { cost: 10 });
    await expect(limiter.acquire('api', { cost: 5, timeout: '499ms' })).rejects.toMatchObject({
      code: 'SLUICE_ACQUIRE_TIMEOUT',
      path: 'acquire.timeout',
      got: 'one in 500 ms at the earliest',
    });
    expect([timers.clock.now(), timers.slept.length]).toEqual([0, 1]);
    expectNothingLeft(limiter, timers);
    expect((await limiter.peek('api')).resetAfter).toBe(1);
  });

  test('a wait that is exactly as long is in time', async () => {
    const { limiter, timers } = limiterWith(bucket);
    await limiter.attempt('api', { cost: 10 });
    const turn = limiter.acquire('api', { cost: 5, timeout: '500ms' });
    await timers.run();
    expect([(await turn).allowed, timers.clock.now()]).toEqual([true, 500]);
    expectNothingLeft(limiter, timers);
  });

  test('in line it ends on time, and those behind move up', async () => {
    const { limiter, timers } = limiterWith(tokenBucket({ capacity: 1, refillRate: 1 }));
    const diary = new Diary(timers);
    diary.acquire('first', limiter);
    diary.acquire('head', limiter);
    diary.acquire('impatient', limiter, { timeout: '400ms' });
    diary.acquire('last', limiter);
    await timers.run();
    expect(diary.lines).toEqual([
      ['first', 0, 'turn'],
      ['impatient', 400.001, 'SLUICE_ACQUIRE_TIMEOUT'],
      ['head', 1000, 'turn'],
      ['last', 2000, 'turn'],
    ]);
    expectNothingLeft(limiter, timers);
  });

  test('what is left of it counts, not what it was', async () => {
    const { limiter, timers } = limiterWith(tokenBucket({ capacity: 1, refillRate: 1 }));
    const diary = new Diary(timers);
    diary.acquire('first', limiter);
    diary.acquire('second', limiter, { timeout: '1.5s' });
    diary.acquire('third', limiter, { timeout: '1.5s' });
    await timers.run();
    expect(diary.lines).toEqual([
      ['first', 0, 'turn'],
      ['second', 1000, 'turn'],
      ['third', 1000, 'SLUICE_ACQUIRE_TIMEOUT'],
    ]);
  });

  test('a store that hangs does not hold anybody longer', async () => {
    const timers = virtualTimers();
    const store: Store = { ask: () => new Promise<never>(() => {}) };
    const limiter = createLimiter({ policy: bucket, store, timers });
    const diary = new Diary(timers);
    diary.acquire('one', limiter, { timeout: '1s' });
    diary.acquire('other', limiter, { timeout: '2s' });
    await timers.run();
    expect(diary.lines).toEqual([
      ['one', 1000.001, 'SLUICE_ACQUIRE_TIMEOUT'],
      ['other', 2000.001, 'SLUICE_ACQUIRE_TIMEOUT'],
    ]);
  });
});

/** Answers when the test says so, one question after the other. */
function slowStore() {
  const inner = recordingStore();
  const asked: string[] = [];
  const waiting: (() => void)[] = [];
  const answer = async (): Promise<void> => {
    waiting.shift()!();
    await settled();
  };
  const store: Store = {
    ask(question) {
      asked.push(question.verb);
      return new Promise((resolve) => waiting.push(() => resolve(inner.ask(question))));
    },
  };
  return { store, answer, inner, asked };
}

describe('abort', () => {
  test('before the call: nobody is asked', async () => {
    const store = recordingStore();
    const limiter = createLimiter({ policy: bucket, store });
    const reason = new Error('shutting down');
    const rejection = limiter.acquire('api', { signal: AbortSignal.abort(reason) });
    await expect(rejection).rejects.toMatchObject({ code: 'SLUICE_ABORTED', path: 'acquire.signal', cause: reason });
    expect(store.decided).toEqual([]);
  });

  test('in line, and at the head of it, asleep', async () => {
    const { limiter, timers } = limiterWith(tokenBucket({ capacity: 1, refillRate: 1 }));
    const diary = new Diary(timers);
    const [head, behind] = [new AbortController(), new AbortController()];
    diary.acquire('first', limiter);
    diary.acquire('head', limiter, { signal: head.signal, cost: 1, timeout: '1h' });
    diary.acquire('behind', limiter, { signal: behind.signal });
    diary.acquire('last', limiter);
    await timers.run(300);
    behind.abort();
    expect(limiter.waiting('api')).toBe(2);
    await timers.run(600);
    head.abort();
    await timers.run();
    expect(diary.lines).toEqual([
      ['first', 0, 'turn'],
      ['behind', 300, 'SLUICE_ABORTED'],
      ['head', 600, 'SLUICE_ABORTED'],
      ['last', 1000, 'turn'],
    ]);
    expectNothingLeft(limiter, timers, head.signal);
    expectNothingLeft(limiter, timers, behind.signal);
  });

  test('while the store is asked: told at once, given back when the answer is yes, and only then the next one asks', async () => {
    const { store, answer, inner, asked } = slowStore();
    const timers = virtualTimers();
    const limiter = createLimiter({ policy: bucket, store, timers });
    const diary = new Diary(timers);
    const controller = new AbortController();
    diary.acquire('gone', limiter, { cost: 3, signal: controller.signal });
    diary.acquire('next', limiter);
    controller.abort();
    await settled();
    expect(diary.lines).toEqual([['gone', 0, 'SLUICE_ABORTED']]);
    expect([inner.changed.length, limiter.waiting('api')]).toEqual([0, 1]);
    await answer();
    expect(asked).toEqual(['attempt', 'change']);
    await answer();
    expect(asked).toEqual(['attempt', 'change', 'attempt']);
    const spent = { at: 1_763_280_000_123_456, until: 1_763_280_005_123_456, cost: 3 };
    expect(inner.changed).toEqual([[{ key: 'api', policy: bucket, verb: 'refund', cost: 3, spent }]]);
    await answer();
    expect(diary.lines[1]).toEqual(['next', 0, 'turn']);
    expectNothingLeft(limiter, timers, controller.signal);
  });

  test('what cannot be given back counts as spent, and nobody hears of it', async () => {
    const { store: slow, answer } = slowStore();
    const store: Store = {
      ask: (question) =>
        question.verb === 'change' ? Promise.reject(new Error('connection reset')) : slow.ask(question),
    };
    const limiter = createLimiter({ policy: bucket, store, timers: virtualTimers() });
    const controller = new AbortController();
    const gone = limiter.acquire('api', { signal: controller.signal });
    controller.abort();
    await expect(gone).rejects.toMatchObject({ code: 'SLUICE_ABORTED' });
    await answer();
    const next = limiter.acquire('api');
    await answer();
    expect((await next).allowed).toBe(true);
  });

  test('one signal for a thousand is listened to once, and all of them go in their order', async () => {
    const { limiter, timers } = limiterWith(tokenBucket({ capacity: 1, refillRate: 1 }));
    const diary = new Diary(timers);
    const { signal, abort } = abortable();
    for (const who of upTo(1000)) diary.acquire(who, limiter, { signal });
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await timers.run(2500);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    abort();
    await timers.run();
    expect(diary.lines.slice(0, 3)).toEqual(upTo(3).map((who) => [who, who * 1000, 'turn']));
    expect(diary.lines.slice(3)).toEqual(upTo(997).map((who) => [who + 3, 2500, 'SLUICE_ABORTED']));
    expectNothingLeft(limiter, timers, signal);
  });

  test('after the turn it changes nothing', async () => {
    const { limiter, timers } = limiterWith(bucket);
    const controller = new AbortController();
    await limiter.acquire('api', { cost: 4, signal: controller.signal, timeout: '1m' });
    expectNothingLeft(limiter, timers, controller.signal);
    controller.abort();
    expect((await limiter.peek('api')).remaining).toBe(6);
  });
});

describe('whoever cannot get a turn', () => {
  test('never could: refused at once', async () => {
    const { limiter, timers } = limiterWith(bucket);
    await expect(limiter.acquire('api', { cost: 11 })).rejects.toMatchObject({
      code: 'SLUICE_NEVER_FITS',
      path: 'acquire.cost',
      expected: 'at most 10, the limit of policy token-bucket',
      got: '11',
    });
    expectNothingLeft(limiter, timers);
  });

  test('the store failed: its error, and the next one asks', async () => {
    const { store: inner } = limiterWith(bucket);
    const failure = new Error('connection reset');
    let calls = 0;
    const store = withAttempts(inner, (question) => {
      calls += 1;
      if (calls === 1) throw failure;
      return inner.ask(question);
    });
    const limiter = createLimiter({ policy: bucket, store, timers: virtualTimers() });
    const [first, second] = await Promise.allSettled([limiter.acquire('api'), limiter.acquire('api')]);
    expect(first).toEqual({ status: 'rejected', reason: failure });
    expect(second.status).toBe('fulfilled');
    expect(limiter.waiting('api')).toBe(0);
  });

  test('the line is full', async () => {
    const { limiter, timers } = limiterWith(tokenBucket({ capacity: 1, refillRate: 1 }), { queueLimit: 3 });
    const diary = new Diary(timers);
    for (const who of upTo(5)) diary.acquire(who, limiter);
    expect(limiter.waiting('api')).toBe(3);
    await timers.run();
    expect(diary.lines).toEqual([
      [3, 0, 'SLUICE_QUEUE_FULL'],
      [4, 0, 'SLUICE_QUEUE_FULL'],
      [0, 0, 'turn'],
      [1, 1000, 'turn'],
      [2, 2000, 'turn'],
    ]);
    await expect(limiter.acquire('other key')).resolves.toMatchObject({ allowed: true });
  });

  test('those who wait for a slot of theirs count too', async () => {
    const { limiter, timers } = limiterWith(leakyBucket({ capacity: 100, leakRate: 1, mode: 'shaping' }), {
      queueLimit: 3,
    });
    const diary = new Diary(timers);
    for (const who of upTo(3)) diary.acquire(who, limiter);
    await settled();
    expect(limiter.waiting('api')).toBe(2);
    diary.acquire(3, limiter);
    diary.acquire(4, limiter);
    await timers.run();
    expect(diary.lines).toEqual([
      [0, 0, 'turn'],
      [4, 0, 'SLUICE_QUEUE_FULL'],
      [1, 1000, 'turn'],
      [2, 2000, 'turn'],
      [3, 3000, 'turn'],
    ]);
  });

  test('a denial that says "now" is not asked again without time passing', async () => {
    const timers = virtualTimers();
    let denials = 3;
    const store = recordingStore({ decide: () => ({ allowed: denials-- <= 0, retryAfter: 0 }) });
    const turn = createLimiter({ policy: bucket, store, timers }).acquire('api');
    await timers.run();
    expect((await turn).allowed).toBe(true);
    expect(timers.slept).toEqual([0.001, 0.001, 0.001]);
  });
});

describe('capacity that comes back wakes the head', () => {
  const log = slidingWindowLog({ limit: 2, window: '1h' });
  const rows: readonly [title: string, free: (limiter: Limiter) => Promise<unknown>][] = [
    ['refund', (limiter) => limiter.refund('api')],
    ['reset', (limiter) => limiter.reset('api')],
  ];

  test.each(rows)('%s', async (_, free) => {
    const { limiter, timers } = limiterWith(log);
    const diary = new Diary(timers);
    await limiter.attempt('api', { cost: 2 });
    diary.acquire('one', limiter);
    await timers.run(1000);
    await free(limiter);
    await settled();
    expect(diary.lines).toEqual([['one', 1000, 'turn']]);
    expectNothingLeft(limiter, timers);
  });

  test('the end of a block, and of a hold', async () => {
    const { limiter, timers } = limiterWith(log);
    const diary = new Diary(timers);
    await limiter.block('api', '10m');
    diary.acquire('blocked', limiter);
    await timers.run(1000);
    await limiter.unblock('api');
    await settled();
    const hold = await limiter.reserve('api');
    diary.acquire('held', limiter);
    await timers.run(2000);
    await hold.cancel();
    await settled();
    expect(diary.lines).toEqual([
      ['blocked', 1000, 'turn'],
      ['held', 2000, 'turn'],
    ]);
  });

  test('a slot that somebody else gives back', async () => {
    const { limiter, timers } = limiterWith(leakyBucket({ capacity: 4, leakRate: 1, mode: 'shaping' }));
    const diary = new Diary(timers);
    const { signal, abort } = abortable();
    diary.acquire('first', limiter);
    diary.acquire('gone', limiter, { cost: 3, signal });
    diary.acquire('large', limiter, { cost: 4 });
    await timers.run(500);
    abort();
    await timers.run();
    expect(diary.lines).toEqual([
      ['first', 0, 'turn'],
      ['gone', 500, 'SLUICE_ABORTED'],
      ['large', 1000, 'turn'],
    ]);
  });

  test('and if it was not enough, it sleeps again', async () => {
    const { limiter, timers } = limiterWith(bucket);
    const diary = new Diary(timers);
    await limiter.attempt('api', { cost: 10 });
    diary.acquire('one', limiter, { cost: 10 });
    await timers.run(200);
    await limiter.refund('api', { cost: 3 });
    await timers.run();
    expect(diary.lines).toEqual([['one', 700, 'turn']]);
  });
});

describe('schedule', () => {
  test('runs at its turn, one after the other, and tells what came of it', async () => {
    const { limiter, timers } = limiterWith(tokenBucket({ capacity: 1, refillRate: 1 }));
    const work = ({ remaining }: { remaining: number }) => `at ${timers.clock.now()} with ${remaining}`;
    const all = Promise.all([limiter.schedule('api', work), limiter.schedule('api', async (result) => work(result))]);
    await timers.run();
    expect(await all).toEqual(['at 0 with 0', 'at 1000 with 0']);
  });

  test('an error of the function passes through, and the turn stays spent', async () => {
    const { limiter } = limiterWith(bucket);
    const failure = new Error('503');
    const throwing = () => {
      throw failure;
    };
    await expect(limiter.schedule('api', throwing)).rejects.toBe(failure);
    await expect(limiter.schedule('api', () => Promise.reject(failure))).rejects.toBe(failure);
    expect((await limiter.peek('api')).remaining).toBe(8);
  });

  test('takes the options of acquire, and without a turn the function is not called', async () => {
    const { limiter, timers } = limiterWith(bucket);
    const called: unknown[] = [];
    await limiter.attempt('api', { cost: 10 });
    const signal = AbortSignal.abort();
    const work = () => called.push('called');
    await expect(limiter.schedule('api', work, { timeout: '1ms' })).rejects.toMatchObject({
      code: 'SLUICE_ACQUIRE_TIMEOUT',
    });
    await expect(limiter.schedule('api', work, { signal })).rejects.toMatchObject({ code: 'SLUICE_ABORTED' });
    await expect(limiter.schedule('api', work, { cost: 11 })).rejects.toMatchObject({ code: 'SLUICE_NEVER_FITS' });
    expect(called).toEqual([]);
    expectNothingLeft(limiter, timers);
  });
});
