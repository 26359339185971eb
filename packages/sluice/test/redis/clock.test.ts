/**
 * Backwards time is harmless: it mints no capacity, throws nothing, and locks nobody out for longer than twice the policy's own
 * memory. The same for the memory store and for Redis, on a clock that is supplied; and for Redis on the server's own clock, where
 * a state from the future is exactly what a server sees whose clock was set back.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningServer } from '../../../../tools/servers/index.ts';
import {
  type Clock,
  createLimiter,
  type ManualClock,
  manualClock,
  memoryStore,
  type Policy,
  type Store,
} from '../../src/index.ts';
import { ruleOf } from '../../src/model/policy.ts';
import { decide, type Verdict } from '../support/asking.ts';
import { KINDS, type Kind, policyOf, type Random, randomFrom, testSeed } from '../support/random.ts';
import { clockBound, memoryOf } from './support/clock-bound.ts';
import { changesOf } from './support/server-statistics.ts';
import { type Connection, SERVER_KINDS, serversOf, TOPOLOGIES } from './support/topologies.ts';

const LIMIT = 6;

/** With a memory of `ms` milliseconds each. */
function policiesWithMemory(ms: number): Readonly<Record<Kind, Policy>> {
  const rate = (LIMIT * 1000) / ms;
  return Object.fromEntries(
    KINDS.map((kind) => {
      // Of a counter the window before counts too.
      const window = kind === 'sliding-window-counter' ? ms / 2 : ms;
      return [kind, policyOf(kind, { limit: LIMIT, window, capacity: LIMIT, rate }, kind)];
    }),
  );
}

const MEMORY_MS = 12_000;
const POLICIES = policiesWithMemory(MEMORY_MS);
const START = 1_763_280_000_123_456;

const setMicros = (clock: ManualClock, micros: number): void => clock.set(micros / 1000);

async function decideOne(store: Store, key: string, policy: Policy, cost: number, dryRun = false): Promise<Verdict> {
  return (await decide(store, [{ key, policy, cost }], { dryRun })).verdicts[0]!;
}

interface Walk {
  /** How far back a step may go, in memories of the policy. */
  readonly reach: 'within its memory' | 'far beyond its memory';
  readonly steps: number;
}

/** The next reading of the clock. Within the memory: never further behind the furthest reading than the policy remembers. */
function nextReading(random: Random, now: number, furthest: number, memory: number, { reach }: Walk): number {
  const dice = random.real();
  if (dice < 0.2) return now;
  if (dice < 0.6) return now + Math.floor(random.real() * memory * 0.1);
  if (dice < 0.7) return now + Math.floor(random.real() * memory);
  const far = now - Math.floor(memory * (3 + random.real() * 50));
  // Of periods of a calendar there are not so many before there was any time.
  if (reach === 'far beyond its memory' && dice < 0.73 && far > 0) return far;
  const back = Math.floor(random.real() * memory * random.pick([0.001, 0.1, 0.3]));
  return Math.max(0, now - back, Math.ceil(furthest - memory * 0.99));
}

interface Outcome {
  readonly admitted: number;
  readonly most: number;
}

/** Attempts on one key while the clock walks. The promises are checked at every step; the sum is for the caller. */
async function walk(store: Store, clock: ManualClock, policy: Policy, seed: number, options: Walk): Promise<Outcome> {
  const random = randomFrom(seed);
  const memory = memoryOf(policy);
  const bound = clockBound(policy);
  let [now, furthest, admitted, most] = [START, START, 0, 0];
  for (let step = 0; step < options.steps; step += 1) {
    const before = now;
    now = nextReading(random, now, furthest, memory, options);
    const isFar = before - now > memory;
    furthest = isFar ? now : Math.max(furthest, now);
    setMicros(clock, now);
    const cost = isFar ? LIMIT : random.pick([1, 1, 1, 2, 3, LIMIT]);
    const verdict = await decideOne(store, 'key', policy, cost);
    if (verdict.allowed) admitted += cost;
    expectSane(verdict, memory, `seed ${seed}, step ${step}, now ${now}, cost ${cost}`);
    most = bound.most(now, verdict.allowed);
    expect(admitted, `seed ${seed}, step ${step}, now ${now}`).toBeLessThanOrEqual(most);
  }
  return { admitted, most };
}

function expectSane(
  { allowed, remaining, retryAfter, resetAfter, delay }: Verdict,
  memory: number,
  where: string,
): void {
  expect(Number.isInteger(remaining) && remaining >= 0 && remaining <= LIMIT, where).toBe(true);
  expect(Number.isInteger(resetAfter) && resetAfter >= 0 && resetAfter <= 2 * memory + 2, where).toBe(true);
  expect(Number.isInteger(delay) && delay >= 0, where).toBe(true);
  if (allowed) expect(retryAfter, where).toBe(0);
  else expect(retryAfter > 0 && retryAfter <= 2 * memory + 2, `${where}: locked out for ${retryAfter}`).toBe(true);
}

const STEPS_BACK = [1e-7, 0.1, 0.5, 0.999, 1, 1.001, 1.5, 1.999, 2, 2.001, 2.999, 3.001, 10, 1e5];

/** Everything the suite asks of a store on a clock that is supplied. */
function backwardsTime(makeStore: (clock: Clock) => Store, steps: number): void {
  it.each(KINDS)('%s: steps back within its memory mint nothing', async (kind) => {
    const clock = manualClock(START / 1000);
    const { admitted, most } = await walk(makeStore(clock), clock, POLICIES[kind]!, testSeed(), {
      reach: 'within its memory',
      steps,
    });
    expect(admitted, 'hardly anything was admitted: the walk is no test').toBeGreaterThan(most / 10);
  });

  it.each(KINDS)('%s: steps back far beyond its memory mint nothing', async (kind) => {
    const clock = manualClock(START / 1000);
    const { admitted } = await walk(makeStore(clock), clock, POLICIES[kind]!, testSeed(), {
      reach: 'far beyond its memory',
      steps,
    });
    expect(admitted).toBeGreaterThan(LIMIT);
  });

  describe.each(KINDS)('%s', (kind) => {
    const policy = POLICIES[kind]!;
    const memory = memoryOf(policy);

    it.each(STEPS_BACK)(
      'after a step back of %d memories the spent stays spent, and the promise is kept',
      async (share) => {
        for (const cost of [1, 3, LIMIT]) {
          const clock = manualClock(START / 1000);
          const store = makeStore(clock);
          await decideOne(store, 'key', policy, LIMIT);
          const back = Math.max(0, START - Math.ceil(memory * share));
          setMicros(clock, back);
          const denied = await decideOne(store, 'key', policy, cost);
          expect(denied).toMatchObject({ allowed: false, remaining: 0 });
          expectSane(denied, memory, `${share} memories back, cost ${cost}`);

          setMicros(clock, back + denied.retryAfter - 1);
          expect((await decideOne(store, 'key', policy, cost, true)).allowed, 'allowed before its time').toBe(false);
          setMicros(clock, back + denied.retryAfter);
          expect((await decideOne(store, 'key', policy, cost)).allowed, 'denied at its time').toBe(true);
        }
      },
    );

    it.each(STEPS_BACK)('after a step back of %d memories what is free is no more than it was', async (share) => {
      for (let spent = 1; spent < LIMIT; spent += 1) {
        const clock = manualClock(START / 1000);
        const store = makeStore(clock);
        await decideOne(store, 'key', policy, spent);
        setMicros(clock, Math.max(0, START - Math.ceil(memory * share)));
        const { allowed, remaining } = await decideOne(store, 'key', policy, 0);
        expect(allowed).toBe(true);
        expect(remaining).toBeLessThanOrEqual(LIMIT - spent);
        expect((await decideOne(store, 'key', policy, LIMIT - spent + 1)).allowed).toBe(false);
      }
    });
  });
}

describe('the memory store on a supplied clock', () => {
  backwardsTime((clock) => memoryStore({ clock }), 5000);

  it.each(KINDS)('%s: the walk notices a store that starts afresh when time goes back', async (kind) => {
    const clock = manualClock(START / 1000);
    const naive = forgettingWhenTimeGoesBack(memoryStore({ clock }), clock);
    const run = walk(naive, clock, POLICIES[kind]!, 1, { reach: 'within its memory', steps: 2000 });
    await expect(run).rejects.toThrow(/less than or equal/);
  });
});

function forgettingWhenTimeGoesBack(store: Store, clock: Clock): Store {
  let last = 0;
  return {
    ask(question) {
      const now = clock.now();
      if (now < last && question.verb === 'attempt') {
        store.ask({ verb: 'forget', key: question.key, policies: [question.policy] });
      }
      last = now;
      return store.ask(question);
    },
  };
}

describe.each(SERVER_KINDS)('%s', (kind) => {
  const servers = serversOf(kind);
  let server: RunningServer;
  let connection: Connection;
  let prefixes = 0;
  const newPrefix = (): string => {
    prefixes += 1;
    return `clock ${prefixes}`;
  };

  beforeAll(async () => {
    server = await servers.single();
    connection = await TOPOLOGIES.find(({ title }) => title === `ioredis client on ${kind}`)!.connect(servers);
  });
  afterAll(async () => {
    await connection.close();
    await servers.stop();
  });

  const serverMicros = async (): Promise<number> => {
    const [seconds, micros] = (await server.command('TIME')) as [string, string];
    return Number(seconds) * 1e6 + Number(micros);
  };

  describe('on a supplied clock', () => {
    backwardsTime((clock) => connection.store({ prefix: newPrefix(), clock }), 1500);
  });

  describe("on the server's own clock, set back", () => {
    /** Spends `spent` when the clock was `aheadMs` ahead of what it is now; the store that comes back has the server's own. */
    async function afterStepBack(policy: Policy, spent: number, aheadMs: number): Promise<Store> {
      const prefix = newPrefix();
      const future = manualClock((await serverMicros()) / 1000 + aheadMs);
      const verdict = await decideOne(connection.store({ prefix, clock: future }), 'key', policy, spent);
      expect(verdict.allowed).toBe(true);
      return connection.store({ prefix });
    }

    const HOUR = 3_600_000;
    const LONG = policiesWithMemory(HOUR);
    /** A calendar has periods of its own length, whatever memory is asked for: its tests step by those. */
    const OF_ANY_LENGTH = KINDS.filter((name) => memoryOf(LONG[name]!) <= 2e3 * HOUR);
    const SMALL_STEPS_MS = [60_000, HOUR / 4, HOUR / 2];
    const LARGE_STEPS_MS = [3.5 * HOUR, 24 * HOUR, 365 * 24 * HOUR];

    describe.each(OF_ANY_LENGTH)('%s', (name) => {
      const policy = LONG[name]!;
      const memory = memoryOf(policy);

      it.each(SMALL_STEPS_MS)('by %d ms: what was spent stays spent, and denying writes nothing', async (step) => {
        const store = await afterStepBack(policy, LIMIT, step);
        const before = await changesOf(server);
        const first = await decide(store, [{ key: 'key', policy, cost: 1 }]);
        const second = await decide(store, [{ key: 'key', policy, cost: 1 }]);
        expect(await changesOf(server)).toBe(before);
        for (const { verdicts } of [first, second]) {
          expect(verdicts[0]).toMatchObject({ allowed: false, remaining: 0 });
          expectSane(verdicts[0]!, memory, `a step of ${step} ms`);
        }
        expect(second.now + second.verdicts[0]!.retryAfter).toBe(first.now + first.verdicts[0]!.retryAfter);
      });

      it.each(LARGE_STEPS_MS)('by %d ms: the level is kept, anchored at now, and stored once', async (step) => {
        const store = await afterStepBack(policy, LIMIT, step);
        const before = await changesOf(server);
        const first = await decide(store, [{ key: 'key', policy, cost: 1 }]);
        expect(await changesOf(server), 'the new anchor must be stored').toBe(before + 1);
        const second = await decide(store, [{ key: 'key', policy, cost: 1 }]);
        expect(await changesOf(server), 'and only once').toBe(before + 1);
        for (const { verdicts } of [first, second]) {
          expect(verdicts[0]).toMatchObject({ allowed: false, remaining: 0 });
          expectSane(verdicts[0]!, memory, `a step of ${step} ms`);
        }
        expect(second.now + second.verdicts[0]!.retryAfter).toBe(first.now + first.verdicts[0]!.retryAfter);
        expect(first.verdicts[0]!.resetAfter).toBeLessThanOrEqual(memory + 1);
      });

      it.each([...SMALL_STEPS_MS, ...LARGE_STEPS_MS])('by %d ms: no more is free than before', async (step) => {
        for (const spent of [1, 3, 5]) {
          const store = await afterStepBack(policy, spent, step);
          expect((await decideOne(store, 'key', policy, LIMIT - spent + 1)).allowed).toBe(false);
          let admitted = spent;
          while ((await decideOne(store, 'key', policy, 1)).allowed) admitted += 1;
          expect(admitted).toBeLessThanOrEqual(LIMIT);
        }
      });
    });

    const SHORT = policiesWithMemory(120);

    it.each(OF_ANY_LENGTH)(
      '%s: after a large step the key is free again at the promised time, and not before',
      async (name) => {
        const policy = SHORT[name]!;
        const store = await afterStepBack(policy, LIMIT, HOUR);
        const { now, verdicts } = await decide(store, [{ key: 'key', policy, cost: 1 }]);
        expect(verdicts[0]!.allowed).toBe(false);
        const promised = now + verdicts[0]!.retryAfter;
        for (let allowed = false; !allowed; ) {
          const next = await decide(store, [{ key: 'key', policy, cost: 1 }]);
          allowed = next.verdicts[0]!.allowed;
          expect(allowed).toBe(next.now >= promised);
        }
      },
    );

    it('a key of several policies is decided by those that can be read and those that cannot alike', async () => {
      const policies = Object.values(LONG);
      const prefix = newPrefix();
      const future = manualClock((await serverMicros()) / 1000 + 24 * HOUR);
      const limiterThen = createLimiter({ policies, store: connection.store({ prefix, clock: future }) });
      expect((await limiterThen.attempt('key', { cost: LIMIT })).allowed).toBe(true);
      const limiter = createLimiter({ policies, store: connection.store({ prefix }) });
      const { allowed, decisions } = await limiter.attempt('key');
      expect(allowed).toBe(false);
      expect(decisions.map(({ remaining }) => remaining)).toEqual(policies.map(() => 0));
      expect(policies.map((policy) => ruleOf(policy).limit)).toEqual(policies.map(() => LIMIT));
    });
  });
});
