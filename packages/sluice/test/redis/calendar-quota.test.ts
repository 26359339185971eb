/** Calendar quotas on plain Lua 5.1 and 5.4: the table of calendar-rows.ts, and clocks that differ. */
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type LuaVersion, type RunningLua, startLua } from '../../../../tools/servers/index.ts';
import { calendarQuota, createLimiter } from '../../src/index.ts';
import { redisStoreOver } from '../../src/redis/redis-store.ts';
import { refusalOf } from '../../src/redis/refusals.ts';
import type { RunScript } from '../../src/redis/run-script.ts';
import { attemptsOf, CALENDAR_ROWS } from '../support/calendar-rows.ts';
import { traceScript, traceWords } from '../support/parity.ts';

const DAY_MS = 86_400_000;

describe.each(['5.1', '5.4'] satisfies LuaVersion[])('Lua %s', (version) => {
  let lua: RunningLua;
  const run: RunScript = (script, keys, args) => lua.run(script, keys, args);
  beforeAll(async () => {
    lua = await startLua(version);
  });
  afterAll(() => lua.stop());
  afterEach(() => {
    vi.useRealTimers();
  });

  test(`both edges of ${CALENDAR_ROWS.length} periods are those of Temporal`, async () => {
    for (const row of CALENDAR_ROWS) {
      const attempts = attemptsOf(row);
      const words = attempts.flatMap(({ now, cost }) => traceWords({ now, cost, policy: row.policy }));
      const told = await run(traceScript(row.policy), [row.title], words);
      const expected = attempts.map(({ told: { resetAfter, retryAfter } }) => `0 ${resetAfter} ${retryAfter}`);
      expect(String(told).split('\n'), row.title).toEqual(expected);
    }
  });

  /** Only `Date` of this process is moved: the server has a clock of its own. */
  test('the clock of the server says which period it is', async () => {
    const policy = calendarQuota({ limit: 10, every: 'month', timeZone: 'Asia/Tokyo' });
    const store = redisStoreOver(run, { prefix: 'clocks' });
    const limiter = createLimiter({ policy, store });
    const { resetAt } = await limiter.attempt('tenant');
    const now = Date.now();
    vi.useFakeTimers({ toFake: ['Date'] });
    for (const days of [-50, -25, 25, 50]) {
      vi.setSystemTime(now + days * DAY_MS);
      expect((await limiter.attempt('tenant')).resetAt, `${days} days off`).toBe(resetAt);
    }
    vi.setSystemTime(now);
    expect((await limiter.peek('tenant')).remaining).toBe(5);
  });

  test('clocks that are further apart are an error, alone and beside others', async () => {
    const policy = calendarQuota({ limit: 10, every: 'hour' });
    const limiter = createLimiter({ policy, store: redisStoreOver(run, { prefix: 'apart' }) });
    await limiter.attempt('tenant');
    const now = Date.now();
    vi.useFakeTimers({ toFake: ['Date'] });
    vi.setSystemTime(now + DAY_MS);
    const failure = await limiter.attempt('tenant').catch((error: unknown) => error);
    expect(refusalOf(failure, true)).toMatchObject({ code: 'SLUICE_STORE_REFUSES' });
    const several = await Promise.allSettled([limiter.attempt('tenant'), limiter.attempt('other')]);
    expect(several.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    vi.setSystemTime(now);
    expect((await limiter.peek('tenant')).remaining).toBe(9);
  });
});
