/** Nothing above the limit, whatever proxies do; the whole limit where it is wanted; and a simulation that notices when one of the rules is left out. */
import { fixedWindow, gcra, slidingWindowCounter, tokenBucket } from 'sluice';
import { describe, expect, test } from 'vitest';
import { fairShare, type Strictness } from '../../src/rlqs/quotas.ts';
import { type Scenario, simulate } from './simulation.ts';

const POLICIES = {
  'token bucket': tokenBucket({ capacity: 2000, refillRate: 40 }),
  gcra: gcra({ limit: 2400, period: '1m', capacity: 2400 }),
  'fixed window': fixedWindow({ limit: 300, window: '8s' }),
  'sliding counter': slidingWindowCounter({ limit: 400, window: '10s' }),
};

const base = (name: keyof typeof POLICIES, seed: number): Scenario => ({
  ...{ policy: POLICIES[name], ttlMs: 1500, seed, proxies: 4, seconds: 40, late: 0.05, crashes: 0.05 },
  // In waves, and each by itself: quiet for a while, then everything there is.
  demand: (proxy, at) => (Math.sin(at / 3 + proxy) > 0.2 ? 150 : 5),
});

const SEEDS = Array.from({ length: 12 }, (_, index) => index + 1);

describe.each(Object.keys(POLICIES) as (keyof typeof POLICIES)[])('%s', (name) => {
  test('crashed and late proxies let through nothing above the limit', async () => {
    for (const seed of SEEDS) {
      const { tooMany, allowed } = await simulate(base(name, seed));
      expect(tooMany, `seed ${seed}`).toBe(0);
      expect(Math.min(...allowed)).toBeGreaterThan(0);
    }
  });
});

test('so much in each second, for those who take nothing else', async () => {
  for (const seed of SEEDS.slice(0, 4)) {
    const { tooMany, allowed } = await simulate({ ...base('gcra', seed), strategy: 'requests_per_time_unit' });
    expect(tooMany, `seed ${seed}`).toBe(0);
    expect(Math.min(...allowed)).toBeGreaterThan(0);
  }
});

test('what one proxy leaves the others get, and those who want the same get the same', async () => {
  const policy = gcra({ limit: 6000, period: '1m', capacity: 6000 });
  const calm = { ...base('gcra', 1), policy, late: 0, crashes: 0, seconds: 60 };
  // 100 a second for all, and 6,000 at once: one is idle, one wants little, two want everything.
  const { allowed, tooMany } = await simulate({ ...calm, demand: (proxy) => [0, 10, 200, 200][proxy]! });
  const [idle, little, one, other] = allowed as [number, number, number, number];
  expect(tooMany).toBe(0);
  expect(idle).toBe(0);
  // Nearly all that it asked for.
  expect(little).toBeGreaterThan(500);
  // Of the 12,000 that the policy has for a minute. A quarter for each would be 3,000.
  expect(little + one + other).toBeGreaterThan(9000);
  expect(Math.min(one, other)).toBeGreaterThan(3500);
  expect(Math.max(one, other) / Math.min(one, other)).toBeLessThan(1.2);
});

/** Those who hold blocks from a quiet time, and those who come in a flood just before these end. */
const flood = (seed: number): Scenario => ({
  ...base('gcra', seed),
  ...{ policy: gcra({ limit: 600, period: '1m', capacity: 300 }), seconds: 90, late: 0, crashes: 0, proxies: 8 },
  demand: (_, at) => (at % 40 < 0.1 ? 20 : at % 40 > 1.4 && at % 40 < 3 ? 3000 : 0),
});

/** The same around the edge of a window. */
const edge = (seed: number): Scenario => ({
  ...base('fixed window', seed),
  ...{ late: 0.3, crashes: 0 },
  demand: (_, at) => (at % 8 > 5.5 && at % 8 < 7.6 ? 20 : at % 8 > 0.02 && at % 8 < 1 ? 2000 : 0),
});

/** Everything that there is, all the time. */
const pressed = (seed: number): Scenario => ({
  ...base('fixed window', seed),
  ...{ late: 0.5, latest: 0.9, crashes: 0, demand: () => 60 },
});

const MUTANTS: Readonly<Record<string, readonly [(seed: number) => Scenario, Partial<Strictness>]>> = {
  'the store is asked under the policy itself': [flood, { isShared: false }],
  'a block outlives its window': [edge, { endsWithWindow: false }],
  'what was not used is given back before it is certain': [pressed, { reports: 0 }],
  'a proxy may get a block at any time': [edge, { givesUp: false }],
};

test.each([flood, edge, pressed])('what mutants fail at: %o', async (scenario) => {
  for (const seed of SEEDS) expect((await simulate(scenario(seed))).tooMany, `seed ${seed}`).toBe(0);
});

test.each(Object.entries(MUTANTS))('the simulation notices when %s', async (_, [scenario, strictness]) => {
  let tooMany = 0;
  for (let seed = 1; seed <= 40 && tooMany === 0; seed++) {
    tooMany = (await simulate({ ...scenario(seed), strictness })).tooMany;
  }
  expect(tooMany).toBeGreaterThan(0);
});

test('a fair share', () => {
  expect(fairShare([1, 10, 100], 30)).toBe(19);
  expect(fairShare([10, 10], 10)).toBe(5);
  expect(fairShare([1, 2], 10)).toBe(Number.POSITIVE_INFINITY);
});
