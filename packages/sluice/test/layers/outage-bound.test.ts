/** "How much too many" of docs/faults.md: what n processes can allow of one key while the store is away, in random traffic and in the worst case. */
import { afterAll, describe, expect, test } from 'vitest';
import { createLimiter, fixedWindow, type Limiter, manualClock, memoryStore, type Policy } from '../../src/index.ts';
import { fallback, layered } from '../../src/layers/index.ts';
import { ruleOf } from '../../src/model/policy.ts';
import { KINDS, policyOf, randomFrom, testSeed } from '../support/random.ts';

const KEY = 'someone';
const START_MS = 1_763_280_000_000;

/** Processes that share one store, which can go away. */
function fleet(processes: number, policy: Policy, share: number) {
  const clock = manualClock(START_MS);
  const shared = memoryStore({ clock });
  const state = { isAway: false };
  const store = {
    ask(question: Parameters<typeof shared.ask>[0]) {
      if (state.isAway) throw new Error('away');
      return shared.ask(question);
    },
  };
  const limiters: readonly Limiter[] = Array.from({ length: processes }, () =>
    createLimiter({
      policy,
      store: layered(store, fallback({ to: memoryStore({ clock }), share, clock, warnings: false })),
    }),
  );
  return { clock, state, limiters };
}

const seed = testSeed();
afterAll(() => console.log(`outage bound: seed ${seed}`));

describe('in an outage n processes allow at most n times their share of what the policy allows in that time', () => {
  test.each(KINDS)('%s', async (kind) => {
    for (let run = 0; run < 60; run += 1) {
      const random = randomFrom(seed + run);
      const limit = random.whole(2, 20);
      const policy = policyOf(kind, { limit, window: 5000, capacity: limit, rate: limit / 5 });
      const processes = random.whole(1, 6);
      const share = random.pick([1, 0.5, 1 / processes]);
      const part = ruleOf(ruleOf(policy).changed(ruleOf(policy).share(share)));
      const { clock, state, limiters } = fleet(processes, policy, share);
      let since = 0;
      let allowedAway = 0;
      for (let step = 0; step < 300; step += 1) {
        clock.advance(random.pick([0, 0, 1, 100, 700]));
        const now = Math.round(clock.now() * 1000);
        if (random.real() < 0.05) {
          state.isAway = !state.isAway;
          [since, allowedAway] = [now, 0];
        }
        const cost = random.whole(1, 3);
        const { allowed, source } = await random.pick(limiters).attempt(KEY, { cost });
        expect(source).toBe(state.isAway ? 'fallback' : 'store');
        if (!allowed || !state.isAway) continue;
        allowedAway += cost;
        expect(allowedAway, `seed ${seed + run}`).toBeLessThanOrEqual(processes * part.bound(since, now));
      }
    }
  });
});

/** The table of the page. */
describe.each<[processes: number, share: number, allowed: number]>([
  [1, 1, 100],
  [4, 1, 400],
  [8, 1, 800],
  [4, 1 / 4, 100],
  [8, 1 / 8, 96],
])('100 a minute, %d processes with a share of %d', (processes, share, most) => {
  const policy = fixedWindow({ limit: 100, window: '1m' });

  const allowedInOutage = async (asked: boolean): Promise<number> => {
    const { clock, state, limiters } = fleet(processes, policy, share);
    if (asked) for (const limiter of limiters) await limiter.attempt(KEY, { cost: 100 });
    state.isAway = true;
    let allowed = 0;
    for (let second = 0; second < 30; second += 1) {
      for (const limiter of limiters) {
        for (let times = 0; times < 10; times += 1) allowed += (await limiter.attempt(KEY)).allowed ? 1 : 0;
      }
      clock.advance(1000);
    }
    return allowed;
  };

  test(`a key that nobody asked about: ${most}`, async () => {
    expect(await allowedInOutage(false)).toBe(most);
  });

  test('a key that every process knows to be spent: none', async () => {
    expect(await allowedInOutage(true)).toBe(0);
  });
});
