/** What a full memory store forgets, and how much it holds: by keys, and by bytes. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import {
  createLimiter,
  manualClock,
  memoryStore,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../src/index.ts';
import { attemptOf } from '../src/model/store.ts';
import { KINDS, policyOf } from './support/random.ts';

const START_MS = 1_763_280_000_000;

describe.each(KINDS)('%s: each key is judged by the numbers it was written under', (kind) => {
  const plan = (limit: number): Policy =>
    policyOf(kind, { limit, window: 3_600_000, capacity: limit, rate: limit / 3600 }, 'plan');
  const full = (limit: number) => {
    const store = memoryStore({ clock: manualClock(START_MS), maxKeys: 100 });
    const spend = (key: string, cost: number, of = limit) => store.ask(attemptOf([{ key, policy: plan(of), cost }]));
    const left = (key: string, of = limit): number => spend(key, 0, of).remaining;
    for (let index = 0; index < 100; index += 1) spend(`key ${index}`, 5);
    return { store, spend, left };
  };

  test('a small plan that is used up is not taken for a large one that is not', () => {
    const { store, spend, left } = full(5);
    for (let index = 0; index < 500; index += 1) spend(`flood ${index}`, 1, 1000);
    expect(Array.from({ length: 100 }, (_, index) => left(`key ${index}`))).toEqual(Array(100).fill(0));
    expect(store.stats()).toMatchObject({ keys: 100, evicted: 500 });
  });

  test('a large plan that is hardly used is not taken for a small one that is used up', () => {
    const { store, spend, left } = full(1000);
    for (let index = 0; index < 25; index += 1) spend(`newcomer ${index}`, 1, 5);
    const kept = Array.from({ length: 25 }, (_, index) => left(`newcomer ${index}`, 5));
    // Each of them has more of its limit used than any that was there, so none makes room for the next. They are few, so that a sample of 16
    // states holds one of the others.
    expect(kept).toEqual(Array(25).fill(4));
    expect(store.stats()).toMatchObject({ keys: 100, evicted: 25 });
  });

  test('under more plans than are told apart, limited keys still stay', () => {
    const store = memoryStore({ clock: manualClock(START_MS), maxKeys: 400 });
    const spend = (key: string, cost: number, of: number) => store.ask(attemptOf([{ key, policy: plan(of), cost }]));
    for (let limit = 1; limit <= 400; limit += 1) spend(`key ${limit}`, limit, limit);
    for (let index = 0; index < 100; index += 1) spend(`flood ${index}`, 1, 401);
    const left = Array.from({ length: 200 }, (_, index) => spend(`key ${index + 1}`, 0, index + 1).remaining);
    expect(left).toEqual(Array(200).fill(0));
  });
});

const HOURLY_LOG = slidingWindowLog({ limit: 1_000_000, window: '1h' });
const MEGABYTE = 2 ** 20;

/** Entries of 16 bytes each, a microsecond apart so that each is one of its own. */
function logStore(maxBytes: number) {
  let micros = START_MS * 1000;
  const clock = manualClock(START_MS);
  const store = memoryStore({ clock, maxBytes });
  const spend = (key: string, cost = 1, policy: Policy = HOURLY_LOG) => {
    micros += 1;
    clock.set(micros / 1000);
    return store.ask(attemptOf([{ key, policy, cost }]));
  };
  return { store, spend };
}

/** Until it is denied, which must come. */
function fill(spend: ReturnType<typeof logStore>['spend']): void {
  let admitted = 0;
  while (spend('one').allowed) {
    admitted += 1;
    expect(admitted).toBeLessThan(10_000);
  }
}

describe('maxBytes', () => {
  test('one huge log is denied when it is full, and forgets nothing', () => {
    const { store, spend } = logStore(MEGABYTE);
    let admitted = 0;
    while (admitted < 200_000 && spend('one').allowed) admitted += 1;
    // A ring is doubled when it is full, so that it may end at twice the bytes.
    expect(admitted).toBe(65_536);
    expect(store.stats()).toMatchObject({ keys: 1, evicted: 0 });
    expect(store.stats().bytes).toBeLessThan(2 * MEGABYTE);
    for (let attempt = 0; attempt < 100; attempt += 1) {
      const { allowed, retryAfter } = spend('one');
      expect([allowed, retryAfter! > 0 && retryAfter! <= 3600]).toEqual([false, true]);
    }
    expect(spend('one', 0).remaining).toBe(1_000_000 - 65_536);
    const history = store.ask({ verb: 'history', key: 'one', policy: HOURLY_LOG, after: 0, most: 1_000_000 }).history!;
    expect(history).toHaveLength(65_536);
  });

  test('a log beside many others keeps to what it has spent, or is forgotten as a whole', () => {
    const { store, spend } = logStore(MEGABYTE);
    const admitted = new Map<string, number>();
    for (let round = 0; round < 40; round += 1) {
      for (let index = 0; index < 1000; index += 1) {
        const key = `key ${index}`;
        const before = 1_000_000 - spend(key, 0).remaining;
        if (before === 0) admitted.set(key, 0);
        expect(before).toBe(admitted.get(key));
        if (spend(key).allowed && 1_000_000 - spend(key, 0).remaining === before + 1) admitted.set(key, before + 1);
      }
      expect(store.stats().bytes).toBeLessThan(1.2 * MEGABYTE);
    }
  });

  test.each([
    ['short', 20_000, MEGABYTE, (index: number) => `${index}`],
    ['long', 1000, MEGABYTE / 8, (index: number) => `${index}`.padEnd(65_536, 'x')],
  ] as const)('many %s keys', (_, keys, maxBytes, nameOf) => {
    const { store, spend } = logStore(maxBytes);
    for (let index = 0; index < keys; index += 1) for (let unit = 0; unit < 6; unit += 1) spend(nameOf(index));
    expect(store.stats().bytes).toBeLessThan(1.1 * maxBytes);
    expect(store.stats().bytes).toBeGreaterThan(0.9 * maxBytes);
    expect(spend(nameOf(keys - 1), 0).remaining, 'the latest is remembered').toBe(1_000_000 - 6);
  });

  test.each([
    ['token-bucket', tokenBucket({ capacity: 5, refillRate: '1/h' })],
    ['sliding-window-counter', slidingWindowCounter({ limit: 5, window: '1h' })],
  ])('%s: states of a few numbers are held too, one for one', (_, policy) => {
    const { store, spend } = logStore(MEGABYTE);
    for (let index = 0; index < 200; index += 1) spend(`limited ${index}`, 5, policy);
    let evicted = 0;
    for (let index = 0; index < 60_000; index += 1) {
      spend(`flood ${index}`, 1, policy);
      const now = store.stats().evicted;
      expect(now - evicted).toBeLessThanOrEqual(1);
      evicted = now;
    }
    const { bytes, keys } = store.stats();
    expect(bytes).toBeLessThanOrEqual(1.5 * MEGABYTE);
    // Slots of 32 or 40 bytes, at most 65 of 100 taken.
    expect(keys).toBeGreaterThan(10_000);
    expect(evicted).toBeGreaterThan(0);
    expect(spend('flood 59999', 0, policy).remaining, 'the latest is remembered').toBe(4);
    const left = Array.from({ length: 200 }, (_, index) => spend(`limited ${index}`, 0, policy).remaining);
    expect(left, 'and what is limited').toEqual(Array(200).fill(0));
  });

  test('an attempt under several policies is all or nothing in a full store too', () => {
    const other = tokenBucket({ capacity: 1000, refillRate: 1 });
    const { store, spend } = logStore(20_000);
    // Of two states of few numbers none gives bytes back, so nothing makes room for the log.
    for (const key of ['one', 'two']) spend(key, 10, other);
    fill(spend);
    const both = store.ask(
      attemptOf([
        { key: 'one', policy: other, cost: 300 },
        { key: 'one', policy: HOURLY_LOG, cost: 3 },
      ]),
    );
    expect(both.allowed).toBe(false);
    expect(both.decisions).toMatchObject([
      { allowed: true, remaining: 990 },
      { allowed: false, remaining: 0 },
    ]);
    expect(spend('one', 0, other).remaining).toBe(990);
  });

  test('a penalty that finds no room says that nothing was spent', () => {
    const { store, spend } = logStore(20_000);
    fill(spend);
    const before = spend('one', 0).remaining;
    const penalty = { verb: 'penalize', key: 'one', policy: HOURLY_LOG, cost: 3 } as const;
    const answer = store.ask({ verb: 'change', changes: [penalty] });
    expect([answer.decisions[0]!.changed, spend('one', 0).remaining]).toEqual([0, before]);
  });

  test('the bytes that are told are those that are taken, about', () => {
    const { store, spend } = logStore(16 * MEGABYTE);
    const before = memoryTaken();
    for (let index = 0; index < 3000; index += 1) for (let unit = 0; unit < 100; unit += 1) spend(`key ${index}`);
    const taken = memoryTaken() - before;
    const { bytes } = store.stats();
    expect(bytes).toBeGreaterThan(4 * MEGABYTE);
    expect(taken / bytes).toBeGreaterThan(0.6);
    expect(taken / bytes).toBeLessThan(1.6);
  });

  const tenant = (index: number): Policy => tokenBucket({ capacity: 5, refillRate: 1, name: `tenant ${index}` });

  test('policies under ever new names take what is told too', () => {
    const { store, spend } = logStore(64 * MEGABYTE);
    const before = memoryTaken();
    for (let index = 0; index < 5000; index += 1) spend('one', 1, tenant(index));
    const taken = memoryTaken() - before;
    const { bytes } = store.stats();
    expect(taken / bytes).toBeGreaterThan(0.6);
    expect(taken / bytes).toBeLessThan(1.6);
  });

  test('of policies under ever new names those make room that were hardly used', () => {
    const { store, spend } = logStore(MEGABYTE);
    for (let index = 0; index < 100; index += 1) spend('one', 5, tenant(index));
    for (let index = 100; index < 3000; index += 1) spend('one', 1, tenant(index));
    expect(store.stats().bytes).toBeLessThan(1.1 * MEGABYTE);
    expect(store.stats().bytes).toBeGreaterThan(0.9 * MEGABYTE);
    expect(spend('one', 0, tenant(2999)).remaining, 'the latest is remembered').toBe(4);
    const left = Array.from({ length: 100 }, (_, index) => spend('one', 0, tenant(index)).remaining);
    expect(left, 'and what is limited').toEqual(Array(100).fill(0));
  });

  test('policies that are gone take nothing', () => {
    const clock = manualClock(START_MS);
    const store = memoryStore({ clock });
    for (let index = 0; index < 20_000; index += 1) {
      clock.advance(100);
      store.ask(attemptOf([{ key: 'one', policy: tenant(index), cost: 1 }]));
    }
    // One second until a unit has come back: 10 of them are alive, and as many were not looked at yet.
    expect(store.stats().keys).toBeLessThan(40);
    expect(store.stats().bytes).toBeLessThan(40 * 4000);
  });

  test('a store that is emptied gives its bytes back', async () => {
    const clock = manualClock(START_MS);
    const store = memoryStore({ clock });
    const limiter = createLimiter({ policy: slidingWindowLog({ limit: 100, window: '1m' }), store });
    for (let index = 0; index < 2000; index += 1) await limiter.attempt(`key ${index}`);
    const full = store.stats().bytes;
    for (let index = 0; index < 2000; index += 1) await limiter.reset(`key ${index}`);
    expect(store.stats().keys).toBe(0);
    // A list of one entry: 48 bytes, and six numbers.
    expect(full - store.stats().bytes).toBe(2000 * (48 + 6 * 8));
    clock.advance(120_000);
    for (let index = 0; index < 60_000; index += 1) await limiter.attempt('one');
    expect(store.stats().bytes).toBeLessThan(3500 + 6000);
  });
});

/** Bytes of the heap and of buffers after everything that can go has gone, which one collection does not see to. */
function memoryTaken(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let [taken, before] = [0, Number.POSITIVE_INFINITY];
  while (Math.abs(before - taken) > 10_000) {
    before = taken;
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    taken = heapUsed + arrayBuffers;
  }
  return taken;
}
