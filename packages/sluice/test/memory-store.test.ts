/** The embedded store: the contract, its bounds, and a million live keys. */
import { describe, expect, test } from 'vitest';
import {
  checkPolicy,
  createLimiter,
  fixedWindow,
  gcra,
  manualClock,
  memoryStore,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../src/index.ts';
import { attemptOf } from '../src/model/store.ts';
import { storeContract } from '../src/testing/index.ts';

describe('memory store', () => {
  for (const { name, run } of storeContract(({ clock }) => memoryStore({ clock }))) test(name, run);
});

describe('memory store of few keys', () => {
  for (const { name, run } of storeContract(({ clock }) => memoryStore({ clock, maxKeys: 64 }))) test(name, run);
});

const LIMIT = 5;
const POLICIES: readonly Policy[] = [
  fixedWindow({ limit: LIMIT, window: '1m' }),
  fixedWindow({ limit: LIMIT, window: '1m', align: 'first' }),
  slidingWindowLog({ limit: LIMIT, window: '1m' }),
  slidingWindowCounter({ limit: LIMIT, window: '1m' }),
  tokenBucket({ capacity: LIMIT, refillRate: '5/m' }),
  gcra({ limit: LIMIT, period: '1m', capacity: LIMIT }),
];

const titles = POLICIES.map(
  (policy) => [`${policy.algorithm} ${'align' in policy ? policy.align : ''}`, policy] as const,
);

describe.each(titles)('a full store, %s', (_, policy) => {
  test('a flood of new keys does not free the keys that are limited', async () => {
    const clock = manualClock(1_763_280_000_000);
    const store = memoryStore({ clock, maxKeys: 1000 });
    const limiter = createLimiter({ policy, store });
    const limited = Array.from({ length: 500 }, (_, index) => `limited:${index}`);
    for (const key of limited) await limiter.attempt(key, { cost: LIMIT });
    for (let flood = 0; flood < 20_000; flood += 1) {
      clock.advance(0.1);
      await limiter.attempt(`flood:${flood}`);
    }
    const remaining = await Promise.all(limited.map(async (key) => (await limiter.peek(key)).remaining));
    expect(remaining.filter((left) => left > 0)).toEqual([]);
    expect(store.stats()).toMatchObject({ keys: 1000, evicted: 20_000 - 500 });
  });

  test('nothing but limited keys: a newcomer is let in and not remembered', async () => {
    const store = memoryStore({ clock: manualClock(1_763_280_000_000), maxKeys: 100 });
    const limiter = createLimiter({ policy, store });
    for (let index = 0; index < 100; index += 1) await limiter.attempt(`limited:${index}`, { cost: LIMIT });
    expect((await limiter.attempt('newcomer')).allowed).toBe(true);
    expect((await limiter.peek('newcomer')).remaining).toBe(LIMIT);
    expect((await limiter.peek('limited:0')).remaining).toBe(0);
    expect(store.stats()).toMatchObject({ keys: 100, evicted: 1 });
  });

  test('exactly as many keys as fit are all remembered', async () => {
    const store = memoryStore({ clock: manualClock(1_763_280_000_000), maxKeys: 5000 });
    const limiter = createLimiter({ policy, store });
    for (let index = 0; index < 5000; index += 1) await limiter.attempt(`key:${index}`);
    const remaining = await Promise.all(
      Array.from({ length: 5000 }, async (_, index) => (await limiter.peek(`key:${index}`)).remaining),
    );
    expect(new Set(remaining)).toEqual(new Set([LIMIT - 1]));
    expect(store.stats()).toMatchObject({ keys: 5000, evicted: 0 });
  });

  test('what means nothing any more makes room, and is no eviction', async () => {
    const clock = manualClock(1_763_280_000_000);
    const store = memoryStore({ clock, maxKeys: 5000 });
    const limiter = createLimiter({ policy, store });
    for (let round = 0; round < 5; round += 1) {
      for (let index = 0; index < 5000; index += 1) await limiter.attempt(`key:${round}:${index}`);
      expect(store.stats()).toMatchObject({ keys: 5000, evicted: 0 });
      clock.advance(180_000);
    }
  });

  test('old states go away by themselves while others are used', async () => {
    const clock = manualClock(1_763_280_000_000);
    const store = memoryStore({ clock });
    const limiter = createLimiter({ policy, store });
    for (let index = 0; index < 20_000; index += 1) await limiter.attempt(`old:${index}`);
    expect(store.stats().keys).toBe(20_000);
    clock.advance(180_000);
    for (let index = 0; index < 450_000; index += 1) store.ask(attemptOf([{ key: 'new', policy, cost: 1 }]));
    expect(store.stats()).toMatchObject({ keys: 1, evicted: 0 });
  });

  test('the only key of a store of one key', async () => {
    const store = memoryStore({ clock: manualClock(1_763_280_000_000), maxKeys: 1 });
    const limiter = createLimiter({ policy, store });
    for (const cost of [2, 2, 1]) expect((await limiter.attempt('one', { cost })).allowed).toBe(true);
    expect((await limiter.attempt('one')).allowed).toBe(false);
    expect((await limiter.attempt('two')).allowed).toBe(true);
    expect((await limiter.attempt('one')).allowed).toBe(false);
  });
});

describe('answers are told in objects that are used again', () => {
  const policy = fixedWindow({ limit: LIMIT, window: '1m' });
  const clock = manualClock(1_763_280_000_000);

  test('but what is given away stays as it is', async () => {
    const store = memoryStore({ clock });
    const limiter = createLimiter({ policy, store });
    const [first, second] = [limiter.attempt('one'), limiter.attempt('one', { cost: 2 })];
    const [third, fourth] = [1, 2].map(() => store.ask(attemptOf([{ key: 'one', policy, cost: 1 }])));
    expect([(await first).remaining, (await second).remaining]).toEqual([4, 2]);
    expect([third, fourth].map((answer) => answer!.remaining)).toEqual([1, 0]);
  });

  test('and looking for room in a full store does not change the answer', async () => {
    const store = memoryStore({ clock, maxKeys: 3 });
    const limiter = createLimiter({ policy, store });
    for (const key of ['one', 'two', 'three']) await limiter.attempt(key, { cost: 3 });
    expect((await limiter.attempt('four', { cost: 4 })).remaining).toBe(1);
    expect((await limiter.peek('four')).remaining).toBe(1);
  });

  test('a layer with an ask of its own is not bypassed', async () => {
    const store = memoryStore({ clock });
    let asked = 0;
    const ask: typeof store.ask = (question) => {
      asked += 1;
      return store.ask(question);
    };
    await createLimiter({ policy, store: { ...store, ask } }).attempt('one');
    expect(asked).toBe(1);
  });
});

describe('attempts under one policy are prepared once', () => {
  const policy = fixedWindow({ limit: LIMIT, window: '1m' });
  const clock = manualClock(1_763_280_000_000);

  test('and an ask that is put in place later is asked', async () => {
    const store = { ...memoryStore({ clock }) };
    const limiter = createLimiter({ policy, store });
    await limiter.attempt('one');
    const { ask } = store;
    const asked: unknown[] = [];
    Object.assign(store, {
      ask: (question: Parameters<typeof ask>[0]) => {
        asked.push(question.verb);
        return ask(question);
      },
    });
    expect((await limiter.attempt('one')).remaining).toBe(LIMIT - 2);
    expect(asked).toEqual(['attempt']);
  });

  test('and a question is answered as they are, blocked or not', async () => {
    const store = memoryStore({ clock });
    const limiter = createLimiter({ policy, store });
    const question = attemptOf([{ key: 'one', policy, cost: 1 }]);
    const other = { ...question, key: 'other' };
    for (let times = 0; times < LIMIT + 2; times += 1) {
      expect(await limiter.attempt('one')).toEqual(store.ask(other));
    }
    await limiter.block('one', '1h');
    await limiter.block('other', '1h');
    expect(await limiter.attempt('one')).toEqual(store.ask(other));
  });

  test('keys that come and go at a steady rate keep the bytes as they are', async () => {
    const own = manualClock(1_763_280_000_000);
    const store = memoryStore({ clock: own });
    const limiter = createLimiter({ policy: gcra({ limit: 1000, period: '1s' }), store });
    const round = async (): Promise<void> => {
      for (let index = 0; index < 20_000; index += 1) {
        if (index % 100 === 0) own.advance(1);
        await limiter.attempt(`key:${index}`);
      }
    };
    for (let times = 0; times < 20; times += 1) await round();
    const { bytes } = store.stats();
    for (let times = 0; times < 20; times += 1) {
      await round();
      expect(store.stats().bytes).toBeLessThanOrEqual(bytes * 1.1);
    }
    expect(store.stats().evicted).toBe(0);
  });
});

test('the least constrained of several policies makes room', async () => {
  const clock = manualClock(1_763_280_000_000);
  const store = memoryStore({ clock, maxKeys: 100 });
  const [window, log] = [
    createLimiter({ policy: POLICIES[0]!, store }),
    createLimiter({ policy: POLICIES[2]!, store }),
  ];
  for (let index = 0; index < 40; index += 1) await window.attempt(`limited:${index}`, { cost: LIMIT });
  for (let index = 0; index < 40; index += 1) await log.attempt(`limited:${index}`, { cost: LIMIT });
  for (let index = 0; index < 2000; index += 1) await (index % 2 === 0 ? window : log).attempt(`flood:${index}`);
  for (let index = 0; index < 40; index += 1) {
    expect((await window.peek(`limited:${index}`)).remaining).toBe(0);
    expect((await log.peek(`limited:${index}`)).remaining).toBe(0);
  }
  expect(store.stats().keys).toBe(100);
});

describe('a million live keys', () => {
  const MILLION = 1_000_000;
  const exact: readonly Policy[] = [
    tokenBucket({ capacity: 3, refillRate: '1/h' }),
    slidingWindowCounter({ limit: 3, window: '1h' }),
    slidingWindowLog({ limit: 3, window: '1h' }),
  ];

  test.each(exact.map((policy) => [policy.algorithm, policy] as const))(
    '%s: every one is limited exactly',
    (_, policy) => {
      const clock = manualClock(1_763_280_000_000);
      // A million logs take more than the bytes that are kept by default.
      const store = memoryStore({ clock, maxBytes: 2 ** 30 });
      const decide = (index: number, cost: number) => store.ask(attemptOf([{ key: `user:${index}`, policy, cost }]));
      let wrong = 0;
      const expectAll = (
        cost: (spent: number) => number,
        allowed: boolean,
        remaining: (spent: number) => number,
      ): void => {
        for (let index = 0; index < MILLION; index += 1) {
          const spent = 1 + (index % 3);
          const seen = decide(index, cost(spent));
          if (seen.allowed !== allowed || seen.remaining !== remaining(spent)) wrong += 1;
        }
      };
      expectAll(
        (spent) => spent,
        true,
        (spent) => 3 - spent,
      );
      expectAll(
        (spent) => 4 - spent,
        false,
        (spent) => 3 - spent,
      );
      expectAll(
        (spent) => 3 - spent,
        true,
        () => 0,
      );
      expect(store.stats()).toMatchObject({ keys: MILLION, evicted: 0 });
      expect(wrong).toBe(0);
    },
  );
});

test('blocks are bounded too: of more than maxKeys the older ones go, and are counted', async () => {
  const clock = manualClock(0);
  const store = memoryStore({ clock, maxKeys: 100 });
  const limiter = createLimiter({ policy: gcra({ limit: 10, period: '1s' }), store });
  for (let index = 0; index < 5000; index++) {
    clock.advance(1);
    await limiter.block(`key ${index}`, '1h');
  }
  const blocked = async (from: number, to: number): Promise<number> => {
    let count = 0;
    for (let index = from; index < to; index++) if (!(await limiter.peek(`key ${index}`)).allowed) count += 1;
    return count;
  };
  expect([await blocked(0, 4900), await blocked(4900, 5000), store.stats().evicted]).toEqual([0, 100, 4900]);
  clock.advance(3_600_000);
  for (let index = 0; index < 2000; index++) await limiter.block(`other ${index}`, '1h');
  await limiter.unblock('other 1999');
  expect((await limiter.peek('other 1999')).allowed).toBe(true);
  expect((await limiter.peek('other 1998')).allowed).toBe(false);
});

describe.each(titles)('policies under ever new names, %s', (_, policy) => {
  const named = ({ name }: { name: string }): Policy => checkPolicy({ ...policy, name });
  const storeOf = (maxKeys?: number) => {
    const clock = manualClock(1_763_280_000_000);
    const store = memoryStore({ clock, maxKeys });
    return { clock, store, limiter: createLimiter({ policy: named, store }) };
  };

  test('what means nothing any more goes away, one name or the other', async () => {
    const { clock, store, limiter } = storeOf();
    for (let tenant = 0; tenant < 5000; tenant += 1) {
      clock.advance(1000);
      await limiter.attempt('ada', { context: { name: `tenant ${tenant}` } });
    }
    // At most 120 are alive, those of a sliding window counter for two windows; as many were not looked at yet.
    expect(store.stats().keys).toBeLessThan(300);
    expect(store.stats().evicted).toBe(0);
  });

  test('and what still counts stays, whatever goes away beside it', async () => {
    const { limiter } = storeOf();
    const lasting = { context: { name: 'lasting' } };
    await limiter.attempt('grace', { cost: LIMIT, ...lasting });
    await limiter.block('hopper', '1d', { context: { name: 'blocks alone' } });
    for (let tenant = 0; tenant < 2000; tenant += 1) {
      const context = { name: `tenant ${tenant}` };
      await limiter.attempt('ada', { context });
      await limiter.reset('ada', { context });
    }
    expect((await limiter.attempt('grace', lasting)).allowed).toBe(false);
    expect((await limiter.attempt('hopper', { context: { name: 'blocks alone' } })).allowed).toBe(false);
  });

  test('a policy that is held on to spends from the same state as its copies', async () => {
    const { clock, store } = storeOf();
    const held = named({ name: 'held' });
    const [own, copied] = [createLimiter({ policy: held, store }), createLimiter({ policy: named, store })];
    for (let round = 0; round < 200; round += 1) {
      clock.advance(120_001);
      for (let tenant = 0; tenant < 3; tenant += 1) {
        await copied.attempt('ada', { context: { name: `tenant ${round} ${tenant}` } });
      }
      await own.attempt('ada', { cost: LIMIT - 1 });
      expect((await copied.attempt('ada', { context: { name: 'held' } })).remaining).toBe(0);
      expect((await own.attempt('ada')).allowed).toBe(false);
    }
  });

  test('a full store: room is looked for under all names, not the first ones alone', async () => {
    const { store, limiter } = storeOf(1000);
    for (let tenant = 0; tenant < 1000; tenant += 1) {
      await limiter.attempt('ada', { cost: tenant < 600 ? LIMIT : 1, context: { name: `tenant ${tenant}` } });
    }
    const newcomers = Array.from({ length: 10 }, (_, index) => ({ context: { name: `newcomer ${index}` } }));
    for (const newcomer of newcomers) await limiter.attempt('ada', newcomer);
    const remaining = await Promise.all(
      newcomers.map(async (newcomer) => (await limiter.peek('ada', newcomer)).remaining),
    );
    expect(remaining).toContain(LIMIT - 1);
    expect(store.stats().keys).toBe(1000);
  });
});
