/** A store over anything that can read a value and swap it: the contract, and what it costs and keeps when engines are slow, busy or lost. */
import { afterAll, describe, expect, test } from 'vitest';
import {
  createLimiter,
  fixedWindow,
  manualClock,
  memoryStore,
  type Policy,
  SluiceError,
  type Store,
  slidingWindowLog,
  tokenBucket,
} from '../../src/index.ts';
import { ruleOf } from '../../src/model/policy.ts';
import { attemptOf, type Change, type Check, type Question } from '../../src/model/store.ts';
import { type SwapPort, storeOver } from '../../src/store/index.ts';
import { storeContract } from '../../src/testing/index.ts';
import { KINDS, policyOf, type Random, randomFrom, randomPolicy, randomStep, testSeed } from '../support/random.ts';
import { Engine } from './engine.ts';

const seed = testSeed();
afterAll(() => console.log(`store over: seed ${seed}`));

const START_MS = 1_763_280_000_000;

describe('the contract', () => {
  describe('an engine that answers with values', () => {
    for (const { name, run } of storeContract(({ clock }) => storeOver(new Engine().port, { clock }))) test(name, run);
  });

  describe('an engine that answers later, in any order', () => {
    const cases = storeContract(({ clock }) => storeOver(new Engine().slowPort(randomFrom(seed)), { clock }));
    for (const { name, run } of cases) test(name, run);
  });

  describe('an engine that tells the time', () => {
    const cases = storeContract(({ clock }) => {
      const { port } = new Engine();
      return storeOver({ ...port, read: async (key) => ({ ...(await port.read(key)), now: clock.now() }) });
    });
    for (const { name, run } of cases) test(name, run);
  });
});

/** Of this limit an hour. */
function hourly(kind: string, limit: number, name?: string): Policy {
  return policyOf(kind, { limit, window: 3_600_000, capacity: limit, rate: limit / 3600 }, name);
}

const clock = manualClock(START_MS);

function attempt(store: Store, policy: Policy, cost = 1, key = 'someone') {
  return store.ask(attemptOf([{ key, policy, cost }]));
}

async function remaining(engine: Engine, policy: Policy, key = 'someone'): Promise<number> {
  return (await attempt(storeOver(engine.port, { clock }), policy, 0, key)).remaining;
}

describe('eight processes on one engine admit exactly the limit', () => {
  test.each(KINDS)('%s', async (kind) => {
    for (let run = 0; run < 10; run += 1) {
      const random = randomFrom(seed + run);
      const engine = new Engine();
      const policy = hourly(kind, 100);
      const stores = Array.from({ length: 8 }, () => storeOver(engine.slowPort(random), { clock, tries: 1000 }));
      const answers = await Promise.all(
        Array.from({ length: 40 }, () => stores.map((store) => attempt(store, policy))).flat(),
      );
      expect(answers.filter(({ allowed }) => allowed)).toHaveLength(100);
      expect(await remaining(engine, policy)).toBe(0);
    }
  });

  test.each(KINDS)('%s: with refunds and penalties among them', async (kind) => {
    for (let run = 0; run < 10; run += 1) {
      const random = randomFrom(seed + run);
      const engine = new Engine();
      const policy = hourly(kind, 100);
      const limiters = Array.from({ length: 8 }, () =>
        createLimiter({ policy, store: storeOver(engine.slowPort(random), { clock, tries: 1000 }) }),
      );
      let spent = 0;
      const act = async (index: number): Promise<void> => {
        const limiter = limiters[index % 8]!;
        const of = await limiter.attempt('someone', { cost: 3 });
        if (of.allowed) spent += 3;
        if (of.allowed && index % 3 === 0) {
          const { changed } = await limiter.refund('someone', { cost: 3, of });
          spent -= changed;
        }
        if (index % 10 === 0) {
          const { changed } = await limiter.penalize('someone', { cost: 1 });
          spent += changed;
        }
      };
      await Promise.all(Array.from({ length: 80 }, (_, index) => act(index)));
      expect(await remaining(engine, policy)).toBe(100 - spent);
    }
  });
});

/** Nothing comes back while the clock stands still, so every unit can be accounted for. */
describe('answers that are lost', () => {
  test.each(KINDS)('%s: what was carried out is charged once, and nothing is minted', async (kind) => {
    for (let run = 0; run < 30; run += 1) {
      const random = randomFrom(seed + run);
      const engine = new Engine();
      let lostAfter = 0;
      engine.fateOf = (call) => {
        const fate = random.real() < 0.7 ? 'answered' : random.pick(['lost before', 'lost after'] as const);
        if (call === 'swap' && fate === 'lost after') lostAfter += 1;
        return fate;
      };
      const policy = hourly(kind, 50);
      const store = storeOver(engine.slowPort(random), { clock });
      let acknowledged = 0;
      let lost = 0;
      // One after the other, so that each swap is one attempt.
      for (let index = 0; index < 80; index += 1) {
        try {
          if ((await attempt(store, policy)).allowed) acknowledged += 1;
        } catch (error) {
          expect(error).toEqual(new Error('connection lost'));
          lost += 1;
        }
      }
      expect(lost).toBeGreaterThan(0);
      expect(await remaining(engine, policy)).toBe(50 - acknowledged - lostAfter);
      expect(acknowledged + lostAfter).toBeLessThanOrEqual(50);
    }
  });

  test.each(KINDS)('%s: a refund without an answer is not carried out again', async (kind) => {
    const engine = new Engine();
    const policy = hourly(kind, 50);
    const limiter = createLimiter({ policy, store: storeOver(engine.slowPort(randomFrom(seed)), { clock }) });
    await limiter.attempt('someone', { cost: 10 });
    const of = await limiter.attempt('someone', { cost: 5 });
    engine.fateOf = (call) => (call === 'swap' ? 'lost after' : 'answered');
    await expect(limiter.refund('someone', { cost: 5, of })).rejects.toThrow('connection lost');
    expect(await remaining(engine, policy)).toBe(40);
    expect(engine.swaps).toHaveLength(3);
  });

  test('those who wait go on with the next, and those who were decided together all hear of it', async () => {
    const engine = new Engine();
    const policy = hourly('token-bucket', 50);
    let swaps = 0;
    engine.fateOf = (call) => {
      if (call === 'swap') swaps += 1;
      return call === 'swap' && swaps === 2 ? 'lost after' : 'answered';
    };
    const store = storeOver(engine.slowPort(randomFrom(seed)), { clock });
    const first = attempt(store, policy);
    const together = [1, 2, 3].map(() => attempt(store, policy));
    const heard = await Promise.allSettled([first, ...together]);
    expect(heard.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'rejected']);
    expect(await remaining(engine, policy)).toBe(46);
    expect(await attempt(store, policy)).toMatchObject({ allowed: true, remaining: 45 });
  });
});

describe('what it costs', () => {
  test.each(KINDS)('%s: a denied attempt, a look and a dry run only read', async (kind) => {
    const engine = new Engine();
    const policy = hourly(kind, 5);
    const store = storeOver(engine.port, { clock });
    await attempt(store, policy, 5);
    expect([engine.reads.length, engine.swaps.length]).toEqual([1, 1]);
    expect(await attempt(store, policy)).toMatchObject({ allowed: false });
    expect(await attempt(store, policy, 0)).toMatchObject({ allowed: true });
    expect(await store.ask(attemptOf([{ key: 'other', policy, cost: 2 }], true))).toMatchObject({ allowed: true });
    await store.ask({ verb: 'change', changes: [{ verb: 'unblock', key: 'someone', policy }] });
    await store.ask({ verb: 'change', changes: [{ verb: 'refund', key: 'other', policy, cost: 1 }] });
    await store.ask({ verb: 'forget', key: 'other', policies: [policy] });
    expect([engine.reads.length, engine.swaps.length]).toEqual([7, 1]);
  });

  test('all policies of a key are one value: one read and one swap', async () => {
    const engine = new Engine();
    const policies = KINDS.map((kind) => hourly(kind, 5, kind));
    const store = storeOver(engine.port, { clock });
    const { decisions } = await store.ask(attemptOf(policies.map((policy) => ({ key: 'someone', policy, cost: 2 }))));
    expect(decisions.map(({ remaining }) => remaining)).toEqual(KINDS.map(() => 3));
    expect([engine.reads, engine.swaps.length]).toEqual([['sluice:someone'], 1]);
    const changes = policies.map((policy): Change => ({ verb: 'penalize', key: 'someone', policy, cost: 1 }));
    await store.ask({ verb: 'change', changes });
    expect([engine.reads.length, engine.swaps.length]).toEqual([2, 2]);
  });

  test('a hot key costs one swap at a time, however many wait', async () => {
    const engine = new Engine();
    const policy = hourly('gcra', 100_000);
    const store = storeOver(engine.slowPort(randomFrom(seed)), { clock });
    const answers = await Promise.all(Array.from({ length: 1000 }, () => attempt(store, policy)));
    expect(answers.map(({ remaining }) => remaining)).toEqual(Array.from({ length: 1000 }, (_, at) => 99_999 - at));
    expect([engine.reads.length, engine.swaps.length, engine.mostUnderWay]).toEqual([2, 2, 1]);
  });

  test('other keys do not wait', async () => {
    const engine = new Engine();
    const policy = hourly('gcra', 100);
    const store = storeOver(engine.slowPort(randomFrom(seed)), { clock });
    const keys = Array.from({ length: 50 }, (_, index) => `key ${index}`);
    const answers = keys.map((key) => attempt(store, policy, 1, key));
    expect(engine.reads.length).toBe(0);
    await Promise.all(answers);
    expect([engine.reads.length, engine.swaps.length, engine.mostUnderWay]).toEqual([50, 50, 1]);
  });

  test('a question that is a mistake fails alone', async () => {
    const engine = new Engine();
    const policy = hourly('gcra', 100);
    const store = storeOver(engine.slowPort(randomFrom(seed)), { clock });
    const history = { verb: 'history', key: 'someone', policy, after: 0, most: 5 } as const;
    const heard = await Promise.allSettled([attempt(store, policy), store.ask(history), attempt(store, policy)]);
    expect(heard).toMatchObject([
      { value: { remaining: 99 } },
      { reason: { code: 'SLUICE_NO_HISTORY' } },
      { value: { remaining: 98 } },
    ]);
  });

  test('a value lasts for as long as its states mean something, and goes when none does', async () => {
    const engine = new Engine();
    const second = fixedWindow({ limit: 5, window: '1s', align: 'first' });
    const minute = fixedWindow({ limit: 5, window: '1m', align: 'first' });
    const moving = manualClock(START_MS);
    const store = storeOver(engine.port, { clock: moving });
    await attempt(store, second);
    await attempt(store, minute);
    const both = engine.swaps.at(-1)!.bytes!;
    moving.advance(1000);
    await attempt(store, minute);
    const one = engine.swaps.at(-1)!.bytes!;
    expect(engine.swaps.map(({ ttlMs }) => ttlMs)).toEqual([1000, 60_000, 59_000]);
    expect(one).toBeLessThan(both);
    await store.ask({ verb: 'change', changes: [{ verb: 'refund', key: 'someone', policy: minute, cost: 5 }] });
    expect(engine.swaps.at(-1)).toMatchObject({ bytes: undefined, isDone: true });
    expect(engine.values.size).toBe(0);
    await store.ask({
      verb: 'change',
      changes: [{ verb: 'block', key: 'someone', policy: minute, duration: 90_000_500 }],
    });
    expect(engine.swaps.at(-1)!.ttlMs).toBe(90_001);
  });
});

describe('several keys', () => {
  const user = tokenBucket({ capacity: 10, refillRate: '1/h', name: 'user' });
  const everyone = slidingWindowLog({ limit: 15, window: '1h', name: 'everyone' });
  const checks = (cost: number): readonly Check[] => [
    { key: 'ada', policy: user, cost },
    { key: 'all', policy: everyone, cost },
  ];

  test('all of them spend, or what was spent is given back', async () => {
    const engine = new Engine();
    const store = storeOver(engine.slowPort(randomFrom(seed)), { clock });
    expect(await store.ask(attemptOf(checks(6)))).toMatchObject({
      allowed: true,
      decisions: [{ remaining: 4 }, { remaining: 9 }],
    });
    await attempt(store, everyone, 7, 'all');
    expect(await store.ask(attemptOf(checks(3)))).toMatchObject({
      allowed: false,
      policy: 'everyone',
      decisions: [
        { allowed: true, remaining: 4, retryAfter: null },
        { allowed: false, remaining: 2 },
      ],
    });
    expect([await remaining(engine, user, 'ada'), await remaining(engine, everyone, 'all')]).toEqual([4, 2]);
  });

  test('what is denied by the first is not asked of the others in earnest', async () => {
    const engine = new Engine();
    const store = storeOver(engine.port, { clock });
    await attempt(store, user, 10, 'ada');
    const before = engine.swaps.length;
    expect(await store.ask(attemptOf(checks(1)))).toMatchObject({
      allowed: false,
      decisions: [{ allowed: false }, { allowed: true, remaining: 15 }],
    });
    expect(engine.swaps.length).toBe(before);
  });

  test('a dry run spends nothing anywhere', async () => {
    const engine = new Engine();
    const store = storeOver(engine.port, { clock });
    expect(await store.ask(attemptOf(checks(4), true))).toMatchObject({ allowed: true, decisions: [{}, {}] });
    expect(engine.swaps).toEqual([]);
  });

  test('a key that is lost gives back what the others have spent', async () => {
    const engine = new Engine();
    const store = storeOver(engine.slowPort(randomFrom(seed)), { clock });
    engine.fateOf = (call, key) => (call === 'read' && key === 'sluice:all' ? 'lost before' : 'answered');
    await expect(store.ask(attemptOf(checks(4)))).rejects.toThrow('connection lost');
    engine.fateOf = () => 'answered';
    expect([await remaining(engine, user, 'ada'), await remaining(engine, everyone, 'all')]).toEqual([10, 15]);
  });

  test('of many at the same time all are all or nothing', async () => {
    const engine = new Engine();
    const random = randomFrom(seed);
    const stores = Array.from({ length: 8 }, () => storeOver(engine.slowPort(random), { clock, tries: 1000 }));
    const wide = tokenBucket({ capacity: 1000, refillRate: '1/h', name: 'wide' });
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        stores[index % 8]!.ask(
          attemptOf([
            { key: 'wide', policy: wide, cost: 1 },
            { key: 'all', policy: everyone, cost: 1 },
          ]),
        ),
      ),
    );
    const admitted = answers.filter(({ allowed }) => allowed).length;
    expect(admitted).toBe(15);
    expect([await remaining(engine, wide, 'wide'), await remaining(engine, everyone, 'all')]).toEqual([985, 0]);
  });

  test('changes are carried out key by key', async () => {
    const engine = new Engine();
    const store = storeOver(engine.port, { clock });
    const changes: readonly Change[] = [
      { verb: 'penalize', key: 'ada', policy: user, cost: 2 },
      { verb: 'penalize', key: 'all', policy: everyone, cost: 3 },
      { verb: 'block', key: 'ada', policy: user, duration: 1000 },
    ];
    expect((await store.ask({ verb: 'change', changes })).decisions).toMatchObject([
      { policy: 'user', changed: 2, remaining: 8 },
      { policy: 'everyone', changed: 3, remaining: 12 },
      { policy: 'user', changed: 0, allowed: false },
    ]);
    expect(engine.swaps).toHaveLength(2);
  });
});

describe('others that are faster', () => {
  const policy = hourly('gcra', 100);
  const busy = (swaps: unknown[]): SwapPort => ({
    read: async () => undefined,
    swap: async (key) => {
      swaps.push(key);
      return false;
    },
  });

  test.each([1, 3, 64])('after %i tries it is an error, and nothing was counted', async (tries) => {
    const swaps: unknown[] = [];
    const store = storeOver(busy(swaps), { clock, ...(tries === 64 ? {} : { tries }) });
    await expect(attempt(store, policy)).rejects.toMatchObject({
      code: 'SLUICE_TIMEOUT',
      kind: 'store',
      path: 'store',
      sentence: `Other processes changed this key first, ${tries} times in a row. Nothing was counted.`,
    });
    expect(swaps).toHaveLength(tries);
  });

  test('a denial needs no luck', async () => {
    const store = storeOver(busy([]), { clock });
    expect(await attempt(store, policy, 101)).toMatchObject({ allowed: false });
  });

  test('it goes on when they are done, on what they have left', async () => {
    const engine = new Engine();
    const other = storeOver(engine.port, { clock });
    let disturbances = 5;
    const store = storeOver(
      {
        read: (key) => engine.read(key),
        swap(...swap) {
          if (disturbances > 0) {
            disturbances -= 1;
            void attempt(other, policy, 10);
          }
          return engine.swap(...swap);
        },
      },
      { clock },
    );
    expect(await attempt(store, policy)).toMatchObject({ allowed: true, remaining: 49 });
    expect(engine.swaps.filter(({ isDone }) => isDone)).toHaveLength(6);
  });

  test('what they have spent meanwhile may deny it', async () => {
    const engine = new Engine();
    const other = storeOver(engine.port, { clock });
    const store = storeOver(
      {
        read: (key) => engine.read(key),
        swap(...swap) {
          void attempt(other, policy, 100);
          return engine.swap(...swap);
        },
      },
      { clock },
    );
    expect(await attempt(store, policy)).toMatchObject({ allowed: false, remaining: 0 });
  });
});

/** Memory keeps states in tables and swaps keep them in bytes; what they say must not depend on it. */
describe('the same answers as in memory', () => {
  const KEYS = Array.from({ length: 40 }, (_, index) => `key ${index}`);

  function randomQuestion(random: Random, policies: readonly Policy[]): Question {
    const key = random.pick(KEYS);
    const policy = random.pick(policies);
    const { limit } = ruleOf(policy);
    const cost = random.whole(0, Math.min(limit + 1, 20));
    const dice = random.real();
    if (dice < 0.5) return attemptOf([{ key, policy, cost }], random.real() < 0.2);
    if (dice < 0.6) return attemptOf(policies.map((each) => ({ key, policy: each, cost })));
    if (dice < 0.7) return { verb: 'change', changes: [{ verb: 'penalize', key, policy, cost }] };
    if (dice < 0.8) return { verb: 'change', changes: [{ verb: 'refund', key, policy, cost }] };
    if (dice < 0.85)
      return { verb: 'change', changes: [{ verb: 'block', key, policy, duration: random.whole(1, 1e7) }] };
    if (dice < 0.9) return { verb: 'change', changes: [{ verb: 'unblock', key, policy }] };
    if (dice < 0.95) return { verb: 'forget', key, policies };
    return { verb: 'history', key, policy, after: 0, most: 100 };
  }

  const said = async (ask: () => unknown): Promise<unknown> => {
    try {
      return await ask();
    } catch (error) {
      return (error as SluiceError).code;
    }
  };

  test.each(KINDS)('%s', async (kind) => {
    for (let run = 0; run < 20; run += 1) {
      const random = randomFrom(seed + run);
      const first = randomPolicy(random, kind, 'first');
      const policies = [first, randomPolicy(random, random.pick(KINDS), 'second')];
      let micros = START_MS * 1000;
      const moving = manualClock(START_MS);
      const stores = [memoryStore({ clock: moving }), storeOver(new Engine().port, { clock: moving })];
      for (let step = 0; step < 400; step += 1) {
        // So that 400 of them stay within the time that is exact.
        micros += Math.min(randomStep(random, first, false), 1e13);
        moving.set(micros / 1000);
        const question = randomQuestion(random, policies);
        const [memory, swapped] = await Promise.all(stores.map((store) => said(() => store.ask(question))));
        expect(swapped, `seed ${seed + run}, step ${step}: ${JSON.stringify(question)}`).toEqual(memory);
      }
    }
  });
});

describe('what is refused', () => {
  const { port } = new Engine();
  const wrong = (value: unknown): never => value as never;

  test.each<[title: string, make: () => unknown, path: string, code?: string]>([
    ['no port', () => storeOver(wrong(undefined)), 'storeOver(port)'],
    ['a Map', () => storeOver(wrong(new Map())), 'storeOver(port)'],
    ['only a read', () => storeOver(wrong({ read: port.read })), 'storeOver(port)'],
    ['misspelt', () => storeOver(port, wrong({ prefx: 'a' })), 'storeOver.prefx'],
    ['tries', () => storeOver(port, { tries: 0 }), 'storeOver.tries'],
    ['a prefix that is no text', () => storeOver(port, { prefix: wrong(5) }), 'storeOver.prefix'],
    ['isShared', () => storeOver(port, { isShared: wrong('no') }), 'storeOver.isShared'],
    ['a clock', () => storeOver(port, { clock: wrong(Date.now) }), 'storeOver.clock', 'SLUICE_INVALID_CLOCK'],
  ])('%s', (_, make, path, code = 'SLUICE_INVALID_OPTION') => {
    expect(make).toThrow(SluiceError);
    expect(make).toThrow(expect.objectContaining({ code, path }));
  });

  test.each([Number.NaN, -1, Number.POSITIVE_INFINITY, 'noon', null])('a time that is none: %o', async (now) => {
    const engine = new Engine();
    const byClock = storeOver(engine.port, { clock: { now: () => wrong(now) } });
    const byEngine = storeOver({ ...engine.port, read: () => ({ now: wrong(now) }) });
    for (const store of [byClock, byEngine]) {
      const asked = (async () => attempt(store, hourly('gcra', 5)))();
      await expect(asked).rejects.toMatchObject({ code: 'SLUICE_INVALID_CLOCK' });
    }
    expect(engine.swaps).toEqual([]);
  });

  test.each<[title: string, bytes: readonly number[]]>([
    ['nothing', []],
    ['text', [...new TextEncoder().encode('{"count":5}')]],
    ['another version', [2, 1, 2, 3]],
    ['the end is missing', [1, 5, 0, 103]],
    ['a count that is too large', [1, 1, 0, 103, ...Array(16).fill(0), 255, 255, 255, 255]],
  ])('a value that is none of ours is left alone: %s', async (_, bytes) => {
    const engine = new Engine();
    const value = Uint8Array.from(bytes);
    engine.values.set('sluice:someone', { value, version: 1 });
    const store = storeOver(engine.port, { clock });
    const asked = (async () => attempt(store, hourly('gcra', 5)))();
    await expect(asked).rejects.toMatchObject({ code: 'SLUICE_UNEXPECTED_REPLY', kind: 'store' });
    expect(engine.values.get('sluice:someone')!.value).toBe(value);
    expect(await attempt(store, hourly('gcra', 5), 1, 'other')).toMatchObject({ allowed: true });
  });
});

test('where the states are, and whether others see them', () => {
  const { port } = new Engine();
  expect(storeOver(port).place).toEqual({ isShared: true });
  expect(storeOver(port, { isShared: false }).place).toEqual({ isShared: false });
});

test('a prefix keeps applications apart', async () => {
  const engine = new Engine();
  const policy = hourly('gcra', 5);
  await attempt(storeOver(engine.port, { clock, prefix: 'a:' }), policy, 5);
  expect(await attempt(storeOver(engine.port, { clock, prefix: 'b:' }), policy)).toMatchObject({ remaining: 4 });
  expect([...engine.values.keys()]).toEqual(['a:someone', 'b:someone']);
});

test('what the example of storeOver shows works', async () => {
  const values = new Map<string, { value: Uint8Array; version: number }>();
  const store = storeOver({
    read: (key) => values.get(key),
    swap(key, next, expected) {
      if (values.get(key)?.version !== expected) return false;
      if (next === undefined) values.delete(key);
      else values.set(key, { value: next, version: ((expected as number) ?? 0) + 1 });
      return true;
    },
  });
  const limiter = createLimiter({ policy: hourly('token-bucket', 5), store });
  expect((await limiter.attempt('someone', { cost: 5 })).allowed).toBe(true);
  expect((await limiter.attempt('someone')).allowed).toBe(false);
});
