/**
 * What the compiler refuses before anything runs, and what it must let pass. `tsc` is the test: it fails when a line marked
 * as wrong compiles. The calls stand in functions that are never called.
 */
import type { GlideClient, GlideClusterClient } from '@valkey/valkey-glide';
import { Cluster, Redis } from 'ioredis';
import { createClient, createClientPool, createCluster, createSentinel } from 'redis';
import { expect, test } from 'vitest';
import {
  checkPolicy,
  createLimiter,
  type Duration,
  fixedWindow,
  gcra,
  type Limiter,
  leakyBucket,
  manualClock,
  memoryStore,
  nothing,
  type Policy,
  type Rate,
  type RateLimitResult,
  slidingWindowCounter,
  slidingWindowLog,
  systemClock,
  tokenBucket,
  unlimited,
} from '../src/index.ts';
import { redisStore as overIoredis } from '../src/presets/ioredis.ts';
import { redisStore as overNodeRedis } from '../src/presets/node-redis.ts';
import { redisStore as overValkeyGlide } from '../src/presets/valkey-glide.ts';
import { redisStoreOver, scriptRunner } from '../src/redis/index.ts';

const policy = tokenBucket({ capacity: 100, refillRate: 10 });

test('right literals compile, and run', () => {
  const durations: Duration[] = [
    '250ms',
    '10s',
    '1m',
    '1h',
    '1d',
    '1w',
    '10 s',
    '15min',
    '1h30m',
    '1h 30m',
    '0.5s',
    60_000,
  ];
  const rates: Rate[] = ['2/ms', '5/s', '600/m', '1000/h', '10/d', '70/w', '100/min', '1/5s', '0.5/s', 5];
  const policies: Policy[] = [
    ...durations.flatMap((window) => [
      fixedWindow({ limit: 5, window }),
      slidingWindowLog({ limit: 5, window }),
      slidingWindowCounter({ limit: 5, window }),
      gcra({ limit: 5, period: window }),
    ]),
    ...rates.flatMap((rate) => [
      tokenBucket({ capacity: 5, refillRate: rate }),
      leakyBucket({ capacity: 5, leakRate: rate }),
    ]),
    fixedWindow({ limit: 5, window: '250ms' }),
    fixedWindow({ limit: 5, window: '10s', align: 'epoch' }),
    fixedWindow({ limit: 5, window: '1m', align: 'first' }),
    slidingWindowLog({ name: 'per-hour', limit: 5, window: '1h' }),
    slidingWindowCounter({ limit: 5, window: '1d' }),
    tokenBucket({ capacity: 5, refillRate: '600/m' }),
    leakyBucket({ capacity: 5, leakRate: 5, mode: 'policing' }),
    leakyBucket({ capacity: 5, leakRate: 5, mode: 'shaping' }),
    gcra({ limit: 60, period: '1m', capacity: 10 }),
  ];
  expect(policies).toHaveLength(durations.length * 4 + rates.length * 2 + 9);
});

/** Never called: only compiled. */
const compiled: Readonly<Record<string, (limiter: Limiter) => unknown>> = {
  'wrong durations': () => [
    // @ts-expect-error: not a unit
    fixedWindow({ limit: 5, window: '1 minute' }),
    // @ts-expect-error: not a unit
    slidingWindowLog({ limit: 5, window: '10x' }),
    // @ts-expect-error: no years
    slidingWindowCounter({ limit: 5, window: '1y' }),
    // @ts-expect-error: the second number has no unit
    slidingWindowCounter({ limit: 5, window: '1h30' }),
    // @ts-expect-error: no unit
    gcra({ limit: 5, period: '10' }),
    // @ts-expect-error: no number
    gcra({ limit: 5, period: 's' }),
    // @ts-expect-error: a bigint
    fixedWindow({ limit: 5, window: 10n }),
  ],

  'wrong rates': () => [
    // @ts-expect-error: no years
    tokenBucket({ capacity: 5, refillRate: '5/y' }),
    // @ts-expect-error: no unit
    tokenBucket({ capacity: 5, refillRate: '5' }),
    // @ts-expect-error: a duration
    leakyBucket({ capacity: 5, leakRate: '5s' }),
    // @ts-expect-error: words
    leakyBucket({ capacity: 5, leakRate: '5 per second' }),
  ],

  'wrong words': () => [
    // @ts-expect-error: misspelt
    fixedWindow({ limit: 5, window: '1m', align: 'epoc' }),
    // @ts-expect-error: no such mode
    leakyBucket({ capacity: 5, leakRate: 5, mode: 'x' }),
    // @ts-expect-error: a field of another algorithm
    slidingWindowLog({ limit: 5, window: '1m', align: 'first' }),
    // @ts-expect-error: misspelt
    tokenBucket({ capacity: 5, refillrate: 5 }),
    // @ts-expect-error: a field too many
    tokenBucket({ capacity: 5, refillRate: 5, burst: 5 }),
  ],

  'missing or wrong numbers': () => [
    // @ts-expect-error: no limit
    fixedWindow({ window: '1m' }),
    // @ts-expect-error: no window
    fixedWindow({ limit: 5 }),
    // @ts-expect-error: no options
    slidingWindowLog(),
    // @ts-expect-error: no capacity
    tokenBucket({ refillRate: 5 }),
    // @ts-expect-error: no rate
    leakyBucket({ capacity: 5 }),
    // @ts-expect-error: no period
    gcra({ limit: 5 }),
    // @ts-expect-error: a limit in text
    fixedWindow({ limit: '5', window: '1m' }),
    // @ts-expect-error: no limit at all
    fixedWindow({ limit: undefined, window: '1m' }),
    // @ts-expect-error: a name that is a number
    fixedWindow({ name: 5, limit: 5, window: '1m' }),
    // @ts-expect-error: null is no name
    fixedWindow({ name: null, limit: 5, window: '1m' }),
    // @ts-expect-error: null is no capacity
    gcra({ limit: 5, period: '1m', capacity: null }),
  ],

  'wrong limiters': () => [
    // @ts-expect-error: nothing
    createLimiter(),
    // @ts-expect-error: misspelt
    createLimiter({ polcy: policy }),
    // @ts-expect-error: the store not called
    createLimiter({ policy, store: memoryStore }),
    // @ts-expect-error: null is no store
    createLimiter({ policy, store: null }),
    // @ts-expect-error: a store that cannot be asked
    createLimiter({ policy, store: { place: { isShared: true } } }),
    // @ts-expect-error: a store that answers with something else
    createLimiter({ policy, store: { ask: () => true } }),
    // @ts-expect-error: no policy
    createLimiter({}),
    // @ts-expect-error: no policy, beside a store
    createLimiter({ store: memoryStore() }),
    // @ts-expect-error: both
    createLimiter({ policy, policies: [policy] }),
    // @ts-expect-error: an asynchronous function that answers with no policy
    createLimiter({ policy: async () => 5 }),
    // @ts-expect-error: one under the name of several
    createLimiter({ policies: policy }),
    // @ts-expect-error: a client is not a store
    createLimiter({ policy, store: new Redis() }),
    // @ts-expect-error: several under the name of one
    createLimiter({ policy: [policy] }),
    // @ts-expect-error: options are not a policy
    createLimiter({ policy: { capacity: 5, refillRate: 5 } }),
    // @ts-expect-error: a policy holds milliseconds; text is for the functions that make one
    createLimiter({ policy: { algorithm: 'fixed-window', name: 'a', limit: 5, window: '1m', align: 'epoch' } }),
    // @ts-expect-error: data has no rule, checkPolicy gives it one
    createLimiter({ policy: { algorithm: 'token-bucket', name: 'data', capacity: 5, refillRate: 5 } }),
    // @ts-expect-error: a function is not a clock
    memoryStore({ clock: Date.now }),
    // @ts-expect-error: text
    memoryStore({ maxKeys: '5' }),
    // @ts-expect-error: misspelt
    memoryStore({ maxkeys: 5 }),
    // @ts-expect-error: a clock that says bigints
    memoryStore({ clock: { now: () => process.hrtime.bigint() } }),
    // @ts-expect-error: a date
    manualClock(new Date()),
    // @ts-expect-error: text
    manualClock().set('5'),
    // @ts-expect-error: by how much?
    manualClock().advance(),
  ],

  'a context that is missing': () => {
    const byPlan = createLimiter({ policy: (plan: 'free' | 'paid') => (plan === 'free' ? nothing() : unlimited()) });
    return [
      // @ts-expect-error: no context
      byPlan.attempt('user:42'),
      // @ts-expect-error: no context beside a cost
      byPlan.attempt('user:42', { cost: 5 }),
      // @ts-expect-error: no context
      byPlan.attempt('user:42', { context: undefined }),
      // @ts-expect-error: another context
      byPlan.peek('user:42', { context: 'business' }),
      // @ts-expect-error: no context
      byPlan.refund('user:42'),
      // @ts-expect-error: no context
      byPlan.block('user:42', '1m'),
      // @ts-expect-error: no context
      byPlan.reserve('user:42', { cost: 5 }),
      // @ts-expect-error: no context
      byPlan.acquire('user:42'),
      // @ts-expect-error: no context
      byPlan.reset('user:42'),
    ];
  },

  'contexts that may be left out, or are there': () => {
    const byPlan = createLimiter({ policy: async (plan: string) => (plan === 'free' ? policy : unlimited()) });
    const byMaybe = createLimiter({ policies: (plan?: string) => (plan === 'free' ? [policy] : [unlimited()]) });
    const limiters: Limiter[] = [byMaybe, byPlan as Limiter];
    return [
      ...limiters,
      byPlan.attempt('user:42', { context: 'free', cost: 5 }),
      byPlan.attempt([{ key: 'user:42', policy }]),
      byMaybe.attempt('user:42'),
      byMaybe.attempt('user:42', { cost: 5 }),
      createLimiter({ policy: () => policy }).attempt('user:42'),
      createLimiter({ policy: async () => [policy] }).attempt('user:42'),
    ];
  },

  'wrong attempts': (limiter) => [
    // @ts-expect-error: no key
    limiter.attempt(),
    // @ts-expect-error: a number
    limiter.attempt(42),
    // @ts-expect-error: perhaps no key
    limiter.attempt(process.env.API_KEY),
    // @ts-expect-error: a cost in text
    limiter.attempt('user:42', { cost: '5' }),
    // @ts-expect-error: null is no cost
    limiter.attempt('user:42', { cost: null }),
    // @ts-expect-error: a bare cost
    limiter.attempt('user:42', 5),
    // @ts-expect-error: misspelt
    limiter.peek('user:42', { cots: 5 }),
    // @ts-expect-error: nothing to spend
    limiter.reset('user:42', { cost: 5 }),
    // @ts-expect-error: the policy itself instead of its name
    limiter.history('user:42', { policy }),
    // @ts-expect-error: null is no name
    limiter.history('user:42', { policy: null }),
  ],

  'wrong verbs': (limiter) => [
    // @ts-expect-error: a bare cost
    limiter.refund('user:42', 5),
    // @ts-expect-error: a promise of a result
    limiter.refund('user:42', { of: limiter.attempt('user:42') }),
    // @ts-expect-error: for how long?
    limiter.block('user:42'),
    // @ts-expect-error: not a unit
    limiter.block('user:42', '10 minutes'),
    // @ts-expect-error: when it ends is for unblock to say
    limiter.unblock('user:42', '10m'),
    // @ts-expect-error: misspelt
    limiter.reserve('user:42', { tll: '1m' }),
    // @ts-expect-error: not a duration
    limiter.acquire('user:42', { timeout: 'soon' }),
    // @ts-expect-error: the controller instead of its signal
    limiter.acquire('user:42', { signal: new AbortController() }),
    // @ts-expect-error: what it gives, instead of a function
    limiter.schedule('user:42', Promise.resolve(5)),
    // @ts-expect-error: text
    createLimiter({ policy, queueLimit: '5' }),
  ],

  'wrong attempts on several keys': (limiter) => [
    // @ts-expect-error: no key
    limiter.attempt([{ cost: 5 }]),
    // @ts-expect-error: keys alone
    limiter.attempt(['user:42']),
    // @ts-expect-error: misspelt
    limiter.peek([{ key: 'user:42', cots: 5 }]),
    // @ts-expect-error: each entry has its own cost
    limiter.attempt([{ key: 'user:42' }], { cost: 5 }),
    // @ts-expect-error: several under the name of one
    limiter.attempt([{ key: 'user:42', policy: [policy] }]),
  ],

  'right verbs': async (limiter) => {
    const result = await limiter.attempt('user:42');
    const hold = await limiter.reserve('user:42', { cost: 5, ttl: '1m' });
    const { missing, expired, changed } = await hold.commit();
    const text: string = await limiter.schedule('user:42', () => 'text');
    const number: number = await limiter.schedule('user:42', async ({ remaining }) => remaining, { timeout: '5s' });
    const waiting: number = limiter.waiting('user:42');
    return [
      ...[missing, expired, changed, text, number, waiting],
      limiter.refund('user:42', { cost: 5, of: result }),
      limiter.refund('user:42', { of: hold.result }),
      limiter.penalize('user:42', { cost: 5 }),
      limiter.block('user:42', '10m'),
      limiter.acquire('user:42', { timeout: 5000, signal: AbortSignal.timeout(5) }),
      limiter.attempt([
        { key: 'user:42', cost: 5 },
        { key: 'everyone', policies: [policy] },
      ]),
      limiter.peek([{ key: 'user:42' }], { context: 5 }),
    ];
  },

  'a limiter with a context passes for one without': () => {
    const limiter: Limiter = createLimiter<{ plan: string }>({ policy: () => policy });
    return limiter;
  },

  'a wrong context': () => {
    const limiter = createLimiter<{ plan: 'free' | 'paid' }>({ policy: () => policy });
    return [
      limiter.attempt('user:42', { context: { plan: 'free' } }),
      // @ts-expect-error: no such plan
      limiter.attempt('user:42', { context: { plan: 'gold' } }),
      // @ts-expect-error: not a context
      limiter.reset('user:42', { context: 'free' }),
      // @ts-expect-error: no such plan
      limiter.acquire('user:42', { context: { plan: 'gold' } }),
      // @ts-expect-error: no such plan
      limiter.attempt([{ key: 'user:42' }], { context: { plan: 'gold' } }),
    ];
  },

  'wrong uses of an answer': async (limiter) => {
    const result: RateLimitResult = await limiter.attempt('user:42');
    return [
      // @ts-expect-error: null when it was allowed
      result.retryAfter.toFixed(),
      // @ts-expect-error: the answer is given once
      // biome-ignore lint/suspicious/noAssignInExpressions: that it does not compile is the point.
      (result.allowed = true),
      // @ts-expect-error: a policy that exists is a policy that works
      // biome-ignore lint/suspicious/noAssignInExpressions: that it does not compile is the point.
      (policy.capacity = 0),
    ];
  },

  'right limiters': () => [
    createLimiter({ policy }),
    createLimiter({ policies: [policy, fixedWindow({ limit: 5, window: '1m' })] }),
    createLimiter({ policies: [policy] as const, store: memoryStore({ clock: manualClock(0), maxKeys: 5 }) }),
    createLimiter({ policy: ({ plan }: { plan: string }) => (plan === 'free' ? policy : [policy]) }),
    createLimiter({ policies: () => [policy] }),
    createLimiter({ policy: (plan = 'free') => (plan === 'free' ? policy : [policy]) }),
    createLimiter({ policy: checkPolicy({ algorithm: 'token-bucket', name: 'data', capacity: 5, refillRate: 5 }) }),
  ],

  'undefined is as good as left out': (limiter) => [
    fixedWindow({ name: undefined, limit: 5, window: '1m', align: undefined }),
    slidingWindowLog({ name: undefined, limit: 5, window: '1m' }),
    slidingWindowCounter({ name: undefined, limit: 5, window: '1m' }),
    tokenBucket({ name: undefined, capacity: 5, refillRate: 5 }),
    leakyBucket({ name: undefined, capacity: 5, leakRate: 5, mode: undefined }),
    gcra({ name: undefined, limit: 5, period: '1m', capacity: undefined }),
    createLimiter({ policy, policies: undefined, store: undefined }),
    createLimiter({ policy: undefined, policies: [policy] }),
    memoryStore({ clock: undefined, maxKeys: undefined }),
    overIoredis(new Redis(), { prefix: undefined, hashKeys: undefined, raw: undefined, clock: undefined }),
    limiter.attempt('user:42', { cost: undefined, context: undefined }),
    limiter.peek('user:42', { cost: undefined, context: undefined }),
    limiter.reset('user:42', { context: undefined }),
    limiter.history('user:42', { policy: undefined, context: undefined }),
    createLimiter({ policy, queueLimit: undefined, timers: undefined }),
    limiter.refund('user:42', { cost: undefined, of: undefined, context: undefined }),
    limiter.reserve('user:42', { cost: undefined, ttl: undefined, context: undefined }),
    limiter.acquire('user:42', { cost: undefined, timeout: undefined, signal: undefined, context: undefined }),
    limiter.attempt([{ key: 'user:42', cost: undefined, policy: undefined, policies: undefined }]),
  ],

  'right clients': () => [
    overIoredis(new Redis()),
    overIoredis(new Cluster([]), { prefix: 'app', hashKeys: true, raw: true, clock: systemClock }),
    overNodeRedis(createClient()),
    overNodeRedis(createClientPool()),
    overNodeRedis(createCluster({ rootNodes: [] })),
    overNodeRedis(createSentinel({ name: 'main', sentinelRootNodes: [] })),
    overValkeyGlide({} as GlideClient),
    overValkeyGlide({} as GlideClusterClient),
    redisStoreOver(scriptRunner((words) => createClient().sendCommand(words))),
    redisStoreOver(async () => '', { prefix: 'app' }),
  ],

  'wrong clients': () => [
    // @ts-expect-error: a client of node-redis
    overIoredis(createClient()),
    // @ts-expect-error: a client of GLIDE
    overIoredis({} as GlideClient),
    // @ts-expect-error: a client of GLIDE
    overNodeRedis({} as GlideClusterClient),
    // @ts-expect-error: a client of ioredis
    overValkeyGlide(new Redis()),
    // @ts-expect-error: a client of node-redis
    overValkeyGlide(createCluster({ rootNodes: [] })),
    // @ts-expect-error: an address
    overNodeRedis('redis://localhost'),
    // @ts-expect-error: misspelt
    overIoredis(new Redis(), { prefx: 'app' }),
    // @ts-expect-error: text
    overIoredis(new Redis(), { hashKeys: 'yes' }),
    // @ts-expect-error: text
    overIoredis(new Redis(), { raw: 'yes' }),
    // @ts-expect-error: nothing
    redisStoreOver(),
    // @ts-expect-error: a client is not a function
    redisStoreOver(new Redis()),
    // @ts-expect-error: a client is not a function
    scriptRunner(createClient()),
  ],
};

test('wrong ones do not compile', () => {
  expect(Object.keys(compiled)).toContain('wrong attempts');
});
