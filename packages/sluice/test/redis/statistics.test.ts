/**
 * What an attempt costs the server, in the server's own numbers: one round trip whatever the number of policies, no write when
 * it is denied, no key that stays behind, and each key gone in the millisecond its resetAfter ends and not before.
 */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, startServer } from '../../../../tools/servers/index.ts';
import { waitUntil } from '../../../../tools/servers/wait-until.ts';
import {
  createLimiter,
  fixedWindow,
  gcra,
  leakyBucket,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../../src/index.ts';
import { ruleOf } from '../../src/model/policy.ts';
import { redisStoreOver } from '../../src/redis/redis-store.ts';
import type { RunScript } from '../../src/redis/run-script.ts';
import { decide, type Verdict } from '../support/asking.ts';
import { KINDS, randomCost, randomFrom, randomPolicy, testSeed } from '../support/random.ts';
import { changesOf, commandsDuring, nodesOf, replicatedBytes } from './support/server-statistics.ts';
import { slowPolicies } from './support/slow-policies.ts';
import { type Connection, SERVER_KINDS, serversOf, TOPOLOGIES } from './support/topologies.ts';

const LIMIT = 5;
const POLICIES = slowPolicies(LIMIT);
const FIVE = [
  POLICIES['fixed-window epoch']!,
  POLICIES['sliding-window-log']!,
  POLICIES['sliding-window-counter']!,
  POLICIES['token-bucket']!,
  POLICIES.gcra!,
];
const ALL = Object.values(POLICIES);

/** Those whose states may be large are read in pieces. */
const IN_PIECES = ['sliding-window-log', 'concurrency'];
const readOf = ({ algorithm }: Policy): string => (IN_PIECES.includes(algorithm) ? 'getrange' : 'get');

/** How a state that is there is changed: in place where its form allows it. */
const changeOf = (kind: string): Record<string, number> => {
  if (kind === 'sliding-window-log') return { setrange: 2, pexpireat: 1 };
  // The second attempt on a level finds a whole number, and leaves a fraction; places get longer.
  if (['fixed-window first', 'token-bucket', 'leaky-bucket policing', 'concurrency'].includes(kind)) return { set: 1 };
  // Windows are digits. So are horizons without a name; those with one say under which numbers they were written.
  const isDigits = /^(fixed-window epoch|sliding-window-counter|calendar-quota)/.test(kind);
  return { [isDigits ? 'incrby' : 'setrange']: 1, pexpireat: 1 };
};

let keys = 0;
const newKey = (): string => {
  keys += 1;
  return `key ${keys}`;
};

describe.each(SERVER_KINDS)('%s', (kind) => {
  const servers = serversOf(kind);
  const topologies = TOPOLOGIES.filter((topology) => topology.kind === kind);
  let server: RunningServer;

  beforeAll(async () => {
    server = await servers.single();
  });
  afterAll(() => servers.stop());

  /** A connection to a server that already knows every script. */
  async function connectTo({ connect }: (typeof topologies)[number]): Promise<Connection> {
    const connection = await connect(servers);
    const store = connection.store();
    for (const policy of ALL) {
      const limiter = createLimiter({ policy, store });
      await limiter.attempt(newKey());
      await limiter.peek(newKey());
      await Promise.all([limiter.attempt(newKey()), limiter.attempt(newKey()), limiter.attempt(newKey())]);
    }
    const limiter = createLimiter({ policies: ALL, store });
    await limiter.peek(newKey());
    await createLimiter({ policies: FIVE, store }).peek(newKey());
    await limiter.history(newKey());
    await limiter.reset(newKey());
    return connection;
  }

  const singles = topologies
    .filter(({ shape }) => shape === 'single')
    .map((topology) => [topology.title, topology] as const);

  describe.each(singles)('%s', (_, topology) => {
    let connection: Connection;
    beforeAll(async () => {
      connection = await connectTo(topology);
    });
    afterAll(() => connection.close());

    it.each(KINDS)(
      'an attempt under a %s is one EVALSHA: one reading of the clock, one read, one state written',
      async (name) => {
        const limiter = createLimiter({ policy: POLICIES[name]!, store: connection.store() });
        const key = newKey();
        const read = { evalsha: 1, time: 1, [readOf(POLICIES[name]!)]: 1 };
        expect(await commandsDuring([server], () => limiter.attempt(key))).toEqual({ ...read, set: 1 });
        const second = await commandsDuring([server], () => limiter.attempt(key));
        expect(second).toEqual({ ...read, ...changeOf(name) });
      },
    );

    it('an attempt under five policies, or all, is one EVALSHA', async () => {
      const key = newKey();
      const five = createLimiter({ policies: FIVE, store: connection.store() });
      const expected = { evalsha: 1, time: 1, get: 4, getrange: 1, set: 5 };
      expect(await commandsDuring([server], () => five.attempt(key))).toEqual(expected);
      const all = createLimiter({ policies: ALL, store: connection.store() });
      const counts = await commandsDuring([server], () => all.attempt(key));
      expect(counts).toMatchObject({ evalsha: 1, time: 1, get: 9, getrange: 2, set: 7, pexpireat: 4 });
    });

    it('a thousand attempts of one turn under five policies are a few EVALSHA', async () => {
      const limiter = createLimiter({ policies: FIVE, store: connection.store() });
      const attempts = () => Promise.all(Array.from({ length: 1000 }, () => limiter.attempt(newKey())));
      // A pool opens more connections the first time.
      await attempts();
      const counts = await commandsDuring([server], attempts);
      expect(counts).toMatchObject({ time: counts.evalsha, get: 4000, getrange: 1000, set: 5000 });
      expect(counts.evalsha).toBeLessThan(20);
    });

    it('reset and history are one EVALSHA', async () => {
      const limiter = createLimiter({ policies: ALL, store: connection.store() });
      const key = newKey();
      await limiter.attempt(key);
      expect(await commandsDuring([server], () => limiter.history(key))).toEqual({ evalsha: 1, time: 1, getrange: 1 });
      expect(await commandsDuring([server], () => limiter.reset(key))).toEqual({ evalsha: 1, del: 1, time: 1 });
    });
  });

  describe('what changes nothing writes nothing', () => {
    let connection: Connection;
    beforeAll(async () => {
      connection = await connectTo(topologies.find(({ title }) => title.startsWith('ioredis client'))!);
    });
    afterAll(() => connection.close());

    /** The reads that are allowed; anything else, a write above all, makes the comparison fail. */
    async function expectNoWrite(policies: readonly Policy[], work: () => Promise<unknown>): Promise<void> {
      const reads: Record<string, number> = {};
      for (const policy of policies) reads[readOf(policy)] = (reads[readOf(policy)] ?? 0) + 1;
      const before = await changesOf(server);
      expect(await commandsDuring([server], work)).toEqual({ evalsha: 1, time: 1, ...reads });
      expect(await changesOf(server)).toBe(before);
    }

    it.each(KINDS)('%s: denied, looked at, and a cost that never fits', async (name) => {
      const policy = POLICIES[name]!;
      const limiter = createLimiter({ policy, store: connection.store() });
      const key = newKey();
      await expectNoWrite([policy], () => limiter.peek(key));
      await expectNoWrite([policy], () => limiter.attempt(key, { cost: 0 }));
      await expectNoWrite([policy], () => limiter.peek(key, { cost: 3 }));
      const before = await changesOf(server);
      expect((await limiter.attempt(key, { cost: LIMIT })).remaining).toBe(0);
      expect(await changesOf(server), 'an allowed attempt must show here, or the test is blind').toBe(before + 1);

      await expectNoWrite([policy], async () => expect((await limiter.attempt(key)).allowed).toBe(false));
      await expectNoWrite([policy], async () =>
        expect((await limiter.attempt(key, { cost: LIMIT + 1 })).retryAfter).toBe(Number.POSITIVE_INFINITY),
      );
      await expectNoWrite([policy], () => limiter.attempt(key, { cost: 0 }));
      await expectNoWrite([policy], () => limiter.peek(key, { cost: 1 }));
    });

    it.each(KINDS)('%s denies: nothing is written under the seven policies that allow', async (name) => {
      const key = newKey();
      const store = connection.store();
      await createLimiter({ policy: POLICIES[name]!, store }).attempt(key, { cost: LIMIT });
      const all = createLimiter({ policies: ALL, store });
      await expectNoWrite(ALL, async () => {
        const { allowed, policy } = await all.attempt(key);
        expect({ allowed, policy }).toEqual({ allowed: false, policy: POLICIES[name]!.name });
      });
      const remaining = (await all.peek(key)).decisions.map((decision) => decision.remaining);
      expect(remaining).toEqual(ALL.map(({ name: other }) => (other === POLICIES[name]!.name ? 0 : LIMIT)));
    });

    it.each(KINDS)('%s: a batch of denied attempts writes nothing either', async (name) => {
      const limiter = createLimiter({ policy: POLICIES[name]!, store: connection.store() });
      const batch = Array.from({ length: 100 }, newKey);
      await Promise.all(batch.map((key) => limiter.attempt(key, { cost: LIMIT })));
      const before = await changesOf(server);
      let results: Awaited<ReturnType<typeof limiter.attempt>>[] = [];
      const counts = await commandsDuring([server], async () => {
        results = await Promise.all(batch.map((key) => limiter.attempt(key)));
      });
      expect(results.filter(({ allowed }) => allowed)).toEqual([]);
      expect(counts.evalsha).toBeLessThan(100);
      const reads = IN_PIECES.includes(name) ? { getrange: 100 } : { mget: counts.evalsha };
      expect(counts).toEqual({ evalsha: counts.evalsha, time: counts.evalsha, ...reads });
      expect(await changesOf(server)).toBe(before);
    });

    it('a denied attempt on a large log reads a part of it and writes nothing', async () => {
      const limit = 400;
      const limiter = createLimiter({ policy: slidingWindowLog({ limit, window: '1h' }), store: connection.store() });
      const key = newKey();
      // One by one: admissions in the same microsecond would share an entry.
      for (let i = 0; i < limit - 1; i += 1) await limiter.attempt(key);
      const last = await commandsDuring([server], () => limiter.attempt(key));
      expect(last).toMatchObject({ evalsha: 1, time: 1, setrange: 2, pexpireat: 1 });
      const before = await changesOf(server);
      const denied = await commandsDuring([server], () => limiter.attempt(key));
      expect(Object.keys(denied).sort()).toEqual(['evalsha', 'getrange', 'time']);
      expect(denied.getrange).toBeLessThan(5);
      expect(await changesOf(server)).toBe(before);
    });

    it('refused traffic is not replicated', async () => {
      const replica = await startServer({ kind, args: ['--replicaof', `${server.host} ${server.port}`] });
      await server.command('CONFIG', 'SET', 'repl-ping-replica-period', '3600');
      const isUp = async () => String(await replica.command('INFO', 'replication')).includes('master_link_status:up');
      await waitUntil('the replica has its data', isUp);
      const limiter = createLimiter({ policies: ALL, store: connection.store() });
      const key = newKey();
      await limiter.attempt(key, { cost: LIMIT });
      const before = await replicatedBytes(server);
      expect(before).toBeGreaterThan(0);
      for (let i = 0; i < 100; i += 1) expect((await limiter.attempt(key)).allowed).toBe(false);
      expect(await replicatedBytes(server)).toBe(before);
      await limiter.attempt(newKey());
      expect(await replicatedBytes(server)).toBeGreaterThan(before);
      await replica.stop();
    });
  });

  describe.each(topologies.map((topology) => [topology.title, topology] as const))('%s', (_, topology) => {
    const flush = async () => {
      for (const node of await nodesOf(servers, topology.shape)) await node.command('SCRIPT', 'FLUSH', 'SYNC');
    };

    it('a server that forgot its scripts is taught again, and the attempt is charged once', async () => {
      const connection = await connectTo(topology);
      const limiter = createLimiter({ policies: ALL, store: connection.store() });
      const nodes = await nodesOf(servers, topology.shape);
      const key = newKey();
      const scriptsDuring = async (work: () => Promise<unknown>) => {
        const { evalsha = 0, eval: whole = 0 } = await commandsDuring(nodes, work);
        return { evalsha, whole };
      };
      const expectAttempt = async (remaining: number) => {
        const { decisions } = await limiter.attempt(key);
        expect(decisions.map((decision) => decision.remaining)).toEqual(ALL.map(() => remaining));
      };

      // The first call of a client may itself find a node that has never seen the script.
      await expectAttempt(LIMIT - 1);
      await flush();
      expect(await scriptsDuring(() => expectAttempt(LIMIT - 2))).toEqual({ evalsha: 1, whole: 1 });
      expect(await scriptsDuring(() => expectAttempt(LIMIT - 3))).toEqual({ evalsha: 1, whole: 0 });
      await connection.close();
    });

    // Those under one policy go out in batches, which have a script of their own.
    it.each([
      ['under eight policies', Object.values(slowPolicies(100))],
      ['under one policy', [slowPolicies(100).gcra!]],
      ['under one log', [slowPolicies(100)['sliding-window-log']!]],
    ])(
      '200 attempts at once while scripts are flushed again and again admit exactly the limit: %s',
      async (_, policies) => {
        const connection = await connectTo(topology);
        const limiter = createLimiter({ policies, store: connection.store() });
        const key = newKey();
        let running = true;
        const storm = (async () => {
          let flushes = 0;
          for (; running; flushes += 1) await flush();
          return flushes;
        })();
        const nodes = await nodesOf(servers, topology.shape);
        let allowed = 0;
        const { eval: whole = 0 } = await commandsDuring(nodes, async () => {
          // Eight rounds at once, each one after the other, so that the storm has time to rage among them.
          const rounds = Array.from({ length: 8 }, async () => {
            for (let i = 0; i < 25; i += 1) if ((await limiter.attempt(key)).allowed) allowed += 1;
          });
          await Promise.all(rounds);
        }).finally(() => {
          running = false;
        });
        expect(await storm).toBeGreaterThan(0);
        expect(whole, 'the storm must have hit at least one attempt').toBeGreaterThan(0);
        expect(allowed).toBe(100);
        const { decisions } = await limiter.peek(key);
        expect(decisions.map(({ remaining }) => remaining)).toEqual(policies.map(() => 0));
        await connection.close();
      },
    );
  });

  describe('keys expire', () => {
    let client: Redis;
    let observed: Observed[];

    /** When a key of the last attempt expired before and after it, all read in the same transaction as the attempt. */
    interface Observed {
      readonly before: number;
      readonly after: number;
      /** The last millisecond of the transaction: a key whose time ended before it may be gone. */
      readonly endMs: number;
    }

    const run: RunScript = async ({ source }, [...names], args) => {
      const transaction = client.multi();
      for (const name of names) transaction.pexpiretime(name);
      transaction.eval(source, names.length, ...names, ...args);
      for (const name of names) transaction.pexpiretime(name);
      transaction.time();
      const replies = (await transaction.exec())!.map(([error, reply]) => {
        if (error !== null) throw error;
        return reply;
      });
      observed = names.map((_, index) => ({
        before: Number(replies[index]),
        after: Number(replies[names.length + 1 + index]),
        endMs: (([seconds, micros]) => seconds * 1000 + Math.floor(micros / 1000))(
          (replies.at(-1) as string[]).map(Number) as [number, number],
        ),
      }));
      return replies[names.length];
    };

    /** The millisecond in which resetAfter ends; but a key that is to be kept at all is kept until the next one begins. */
    const expectedExpiry = (now: number, resetAfter: number): number =>
      Math.max(Math.floor((now + resetAfter) / 1000), Math.floor(now / 1000) + 1);

    /** By how many milliseconds a key may be kept longer, see expiry.lua. */
    const longestGrain = (policy: Policy): number => {
      const { limit, recovery } = ruleOf(policy);
      const isRolling = !['fixed-window', 'sliding-window-log'].includes(policy.algorithm);
      return isRolling && limit >= 32 ? recovery / 8000 : 0;
    };

    const NO_KEY = -2;

    beforeAll(() => {
      client = new Redis(server.port);
    });
    afterAll(() => client.disconnect());

    it.each(KINDS)('%s: to the millisecond, as the result says', async (name) => {
      const policy = POLICIES[name]!;
      const limiter = createLimiter({ policy, store: redisStoreOver(run) });
      const key = newKey();
      for (let i = 0; i < LIMIT; i += 1) {
        const { resetAt, resetAfter, allowed } = await limiter.attempt(key);
        const micros = Math.round(resetAt * 1e6);
        expect(allowed).toBe(true);
        expect(observed[0]!.after).toBe(
          expectedExpiry(micros - Math.round(resetAfter * 1e6), Math.round(resetAfter * 1e6)),
        );
        expect(observed[0]!.after).toBe(Math.floor(micros / 1000));
      }
      const { after } = observed[0]!;
      expect((await limiter.attempt(key)).allowed).toBe(false);
      expect(observed[0]).toMatchObject({ before: after, after });
    });

    it.each(KINDS)('%s: also when several attempts go out in one call', async (name) => {
      const store = redisStoreOver(run);
      const check = { key: newKey(), policy: POLICIES[name]!, cost: 1 };
      const answers = await Promise.all(Array.from({ length: LIMIT + 2 }, async () => decide(store, [check])));
      expect(observed).toHaveLength(LIMIT + 2);
      expect(answers.map(({ verdicts }) => verdicts[0]!.allowed)).toEqual([...Array(LIMIT).fill(true), false, false]);
      const { now, verdicts } = answers[LIMIT - 1]!;
      for (const { before, after } of observed) {
        expect({ before, after }).toEqual({ before: NO_KEY, after: expectedExpiry(now, verdicts[0]!.resetAfter) });
      }
    });

    it('whatever the policy and the cost: thousands of random attempts, and no key is left without an end', async () => {
      const seed = testSeed();
      console.log(`expiry on ${kind}: SLUICE_SEED=${seed}`);
      const random = randomFrom(seed);
      const store = redisStoreOver(run, { prefix: 'random' });
      let allowedSteps = 0;
      for (let round = 0; round < 40; round += 1) {
        const policies = KINDS.map((name) => randomPolicy(random, name, name));
        const key = newKey();
        for (let i = 0; i < 12; i += 1) {
          const cost = randomCost(random, Math.min(...policies.map((policy) => ruleOf(policy).limit)));
          const chosen = random.real() < 0.5 ? [random.pick(policies)] : policies;
          const checks = chosen.map((policy) => ({ key, policy, cost }));
          const { now, verdicts } = await decide(store, checks);
          const allowed = verdicts.every((verdict) => verdict.allowed);
          for (const [index, { resetAfter }] of verdicts.entries()) {
            const { before, after, endMs } = observed[index]!;
            const expected = allowed && cost > 0 ? expectedExpiry(now, resetAfter) : before;
            const isOver = after === NO_KEY && expected < endMs;
            const where = `seed ${seed}: ${JSON.stringify(checks[index])} at ${now}`;
            const longer = allowed && cost > 0 ? longestGrain(chosen[index]!) : 0;
            expect(isOver ? expected : after, where).toBeGreaterThanOrEqual(expected);
            expect(isOver ? expected : after, where).toBeLessThanOrEqual(expected + longer);
            if (allowed && cost > 0) allowedSteps += 1;
          }
        }
      }
      expect(allowedSteps).toBeGreaterThan(500);
      const everyPttl =
        "local t = {} for i, k in ipairs(redis.call('KEYS', '*')) do t[i] = redis.call('PTTL', k) end return t";
      const ttls = (await server.command('EVAL', everyPttl, '0')) as number[];
      expect(ttls.length).toBeGreaterThan(100);
      expect(ttls.filter((ttl) => ttl < 0 && ttl !== NO_KEY)).toEqual([]);
    });

    const ROLLING = [
      slidingWindowCounter({ limit: 400, window: '1h' }),
      tokenBucket({ capacity: 400, refillRate: '400/h' }),
      tokenBucket({ capacity: 400, refillRate: 1 / 7 }),
      leakyBucket({ capacity: 400, leakRate: '400/h' }),
      leakyBucket({ capacity: 400, leakRate: '400/h', mode: 'shaping' }),
      gcra({ limit: 400, period: '1h' }),
      fixedWindow({ limit: 400, window: '1h' }),
    ];

    it.each(ROLLING.map((policy) => [JSON.stringify(policy), policy] as const))(
      'most attempts leave the expiry alone, and it is never too early: %s',
      async (_, policy) => {
        const store = redisStoreOver(run);
        const key = newKey();
        let moved = 0;
        for (let i = 0; i < 300; i += 1) {
          const { now, verdicts } = await decide(store, [{ key, policy, cost: i % 9 === 8 ? 3 : 1 }]);
          if (!verdicts[0]!.allowed) break;
          const expected = expectedExpiry(now, verdicts[0]!.resetAfter);
          expect(observed[0]!.after).toBeGreaterThanOrEqual(expected);
          expect(observed[0]!.after).toBeLessThanOrEqual(expected + longestGrain(policy));
          if (observed[0]!.after !== observed[0]!.before) moved += 1;
        }
        expect(moved).toBeLessThan(120);
        expect(await commandsDuring([server], async () => decide(store, [{ key, policy, cost: 0 }]))).toMatchObject({
          get: 1,
        });
      },
    );

    it('a large log, of which only parts are written, expires to the millisecond', async () => {
      const policy = slidingWindowLog({ limit: 500, window: '10m' });
      const store = redisStoreOver(run);
      const check = { key: newKey(), policy, cost: 1 };
      for (let i = 0; i < 300; i += 1) {
        const { now, verdicts } = await decide(store, [check]);
        expect(observed[0]!.after).toBe(expectedExpiry(now, verdicts[0]!.resetAfter));
      }
      const { setrange } = await commandsDuring([server], async () => decide(store, [check]));
      expect(setrange, 'the log was not large').toBe(2);
    });

    const QUICK: readonly Policy[] = [
      fixedWindow({ name: 'fixed epoch', limit: 4, window: 40 }),
      fixedWindow({ name: 'fixed first', limit: 4, window: 40, align: 'first' }),
      slidingWindowLog({ limit: 4, window: 40 }),
      slidingWindowCounter({ limit: 4, window: 25 }),
      tokenBucket({ capacity: 4, refillRate: 100 }),
      leakyBucket({ name: 'policing', capacity: 4, leakRate: 100 }),
      leakyBucket({ name: 'shaping', capacity: 4, leakRate: 100, mode: 'shaping' }),
      gcra({ limit: 100, period: '1s', capacity: 4 }),
      tokenBucket({ name: 'thirds', capacity: 4, refillRate: 1000 / 3 }),
      fixedWindow({ name: 'below a millisecond', limit: 4, window: 0.25, align: 'first' }),
    ];

    it.each(QUICK.map((policy) => [policy.name, policy] as const))(
      '%s: not before its resetAfter has ended, not later than that millisecond, and then the key is new',
      async (_, policy) => {
        const store = redisStoreOver(run);
        const fresh: Verdict = { allowed: true, remaining: 4, retryAfter: 0, resetAfter: 0, delay: 0 };
        let key: string;
        let looks: number;
        // On a busy machine it may be over at the first look, which says nothing: then with another key.
        do {
          key = newKey();
          const spent = await decide(store, [{ key, policy, cost: 4 }]);
          expect(spent.verdicts[0]).toMatchObject({ allowed: true, remaining: 0 });
          const resetAt = spent.now + spent.verdicts[0]!.resetAfter;
          const expiry = observed[0]!.after;
          looks = 0;
          for (let now = spent.now; now / 1000 < expiry + 3; ) {
            const look = await decide(store, [{ key, policy, cost: 0 }], { dryRun: true });
            now = look.now;
            looks += 1;
            if (now < resetAt) expect(observed[0]!.before, 'forgotten early').toBe(expiry);
            else expect(look.verdicts[0]).toEqual(fresh);
          }
        } while (looks < 2);
        expect(await server.command('EXISTS', await onlyKeyOf(key))).toBe(0);
        const again = await decide(store, [{ key, policy, cost: 4 }]);
        const newcomer = await decide(store, [{ key: newKey(), policy, cost: 4 }]);
        const withoutReset = ({ verdicts: [verdict] }: { verdicts: readonly Verdict[] }) => ({
          ...verdict,
          resetAfter: 0,
        });
        expect(withoutReset(again)).toEqual(withoutReset(newcomer));

        async function onlyKeyOf(text: string): Promise<string> {
          let name = '';
          const noting: RunScript = async (script, names, args) => {
            name = names[0]!;
            return run(script, names, args);
          };
          await decide(redisStoreOver(noting), [{ key: text, policy, cost: 0 }], { dryRun: true });
          return name;
        }
      },
    );
  });
});
