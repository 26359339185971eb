/** The headers, letter by letter, and read back with the structured-headers package. */
import fc from 'fast-check';
import { parseDictionary, parseItem, parseList } from 'structured-headers';
import { describe, expect, test } from 'vitest';
import { headerWriter, rateLimitHeaders } from '../../src/http/index.ts';
import {
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  type Limiter,
  leakyBucket,
  manualClock,
  memoryStore,
  type Policy,
  type RateLimitResult,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../../src/index.ts';
import { ruleOf } from '../../src/model/policy.ts';
import { resultOf } from './support.ts';

const burst = fixedWindow({ name: 'burst', limit: 100, window: '1m' });
const daily = fixedWindow({ name: 'daily', limit: 1000, window: '1d' });

describe('the vectors of http.md', () => {
  const result = resultOf({ policy: 'burst', limit: 100, remaining: 99, resetAfter: 50 });

  test('draft-11', () => {
    expect(
      headerWriter([burst, daily], { form: 'draft-11' })({
        ...result,
        decisions: [result, resultOf({ policy: 'daily', limit: 1000 })],
      }),
    ).toEqual({
      'RateLimit-Policy': '"burst";q=100;w=60, "daily";q=1000;w=86400',
      RateLimit: '"burst";r=99;t=50, "daily";r=99;t=0',
    });
  });

  test('draft-7', () => {
    expect(headerWriter([burst], { form: 'draft-7' })(result)).toEqual({
      'RateLimit-Policy': '100;w=60',
      RateLimit: 'limit=100, remaining=99, reset=50',
    });
  });

  test('draft-6', () => {
    expect(headerWriter([burst], { form: 'draft-6' })(result)).toEqual({
      'RateLimit-Policy': '100;w=60',
      'RateLimit-Limit': '100',
      'RateLimit-Remaining': '99',
      'RateLimit-Reset': '50',
    });
  });

  test('legacy', () => {
    expect(headerWriter([burst], { form: 'legacy' })(result)).toEqual({
      'X-RateLimit-Limit': '100',
      'X-RateLimit-Remaining': '99',
      'X-RateLimit-Reset': '1700000050',
    });
  });
});

describe('several forms', () => {
  const result = resultOf({ policy: 'burst' });
  const namesOf = (form: Parameters<typeof rateLimitHeaders>[1]) =>
    Object.keys(rateLimitHeaders(result, { ...form, policies: [burst] })).sort();
  const DRAFT = ['RateLimit', 'RateLimit-Policy'];
  const SIX = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];
  const LEGACY = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];

  test.each([
    ['draft', DRAFT],
    ['draft-11', DRAFT],
    ['both', [...DRAFT, ...LEGACY]],
    ['legacy', LEGACY],
    ['none', []],
    [[], []],
    [undefined, [...DRAFT, ...LEGACY]],
    [
      ['draft-6', 'draft-7'],
      [...DRAFT, ...SIX],
    ],
    [
      ['draft-11', 'draft-6', 'legacy'],
      [...DRAFT, ...SIX, ...LEGACY],
    ],
  ] as const)('%j', (form, names) => expect(namesOf({ form })).toEqual([...names].sort()));

  test.each([[['draft-6', 'draft-11']], [['draft-11', 'draft-6']]] as const)('%j: the newer policy wins', (form) => {
    expect(rateLimitHeaders(result, { form, policies: [burst] })['RateLimit-Policy']).toBe('"burst";q=100;w=60');
  });

  test.each([[['draft-11', 'draft-7']], ['draft-8'], ['constructor'], [['both']], [null], [7]])(
    '%j is refused',
    (form) => {
      expect(() => headerWriter([burst], { form: form as never })).toThrow('headerWriter.form: expected');
    },
  );
});

describe('windows', () => {
  test.each<[Policy, string]>([
    [fixedWindow({ limit: 10, window: '1m' }), '"fixed-window";q=10;w=60'],
    [slidingWindowLog({ limit: 10, window: '90s' }), '"sliding-window-log";q=10;w=90'],
    [slidingWindowCounter({ limit: 10, window: '1h' }), '"sliding-window-counter";q=10;w=3600'],
    [tokenBucket({ capacity: 100, refillRate: 10 }), '"token-bucket";q=100;w=10'],
    [tokenBucket({ capacity: 100, refillRate: 30 }), '"token-bucket";q=100;w=4'],
    [leakyBucket({ capacity: 5, leakRate: '1/m' }), '"leaky-bucket";q=5;w=300'],
    [gcra({ limit: 60, period: '1m', capacity: 10 }), '"gcra";q=10;w=10'],
    [fixedWindow({ limit: 10, window: 250 }), '"fixed-window";q=10;w=1'],
    [fixedWindow({ limit: 10, window: 1001 }), '"fixed-window";q=10;w=2'],
    [fixedWindow({ limit: 2 ** 53 - 1, window: '1m' }), '"fixed-window";q=999999999999999;w=60'],
    [fixedWindow({ name: 'say "hi" \\ bye', limit: 10, window: '1m' }), '"say \\"hi\\" \\\\ bye";q=10;w=60'],
  ])('%j', (policy, expected) => {
    const { limit } = ruleOf(policy);
    const headers = headerWriter([policy])(resultOf({ policy: policy.name, limit }));
    expect(headers['RateLimit-Policy']).toBe(expected);
    expect(parseList(expected)[0]![0]).toBe(policy.name);
  });

  test('a policy that is not known has none', () => {
    expect(rateLimitHeaders(resultOf({ policy: 'other' }), { form: 'draft' })).toEqual({
      'RateLimit-Policy': '"other";q=100',
      RateLimit: '"other";r=99;t=0',
    });
    expect(rateLimitHeaders(resultOf({}), { form: 'draft-6' })).not.toHaveProperty('RateLimit-Policy');
  });

  test('policies of one name are told apart by their limit, as for plans', () => {
    const write = headerWriter([
      tokenBucket({ name: 'plan', capacity: 10, refillRate: 1 }),
      tokenBucket({ name: 'plan', capacity: 100, refillRate: 1 }),
    ]);
    expect(write(resultOf({ policy: 'plan', limit: 100 }))['RateLimit-Policy']).toBe('"plan";q=100;w=100');
    expect(write(resultOf({ policy: 'plan', limit: 10 }))['RateLimit-Policy']).toBe('"plan";q=10;w=10');
  });
});

describe('numbers', () => {
  const state = (given: Partial<Decision>) => rateLimitHeaders(resultOf(given)).RateLimit;
  test.each([
    ['a fraction is rounded up', { resetAfter: 0.000001 }, '"default";r=99;t=1'],
    ['a whole number stays', { resetAfter: 50 }, '"default";r=99;t=50'],
    ['a hair above is the next', { resetAfter: 50.000001 }, '"default";r=99;t=51'],
    [
      'denied: when this attempt would be allowed',
      { allowed: false, remaining: 0, retryAfter: 0.1, resetAfter: 10 },
      '"default";r=0;t=1',
    ],
    [
      'never allowed: when all is back',
      { allowed: false, retryAfter: Number.POSITIVE_INFINITY, resetAfter: 3 },
      '"default";r=99;t=3',
    ],
    ['15 digits and not more', { remaining: 1e300, resetAfter: 1e20 }, '"default";r=999999999999999;t=999999999999999'],
    ['never negative', { remaining: -1, resetAfter: -5 }, '"default";r=0;t=0'],
    ['never no number', { remaining: Number.NaN, resetAfter: Number.NaN }, '"default";r=0;t=0'],
  ])('%s', (_, given, expected) => expect(state(given)).toBe(expected));
});

test('the default writes what both forms write, also of a result without decisions', () => {
  const none = { ...resultOf({ policy: 'burst' }), decisions: [] };
  for (const result of [resultOf({ policy: 'burst' }), resultOf({ policy: 'burst' }, { policy: 'daily' }), none]) {
    const [both, draft, legacy] = (['both', 'draft-11', 'legacy'] as const).map((form) =>
      headerWriter([burst, daily], { form })(result),
    );
    expect(both).toEqual({ ...draft, ...legacy });
  }
});

describe('t of an allowed attempt', () => {
  /** By the second, in a window that began 800 s ago. */
  const START = 1_700_000_000_000;
  const state = async (policy: Policy, spends: readonly [after: number, cost: number][]): Promise<string[]> => {
    const clock = manualClock(START);
    const limiter = createLimiter({ policy, store: memoryStore({ clock }) });
    const write = headerWriter([policy], { form: ['draft-11', 'draft-6'] });
    const seen = [];
    for (const [after, cost] of spends) {
      clock.advance(after * 1e3);
      const headers = write(await limiter.attempt('ada', { cost }));
      seen.push(headers.RateLimit!.replace(/^.*?;/, ''));
      expect(headers['RateLimit-Reset']).toBe(/t=(\d+)/.exec(headers.RateLimit!)![1]);
    }
    return seen;
  };
  const name = 'x';

  test.each<[Policy, spends: [after: number, cost: number][], seen: string[]]>([
    // The end of the window.
    [
      fixedWindow({ name, limit: 5, window: '1h' }),
      [
        [0, 1],
        [600, 4],
      ],
      ['r=4;t=2800', 'r=0;t=2200'],
    ],
    // When the newest unit leaves: a log says no more.
    [
      slidingWindowLog({ name, limit: 5, window: '1h' }),
      [
        [0, 1],
        [600, 4],
      ],
      ['r=4;t=3600', 'r=0;t=3600'],
    ],
    // When this window ends, and not when the next one does.
    [
      slidingWindowCounter({ name, limit: 5, window: '1h' }),
      [
        [0, 1],
        [600, 4],
      ],
      ['r=4;t=2801', 'r=0;t=2201'],
    ],
    [
      slidingWindowCounter({ name, limit: 5, window: '1h' }),
      [
        [0, 5],
        [2800, 0],
      ],
      ['r=0;t=2801', 'r=0;t=1'],
    ],
    // When the next unit is there, and not when all are.
    [
      tokenBucket({ name, capacity: 5, refillRate: 0.1 }),
      [
        [0, 1],
        [3, 4],
        [0, 0],
      ],
      ['r=4;t=10', 'r=0;t=7', 'r=0;t=7'],
    ],
    [tokenBucket({ name, capacity: 5, refillRate: 10 }), [[0, 5]], ['r=0;t=1']],
    [
      leakyBucket({ name, capacity: 5, leakRate: '1/m' }),
      [
        [0, 5],
        [90, 1],
      ],
      ['r=0;t=60', 'r=0;t=30'],
    ],
    [leakyBucket({ name, capacity: 5, leakRate: 0.5, mode: 'shaping' }), [[0, 3]], ['r=2;t=2']],
    [
      gcra({ name, limit: 60, period: '1h', capacity: 10 }),
      [
        [0, 10],
        [30, 0],
      ],
      ['r=0;t=60', 'r=0;t=30'],
    ],
    // Nothing is spent.
    [tokenBucket({ name, capacity: 5, refillRate: 0.1 }), [[0, 0]], ['r=5;t=0']],
    [slidingWindowCounter({ name, limit: 5, window: '1h' }), [[0, 0]], ['r=5;t=0']],
  ])('%j', async (policy, spends, seen) => expect(await state(policy, spends)).toEqual(seen));

  /** One more than what is left: when would that be allowed? */
  const untilOneMore = async (limiter: Limiter, { remaining, limit }: RateLimitResult): Promise<number> =>
    remaining === limit ? 0 : (await limiter.peek('ada', { cost: remaining + 1 })).retryAfter!;

  const EXACT: readonly ((limit: number, seconds: number) => Policy)[] = [
    (limit, seconds) => fixedWindow({ limit, window: seconds * 1e3 }),
    (limit, seconds) => tokenBucket({ capacity: limit, refillRate: limit / seconds }),
    (limit, seconds) => leakyBucket({ capacity: limit, leakRate: limit / seconds }),
    (limit, seconds) => gcra({ limit, period: seconds * 1e3 }),
  ];
  const SLIDING: readonly ((limit: number, seconds: number) => Policy)[] = [
    (limit, seconds) => slidingWindowLog({ limit, window: seconds * 1e3 }),
    (limit, seconds) => slidingWindowCounter({ limit, window: seconds * 1e3 }),
  ];
  const histories = fc.record({
    limit: fc.integer({ min: 1, max: 12 }),
    seconds: fc.integer({ min: 1, max: 4000 }),
    spends: fc.array(fc.tuple(fc.integer({ min: 0, max: 2_000_000 }), fc.integer({ min: 0, max: 4 })), {
      minLength: 1,
      maxLength: 12,
    }),
  });
  const eachState = async (
    policy: Policy,
    spends: readonly [number, number][],
    look: (t: number, result: RateLimitResult, limiter: Limiter) => Promise<void>,
  ): Promise<void> => {
    const clock = manualClock(START);
    const limiter = createLimiter({ policy, store: memoryStore({ clock }) });
    const write = headerWriter([policy], { form: 'draft' });
    for (const [after, cost] of spends) {
      clock.advance(after);
      const result = await limiter.attempt('ada', { cost });
      if (result.allowed) await look(Number(/t=(\d+)/.exec(write(result).RateLimit!)![1]), result, limiter);
    }
  };

  test.each(EXACT)('is when one more unit is there, to the second: %#', async (make) => {
    await fc.assert(
      fc.asyncProperty(histories, async ({ limit, seconds, spends }) => {
        await eachState(make(limit, seconds), spends, async (t, result, limiter) => {
          const exact = await untilOneMore(limiter, result);
          // It is told from whole microseconds: so near to a whole second it may be the next one.
          expect([Math.ceil(exact - 2e-6), Math.ceil(exact + 2e-6)]).toContain(t);
        });
      }),
      { numRuns: 200 },
    );
  });

  test.each(SLIDING)('is never later than the reset, nor than the window, where it is not known: %#', async (make) => {
    await fc.assert(
      fc.asyncProperty(histories, async ({ limit: most, seconds, spends }) => {
        await eachState(make(most, seconds), spends, async (t, { limit, remaining, resetAfter }) => {
          expect(t).toBeLessThanOrEqual(Math.ceil(resetAfter));
          expect(t).toBeLessThanOrEqual(seconds + 1);
          expect(t > 0).toBe(remaining < limit);
        });
      }),
      { numRuns: 200 },
    );
  });
});

const names = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 1,
  maxLength: 64,
});
const numbers = fc.oneof(
  fc.double({ min: 0, noNaN: true }),
  fc.nat().map((n) => n / 1e6),
  fc.constant(Number.POSITIVE_INFINITY),
);

test('whatever the result, every header is a structured field with whole numbers', () => {
  fc.assert(
    fc.property(
      names,
      fc.integer({ min: 1 }),
      numbers,
      numbers,
      fc.boolean(),
      (name, limit, remaining, seconds, allowed) => {
        const result = resultOf({
          policy: name,
          limit,
          remaining,
          allowed,
          retryAfter: allowed ? null : seconds,
          resetAfter: seconds,
          resetAt: seconds,
        });
        const policy = fixedWindow({ name, limit, window: '1m' });
        const newest = headerWriter([policy], { form: ['draft-11', 'draft-6', 'legacy'] })(result);
        for (const header of ['RateLimit', 'RateLimit-Policy']) {
          const [[value, parameters]] = parseList(newest[header]!) as [[string, Map<string, number>]];
          expect(value).toBe(name);
          expectWhole(...parameters.values());
        }
        for (const [header, text] of Object.entries(newest)) {
          if (header.includes('-') && header !== 'RateLimit-Policy') expectWhole(parseItem(text)[0] as number);
        }
        const seventh = parseDictionary(headerWriter([policy], { form: 'draft-7' })(result).RateLimit!);
        expectWhole(...[...seventh.values()].map(([value]) => value as number));
      },
    ),
    { numRuns: 500 },
  );
});

function expectWhole(...values: readonly number[]): void {
  for (const value of values) {
    expect(Number.isInteger(value)).toBe(true);
    expect(value).toBeGreaterThanOrEqual(0);
    expect(value).toBeLessThanOrEqual(999_999_999_999_999);
  }
}
