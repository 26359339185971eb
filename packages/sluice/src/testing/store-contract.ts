/**
 * What every store must do, as a list of cases that any test runner can run:
 *
 *     for (const { name, run } of storeContract(({ clock }) => myStore({ clock }))) test(name, run);
 *
 * Each case makes a store of its own on a clock of its own, and must find it empty. Time only passes when a case says so.
 */
import { type Limiter, limiterOver } from '../limiter/limiter.ts';
import { type ManualClock, manualClock } from '../model/clock.ts';
import type { RateLimitResult } from '../model/decision.ts';
import { MAX_DURATION_MS, MICROS_PER_MS } from '../model/duration.ts';
import type { MaybePromise } from '../model/maybe-promise.ts';
import { type Policy, ruleOf } from '../model/policy.ts';
import type { Samples } from '../model/samples.ts';
import type { Store } from '../model/store.ts';
import { checkPolicy } from '../policies/check-policy.ts';
import { caseTables } from './cases.generated.ts';
import type { CaseTable } from './cases.ts';
import {
  blocks,
  blocksUnderOtherNumbers,
  penalizes,
  refundsNothingLate,
  refundsRightAway,
  slowsDown,
} from './change-contract.ts';
import { equal, isTrue } from './expectations.ts';
import { grants, remembers, settlesOnce } from './mark-contract.ts';
import { SAMPLES } from './samples.generated.ts';

/** One case of the contract: give `name` and `run` to your test runner. */
export interface ContractCase {
  readonly name: string;
  run(): Promise<void>;
}

/** Makes a new, empty store on this clock. Called once for each case. */
export type MakeStore = (options: { readonly clock: ManualClock }) => MaybePromise<Store>;

/** What `storeContract` takes besides the function that makes a store. */
export interface ContractOptions {
  /** Sample policies of algorithms of your own, besides those of Sluice. */
  readonly samples?: readonly Samples[] | undefined;
}

/** Room for interesting traffic, and a limit of 10 for every kind. */
const NUMBERS = { limit: 10, window: 10_000, capacity: 10, rate: 4 / 3 };

/** As far apart as numbers get: a million a minute, and one in ten years. */
const FAST = { limit: 1_000_000, window: 60_000, capacity: 1_000_000, rate: 1_000_000 };
const SLOW = { limit: 1, window: MAX_DURATION_MS / 10, capacity: 1, rate: 10_000 / MAX_DURATION_MS };

/** One of each, called by its kind. */
function policiesOf(samples: readonly Samples[]): readonly Policy[] {
  return samples.map((sample) => sample.policy(NUMBERS, sample.kind));
}

const START_MS = 1_763_280_000_123.456;

/**
 * What every store must do, as cases for any test runner. Each makes a store of its own.
 *
 * @example
 * for (const { name, run } of storeContract(({ clock }) => myStore({ clock }))) test(name, run);
 */
export function storeContract(makeStore: MakeStore, options: ContractOptions = {}): readonly ContractCase[] {
  const samples = [...SAMPLES, ...(options.samples ?? [])];
  const policies = policiesOf(samples);
  const withStore: WithStore = (name, body) => ({
    name,
    run: async () => {
      const clock = manualClock(START_MS);
      await body(await makeStore({ clock }), clock);
    },
  });

  return [
    ...caseTables.map((table) =>
      withStore(`case table, ${table.policy.algorithm}: ${table.title}`, (store, clock) =>
        runTable(store, clock, table),
      ),
    ),
    ...policies.flatMap((policy) => casesOfPolicy(withStore, policy)),
    ...samples.flatMap((sample) => casesOfSample(withStore, sample)),
    withStore('no two policies share state', (store) => policiesApart(store, samples)),
    withStore('an attempt spends from all of its policies or from none', (store) => allOrNothing(store, policies)),
    withStore('a denied attempt shows the others as they stand', (store) => deniedShowsOthers(store, samples)),
    withStore('of several policies as much is granted as there is under all of them', (store) =>
      grants(store, policies),
    ),
    withStore('a dry run spends nothing', (store) => dryRun(store, policies)),
    withStore('forget resets a key, and only that key', (store) => forgets(store, policies)),
    ...policies
      .filter((policy) => ruleOf(policy).entries !== undefined)
      .map((policy) =>
        withStore(`${policy.name}: history lists what was allowed`, (store, clock) => history(store, clock, policy)),
      ),
  ];
}

/** A case of this name, on a store of its own. */
type WithStore = (name: string, body: (store: Store, clock: ManualClock) => Promise<void>) => ContractCase;

function casesOfPolicy(withStore: WithStore, policy: Policy): ContractCase[] {
  return [
    withStore(`${policy.name}: keeps the laws in random traffic`, (store, clock) =>
      lawfulTraffic(store, clock, policy),
    ),
    withStore(`${policy.name}: time going backwards mints nothing`, (store, clock) => backwards(store, clock, policy)),
    withStore(`${policy.name}: concurrent attempts get exactly the limit`, (store) => concurrent(store, policy)),
    withStore(`${policy.name}: no two keys share state`, (store) => keysApart(store, policy)),
    withStore(`${policy.name}: a refund gives back what was spent`, (store, clock) =>
      refundsRightAway(store, clock, policy),
    ),
    withStore(`${policy.name}: a late refund mints nothing`, (store, clock) =>
      refundsNothingLate(store, clock, policy),
    ),
    withStore(`${policy.name}: an attempt that is remembered is not spent again`, (store, clock) =>
      remembers(store, clock, policy),
    ),
    withStore(`${policy.name}: what was reserved is settled once`, (store, clock) => settlesOnce(store, clock, policy)),
    withStore(`${policy.name}: as much is granted as there is`, (store) => grants(store, [policy])),
    withStore(`${policy.name}: a block denies until it ends`, (store, clock) => blocks(store, clock, policy)),
  ];
}

function casesOfSample(withStore: WithStore, sample: Samples): ContractCase[] {
  return [
    withStore(`${sample.kind}: a penalty spends down to empty`, (store) =>
      penalizes(store, sample.policy(NUMBERS, sample.kind), sample.debt),
    ),
    withStore(`${sample.kind}: a raised or lowered limit keeps what was spent`, (store) =>
      changedLimits(store, sample),
    ),
    withStore(`${sample.kind}: without a name, other numbers are another state`, (store) =>
      numbersApart(store, sample),
    ),
    withStore(`${sample.kind}: a block under other numbers keeps what was spent`, (store) =>
      blocksUnderOtherNumbers(store, named(sample, 10), named(sample, 7)),
    ),
    withStore(`${sample.kind}: numbers that become far slower are answered immediately`, (store) =>
      slowsDown(store, sample.policy(FAST, 'plan'), sample.policy(SLOW, 'plan')),
    ),
  ];
}

/** Of this limit an hour, by name. */
function named({ kind, policy }: Samples, limit: number): Policy {
  return policy({ limit, window: 3_600_000, capacity: limit, rate: limit / 3600 }, `plan of ${kind}`);
}

/** The policy is chosen by a function, because plans of one name are meant to share a state here. */
const single = (store: Store, policy: Policy): Limiter => limiterOver({ policy: () => policy, store });

async function runTable(store: Store, clock: ManualClock, { policy, rows }: CaseTable): Promise<void> {
  const limiter = single(store, checkPolicy(policy));
  for (const [at, cost, allowed, remaining, retryAfter, resetAfter, delay, why] of rows) {
    clock.set(at * 1000);
    const result = await limiter.attempt('someone', { cost });
    const seen = [result.allowed, result.remaining, result.retryAfter, result.resetAfter, result.delay];
    const never = retryAfter === 'never' ? Number.POSITIVE_INFINITY : retryAfter;
    equal(seen, [allowed, remaining, never, resetAfter, delay], `at ${at} s, cost ${cost}: ${why}`);
  }
}

/** The same numbers on every run: a store that fails should fail again. */
function* traffic(steps: number): Generator<{ gap: number; cost: number }> {
  let seed = 20_261_116;
  const below = (n: number): number => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((seed / 2 ** 32) * n);
  };
  for (let step = 0; step < steps; step += 1) {
    yield {
      gap: below(4) === 0 ? below(5_000_000) : below(3) * below(400_000),
      cost: below(4) === 0 ? below(13) : below(3),
    };
  }
}

/** Time only goes forward here: a store may forget what is out of date at any later time it has seen. */
async function lawfulTraffic(store: Store, clock: ManualClock, policy: Policy): Promise<void> {
  const limiter = single(store, policy);
  const moment = momentOf(clock);
  for (const { gap, cost } of traffic(80)) {
    moment.forward(gap);
    const before = await limiter.peek('someone');
    const result = await limiter.attempt('someone', { cost });
    const after = await limiter.peek('someone');
    equal(result.allowed, cost <= before.remaining, 'remaining is what would be allowed');
    equal(
      [result.remaining, result.resetAfter],
      [after.remaining, after.resetAfter],
      'cost 0 looks, and its numbers are true',
    );
    if (!result.allowed) {
      equal([after.remaining, after.resetAfter], [before.remaining, before.resetAfter], 'denied changes nothing');
      equal(
        result.retryAfter === Number.POSITIVE_INFINITY,
        cost > ruleOf(policy).limit,
        'never only for what is above the limit',
      );
    }
    if (result.retryAfter !== null && result.retryAfter !== Number.POSITIVE_INFINITY && gap % 2 === 0) {
      await promiseKept(limiter, moment, result.retryAfter, cost);
    }
    if (result.allowed && gap % 5 === 0) await forgottenInTime(limiter, moment, after);
  }
}

async function promiseKept(limiter: Limiter, moment: Moments, retryAfter: number, cost: number): Promise<void> {
  moment.forward(Math.round(retryAfter * 1e6) - 1);
  equal(
    (await limiter.peek('someone', { cost })).allowed,
    false,
    `still denied just before ${retryAfter} s have passed`,
  );
  moment.forward(1);
  equal((await limiter.peek('someone', { cost })).allowed, true, `allowed when ${retryAfter} s have passed`);
}

async function forgottenInTime(
  limiter: Limiter,
  moment: Moments,
  { resetAfter, limit }: RateLimitResult,
): Promise<void> {
  if (resetAfter === 0) return;
  moment.forward(Math.round(resetAfter * 1e6) - 1);
  equal((await limiter.peek('someone')).resetAfter, 0.000001, 'not reset just before resetAfter');
  moment.forward(1);
  const { remaining, resetAfter: left } = await limiter.peek('someone');
  equal([remaining, left], [limit, 0], 'reset at resetAfter');
}

interface Moments {
  forward(micros: number): void;
}

/** Whole microseconds, counted here: adding fractions of milliseconds to a clock would lose some. */
function momentOf(clock: ManualClock): Moments {
  let micros = Math.round(clock.now() * MICROS_PER_MS);
  return {
    forward(by) {
      micros += by;
      clock.set(micros / MICROS_PER_MS);
    },
  };
}

async function backwards(store: Store, clock: ManualClock, policy: Policy): Promise<void> {
  const limiter = single(store, policy);
  await limiter.attempt('someone', { cost: 7 });
  for (const back of [0.001, 1, 1000, 60_000, 86_400_000]) {
    clock.set(START_MS - back);
    const { remaining } = await limiter.peek('someone');
    isTrue(remaining <= 3, `${back} ms back: ${remaining} remaining after 7 of 10 were spent`);
  }
  let admitted = 0;
  clock.set(START_MS - 86_400_000);
  for (let attempt = 0; attempt < 10; attempt += 1) {
    if ((await limiter.attempt('someone')).allowed) admitted += 1;
  }
  isTrue(admitted <= 3, `a day back: ${admitted} more allowed after 7 of 10 were spent`);
  clock.advance(Math.max(60_000, (3 * ruleOf(policy).recovery) / MICROS_PER_MS));
  isTrue((await limiter.attempt('someone')).allowed, 'a minute or three recoveries later the key is not locked out');
}

async function concurrent(store: Store, policy: Policy): Promise<void> {
  const limiter = single(store, policy);
  const results = await Promise.all(Array.from({ length: 50 }, () => limiter.attempt('someone')));
  equal(results.filter(({ allowed }) => allowed).length, 10, 'allowed of 50 at the same moment');
}

const NASTY_KEYS = [
  '',
  ' ',
  '{',
  '}',
  '{}',
  '}{',
  ':',
  '%',
  '%25;',
  '%7d;',
  'a\nb',
  'a\0b',
  'ä',
  '🦆',
  '\ud800',
  '\ud801',
  '\ufffd',
  'x'.repeat(10_000),
  'x'.repeat(10_001),
  '__proto__',
];

async function keysApart(store: Store, policy: Policy): Promise<void> {
  const limiter = single(store, policy);
  for (const [index, key] of NASTY_KEYS.entries()) {
    const cost = (index % 9) + 1;
    equal(
      (await limiter.attempt(key, { cost })).remaining,
      10 - cost,
      `first attempt of ${JSON.stringify(key.slice(0, 20))}`,
    );
  }
  for (const [index, key] of NASTY_KEYS.entries()) {
    equal((await limiter.peek(key)).remaining, 9 - (index % 9), `what is left of ${JSON.stringify(key.slice(0, 20))}`);
  }
}

async function policiesApart(store: Store, samples: readonly Samples[]): Promise<void> {
  const unnamed = samples.map(({ policy }) => policy(NUMBERS));
  for (const policy of [...policiesOf(samples), ...unnamed]) {
    equal(
      (await single(store, policy).attempt('someone', { cost: 4 })).remaining,
      6,
      `first attempt under ${ruleOf(policy).identity}`,
    );
  }
}

/** Every pair of policies of one kind that differ in one number. */
async function numbersApart(store: Store, { policy }: Samples): Promise<void> {
  const others = [NUMBERS, { ...NUMBERS, limit: 11 }, { ...NUMBERS, capacity: 12 }, { ...NUMBERS, window: 13_000 }];
  const all = [...others, { ...NUMBERS, rate: 14 / 3 }].map((numbers) => policy(numbers));
  const distinct = new Map(all.map((each) => [ruleOf(each).numbers, each]));
  for (const each of distinct.values()) {
    const { limit } = ruleOf(each);
    equal((await single(store, each).attempt('someone', { cost: 5 })).remaining, limit - 5, ruleOf(each).identity);
  }
}

async function allOrNothing(store: Store, policies: readonly Policy[]): Promise<void> {
  const [first] = policies;
  const tight = ruleOf(first!).changed({});
  const limiter = limiterOver({ policies, store });
  const other = limiterOver({ policy: tight, store });
  await other.attempt('someone', { cost: 8 });
  const allowed = await limiter.attempt('someone', { cost: 2 });
  equal([allowed.allowed, allowed.policy, allowed.remaining], [true, first!.name, 0], 'the tightest policy binds');
  const left = policies.map((_, index) => (index === 0 ? 0 : 8));
  equal(
    allowed.decisions.map(({ remaining }) => remaining),
    left,
    'all are spent from',
  );
  const denied = await limiter.attempt('someone');
  equal([denied.allowed, denied.policy], [false, first!.name], 'one denies');
  const after = await limiter.peek('someone');
  equal(
    after.decisions.map(({ remaining }) => remaining),
    left,
    'and nothing is spent from any',
  );
}

async function deniedShowsOthers(store: Store, [sample]: readonly Samples[]): Promise<void> {
  const wide = sample!.policy(NUMBERS, 'wide');
  const narrow = sample!.policy({ ...NUMBERS, limit: 3, capacity: 3 }, 'narrow');
  const { decisions } = await limiterOver({ policies: [wide, narrow], store }).attempt('someone', { cost: 4 });
  equal(
    decisions.map(({ allowed, remaining, retryAfter, resetAfter }) => [allowed, remaining, retryAfter, resetAfter]),
    [
      [true, 10, null, 0],
      [false, 3, Number.POSITIVE_INFINITY, 0],
    ],
    'wide would allow it and is as it was; narrow never can',
  );
}

async function changedLimits(store: Store, sample: Samples): Promise<void> {
  const remaining = async (limit: number): Promise<number> =>
    (await single(store, named(sample, limit)).peek('someone')).remaining;
  await single(store, named(sample, 10)).attempt('someone', { cost: 4 });
  equal(
    [await remaining(10), await remaining(300), await remaining(5), await remaining(4)],
    [6, 296, 1, 0],
    'what was spent stays spent',
  );
  equal((await single(store, named(sample, 70_000)).attempt('someone', { cost: 60_000 })).remaining, 9_996, 'raised');
  equal(await remaining(10), 0, 'lowered again');
}

async function dryRun(store: Store, policies: readonly Policy[]): Promise<void> {
  for (const policy of policies) {
    const limiter = single(store, policy);
    const would = await limiter.peek('someone', { cost: 4 });
    const wouldNot = await limiter.peek('someone', { cost: 11 });
    equal([would.allowed, would.remaining, would.resetAfter], [true, 10, 0], `${policy.name}: would be allowed`);
    equal([wouldNot.allowed, wouldNot.retryAfter], [false, Number.POSITIVE_INFINITY], `${policy.name}: never would`);
    equal((await limiter.attempt('someone', { cost: 10 })).allowed, true, `${policy.name}: and nothing was spent`);
    const denied = await limiter.peek('someone');
    isTrue(!denied.allowed && denied.retryAfter! > 0, `${policy.name}: a look at an exhausted key says no, and when`);
    equal((await limiter.peek('someone', { cost: 0 })).allowed, true, `${policy.name}: cost 0 is always allowed`);
  }
}

async function forgets(store: Store, policies: readonly Policy[]): Promise<void> {
  const limiter = limiterOver({ policies, store });
  await limiter.attempt('someone', { cost: 10 });
  await limiter.attempt('other', { cost: 3 });
  await limiter.reset('someone');
  await limiter.reset('nobody');
  const fresh = await limiter.peek('someone');
  equal(
    fresh.decisions.map(({ remaining, resetAfter }) => [remaining, resetAfter]),
    policies.map(() => [10, 0]),
    'reset',
  );
  equal((await limiter.peek('other')).remaining, 7, 'another key keeps what it spent');
}

async function history(store: Store, clock: ManualClock, policy: Policy): Promise<void> {
  const limiter = single(store, policy);
  equal(await limiter.history('someone'), [], 'nothing yet');
  for (const [at, cost] of [
    [1_000_000, 2],
    [1_000_000.001, 1],
    [1_004_000, 3],
    [1_004_000, 1],
  ] as const) {
    clock.set(at);
    await limiter.attempt('someone', { cost });
  }
  const pair = { at: 1000, cost: 2 };
  const rest = [
    { at: 1000.000001, cost: 1 },
    { at: 1004, cost: 4 },
  ];
  equal(await limiter.history('someone'), [pair, ...rest], 'exact to the microsecond');
  clock.set(1_010_000);
  equal(await limiter.history('someone'), rest, 'without what has left the window');
}
