/** The periods of calendar quotas in TypeScript against an independent calendar; the twin in Lua: redis/calendar-quota.test.ts. */
import { describe, expect, test } from 'vitest';
import { rateLimitHeaders } from '../src/http/index.ts';
import { calendarQuota, checkPolicy, createLimiter, manualClock, memoryStore } from '../src/index.ts';
import { attemptsOf, CALENDAR_ROWS } from './support/calendar-rows.ts';
import { typescriptTwin } from './support/reference.ts';

test('the table is large', () => {
  expect(CALENDAR_ROWS.length).toBeGreaterThan(1000);
});

describe('as Temporal says', () => {
  test.each(CALENDAR_ROWS.map((row) => [row.title, row] as const))('%s', (_, row) => {
    const twin = typescriptTwin();
    const attempts = attemptsOf(row);
    expect(attempts.map(({ now, cost }) => twin.attempt(now, cost, row.policy))).toMatchObject(
      attempts.map(({ told }) => told),
    );
    expect(twin.attempt(row.end, 5, row.policy).allowed).toBe(true);
  });
});

test('start days as people write them', () => {
  const startsOf = (every: 'week' | 'month' | 'year', startsOn?: string | number) =>
    calendarQuota({ limit: 1, every, startsOn }).startsOn;
  expect([startsOf('week'), startsOf('week', 7), startsOf('week', 'friday')]).toEqual(['monday', 'sunday', 'friday']);
  expect([startsOf('month'), startsOf('month', 31), startsOf('month', '7')]).toEqual([1, 31, 7]);
  expect([startsOf('year'), startsOf('year', 4), startsOf('year', '02-29')]).toEqual(['01-01', '04-01', '02-29']);
  const policy = calendarQuota({ limit: 1, every: 'day' });
  expect(checkPolicy(JSON.parse(JSON.stringify(policy)))).toEqual(policy);
});

test('headers name the end of the period', async () => {
  const clock = manualClock(Date.UTC(2026, 1, 28, 22, 59, 30));
  const policy = calendarQuota({ limit: 3, every: 'month', timeZone: 'Europe/Berlin' });
  const limiter = createLimiter({ policy, store: memoryStore({ clock }) });
  const before = await limiter.attempt('tenant', { cost: 3 });
  expect(before.resetAt).toBe(Date.UTC(2026, 1, 28, 23) / 1000);
  expect(rateLimitHeaders(before)).toMatchObject({ RateLimit: '"calendar-quota";r=0;t=30' });
  clock.advance(30_000);
  expect(rateLimitHeaders(await limiter.attempt('tenant'))).toMatchObject({
    RateLimit: `"calendar-quota";r=2;t=${31 * 86_400 - 3600}`,
  });
});
