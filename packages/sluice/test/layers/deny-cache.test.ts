/**
 * The deny cache says nothing the store would not say. Rows of moments for what is asked and what is not, and a property: any history
 * on a store with the cache gives the same numbers as on the bare one.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  checkPolicy,
  fixedWindow,
  gcra,
  leakyBucket,
  manualClock,
  memoryStore,
  type Policy,
  type Store,
  tokenBucket,
} from '../../src/index.ts';
import { RecentKeys } from '../../src/layers/deny-cache/recent-keys.ts';
import { denyCache, fallback, layered } from '../../src/layers/index.ts';
import { ruleOf } from '../../src/model/policy.ts';
import { decisionOf, resultOfOne } from '../../src/model/result.ts';
import type { Change, Check } from '../../src/model/store.ts';
import { SAMPLES } from '../../src/testing/samples.generated.ts';
import { policies } from '../support/arbitraries.ts';
import { KINDS } from '../support/random.ts';
import { bucket, change, check, counting, decide, forget, puppet, type Seen, waitedFor } from './support.ts';

const START_MS = 1_763_280_000_123.456;

function around(maxKeys?: number, wrap: (store: Store) => Store = waitedFor) {
  const clock = manualClock(START_MS);
  const bare = counting(memoryStore({ clock }));
  return { clock, bare, store: denyCache({ clock, maxKeys })(wrap(bare)) };
}

/** At this moment, with this cost, who answers, and what. */
type Row = [atMs: number, cost: number, source: string, allowed: boolean, remaining: number, retryAfterMs: number];

const NEVER = Number.POSITIVE_INFINITY;

const TABLES: readonly [title: string, policy: Policy, rows: readonly Row[]][] = [
  [
    'a denial of cost 1 is repeated until its retryAfter, counted down',
    bucket,
    [
      [0, 10, 'store', true, 0, 0],
      [0, 1, 'store', false, 0, 1000],
      [0, 1, 'deny-cache', false, 0, 1000],
      [0.001, 1, 'deny-cache', false, 0, 999.999],
      [999.999, 1, 'deny-cache', false, 0, 0.001],
      [1000, 1, 'store', true, 0, 0],
      [1000, 1, 'store', false, 0, 1000],
      [1500, 1, 'deny-cache', false, 0, 500],
    ],
  ],
  [
    'cheaper attempts are not blocked by a dearer denial',
    bucket,
    [
      [0, 6, 'store', true, 4, 0],
      [0, 5, 'store', false, 4, 1000],
      [0, 5, 'store', false, 4, 1000],
      [0, 4, 'store', true, 0, 0],
      [0, 5, 'store', false, 0, 5000],
    ],
  ],
  [
    'dearer ones are asked for once, and then repeated while cost 1 is denied',
    bucket,
    [
      [0, 10, 'store', true, 0, 0],
      [0, 5, 'store', false, 0, 5000],
      [0, 5, 'store', false, 0, 5000],
      [250, 1, 'store', false, 0, 750],
      [250, 5, 'store', false, 0, 4750],
      [500, 5, 'deny-cache', false, 0, 4500],
      [999, 5, 'deny-cache', false, 0, 4001],
      [1000, 5, 'store', false, 1, 4000],
      [1000, 5, 'store', false, 1, 4000],
    ],
  ],
  [
    'what never fits is always asked',
    bucket,
    [
      [0, 10, 'store', true, 0, 0],
      [0, 1, 'store', false, 0, 1000],
      [0, 11, 'store', false, 0, NEVER],
      [0, 11, 'store', false, 0, NEVER],
      [0, 0, 'store', true, 0, 0],
    ],
  ],
  [
    'fixed window',
    fixedWindow({ limit: 2, window: '10s' }),
    [
      [0, 2, 'store', true, 0, 0],
      [1, 1, 'store', false, 0, 9875.544],
      [9876, 1, 'deny-cache', false, 0, 0.544],
      [9876.544, 1, 'store', true, 1, 0],
    ],
  ],
  [
    'shaping',
    leakyBucket({ capacity: 2, leakRate: 1, mode: 'shaping' }),
    [
      [0, 2, 'store', true, 0, 0],
      [1, 1, 'store', false, 0, 999],
      [500, 1, 'deny-cache', false, 0, 500],
      [1000, 1, 'store', true, 0, 0],
    ],
  ],
];

test.each(TABLES)('%s', async (_, policy, rows) => {
  const { clock, store } = around();
  const seen: unknown[] = [];
  for (const [at, cost] of rows) {
    clock.set(START_MS + at);
    const { source, verdicts } = await decide(store, [check(policy, cost)]);
    const { allowed, remaining, retryAfter } = verdicts[0]!;
    seen.push([at, cost, source, allowed, remaining, retryAfter / 1000]);
  }
  expect(seen).toEqual(rows);
});

/** A cache that has just learnt that `someone` is denied. */
async function denied(maxKeys?: number, policy: Policy = bucket) {
  const made = around(maxKeys);
  await decide(made.store, [check(policy, ruleOf(policy).limit)]);
  await decide(made.store, [check(policy)]);
  return made;
}

test('an answer from the cache is no promise, and asks nobody', async () => {
  const { store, bare, clock } = await denied();
  bare.calls.length = 0;
  clock.advance(400);
  for (let attempt = 0; attempt < 1000; attempt += 1) {
    expect(decide(store, [check()])).toEqual({
      now: Math.round(START_MS * 1000) + 400_000,
      verdicts: [{ allowed: false, remaining: 0, retryAfter: 600_000, resetAfter: 9_600_000, delay: 0 }],
      source: 'deny-cache',
    });
  }
  expect(bare.calls).toEqual([]);
});

describe('is asked all the same', () => {
  const plan = tokenBucket({ capacity: 10, refillRate: 1, name: 'plan' });
  const lower = ruleOf(plan).changed({ capacity: 9 });
  test.each<[title: string, checks: Check[], options?: object]>([
    ['another key', [check(plan, 1, 'other')]],
    ['another policy', [check(gcra({ limit: 1, period: '1s' }))]],
    ['other numbers', [check(lower)]],
    ['other numbers without a name', [check(tokenBucket({ capacity: 9, refillRate: 1 }))]],
    ['another name', [check(checkPolicy({ ...plan, name: 'second' }))]],
    ['together with another policy', [check(plan), check(gcra({ limit: 1, period: '1s' }))]],
    ['a dry run', [check(plan)], { dryRun: true }],
    ['a look', [check(plan, 0)]],
  ])('%s', async (_, checks, options) => {
    const { store, bare } = await denied(undefined, plan);
    bare.calls.length = 0;
    expect(await decide(store, checks, options)).toMatchObject({ source: 'store' });
    expect(bare.calls).toEqual(['attempt']);
  });
});

test('looking does not make it forget', async () => {
  const { store } = await denied();
  await decide(store, [check(bucket, 0)]);
  await decide(store, [check()], { dryRun: true });
  expect(await decide(store, [check()])).toMatchObject({ source: 'deny-cache' });
});

test('a policy that means the same is the same', async () => {
  const { store } = await denied();
  expect(await decide(store, [check(checkPolicy({ ...bucket }))])).toMatchObject({ source: 'deny-cache' });
});

describe('forgets', () => {
  const fresh = { allowed: true, remaining: 10, retryAfter: 0, resetAfter: 0, delay: 0 };
  const yes = resultOfOne({ ...decisionOf(ruleOf(bucket), 0, fresh), changed: 0 }, 'store');
  const CHANGES: readonly Change[] = [
    { verb: 'refund', key: 'someone', policy: bucket, cost: 1 },
    { verb: 'penalize', key: 'someone', policy: bucket, cost: 1 },
    { verb: 'block', key: 'someone', policy: bucket, duration: 1000 },
    { verb: 'unblock', key: 'someone', policy: bucket },
  ];

  test.each(CHANGES.map((each) => [each.verb, each] as const))('on %s, of that key only', async (_, each) => {
    const clock = manualClock(START_MS);
    const memory = memoryStore({ clock });
    const store = denyCache({ clock })({
      ask: async (question) => (question.verb === 'change' ? yes : memory.ask(question)),
    });
    for (const key of ['someone', 'other']) {
      await decide(store, [check(bucket, 10, key)]);
      await decide(store, [check(bucket, 1, key)]);
    }
    await store.ask({ verb: 'change', changes: [each] });
    expect(await decide(store, [check()])).toMatchObject({ source: 'store' });
    expect(await decide(store, [check(bucket, 1, 'other')])).toMatchObject({ source: 'deny-cache' });
  });

  test('on reset', async () => {
    const { store } = await denied();
    await forget(store, 'someone', [bucket]);
    expect(await decide(store, [check()])).toMatchObject({
      source: 'store',
      verdicts: [{ allowed: true, remaining: 9 }],
    });
  });

  test('when a change fails: it may have been carried out', async () => {
    const inner = puppet();
    const store = denyCache({ clock: manualClock(0) })(inner);
    await decide(store, [check(bucket, 10)]);
    await decide(store, [check()]);
    inner.behaves = 'rejects';
    await expect(forget(store, 'someone', [bucket])).rejects.toThrow('connection lost');
    inner.behaves = 'answers';
    expect(await decide(store, [check()])).toMatchObject({ source: 'store' });
  });

  test('what was under way when the key was changed', async () => {
    const inner = puppet();
    const store = denyCache({ clock: manualClock(0) })(inner);
    await decide(store, [check(bucket, 10)]);
    inner.behaves = 'hangs';
    const underway = decide(store, [check()]);
    inner.behaves = 'answers';
    const reset = forget(store, 'other', [bucket]);
    inner.settle('answer');
    await underway;
    await reset;
    expect(await decide(store, [check()]), 'another key was changed').toMatchObject({ source: 'deny-cache' });

    await forget(store, 'someone', [bucket]);
    await decide(store, [check(bucket, 10)]);
    inner.behaves = 'hangs';
    const slow = decide(store, [check()]);
    const alsoSlow = forget(store, 'someone', [bucket]);
    inner.settle('answer');
    await Promise.all([slow, alsoSlow]);
    inner.behaves = 'answers';
    expect(await decide(store, [check()]), 'this key was changed').toMatchObject({ source: 'store' });
  });

  test('when the same state is spent from under other numbers', async () => {
    const plan = tokenBucket({ capacity: 10, refillRate: 1, name: 'plan' });
    const { store } = await denied(undefined, plan);
    expect(await decide(store, [check(plan)])).toMatchObject({ source: 'deny-cache' });
    const higher = tokenBucket({ capacity: 20, refillRate: 1, name: 'plan' });
    expect(await decide(store, [check(higher, 5)])).toMatchObject({ verdicts: [{ allowed: true, remaining: 5 }] });
    expect(await decide(store, [check(plan)])).toMatchObject({ source: 'store' });
  });

  test('when the same state was made to fit other numbers', async () => {
    const hour = fixedWindow({ limit: 2, window: '1h', name: 'plan' });
    const second = fixedWindow({ limit: 2, window: '1s', name: 'plan' });
    const clock = manualClock(5 * 3_600_000);
    const store = denyCache({ clock: manualClock(0) })(waitedFor(memoryStore({ clock })));
    await decide(store, [check(hour, 2)]);
    clock.advance(-10_000);
    expect(await decide(store, [check(hour)])).toMatchObject({ verdicts: [{ retryAfter: 3_610_000_000 }] });
    expect(await decide(store, [check(hour)])).toMatchObject({ source: 'deny-cache' });
    // Ten seconds are more than this window remembers: denied all the same, and moved to the window of now.
    expect(await decide(store, [check(second)])).toMatchObject({ verdicts: [{ retryAfter: 1_000_000 }] });
    expect(await decide(store, [check(hour)])).toMatchObject({
      source: 'store',
      verdicts: [{ retryAfter: 10_000_000 }],
    });
  });

  test('when its clock steps back', async () => {
    const { store, clock } = await denied();
    clock.advance(-0.001);
    expect(await decide(store, [check()])).toMatchObject({ source: 'store' });
  });
});

test('more keys changed than are remembered: taken for changed', () => {
  const recent = new RecentKeys();
  const since = recent.noted;
  for (let index = 0; index < 256; index += 1) recent.note(`${index}`);
  expect([recent.has('0', since), recent.has('255', since), recent.has('256', since)]).toEqual([true, true, false]);
  recent.note('one more');
  expect(recent.has('256', since)).toBe(true);
  expect(recent.has('256', recent.noted)).toBe(false);
});

describe('is bounded', () => {
  test('the oldest makes room', async () => {
    const { store } = around(3);
    const keys = ['a', 'b', 'c', 'd'];
    for (const key of keys) {
      await decide(store, [check(bucket, 10, key)]);
      await decide(store, [check(bucket, 1, key)]);
    }
    const sources = keys.map((key) => {
      const answer = decide(store, [check(bucket, 1, key)]);
      return 'then' in answer ? 'asked' : answer.source;
    });
    expect(sources).toEqual(['asked', 'deny-cache', 'deny-cache', 'deny-cache']);
  });

  test('very long keys are not kept', async () => {
    const { store } = around();
    const key = 'x'.repeat(10_000);
    await decide(store, [check(bucket, 10, key)]);
    await decide(store, [check(bucket, 1, key)]);
    expect(await decide(store, [check(bucket, 1, key)])).toMatchObject({ source: 'store' });
  });
});

test('the time counts from before the attempt was sent', async () => {
  const inner = puppet();
  const clock = manualClock(0);
  const store = denyCache({ clock })(inner);
  await decide(store, [check(bucket, 10)]);
  inner.behaves = 'hangs';
  const answer = decide(store, [check()]);
  clock.advance(300);
  inner.settle('answer');
  expect(await answer).toMatchObject({ verdicts: [{ retryAfter: 1_000_000 }] });
  expect(decide(store, [check()])).toMatchObject({ source: 'deny-cache', verdicts: [{ retryAfter: 700_000 }] });
});

test('only what the store itself said is repeated', async () => {
  const inner = puppet();
  inner.behaves = 'rejects';
  const clock = manualClock(0);
  const store = layered(inner, fallback({ to: memoryStore({ clock }), warnings: false }), denyCache({ clock }));
  await decide(store, [check(bucket, 10)]);
  for (const _ of [1, 2]) {
    expect(await decide(store, [check()])).toMatchObject({ source: 'fallback', verdicts: [{ allowed: false }] });
  }
});

test('a store that answers at once is asked each time, and soon costs no reading of the clock', async () => {
  const memory = memoryStore({ clock: manualClock(0) });
  let readings = 0;
  const clock = {
    now: () => {
      readings += 1;
      return 0;
    },
  };
  const inner = puppet(memory);
  const store = denyCache({ clock })(inner);
  for (let attempt = 0; attempt < 1000; attempt += 1) {
    expect(decide(store, [check()])).toMatchObject({ source: 'store' });
  }
  expect(readings).toBe(100);
  inner.behaves = 'hangs';
  for (const expected of ['asked', 'asked', 'deny-cache']) {
    const answer = decide(store, [check()]);
    inner.settle('answer');
    expect('then' in answer ? 'asked' : answer.source).toBe(expected);
    await answer;
  }
});

describe('several policies', () => {
  const slow = tokenBucket({ capacity: 2, refillRate: 0.1, name: 'slow' });
  const quick = tokenBucket({ capacity: 2, refillRate: 1, name: 'quick' });
  const day = fixedWindow({ limit: 100, window: '1d', name: 'day' });

  test('all verdicts are kept, until the first of those that deny would allow it', async () => {
    const { store, clock } = around();
    const checks = [check(day), check(slow), check(quick)];
    for (let unit = 0; unit < 3; unit += 1) await decide(store, checks);
    clock.advance(400);
    expect(decide(store, checks)).toMatchObject({
      source: 'deny-cache',
      verdicts: [
        { allowed: true, remaining: 98, retryAfter: 0 },
        { allowed: false, remaining: 0, retryAfter: 9_600_000, resetAfter: 19_600_000 },
        { allowed: false, remaining: 0, retryAfter: 600_000, resetAfter: 1_600_000 },
      ],
    });
    clock.advance(600);
    expect(await decide(store, checks)).toMatchObject({
      source: 'store',
      verdicts: [{ allowed: true }, { allowed: false, retryAfter: 9_000_000 }, { allowed: true, remaining: 1 }],
    });
    clock.advance(600);
    expect(decide(store, checks), 'until quick is as good as new').toMatchObject({
      source: 'deny-cache',
      verdicts: [{ allowed: true }, { retryAfter: 8_400_000 }, { allowed: true, resetAfter: 400_000 }],
    });
    clock.advance(1000);
    expect(await decide(store, checks)).toMatchObject({ source: 'store', verdicts: [{}, {}, { remaining: 2 }] });
    clock.advance(6000);
    expect(decide(store, checks)).toMatchObject({
      source: 'deny-cache',
      verdicts: [{}, { retryAfter: 1_400_000 }, {}],
    });
  });

  test('no two different attempts are taken for one', async () => {
    const { store } = around();
    const together = (cost: number, other: string) => [check(quick, cost), check(slow, 1, other)];
    await decide(store, [check(quick, 2)]);
    for (const other of ['abc', '3:abc', '1;3:abc', 'x2;3:abc']) {
      for (const cost of [1, 2]) {
        expect(await decide(store, together(cost, other)), `${cost} ${other}`).toMatchObject({ source: 'store' });
      }
    }
  });

  test('of several keys: spending from one that did not deny changes nothing', async () => {
    const { store } = around();
    const together = (user: string) => [check(quick, 1, user), check(day, 1, 'all')];
    for (let unit = 0; unit < 3; unit += 1) await decide(store, together('a'));
    expect(await decide(store, together('b'))).toMatchObject({ verdicts: [{ allowed: true }, { allowed: true }] });
    expect(await decide(store, together('a'))).toMatchObject({ source: 'deny-cache' });
    await forget(store, 'a', [quick]);
    expect(await decide(store, together('a'))).toMatchObject({ verdicts: [{ allowed: true }, { allowed: true }] });
  });
});

type Action =
  | { do: 'attempt' | 'peek'; cost: number; numbers: number }
  /** Spends all that is left. */
  | { do: 'drain' | 'reset' }
  | { do: (typeof VERBS)[number]; share: number };

const VERBS = ['refund', 'penalize', 'block', 'unblock'] as const;

/** Mostly cost 1 on an exhausted key, because that is where the cache answers; a cost below 0 is a share of the limit. */
const actions = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constantFrom('attempt', 'attempt', 'attempt', 'peek'),
      cost: fc.constantFrom(0, 1, 1, 1, 1, 2, 3, -0.3, -0.9, -1, -1, -1.1),
      numbers: fc.constantFrom(0, 0, 0, 0, 1),
    }),
  },
  { weight: 4, arbitrary: fc.constant({ do: 'drain' }) },
  { weight: 1, arbitrary: fc.constant({ do: 'reset' }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom(...VERBS), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
  },
) as fc.Arbitrary<Action>;

/** A gap is microseconds, a share of the last retryAfter, or exactly that. */
const gaps = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0) },
  { weight: 3, arbitrary: fc.constantFrom(1, 2, 1000) },
  { weight: 1, arbitrary: fc.constant('retry') },
  { weight: 3, arbitrary: fc.double({ min: 0, max: 1.1, noNaN: true }).map((share) => ({ share })) },
);
type Gap = number | 'retry' | { share: number };
const histories = fc.array(fc.tuple(gaps as fc.Arbitrary<Gap>, actions), { minLength: 20, maxLength: 60, size: 'max' });

const numbersOf = ({ now, verdicts }: Seen) => ({ now, verdicts });

/** The same history on both, step by step. */
async function replay(policySets: readonly (readonly Policy[])[], history: readonly [Gap, Action][], compare: Compare) {
  let micros = Math.round(START_MS * 1000);
  const clock = manualClock(micros / 1000);
  const bare = memoryStore({ clock });
  const cached = denyCache({ clock })(waitedFor(memoryStore({ clock })));
  let lastRetry = 1_000_000;
  let hits = 0;
  for (const [gap, action] of history) {
    micros += typeof gap === 'number' ? gap : gap === 'retry' ? lastRetry : Math.floor(gap.share * lastRetry);
    clock.set(micros / 1000);
    const [expected, seen] = await both(bare, cached, policySets, action);
    if (expected === undefined || seen === undefined) continue;
    compare(expected, seen);
    if (seen.source === 'deny-cache') hits += 1;
    const retry = Math.min(...expected.verdicts.filter(({ allowed }) => !allowed).map(({ retryAfter }) => retryAfter));
    if (Number.isFinite(retry)) lastRetry = retry;
  }
  return hits;
}
type Compare = (expected: Seen, seen: Seen) => void;

async function both(bare: Store, cached: Store, policySets: readonly (readonly Policy[])[], action: Action) {
  const key = 'someone';
  const first = policySets[0]!;
  const checksAt = (set: readonly Policy[], cost: number): Check[] =>
    set.map((policy) => ({ key, policy, cost: cost >= 0 ? cost : Math.ceil(-cost * ruleOf(policy).limit) }));
  const left = (await decide(bare, checksAt(first, 0))).verdicts.map(({ remaining }) => remaining);

  const act = async (store: Store): Promise<Seen | undefined> => {
    switch (action.do) {
      case 'reset':
        return void (await forget(store, key, first));
      case 'drain':
        return decide(store, checksAt(first, Math.min(...left)));
      case 'attempt':
      case 'peek':
        return decide(store, checksAt(policySets[action.numbers % policySets.length]!, action.cost), {
          dryRun: action.do === 'peek',
        });
      default:
        return change(
          store,
          first.map((policy) => changeOf(action.do, key, policy, action.share)),
        );
    }
  };
  return [await act(bare), await act(cached)] as const;
}

function changeOf(verb: Exclude<Change['verb'], 'extend'>, key: string, policy: Policy, share: number): Change {
  if (verb === 'unblock') return { verb, key, policy };
  if (verb === 'block') return { verb, key, policy, duration: Math.ceil(share * 5_000_000) };
  return { verb, key, policy, cost: Math.ceil(share * ruleOf(policy).limit) };
}

describe.each(KINDS)('%s: the same numbers as without it', (kind) => {
  test('under one policy, whose limit may change', async () => {
    let hits = 0;
    await fc.assert(
      fc.asyncProperty(policies(kind), histories, async (policy, history) => {
        const plan = checkPolicy({ ...policy, name: 'plan' });
        const raised = checkPolicy({ ...plan, ...raise(plan) });
        hits += await replay([[plan], [raised]], history, (expected, seen) => {
          expect(numbersOf(seen)).toEqual(numbersOf(expected));
        });
      }),
      { numRuns: 150 },
    );
    // Places that are given back elsewhere nobody is told of, so such denials are never repeated.
    if (givesPermits(kind)) expect(hits).toBe(0);
    else expect(hits).toBeGreaterThan(50);
  });

  test('under two policies', async () => {
    let hits = 0;
    await fc.assert(
      fc.asyncProperty(
        policies(kind),
        fc.constantFrom(...KINDS).chain(policies),
        histories,
        async (one, two, history) => {
          const set = [one, checkPolicy({ ...two, name: 'other' })];
          hits += await replay([set], history, (expected, seen) => {
            expect(seen.now).toBe(expected.now);
            for (const [index, verdict] of expected.verdicts.entries()) {
              const told = seen.verdicts[index]!;
              if (!verdict.allowed || seen.source === 'store') expect(told).toEqual(verdict);
              // Of a policy that did not deny, only what it has left is of the moment the denial was made: never too much.
              else expect({ ...told, remaining: 0 }).toEqual({ ...verdict, remaining: 0 });
              expect(told.remaining).toBeLessThanOrEqual(verdict.remaining);
            }
          });
        },
      ),
      { numRuns: 150 },
    );
    if (!givesPermits(kind)) expect(hits).toBeGreaterThan(50);
  });
});

function givesPermits(kind: string): boolean {
  const { policy } = SAMPLES.find((samples) => samples.kind === kind)!;
  return ruleOf(policy({ limit: 1, window: 1000, capacity: 1, rate: 1 })).permits !== undefined;
}

function raise(policy: Policy): object {
  const numbers = policy as Policy & Partial<Record<'capacity' | 'limit', number>>;
  return numbers.capacity === undefined ? { limit: numbers.limit! + 3 } : { capacity: numbers.capacity + 3 };
}
