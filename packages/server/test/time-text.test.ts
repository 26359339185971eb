/** Times and rates as people read them. */
import { describe, expect, test } from 'vitest';
import { exactTime, rateText, roughTime } from '../src/files/time-text.ts';

describe('exactly, for what somebody has written', () => {
  test.each([
    [0, '0 s'],
    [0.25, '0.00025 s'],
    [250, '0.25 s'],
    [1500, '1.5 s'],
    [60_000, '1 min'],
    [90_000, '1 min 30 s'],
    [3_600_000, '1 h'],
    [86_400_000, '1 d'],
    [86_400_001, '1 d 0.001 s'],
    [90_061_000, '1 d 1 h 1 min 1 s'],
    [2_592_000_000, '30 d'],
  ])('%d ms is %s', (milliseconds, expected) => expect(exactTime(milliseconds)).toBe(expected));
});

describe('roughly, and never too short', () => {
  test.each([
    [0, '0 s'],
    [0.0000004, '0.001 s'],
    [0.05, '0.05 s'],
    [0.8, '0.8 s'],
    [0.9991, '1 s'],
    [1.001, '1.1 s'],
    [9.95, '10 s'],
    [12.01, '13 s'],
    [59.2, '1 min'],
    [887.874721, '14 min 48 s'],
    [3599.5, '1 h'],
    [3601, '1 h 1 min'],
    [86_399.9, '1 d'],
    [86_400, '1 d'],
    [90_001, '1 d 2 h'],
  ])('%d s is %s', (seconds, expected) => expect(roughTime(seconds)).toBe(expected));
});

test.each([
  [10, '10/s'],
  [1, '1/s'],
  [0.5, '30/min'],
  [1 / 60, '1/min'],
  [5 / 3600, '5/h'],
  [1 / 86_400, '1/d'],
  [1.5, '90/min'],
  [Math.PI, '3.14159/s'],
])('%d units a second is %s', (perSecond, expected) => expect(rateText(perSecond)).toBe(expected));
