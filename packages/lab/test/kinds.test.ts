/** Policies that no story plays still have a card of their own: in the live table, with their numbers in words and why they deny. */
import { algorithms, calendarQuota, concurrency } from 'sluice';
import { expect, test } from 'vitest';
import { numbersOf } from '../src/model/kind.ts';
import { kindOfPolicy } from '../src/model/kinds/index.ts';

test('a calendar quota says its period, the day it starts and its time zone', () => {
  const numbers = numbersOf(calendarQuota({ limit: 100_000, every: 'month', timeZone: 'Europe/Berlin', startsOn: 15 }));
  const kind = kindOfPolicy(numbers);
  expect(kind.summary(numbers)).toBe('100,000 per month from 15, Europe/Berlin');
  expect(kind.why({ numbers, current: 0, previous: 0, share: 0 })).toBe('this month is used up');
  expect(kind.draftOf({ units: 10, window: 80_000_000, burst: 1 })).toMatchObject({ limit: '10', every: 'day' });
  const daily = numbersOf(calendarQuota({ limit: 5, every: 'day' }));
  expect(kind.summary(daily)).toBe('5 per day, UTC');
});

test('a limit in flight says how many run at the same time', () => {
  const numbers = numbersOf(concurrency({ limit: 10, ttl: '30s' }));
  expect(kindOfPolicy(numbers).summary(numbers)).toBe('10 at the same time');
});

test('every algorithm of the library has a kind with words for people', () => {
  for (const { name } of algorithms) {
    const { title, tradeOff, steps, bestFor } = kindOfPolicy({ algorithm: name, mode: 'policing' });
    expect([name, title !== '', tradeOff !== '', steps.length >= 3, bestFor !== '']).toEqual([
      name,
      true,
      true,
      true,
      true,
    ]);
  }
});
