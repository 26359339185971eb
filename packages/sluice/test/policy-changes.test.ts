/**
 * "A policy that changes" of docs/semantics.md: the numbers of a policy with a name change under its state. Random histories of attempts,
 * penalties, refunds, blocks and changes of plan, in memory and on a store over swaps, against a small model of each kind of policy that knows no
 * more than that page says.
 */
import { afterAll, describe, expect, test } from 'vitest';
import {
  createLimiter,
  type ManualClock,
  manualClock,
  memoryStore,
  type Policy,
  type Store,
  slidingWindowLog,
} from '../src/index.ts';
import { ruleOf } from '../src/model/policy.ts';
import type { SampleNumbers } from '../src/model/samples.ts';
import { storeOver } from '../src/store/index.ts';
import { type Change, change, decide } from './support/asking.ts';
import { mapPort } from './support/map-port.ts';
import { KINDS, type Kind, policyIfAny, type Random, randomFrom, testSeed } from './support/random.ts';

const SECOND = 1_000_000;
/** Longer than any of these policies has a cost wait. */
/** Longer than any of them takes to recover. */
const TWO_DAYS = 172_800 * SECOND;
/** A level within this of a whole unit counts as that unit. */
const TOLERANCE = 1e-9;

/** What one state is under any numbers: how much is spent of it, and what spending and giving back does. Time only goes forward here. */
interface Model {
  /** Units that count as spent now. May be a fraction. */
  spent(now: number, plan: Plan): number;
  spend(now: number, plan: Plan, units: number): void;
  /** The newest first. */
  giveBack(now: number, plan: Plan, units: number): void;
}

interface Plan extends SampleNumbers {
  readonly policy: Policy;
}

/** Units, and since when they drain. */
function drainingModel(rateOf: (plan: Plan) => number): Model {
  let level = 0;
  let since = 0;
  const spent = (now: number, plan: Plan): number => Math.max(0, level - ((now - since) * rateOf(plan)) / SECOND);
  const become = (now: number, units: number): void => {
    level = units;
    since = now;
  };
  return {
    spent,
    spend: (now, plan, units) => become(now, spent(now, plan) + units),
    giveBack: (now, plan, units) => become(now, spent(now, plan) - units),
  };
}

/** A count, and where its window begins. It counts as long as that lies in the window of now, as the numbers of now cut it. */
function windowModel(align: 'epoch' | 'first'): Model {
  let start = Number.NEGATIVE_INFINITY;
  let count = 0;
  const opens = (now: number, plan: Plan): number => {
    const size = plan.window * 1000;
    if (align === 'epoch') return now - (now % size);
    return now - start < size ? start : now;
  };
  const spent = (now: number, plan: Plan): number => (start >= opens(now, plan) ? count : 0);
  const become = (now: number, plan: Plan, units: number): void => {
    [start, count] = [opens(now, plan), units];
  };
  return {
    spent,
    spend: (now, plan, units) => become(now, plan, spent(now, plan) + units),
    giveBack: (now, plan, units) => become(now, plan, spent(now, plan) - units),
  };
}

/** All plans of the samples are quotas of a day, which starts so long after midnight in UTC. */
function dayModel(startsAfter: number): Model {
  const model = windowModel('epoch');
  const ofDays = (plan: Plan): Plan => ({ ...plan, window: 86_400_000 });
  return {
    spent: (now, plan) => model.spent(now - startsAfter, ofDays(plan)),
    spend: (now, plan, units) => model.spend(now - startsAfter, ofDays(plan), units),
    giveBack: (now, plan, units) => model.giveBack(now - startsAfter, ofDays(plan), units),
  };
}

/** The same with the window before, which fades. */
function counterModel(): Model {
  let start = Number.NEGATIVE_INFINITY;
  let [current, previous] = [0, 0];
  const counts = (now: number, plan: Plan): [opens: number, current: number, previous: number] => {
    const size = plan.window * 1000;
    const opens = now - (now % size);
    if (start >= opens) return [opens, current, previous];
    return [opens, 0, start >= opens - size ? current : 0];
  };
  return {
    spent(now, plan) {
      const [opens, here, before] = counts(now, plan);
      const size = plan.window * 1000;
      return here + Math.floor((before * (size - (now - opens))) / size + TOLERANCE);
    },
    spend(now, plan, units) {
      [start, current, previous] = counts(now, plan);
      current += units;
    },
    giveBack(now, plan, units) {
      [start, current, previous] = counts(now, plan);
      current -= units;
    },
  };
}

/** Entries: those still in the window of now count. Who spends lets go of those that are not. */
function logModel(): Model {
  let entries: { at: number; units: number }[] = [];
  const inWindow = (now: number, plan: Plan) => entries.filter(({ at }) => at > now - plan.window * 1000);
  return {
    spent: (now, plan) => inWindow(now, plan).reduce((sum, { units }) => sum + units, 0),
    spend(now, plan, units) {
      entries = [...inWindow(now, plan), { at: now, units }];
    },
    giveBack(_now, _plan, units) {
      for (let left = units; left > 0; ) {
        const last = entries.at(-1)!;
        const taken = Math.min(left, last.units);
        left -= taken;
        last.units -= taken;
        if (last.units === 0) entries.pop();
      }
    },
  };
}

/** Permits: each ends when it was told it would, whatever the numbers become, and later than those before it. */
function permitModel(): Model {
  let permits: { end: number; units: number }[] = [];
  const held = (now: number) => permits.filter(({ end }) => end > now);
  return {
    spent: (now) => held(now).reduce((sum, { units }) => sum + units, 0),
    spend(now, plan, units) {
      const after = permits.at(-1)?.end ?? 0;
      permits = [...held(now), { end: Math.max(now + plan.window * 1000, after + 1), units }];
    },
    giveBack(now, _plan, units) {
      permits = held(now);
      for (let left = units; left > 0; ) {
        const last = permits.at(-1)!;
        const taken = Math.min(left, last.units);
        left -= taken;
        last.units -= taken;
        if (last.units === 0) permits.pop();
      }
    },
  };
}

const MODELS: Readonly<Record<Kind, () => Model>> = {
  'fixed-window epoch': () => windowModel('epoch'),
  'fixed-window first': () => windowModel('first'),
  'sliding-window-counter': counterModel,
  'sliding-window-log': logModel,
  'token-bucket': () => drainingModel(({ rate }) => rate),
  'leaky-bucket policing': () => drainingModel(({ rate }) => rate),
  'leaky-bucket shaping': () => drainingModel(({ rate }) => rate),
  concurrency: permitModel,
  'calendar-quota': () => dayModel(0),
  'calendar-quota in New York': () => dayModel(5 * 3600 * SECOND),
  gcra: () => drainingModel(({ limit, window }) => (limit * 1000) / window),
};

function roomOf(model: Model, now: number, plan: Plan): number {
  return Math.max(0, Math.floor(ruleOf(plan.policy).limit - model.spent(now, plan) + TOLERANCE));
}

function randomPlan(random: Random, kind: Kind): Plan {
  for (;;) {
    const numbers = {
      limit: random.whole(1, 12),
      capacity: random.whole(1, 12),
      window: random.whole(1, 9) * 1000,
      rate: random.pick([0.5, 1, 2, 4]),
    };
    const policy = policyIfAny(kind, numbers, 'plan');
    if (policy !== undefined) return { ...numbers, policy };
  }
}

const KEY = 'someone';

/** What is told of a state, and what its model says of it. */
class Run {
  readonly #random: Random;
  readonly #kind: Kind;
  readonly #store: Store;
  readonly #clock: ManualClock;
  readonly history: unknown[] = [];
  #model: Model;
  #now = 1_763_280_000_123_456;
  #forgetAt = 0;

  constructor(random: Random, kind: Kind, store: Store, clock: ManualClock) {
    this.#random = random;
    this.#kind = kind;
    this.#store = store;
    this.#clock = clock;
    this.#model = MODELS[kind]!();
    clock.set(this.#now / 1000);
  }

  async go(steps: number): Promise<void> {
    let plan = randomPlan(this.#random, this.#kind);
    for (let step = 0; step < steps; step += 1) {
      if (this.#random.real() < 0.3) plan = randomPlan(this.#random, this.#kind);
      this.#pass(this.#random.pick([0, 0, 1, 250_000, SECOND, this.#random.whole(1, 4_000_000)]));
      await this.#act(plan);
    }
  }

  #pass(micros: number): void {
    this.#now += micros;
    this.#clock.set(this.#now / 1000);
    // A state is forgotten no later than its last change said, under the policy of that change.
    if (this.#now >= this.#forgetAt) this.#model = MODELS[this.#kind]!();
  }

  async #act(plan: Plan): Promise<void> {
    const dice = this.#random.real();
    if (dice < 0.7) await this.#attempt(plan, this.#random.whole(0, 6));
    else if (dice < 0.8) await this.#change(plan, 'penalize', this.#random.whole(1, 6));
    else if (dice < 0.9) await this.#change(plan, 'refund', this.#random.whole(1, 6));
    else await this.#blockAndUnblock(plan, randomPlan(this.#random, this.#kind));
  }

  async #attempt(plan: Plan, cost: number): Promise<void> {
    const room = roomOf(this.#model, this.#now, plan);
    const allowed = cost <= room;
    this.history.push([this.#now, plan.policy, 'attempt', cost]);
    const { verdicts } = await decide(this.#store, [{ key: KEY, policy: plan.policy, cost }]);
    const { remaining, resetAfter, retryAfter } = verdicts[0]!;
    expect([verdicts[0]!.allowed, remaining]).toEqual([allowed, allowed ? room - cost : room]);
    if (allowed && cost > 0) {
      this.#model.spend(this.#now, plan, cost);
      this.#forgetAt = this.#now + resetAfter;
    }
    if (!allowed && retryAfter < Number.POSITIVE_INFINITY) await this.#keepsPromise(plan, cost, retryAfter);
  }

  /** Law 4, under the numbers it was given under; a state may be forgotten before that. */
  async #keepsPromise(plan: Plan, cost: number, retryAfter: number): Promise<void> {
    const promised = this.#now + retryAfter;
    expect(roomOf(this.#model, promised - 1, plan), 'denied just before').toBeLessThan(cost);
    expect(roomOf(this.#model, promised, plan), 'allowed when promised').toBeGreaterThanOrEqual(cost);
  }

  async #change(plan: Plan, verb: 'penalize' | 'refund', cost: number): Promise<void> {
    const spent = this.#model.spent(this.#now, plan);
    const { limit } = ruleOf(plan.policy);
    const units = Math.min(cost, verb === 'penalize' ? Math.max(0, limit - spent) : this.#refundable(plan));
    this.history.push([this.#now, plan.policy, verb, cost]);
    const { verdicts } = await change(this.#store, [{ key: KEY, policy: plan.policy, verb, cost } as Change]);
    const { changed, remaining, resetAfter } = verdicts[0]!;
    expect(changed).toBeCloseTo(units, 6);
    // Also by the rest of a rounding: from then on time counts at the rate of this plan.
    if (changed! > 0) {
      if (verb === 'penalize') this.#model.spend(this.#now, plan, units);
      else this.#model.giveBack(this.#now, plan, units);
      this.#forgetAt = this.#now + resetAfter;
      if (resetAfter === 0) this.#model = MODELS[this.#kind]!();
    }
    expect(remaining).toBe(roomOf(this.#model, this.#now, plan));
  }

  /** Of a counter only what was spent in the window of now comes back without a result: what is in the one before fades. */
  #refundable(plan: Plan): number {
    const spent = this.#model.spent(this.#now, plan);
    if (this.#kind !== 'sliding-window-counter') return spent;
    const end = this.#now - (this.#now % (plan.window * 1000)) + plan.window * 1000 - 1;
    return this.#model.spent(end, plan);
  }

  /** Under the numbers of whatever plan: what was spent stays spent. */
  async #blockAndUnblock(plan: Plan, other: Plan): Promise<void> {
    this.history.push([this.#now, other.policy, 'block and unblock']);
    const block = { key: KEY, policy: other.policy, verb: 'block', duration: TWO_DAYS } as const;
    await change(this.#store, [block]);
    const blocked = await decide(this.#store, [{ key: KEY, policy: plan.policy, cost: 1 }]);
    expect(blocked.verdicts[0]).toMatchObject({ allowed: false, retryAfter: TWO_DAYS });
    this.#pass(this.#random.pick([0, 1, SECOND]));
    await change(this.#store, [{ key: KEY, policy: other.policy, verb: 'unblock' }]);
    await this.#attempt(plan, 0);
  }
}

const STORES: readonly [name: string, make: (clock: ManualClock) => Store][] = [
  ['in memory', (clock) => memoryStore({ clock })],
  ['on a store over swaps', (clock) => storeOver(mapPort(), { clock })],
];

const seed = testSeed();
afterAll(() => console.log(`policy changes: seed ${seed}`));

describe.each(STORES)('%s', (_, make) => {
  test.each(KINDS)('%s: what was spent stays spent, whatever the numbers become', async (kind) => {
    for (let run = 0; run < 300; run += 1) {
      const random = randomFrom(seed + run);
      const clock = manualClock(0);
      const history = new Run(random, kind, make(clock), clock);
      try {
        await history.go(40);
      } catch (error) {
        throw new Error(`seed ${seed + run}\n${history.history.map((each) => JSON.stringify(each)).join('\n')}`, {
          cause: error,
        });
      }
    }
  });
});

test('a new key never meets what another one spent, in whose place it comes', async () => {
  const clock = manualClock(1_000_000);
  const store = memoryStore({ clock });
  const under = (window: number) =>
    createLimiter({ policy: slidingWindowLog({ name: 'plan', limit: 4, window }), store });
  for (let key = 0; key < 100; key += 1) await under(1_000).attempt(`short ${key}`, { cost: 4 });
  clock.advance(1_001);
  // Under a longer window what they spent would still count, if it were theirs.
  for (let key = 0; key < 100; key += 1) {
    expect((await under(60_000).attempt(`long ${key}`, { cost: 4 })).allowed, `long ${key}`).toBe(true);
    expect((await under(60_000).attempt(`short ${key}`, { cost: 4 })).allowed, `short ${key}`).toBe(true);
  }
});
