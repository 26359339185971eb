/** The memory store keeps the hash of a key instead of the key, so no two keys may meet that anybody outside can think of. */
import { describe, expect, test } from 'vitest';
import { createLimiter, fixedWindow, memoryStore } from '../src/index.ts';
import { KeyHash } from '../src/memory/hash.ts';
import { randomFrom } from './support/random.ts';

function hashOf(hash: KeyHash, key: string): string {
  hash.of(key);
  return `${hash.low} ${hash.high}`;
}

/** Two bytes in one UTF-16 unit. */
const wide = (low: string, high: string): string => String.fromCharCode(low.charCodeAt(0) | (high.charCodeAt(0) << 8));

/** The same bytes, cut into units in another way. */
const TWINS: readonly [title: string, one: string, other: string][] = [
  ['four of a byte, two of two', 'abcd', wide('a', 'c') + wide('b', 'd')],
  ['bytes first, and bytes last', `abcd${wide('e', 'g')}${wide('f', 'h')}`, `${wide('a', 'c')}${wide('b', 'd')}efgh`],
  ['in the middle', `xabcd${wide('e', 'g')}${wide('f', 'h')}`, `x${wide('a', 'c')}${wide('b', 'd')}efgh`],
  ['an end of zeros', 'abc', 'abc\0'],
  ['a start of zeros', 'abcd', '\0abcd'],
  ['zeros alone', '\0', '\0\0'],
  ['nothing and a zero', '', '\0'],
  ['a length as an end', 'ab', 'ab\u0002'],
];

describe('keys of the same bytes do not meet, whatever numbers were drawn', () => {
  test.each(TWINS)('%s', async (_, one, other) => {
    for (let store = 0; store < 20; store += 1) {
      const hash = new KeyHash();
      expect(hashOf(hash, one)).not.toBe(hashOf(hash, other));
    }
    const limiter = createLimiter({ policy: fixedWindow({ limit: 2, window: '1h' }), store: memoryStore() });
    await limiter.attempt(one, { cost: 2 });
    expect((await limiter.attempt(other)).allowed).toBe(true);
  });
});

test('of short keys over few units no two meet: each way to cut them is tried', () => {
  const units = [
    'a',
    'b',
    '\0',
    '\u00ff',
    '\u0100',
    'ab'
      .split('')
      .map((unit) => wide(unit, unit))
      .join(''),
    wide('a', 'b'),
  ];
  const keys = new Set<string>();
  const grow = (key: string, left: number): void => {
    keys.add(key);
    if (left > 0) for (const unit of units) grow(key + unit, left - 1);
  };
  grow('', 6);
  const hash = new KeyHash();
  expect(new Set([...keys].map((key) => hashOf(hash, key))).size).toBe(keys.size);
});

test('of 300,000 random keys no two meet, and either half is spread', () => {
  const random = randomFrom(7);
  const hash = new KeyHash();
  const keys = new Set<string>();
  while (keys.size < 300_000) {
    const length = random.whole(0, 12);
    keys.add(String.fromCharCode(...Array.from({ length }, () => random.whole(0, random.pick([3, 127, 65_535])))));
  }
  const seen = new Set<string>();
  const [low, high] = [new Uint32Array(256), new Uint32Array(256)];
  for (const key of keys) {
    seen.add(hashOf(hash, key));
    low[hash.low >>> 24]! += 1;
    high[hash.high & 255]! += 1;
  }
  expect(seen.size).toBe(keys.size);
  const mean = keys.size / 256;
  for (const count of [...low, ...high]) expect(Math.abs(count - mean)).toBeLessThan(7 * Math.sqrt(mean));
});

test('keys longer than the numbers drawn for them differ in any place', () => {
  const hash = new KeyHash();
  const long = 'x'.repeat(5_000);
  const seen = new Set([hashOf(hash, long)]);
  for (let at = 0; at < long.length; at += 1) seen.add(hashOf(hash, `${long.slice(0, at)}y${long.slice(at + 1)}`));
  for (let length = 0; length < long.length; length += 1) seen.add(hashOf(hash, long.slice(0, length)));
  expect(seen.size).toBe(10_001);
});

test('keys that follow one another are spread as random ones would be, in every store', () => {
  for (let store = 0; store < 100; store += 1) {
    const hash = new KeyHash();
    const [low, high] = [new Uint32Array(256), new Uint32Array(256)];
    for (let index = 0; index < 5000; index += 1) {
      hash.of(`user:${100_000 + index}`);
      low[hash.low >>> 24]! += 1;
      high[hash.high & 255]! += 1;
    }
    const mean = 5000 / 256;
    for (const counts of [low, high]) {
      const variance = counts.reduce((sum, count) => sum + (count - mean) ** 2, 0) / 256;
      // A random one has the mean as its variance, give or take a tenth.
      expect(variance / mean).toBeGreaterThan(0.5);
      expect(variance / mean).toBeLessThan(1.7);
    }
  }
});

test('two stores hash the same key differently', () => {
  expect(hashOf(new KeyHash(), 'user:1')).not.toBe(hashOf(new KeyHash(), 'user:1'));
});
