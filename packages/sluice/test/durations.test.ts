/** Durations and rates as people write them. What is none is in bad-input.test.ts. */
import { describe, expect, test } from 'vitest';
import { fixedWindow, parseDuration, parseRate, tokenBucket } from '../src/index.ts';

const DURATIONS: readonly (readonly [text: string, ms: number])[] = [
  ['250ms', 250],
  ['10s', 10_000],
  ['10 s', 10_000],
  ['1m', 60_000],
  ['15min', 900_000],
  ['15 min', 900_000],
  ['1h', 3_600_000],
  ['1h30m', 5_400_000],
  ['1h 30m', 5_400_000],
  ['1 h 30 min', 5_400_000],
  ['1m30s', 90_000],
  ['1m1ms', 60_001],
  ['1d', 86_400_000],
  ['1w', 604_800_000],
  ['1w2d3h4m5s6ms', 788_645_006],
  ['0.5s', 500],
  ['0.001ms', 0.001],
  ['1h0.001ms', 3_600_000.001],
  ['36525d', 3_155_760_000_000],
];

const RATES: readonly (readonly [text: string, perSecond: number])[] = [
  ['10/s', 10],
  ['2/ms', 2000],
  ['600/m', 10],
  ['600/min', 10],
  ['100/min', 100 / 60],
  ['1/5s', 0.2],
  ['1/5 s', 0.2],
  ['30/1m30s', 1 / 3],
  ['1000/h', 1000 / 3600],
  ['604800/w', 1],
  ['0.5/s', 0.5],
];

describe('durations', () => {
  test.each(DURATIONS)('%s is %d ms, in a policy and by parseDuration', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
    expect(fixedWindow({ limit: 5, window: text as '1s' }).window).toBe(ms);
  });

  test('a number is milliseconds', () => expect(parseDuration(1500)).toBe(1500));

  test.each([
    [undefined, 'RATE_LIMIT_WINDOW: expected a positive number of milliseconds'],
    ['60', 'RATE_LIMIT_WINDOW: expected a positive number of milliseconds'],
  ])('what is none, %j, is called as the caller calls it', (value, message) => {
    expect(() => parseDuration(value, 'RATE_LIMIT_WINDOW')).toThrow(message);
  });

  test('a long text takes no time to be an error', () => {
    const startedAt = performance.now();
    for (const text of ['1'.repeat(1e6), `${'1s'.repeat(5e5)}1`, '1 '.repeat(5e5), 'm'.repeat(1e6)]) {
      expect(() => parseDuration(text)).toThrow('expected a positive number');
      expect(() => parseRate(`1/${text}`)).toThrow('expected a positive number');
    }
    expect(performance.now() - startedAt).toBeLessThan(5000);
  });
});

describe('rates', () => {
  test.each(RATES)('%s is %d a second, in a policy and by parseRate', (text, perSecond) => {
    expect(parseRate(text)).toBe(perSecond);
    expect(tokenBucket({ capacity: 5, refillRate: text as '1/s' }).refillRate).toBe(perSecond);
  });

  test('what is none is called as the caller calls it', () => {
    expect(() => parseRate('fast', 'REFILL')).toThrow('REFILL: expected a positive number of units a second');
  });
});
