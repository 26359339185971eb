/** Several independent stores as one: where keys live, and that each key sees one store only. */
import { describe, expect, test } from 'vitest';
import { createLimiter, memoryStore, type Store, tokenBucket } from '../../src/index.ts';
import { sharded } from '../../src/layers/index.ts';
import { attemptOf } from '../../src/model/store.ts';
import { storeContract } from '../../src/testing/index.ts';

describe.each([1, 2, 3, 7])('over %d memory stores', (count) => {
  for (const { name, run } of storeContract(({ clock }) =>
    sharded(Array.from({ length: count }, () => memoryStore({ clock }))),
  )) {
    test(name, run);
  }
});

const policy = tokenBucket({ capacity: 5, refillRate: '1/d' });

/** Stores that write down who was asked about which key. */
function watched(count: number, names?: readonly string[]): { store: Store; ownerOf(key: string): number } {
  let asked = -1;
  const stores = Array.from({ length: count }, (_, index): Store => {
    const inner = memoryStore();
    return {
      place: inner.place,
      ask: (question) => {
        asked = index;
        return inner.ask(question);
      },
    };
  });
  const store = sharded(stores, { names });
  return {
    store,
    ownerOf(key) {
      store.ask(attemptOf([{ key, policy, cost: 0 }]));
      return asked;
    },
  };
}

const KEYS = Array.from({ length: 20_000 }, (_, index) => `user:${index}`);

test.each([2, 3, 5, 16])('%d stores have equal parts of the keys', (count) => {
  const { ownerOf } = watched(count);
  const parts = Array(count).fill(0);
  for (const key of KEYS) parts[ownerOf(key)] += 1;
  const fair = KEYS.length / count;
  for (const part of parts) expect(Math.abs(part - fair)).toBeLessThan(5 * Math.sqrt(fair));
});

test('a store that is added takes its part from all, and nothing else moves', () => {
  const before = watched(3);
  const after = watched(4);
  const moved = KEYS.filter((key) => before.ownerOf(key) !== after.ownerOf(key));
  expect(moved.every((key) => after.ownerOf(key) === 3)).toBe(true);
  expect(Math.abs(moved.length - KEYS.length / 4)).toBeLessThan(5 * Math.sqrt(KEYS.length / 4));
});

test('with names, one can be taken out of the middle', () => {
  const names = ['a', 'b', 'c', 'd'];
  const before = watched(4, names);
  const after = watched(3, ['a', 'c', 'd']);
  const nameBefore = (key: string): string => names[before.ownerOf(key)]!;
  const nameAfter = (key: string): string => ['a', 'c', 'd'][after.ownerOf(key)]!;
  for (const key of KEYS.slice(0, 5000)) if (nameBefore(key) !== 'b') expect(nameAfter(key)).toBe(nameBefore(key));
});

test('where keys live is the same in every version', () => {
  const { ownerOf } = watched(5);
  expect(['', 'user:1', 'user:2', 'é', '😀', 'x'.repeat(1000)].map(ownerOf)).toMatchInlineSnapshot(`
    [
      3,
      4,
      3,
      3,
      1,
      3,
    ]
  `);
});

test('an attempt on several keys spends from all or from none', async () => {
  const { store, ownerOf } = watched(3);
  const [one, other] = ['user:1', KEYS.find((key) => ownerOf(key) !== ownerOf('user:1'))!];
  const limiter = createLimiter({ policy, store });
  await limiter.attempt(other, { cost: 5 });
  const checks = attemptOf([one, other].map((key) => ({ key, policy, cost: 2 })));
  expect(await store.ask(checks)).toMatchObject({ allowed: false });
  expect((await limiter.peek(one)).remaining).toBe(5);
});

test('a store that answers with values still does', () => {
  const store = sharded([memoryStore(), memoryStore()]);
  expect(store.ask(attemptOf([{ key: 'key', policy, cost: 1 }]))).toMatchObject({ remaining: 4 });
  expect(store.place).toMatchObject({ isShared: false });
});

test.each<[title: string, make: () => unknown, path: string]>([
  ['no list', () => sharded(undefined as never), 'sharded(stores)'],
  ['an empty list', () => sharded([]), 'sharded(stores)'],
  ['no store', () => sharded([memoryStore(), {} as never]), 'sharded(stores)[1]'],
  ['too few names', () => sharded([memoryStore(), memoryStore()], { names: ['a'] }), 'sharded.names'],
  ['the same name twice', () => sharded([memoryStore(), memoryStore()], { names: ['a', 'a'] }), 'sharded.names'],
  ['misspelt', () => sharded([memoryStore()], { name: ['a'] } as never), 'sharded.name'],
])('%s is an error where it is written', (_, make, path) => {
  expect(make).toThrow(expect.objectContaining({ path }));
});
