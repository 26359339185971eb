/**
 * Law 10 as tables: a bad policy, key, cost or option is an error with a code and the path of the field, thrown where it is
 * defined, or rejecting the attempt before anything is spent. And what merely looks odd works.
 */
import { Cluster, Redis } from 'ioredis';
import { createClient, createClientPool, createCluster } from 'redis';
import { describe, expect, test } from 'vitest';
import {
  type Clock,
  checkPolicy,
  createLimiter,
  type ErrorCode,
  fixedWindow,
  gcra,
  type Limiter,
  leakyBucket,
  type MemoryStore,
  manualClock,
  memoryStore,
  type Policy,
  SluiceError,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../src/index.ts';
import { redisStore as overIoredis } from '../src/redis/clients/ioredis.ts';
import { redisStore as overNodeRedis } from '../src/redis/clients/node-redis.ts';
import { redisStore as overValkeyGlide } from '../src/redis/clients/valkey-glide.ts';
import { redisStoreOver } from '../src/redis/index.ts';

/** What a call gives when nobody checked its types: from JavaScript, JSON, YAML or the environment. */
const bad = (value: unknown): never => value as never;

type Definition = readonly [
  title: string,
  define: () => unknown,
  code: ErrorCode,
  path: string,
  /** A part of what the error says was expected. */
  expected: string,
];

// biome-ignore lint/suspicious/noExplicitAny: factories of six different types, called with what none of them takes.
type Factory = (options: any) => Policy;

/** Every factory with options that are good, and which of them is what. */
const FACTORIES: readonly [name: string, make: Factory, good: Record<string, unknown>, fields: Fields][] = [
  ['fixedWindow', fixedWindow, { limit: 5, window: '1m' }, { limits: ['limit'], durations: ['window'] }],
  ['slidingWindowLog', slidingWindowLog, { limit: 5, window: '1m' }, { limits: ['limit'], durations: ['window'] }],
  ['slidingWindowCounter', slidingWindowCounter, { limit: 5, window: 1 }, { limits: ['limit'], durations: ['window'] }],
  ['tokenBucket', tokenBucket, { capacity: 5, refillRate: 1 }, { limits: ['capacity'], rates: ['refillRate'] }],
  ['leakyBucket', leakyBucket, { capacity: 5, leakRate: '1/s' }, { limits: ['capacity'], rates: ['leakRate'] }],
  ['gcra', gcra, { limit: 5, period: '1m', capacity: 5 }, { limits: ['limit', 'capacity'], durations: ['period'] }],
];

interface Fields {
  readonly limits: readonly string[];
  readonly durations?: readonly string[];
  readonly rates?: readonly string[];
}

const BAD_LIMITS = [Number.NaN, -1, 0, 1.5, Number.POSITIVE_INFINITY, 2 ** 53, '100', null, true, 5n, [], {}];
const BAD_DURATIONS = [
  ...[0, -1, Number.NaN, Number.POSITIVE_INFINITY, 0.0001, 1.0005, 36525 * 86400e3 + 1, null, undefined, 5n, [1]],
  ...['10', '10 s', '1w', '-1s', '', '1S', 's', '1e3ms', '.5s', '1s ', '1m30s', '0s', '0.0001ms', '36526d'],
];
const BAD_RATES = [
  ...[0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, null, undefined, 5n, {}],
  ...['10', '10/w', '0/s', '-1/s', '10 /s', '10/', '/s', '', '1e3/s'],
];
const BAD_OPTIONS = [null, 'text', 5, true, [], () => ({})];

const wrongFields: Definition[] = FACTORIES.flatMap(([name, make, good, { limits, durations = [], rates = [] }]) => {
  const rowsFor = (fields: readonly string[], values: readonly unknown[], code: ErrorCode, expected: string) =>
    fields.flatMap((field) =>
      values.map((value): Definition => {
        const path = `${name}.${field}`;
        return [`${path}: ${write(value)}`, () => make({ ...good, [field]: value }), code, path, expected];
      }),
    );
  return [
    ...rowsFor(limits, BAD_LIMITS, 'SLUICE_INVALID_LIMIT', 'a whole number from 1 to '),
    ...rowsFor(limits.slice(0, 1), [undefined], 'SLUICE_INVALID_LIMIT', 'a whole number from 1 to '),
    ...rowsFor(durations, BAD_DURATIONS, 'SLUICE_INVALID_DURATION', 'a positive number of milliseconds (whole micro'),
    ...rowsFor(rates, BAD_RATES, 'SLUICE_INVALID_RATE', "a positive number of units a second, or text such as '10/s'"),
    ...rowsFor(
      ['name'],
      ['', 'é', 'a\nb', 'a\u007f', 'x'.repeat(65), 5, true],
      'SLUICE_INVALID_NAME',
      '1 to 64 printable',
    ),
    ...rowsFor(['nmae', 'algorithm'], ['x'], 'SLUICE_INVALID_POLICY', `no such field; there are name, ${limits[0]}`),
    ...[...BAD_OPTIONS, undefined].map((options): Definition => {
      return [`${name}(${write(options)})`, () => make(options), 'SLUICE_INVALID_POLICY', name, 'an object of options'];
    }),
    [`${name}({})`, () => make({}), 'SLUICE_INVALID_LIMIT', `${name}.${limits[0]}`, 'a whole number'],
  ];
});

const policies: Definition[] = [
  ...refused('fixedWindow.align', ['epoc', '', 0, null, true], "'epoch' or 'first'", (align) =>
    fixedWindow({ limit: 5, window: 1, align: bad(align) }),
  ),
  ...refused('leakyBucket.mode', ['x', '', 0, null, 'Shaping'], "'policing' or 'shaping'", (mode) =>
    leakyBucket({ capacity: 5, leakRate: 1, mode: bad(mode) }),
  ),
  ...refused('tokenBucket.refillrate', [10], 'no such field; there are name, capacity, refillRate', (refillrate) =>
    tokenBucket(bad({ capacity: 100, refillrate })),
  ),
  ...refused(
    'policy',
    [null, undefined, [], 'token-bucket', 5, () => {}],
    'a policy, as tokenBucket({ ... })',
    (policy) => checkPolicy(policy),
  ),
  ...[undefined, null, 5, 'tokenBucket', 'token bucket', 'constructor', '__proto__'].map((algorithm): Definition => {
    const policy = { algorithm, capacity: 5, refillRate: 1 };
    const expected =
      'one of fixed-window, sliding-window-log, sliding-window-counter, token-bucket, leaky-bucket, gcra';
    return [
      `algorithm ${write(algorithm)}`,
      () => checkPolicy(policy),
      'SLUICE_UNKNOWN_ALGORITHM',
      'policy.algorithm',
      expected,
    ];
  }),
  [
    'data with a bad field',
    () => checkPolicy({ algorithm: 'gcra', limit: 5, period: '1 m' }, 'config.rules[3]'),
    'SLUICE_INVALID_DURATION',
    'config.rules[3].period',
    'a positive number of milliseconds',
  ],
  [
    'a log larger than memory',
    () => slidingWindowLog({ limit: 10_000_001, window: 1 }),
    ...limitOf('slidingWindowLog', 1e7),
  ],
  [
    'a token bucket slower than a century',
    () => tokenBucket({ capacity: 36526, refillRate: '1/d' }),
    ...slow('tokenBucket'),
  ],
  [
    'a leaky bucket slower than a century',
    () => leakyBucket({ capacity: 1, leakRate: 1e-300 }),
    ...slow('leakyBucket'),
  ],
  ['a gcra slower than a century', () => gcra({ limit: 1, period: '1d', capacity: 36526 }), ...slow('gcra')],
];

function refused(
  path: string,
  values: readonly unknown[],
  expected: string,
  define: (value: unknown) => unknown,
): Definition[] {
  return values.map((value) => [
    `${path}: ${write(value)}`,
    () => define(value),
    'SLUICE_INVALID_POLICY',
    path,
    expected,
  ]);
}

function limitOf(factory: string, max: number): [ErrorCode, string, string] {
  return ['SLUICE_INVALID_LIMIT', `${factory}.limit`, `a whole number from 1 to ${max}`];
}

function slow(path: string): [ErrorCode, string, string] {
  return ['SLUICE_INVALID_RATE', path, 'recovers the whole capacity within 100 years'];
}

const policy = tokenBucket({ capacity: 10, refillRate: 1 });

const limiters: Definition[] = [
  ...[...BAD_OPTIONS, undefined].map((options): Definition => {
    const title = `createLimiter(${write(options)})`;
    return [
      title,
      () => createLimiter(bad(options)),
      'SLUICE_INVALID_OPTION',
      'createLimiter',
      'policy, policies, store',
    ];
  }),
  ['neither', () => createLimiter({}), 'SLUICE_INVALID_POLICY', 'createLimiter', 'either policy or policies'],
  [
    'both',
    () => createLimiter({ policy, policies: [policy] }),
    'SLUICE_INVALID_POLICY',
    'createLimiter',
    'either policy or',
  ],
  ['no policies', () => createLimiter({ policies: [] }), 'SLUICE_INVALID_POLICY', 'policies', '1 to 64 policies'],
  [
    'too many policies',
    () =>
      createLimiter({
        policies: Array.from({ length: 65 }, (_, i) => fixedWindow({ name: `${i}`, limit: 1, window: 1 })),
      }),
    'SLUICE_INVALID_POLICY',
    'policies',
    '1 to 64 policies',
  ],
  ...[null, [policy], 'token-bucket', 5].map((value): Definition => {
    return [
      `policy: ${write(value)}`,
      () => createLimiter({ policy: bad(value) }),
      'SLUICE_INVALID_POLICY',
      'policy',
      'a policy',
    ];
  }),
  ...[null, 'token-bucket', 5].map((value): Definition => {
    const title = `policies: ${write(value)}`;
    return [title, () => createLimiter({ policies: bad(value) }), 'SLUICE_INVALID_POLICY', 'policies', 'a policy'];
  }),
  [
    'a policy that is none among others',
    () => createLimiter({ policies: [policy, bad(undefined)] }),
    'SLUICE_INVALID_POLICY',
    'policies[1]',
    'a policy',
  ],
  [
    'a bad field among several policies',
    () => createLimiter({ policies: [policy, bad({ algorithm: 'fixed-window', limit: 5, window: 0 })] }),
    'SLUICE_INVALID_DURATION',
    'policies[1].window',
    'a positive number of milliseconds',
  ],
  ['a policy twice', () => createLimiter({ policies: [policy, policy] }), ...duplicate(1)],
  [
    'one name for two algorithms',
    () =>
      createLimiter({
        policies: [policy, gcra({ limit: 1, period: 1 }), fixedWindow({ name: 'gcra', limit: 1, window: 1 })],
      }),
    ...duplicate(2),
  ],
  ...['polcy', 'cost', 'context', 'clock'].map((option): Definition => {
    const options = { policy, [option]: 1 };
    return [
      `createLimiter({ ${option} })`,
      () => createLimiter(options),
      ...unknownOption(`createLimiter.${option}`, 'policy, policies, store'),
    ];
  }),
  ...[5, 'redis', {}, [], memoryStore, new Map(), { decide() {} }, { forget() {} }, ioredisClient()].map(
    (store): Definition => {
      const title = `store: ${write(store)}`;
      return [
        title,
        () => createLimiter({ policy, store: bad(store) }),
        'SLUICE_INVALID_STORE',
        'createLimiter.store',
        'a store, such as',
      ];
    },
  ),
];

function duplicate(index: number): [ErrorCode, string, string] {
  return ['SLUICE_DUPLICATE_POLICY', `policies[${index}].name`, 'a name no other policy of this limiter has'];
}

function unknownOption(path: string, known: string): [ErrorCode, string, string] {
  return ['SLUICE_INVALID_OPTION', path, `only the options ${known}`];
}

function ioredisClient(): Redis {
  return new Redis({ lazyConnect: true });
}

const BAD_CLOCKS = [null, 5, 'now', {}, [], Date.now, () => ({ now: Date.now }), { now: 5 }];

const memoryStores: Definition[] = [
  ...BAD_OPTIONS.map((options): Definition => {
    const title = `memoryStore(${write(options)})`;
    return [title, () => memoryStore(bad(options)), 'SLUICE_INVALID_OPTION', 'memoryStore', 'clock, maxKeys'];
  }),
  ...[0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, '5', null, 5n].map((maxKeys): Definition => {
    const title = `memoryStore({ maxKeys: ${write(maxKeys)} })`;
    const define = () => memoryStore({ maxKeys: bad(maxKeys) });
    return [title, define, 'SLUICE_INVALID_OPTION', 'memoryStore.maxKeys', 'a whole number of at least 1'];
  }),
  ...BAD_CLOCKS.map((clock): Definition => {
    const title = `memoryStore({ clock: ${write(clock)} })`;
    return [
      title,
      () => memoryStore({ clock: bad(clock) }),
      'SLUICE_INVALID_CLOCK',
      'memoryStore.clock',
      'now(): number',
    ];
  }),
  [
    'memoryStore({ maxkeys })',
    () => memoryStore(bad({ maxkeys: 5 })),
    ...unknownOption('memoryStore.maxkeys', 'clock, maxKeys'),
  ],
];

/** Clients of each package that never connect. A GLIDE client connects when it is made, so it is represented by its shape. */
const CLIENTS: Readonly<Record<string, readonly [title: string, client: unknown][]>> = {
  ioredis: [
    ['a Redis of ioredis', ioredisClient()],
    ['a Cluster of ioredis', new Cluster([{ port: 1 }], { lazyConnect: true })],
  ],
  redis: [
    ['a client of redis', createClient()],
    ['a pool of redis', createClientPool()],
    ['a cluster of redis', createCluster({ rootNodes: [{ url: 'redis://localhost:1' }] })],
  ],
  '@valkey/valkey-glide': [['a client of valkey-glide', { customCommand() {} }]],
};

// biome-ignore lint/suspicious/noExplicitAny: three functions for three types of client, called with each other's.
type RedisStoreOf = (client: any, options?: any) => unknown;

const STORES: readonly [title: string, own: string, redisStore: RedisStoreOf][] = [
  ['sluice/ioredis', 'ioredis', overIoredis],
  ['sluice/node-redis', 'redis', overNodeRedis],
  ['sluice/valkey-glide', '@valkey/valkey-glide', overValkeyGlide],
];

const OTHER_THINGS = [
  undefined,
  null,
  {},
  [],
  'redis://localhost',
  6379,
  Redis,
  { url: 'x' },
  Promise.resolve(),
  new Map(),
];

const redisStores: Definition[] = STORES.flatMap(([module, own, redisStore]) => {
  const others = Object.entries(CLIENTS).flatMap(([name, clients]) => (name === own ? [] : clients));
  const things = OTHER_THINGS.map((thing) => [write(thing), thing] as const);
  const [, client] = CLIENTS[own]![0]!;
  const withOption = (option: string, values: readonly unknown[], code: ErrorCode, expected: string) =>
    values.map((value): Definition => {
      const define = () => redisStore(client, { [option]: value });
      return [`${module} { ${option}: ${write(value)} }`, define, code, `redisStore.${option}`, expected];
    });
  return [
    ...[...things, ...others].map(([title, thing]): Definition => {
      const expected = `of the '${own}' package`;
      return [
        `${module} over ${title}`,
        () => redisStore(thing),
        'SLUICE_INVALID_CLIENT',
        'redisStore(client)',
        expected,
      ];
    }),
    ...BAD_OPTIONS.map((options): Definition => {
      const title = `${module} (client, ${write(options)})`;
      return [
        title,
        () => redisStore(client, options),
        'SLUICE_INVALID_OPTION',
        'redisStore',
        'prefix, hashKeys, raw, clock',
      ];
    }),
    ...withOption('prefix', ['a{b', 'a}b', 5, null, 'x'.repeat(129)], 'SLUICE_INVALID_OPTION', 'without { and }'),
    ...withOption('hashKeys', ['yes', 1, null], 'SLUICE_INVALID_OPTION', 'true or false'),
    ...withOption('clock', BAD_CLOCKS, 'SLUICE_INVALID_CLOCK', 'now(): number'),
    ...withOption('prefx', ['a', undefined], 'SLUICE_INVALID_OPTION', 'only the options prefix, hashKeys, raw, clock'),
  ];
});

describe('a bad definition throws where it stands', () => {
  test.each([...wrongFields, ...policies, ...limiters, ...memoryStores, ...redisStores])(
    '%s',
    (_, define, code, path, expected) => {
      expectMistake(thrownBy(define), code, path, expected);
    },
  );
});

type Attempt = readonly [
  title: string,
  attempt: (limiter: Limiter) => Promise<unknown>,
  code: ErrorCode,
  path: string,
  expected: string,
];

const VERBS = ['attempt', 'peek', 'reset', 'history'] as const;
const BAD_COSTS = [
  Number.NaN,
  -1,
  1.5,
  2 ** 53,
  Number.POSITIVE_INFINITY,
  -Number.MIN_VALUE,
  '1',
  '',
  5n,
  true,
  [1],
  {},
];
const BAD_KEYS = [
  undefined,
  null,
  42,
  Symbol('key'),
  5n,
  true,
  {},
  ['key'],
  Promise.resolve('key'),
  'k'.repeat(65_537),
];

const attempts: Attempt[] = [
  ...VERBS.flatMap((verb) => [
    ...BAD_KEYS.map((key): Attempt => {
      const title = `${verb}(${write(key)})`;
      return [
        title,
        (limiter) => limiter[verb](bad(key)),
        'SLUICE_INVALID_KEY',
        'key',
        'a string of at most 65536 characters',
      ];
    }),
    ...BAD_OPTIONS.map((options): Attempt => {
      const title = `${verb}('user:42', ${write(options)})`;
      return [
        title,
        (limiter) => limiter[verb]('user:42', bad(options)),
        'SLUICE_INVALID_OPTION',
        verb,
        'an object of options (',
      ];
    }),
    [
      `${verb}('user:42', { cots })`,
      (limiter) => limiter[verb]('user:42', bad({ cots: 5 })),
      ...unknownOption(`${verb}.cots`, ''),
    ] satisfies Attempt,
  ]),
  ...(['attempt', 'peek'] as const).flatMap((verb) =>
    BAD_COSTS.map((cost): Attempt => {
      const title = `${verb}('user:42', { cost: ${write(cost)} })`;
      const attempt = (limiter: Limiter) => limiter[verb]('user:42', { cost: bad(cost) });
      return [title, attempt, 'SLUICE_INVALID_COST', 'cost', 'a whole number from 0 to 9007199254740991'];
    }),
  ),
  [
    'reset takes no cost',
    (limiter) => limiter.reset('user:42', bad({ cost: 1 })),
    ...unknownOption('reset.cost', 'context'),
  ],
  [
    'no history of a token bucket',
    (limiter) => limiter.history('user:42', { policy: 'token-bucket' }),
    'SLUICE_NO_HISTORY',
    'policy.algorithm',
    'sliding-window-log',
  ],
];

/** One of each algorithm, so that whatever is spent shows. */
const ALL_POLICIES = [
  slidingWindowLog({ limit: 10, window: '1m' }),
  slidingWindowCounter({ limit: 10, window: '1m' }),
  fixedWindow({ limit: 10, window: '1m' }),
  policy,
  leakyBucket({ capacity: 10, leakRate: 1 }),
  gcra({ limit: 10, period: '10s' }),
];

describe('a bad attempt rejects before anything is spent', () => {
  test.each(attempts)('%s', async (_, attempt, code, path, expected) => {
    const { limiter, store } = await spentLimiter({ clock: manualClock(60_000) });
    const before = await limiter.peek('user:42');
    expectMistake(await rejectionOf(() => attempt(limiter)), code, path, expected);
    expect(await limiter.peek('user:42')).toEqual(before);
    expect(before.decisions.map(({ remaining }) => remaining)).toEqual(ALL_POLICIES.map(() => 7));
    expect(store.stats().keys).toBe(ALL_POLICIES.length);
  });

  test.each(attempts)('%s: Redis is not asked', async (_, attempt, code, path, expected) => {
    const asked: unknown[] = [];
    const store = redisStoreOver(async (script) => asked.push(script));
    const limiter = createLimiter({ policies: ALL_POLICIES, store });
    expectMistake(await rejectionOf(() => attempt(limiter)), code, path, expected);
    expect(asked).toEqual([]);
  });
});

describe('a policy function with a bad answer rejects before anything is spent', () => {
  const answers: readonly [title: string, answer: unknown, code: ErrorCode, path: string, expected: string][] = [
    ['undefined', undefined, 'SLUICE_INVALID_POLICY', '', 'a policy'],
    ['null', null, 'SLUICE_INVALID_POLICY', '', 'a policy'],
    ['the name of a policy', 'free', 'SLUICE_INVALID_POLICY', '', 'a policy'],
    ['an empty array', [], 'SLUICE_INVALID_POLICY', '', '1 to 64 policies'],
    ['an array with a hole', [policy, undefined], 'SLUICE_INVALID_POLICY', '[1]', 'a policy'],
    ['duplicates', [policy, policy], 'SLUICE_DUPLICATE_POLICY', '[1].name', 'a name no other policy'],
    ['an unknown algorithm', { algorithm: 'x' }, 'SLUICE_UNKNOWN_ALGORITHM', '.algorithm', 'one of'],
    ['a bad field', { ...policy, capacity: 0 }, 'SLUICE_INVALID_LIMIT', '.capacity', 'a whole number'],
  ];
  const rows = answers.flatMap((answer) => VERBS.map((verb) => [`${verb}: ${answer[0]}`, verb, ...answer] as const));

  test.each(rows)('%s', async (_, verb, _title, answer, code, path, expected) => {
    const log = slidingWindowLog({ limit: 10, window: '1m' });
    const limiter = createLimiter<{ answer: unknown } | undefined>({
      policies: (context) => (context === undefined ? [policy, log] : bad(context.answer)),
      store: memoryStore({ clock: manualClock(60_000) }),
    });
    await limiter.attempt('user:42', { cost: 3 });
    const before = await limiter.peek('user:42');
    const error = await rejectionOf(() => limiter[verb]('user:42', { context: { answer } }));
    expectMistake(error, code, `policies(context)${path}`, expected);
    expect(await limiter.peek('user:42')).toEqual(before);
    expect(before.remaining).toBe(7);
  });
});

describe('a clock that tells no time rejects before anything is spent', () => {
  const readings = [Number.NaN, -1, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2 ** 53, undefined, 'noon', {}];
  const rows = readings.flatMap((reading) =>
    (['attempt', 'peek', 'history'] as const).map((verb) => [`${verb} at ${write(reading)}`, verb, reading] as const),
  );

  test.each(rows)('%s', async (_, verb, reading) => {
    let now: unknown = 60_000;
    const { limiter } = await spentLimiter({ clock: { now: () => now as number } });
    const before = await limiter.peek('user:42');
    now = reading;
    const error = await rejectionOf(() => limiter[verb]('user:42'));
    expectMistake(error, 'SLUICE_INVALID_CLOCK', 'clock.now()', 'milliseconds since the Unix epoch');
    now = 60_000;
    expect(await limiter.peek('user:42')).toEqual(before);
    expect(before.remaining).toBe(7);
  });

  test.each(rows)('%s: Redis is not asked', async (_, verb, reading) => {
    const asked: unknown[] = [];
    const store = redisStoreOver(async (script) => asked.push(script), { clock: { now: () => bad(reading) } });
    const limiter = createLimiter({ policy: slidingWindowLog({ limit: 1, window: 1 }), store });
    const error = await rejectionOf(() => limiter[verb]('user:42'));
    expectMistake(error, 'SLUICE_INVALID_CLOCK', 'clock.now()', 'milliseconds since the Unix epoch');
    expect(asked).toEqual([]);
  });
});

describe('an error says what came, in one short line', () => {
  class Tariff {}
  const rows: readonly [value: unknown, written: string][] = [
    [undefined, 'undefined'],
    [null, 'null'],
    [Number.NaN, 'NaN'],
    ['5', '"5"'],
    ['a\nb', '"a\\nb"'],
    [5n, '5n'],
    [Symbol('five'), 'Symbol(five)'],
    [() => 5, 'a function'],
    [[], 'an empty array'],
    [{}, 'an object with no fields'],
    [{ amount: 5, unit: 's' }, 'an object with amount, unit'],
    [{ a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7 }, 'an object with a, b, c, d, e, f, ...'],
    [Object.create(null), 'an object with no fields'],
    [new Tariff(), 'an instance of Tariff'],
    ['x'.repeat(1e6), `a string of 1000000 characters starting with "${'x'.repeat(40)}"`],
  ];

  test.each(rows.map(([value, written]) => [written, value] as const))('%s', (written, value) => {
    const error = thrownBy(() => fixedWindow({ limit: bad(value), window: 1 }));
    expect(error).toMatchObject({ got: written });
    expect((error as SluiceError).message).not.toContain('\n');
  });
});

/** Mistakes that were once taken for something else: refused, by a named error. */
describe('refused, though JavaScript would make something of it', () => {
  const history = () => spentLimiter({ clock: manualClock(60_000) }).then(({ limiter }) => limiter);
  const at = (reading: unknown) => async () => {
    await createLimiter({ policy, store: memoryStore({ clock: { now: () => bad(reading) } }) }).attempt('user:42');
  };
  const gaps: readonly [title: string, mistake: () => unknown, once: string][] = [
    ['cost: null', () => createLimiter({ policy }).attempt('a', { cost: bad(null) }), 'spends 1'],
    ['name: null', () => tokenBucket({ name: bad(null), capacity: 1, refillRate: 1 }), 'takes the default name'],
    ['store: null', () => createLimiter({ policy, store: bad(null) }), 'counts in memory'],
    [
      'a store without history',
      () => createLimiter({ policy, store: bad({ decide() {}, forget() {} }) }),
      'is accepted',
    ],
    ['window: 1000.0005', () => fixedWindow({ limit: 1, window: 1000.0005 }), 'is rounded: the tolerance is relative'],
    ["raw: 'yes'", () => overIoredis(ioredisClient(), { raw: bad('yes') }), 'is not checked'],
    ['redisStoreOver(undefined)', () => redisStoreOver(bad(undefined)), 'is not checked'],
    [
      'history of an unknown policy',
      async () => (await history()).history('a', { policy: 'x' }),
      'answers for the first',
    ],
    ['history of policy 5', async () => (await history()).history('a', { policy: bad(5) }), 'answers for the first'],
    [
      'history of policy null',
      async () => (await history()).history('a', { policy: bad(null) }),
      'answers for the first',
    ],
    ["a clock that says '5'", at('5'), 'is taken for 5'],
    ['a clock that says null', at(null), 'is taken for 0'],
    ['a clock that says true', at(true), 'is taken for 1'],
    ['a clock that says 5n', at(5n), 'gives a TypeError of JavaScript'],
    ['manualClock(NaN)', () => manualClock(Number.NaN), 'was accepted'],
    ["manualClock().set('a')", () => manualClock().set(bad('a')), 'was accepted'],
    ['manualClock().advance(undefined)', () => manualClock().advance(bad(undefined)), 'was accepted'],
    ['manualClock().advance(-1) below 0', () => manualClock().advance(-1), 'was accepted'],
    [
      'a policy function without its context',
      () =>
        createLimiter<{ plan: string }>({
          policy: ({ plan }) => tokenBucket({ capacity: plan.length, refillRate: 1 }),
        }).attempt('a'),
      'gave a TypeError of JavaScript',
    ],
    [
      'an async policy function',
      () => createLimiter({ policy: bad(async () => policy) }).attempt('a'),
      'blamed the algorithm',
    ],
    ['a history reply that is no history', historyReply(['x', 'y']), 'gives NaN'],
    ['a history reply with half an entry', historyReply(['1']), 'gives NaN'],
  ];

  test.each(gaps)('%s', async (_, mistake) => {
    const error = await Promise.resolve()
      .then(mistake)
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SluiceError);
  });

  function historyReply(reply: unknown): () => unknown {
    const log = slidingWindowLog({ limit: 5, window: '1m' });
    return () => createLimiter({ policy: log, store: redisStoreOver(async () => reply) }).history('a');
  }
});

const ODD_KEYS = [
  ...[
    '',
    ' ',
    '\0',
    '\n',
    'a\nb',
    '%',
    '%%',
    '{',
    '}',
    '{}',
    'a}b{c%7d;',
    '%7d;',
    '%25;',
    '"',
    ':',
    'a:b',
    'undefined',
  ],
  ...['é', 'e\u0301', '日本語', '😀', '\ud83d', '\ude00', '\ud83e', '\ude00\ud83d', '\ufffd', 'a\ud800b', '%d800;'],
  ...['__proto__', 'constructor', 'k'.repeat(10_000), `${'k'.repeat(9_999)}l`, 'k'.repeat(65_536)],
];

describe('odd keys are keys like any other', () => {
  test.each(ALL_POLICIES.map((policy) => [policy.algorithm, policy] as const))('%s', async (_, policy) => {
    const limiter = createLimiter({ policy, store: memoryStore({ clock: manualClock(60_000) }) });
    for (const [index, key] of ODD_KEYS.entries()) {
      const { allowed, remaining } = await limiter.attempt(key, { cost: (index % 9) + 1 });
      expect([write(key), allowed, remaining]).toEqual([write(key), true, 9 - (index % 9)]);
    }
    for (const [index, key] of ODD_KEYS.entries()) expect((await limiter.peek(key)).remaining).toBe(9 - (index % 9));
    for (const [index, key] of ODD_KEYS.entries()) {
      await limiter.reset(key);
      expect((await limiter.peek(key)).remaining).toBe(10);
      const next = ODD_KEYS[index + 1];
      if (next !== undefined) expect((await limiter.peek(next)).remaining).toBe(9 - ((index + 1) % 9));
    }
  });

  test.each([false, true])('each has a name of its own in Redis, with hashKeys: %s', async (hashKeys) => {
    const names: string[] = [];
    const store = redisStoreOver(async (_, keys) => names.push(...keys), { hashKeys });
    const limiter = createLimiter({
      policies: [...ALL_POLICIES, fixedWindow({ name: '}{%', limit: 1, window: 1 })],
      store,
    });
    for (const key of ODD_KEYS) await limiter.reset(key);
    // As the server sees them: a name that is no UTF-8 would meet others there.
    const onServer = new Set(names.map((name) => Buffer.from(name).toString()));
    expect([...onServer]).toEqual(names);
    expect(onServer.size).toBe(ODD_KEYS.length * (ALL_POLICIES.length + 1));
    // And one cluster slot for all policies of a key: what stands between the first { and the first } after it, if anything does.
    const slots = names.map((name) => /^[^{]*\{([^}]+)\}/.exec(name)?.[1]);
    expect(slots).not.toContain(undefined);
    expect(new Set(slots).size).toBe(ODD_KEYS.length);
  });
});

describe('odd costs', () => {
  test.each(ALL_POLICIES.map((policy) => [policy.algorithm, policy] as const))('%s', async (_, policy) => {
    const limiter = createLimiter({ policy, store: memoryStore({ clock: manualClock(60_000) }) });
    const attempt = (cost: number | undefined) => limiter.attempt('user:42', { cost: bad(cost) });

    expect(await attempt(0)).toMatchObject({ allowed: true, remaining: 10, retryAfter: null, resetAfter: 0 });
    expect(await attempt(-0)).toMatchObject({ allowed: true, remaining: 10, retryAfter: null, resetAfter: 0 });
    expect(await attempt(undefined)).toMatchObject({ allowed: true, remaining: 9 });
    expect((await limiter.attempt('user:42', {})).remaining).toBe(8);
    expect((await limiter.attempt('user:42', undefined)).remaining).toBe(7);
    expect((await limiter.peek('user:42', { cost: bad(undefined) })).remaining).toBe(7);
    for (const cost of [11, 1e12, Number.MAX_SAFE_INTEGER]) {
      expect(await attempt(cost)).toMatchObject({ allowed: false, remaining: 7, retryAfter: Number.POSITIVE_INFINITY });
    }
    expect(await attempt(7)).toMatchObject({ allowed: true, remaining: 0 });
  });
});

test.each([
  [0.001, 0.001],
  [1.5, 1.5],
  [60_000, 60_000],
  [36525 * 86400e3, 36525 * 86400e3],
  ['1ms', 1],
  ['250ms', 250],
  ['0.001ms', 0.001],
  ['10s', 10_000],
  ['0.5s', 500],
  ['007s', 7_000],
  ['1m', 60_000],
  ['1.5m', 90_000],
  ['1h', 3_600_000],
  ['1d', 86_400_000],
  ['36525d', 36525 * 86400e3],
] as const)('a window of %s is %d ms', (window, ms) => {
  expect(fixedWindow({ limit: 1, window }).window).toBe(ms);
  expect(slidingWindowLog({ limit: 1, window }).window).toBe(ms);
  expect(slidingWindowCounter({ limit: 1, window }).window).toBe(ms);
  expect(gcra({ limit: 1, period: window }).period).toBe(ms);
});

test.each([
  [5, 5],
  [1 / 3, 1 / 3],
  [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ['2/ms', 2_000],
  ['10/s', 10],
  ['0.5/s', 0.5],
  ['600/m', 10],
  ['1800/h', 0.5],
  ['43200/d', 0.5],
] as const)('a rate of %s is %d a second', (rate, perSecond) => {
  expect(tokenBucket({ capacity: 1, refillRate: rate }).refillRate).toBe(perSecond);
  expect(leakyBucket({ capacity: 1, leakRate: rate }).leakRate).toBe(perSecond);
});

test('defaults are those of the documents', () => {
  expect(fixedWindow({ limit: 1, window: 1 })).toMatchObject({ name: 'fixed-window', align: 'epoch' });
  expect(leakyBucket({ capacity: 1, leakRate: 1 })).toMatchObject({ name: 'leaky-bucket', mode: 'policing' });
  expect(gcra({ limit: 7, period: 1 })).toMatchObject({ name: 'gcra', capacity: 7 });
  expect(tokenBucket(bad({ name: undefined, capacity: 1, refillRate: 1 })).name).toBe('token-bucket');
  expect(createLimiter(bad({ policy, policies: undefined, store: undefined }))).toHaveProperty('attempt');
});

describe('a policy comes back from JSON as it went', () => {
  const policies = [
    ...ALL_POLICIES,
    fixedWindow({ name: 'first', limit: 10, window: '1.5s', align: 'first' }),
    tokenBucket({ name: 'thirds', capacity: 10, refillRate: 1 / 3 }),
    tokenBucket({ name: '~ !"{}%', capacity: 10, refillRate: '7/m' }),
    leakyBucket({ name: 'shaping', capacity: 10, leakRate: '100/h', mode: 'shaping' }),
    gcra({ name: 'tight', limit: 3, period: '0.001ms', capacity: 10 }),
  ];

  test.each(policies.map((policy) => [policy.name, policy] as const))('%s', async (_, policy) => {
    const data: unknown = JSON.parse(JSON.stringify(policy));
    expect(data).toEqual(policy);
    expect(checkPolicy(data)).toEqual(policy);
    expect(checkPolicy(policy)).toBe(policy);
    expect(Object.isFrozen(checkPolicy(data))).toBe(true);
    expect(await story(data as Policy)).toEqual(await story(policy));
  });

  async function story(policy: Policy): Promise<unknown[]> {
    const clock = manualClock(1_700_000_000_000);
    const limiter = createLimiter({ policy, store: memoryStore({ clock }) });
    const results: unknown[] = [];
    for (const cost of [1, 3, 7, 2, 0, 11, 5, 1, 4]) {
      results.push(await limiter.attempt('user:42', { cost }));
      clock.advance(700.125);
    }
    return results;
  }
});

/** A limiter of all algorithms whose key user:42 has spent 3 of 10. */
async function spentLimiter({ clock }: { clock: Clock }): Promise<{ limiter: Limiter; store: MemoryStore }> {
  const store = memoryStore({ clock, maxKeys: 100 });
  const limiter = createLimiter({ policies: ALL_POLICIES, store });
  await limiter.attempt('user:42', { cost: 3 });
  return { limiter, store };
}

function expectMistake(error: unknown, code: ErrorCode, path: string, expected: string): void {
  expect(error).toBeInstanceOf(SluiceError);
  const mistake = error as SluiceError;
  expect(mistake).toMatchObject({ name: 'SluiceError', code, path, page: `docs/errors/${code}.md` });
  expect(mistake.expected).toContain(expected);
  expect(mistake.got).not.toBe('');
  expect(mistake.message).toBe(
    `${path}: expected ${mistake.expected}, got ${mistake.got} (${code}, see ${mistake.page})`,
  );
}

function thrownBy(define: () => unknown): unknown {
  try {
    define();
  } catch (error) {
    return error;
  }
  return expect.unreachable('nothing was thrown');
}

/** The call itself never throws: whoever forgot `await` in a `try` still gets one kind of failure. */
async function rejectionOf(attempt: () => Promise<unknown>): Promise<unknown> {
  let promise: Promise<unknown> | undefined;
  expect(() => {
    promise = attempt();
  }).not.toThrow();
  expect(promise).toBeInstanceOf(Promise);
  return promise!.then(
    () => expect.unreachable('nothing was rejected'),
    (reason: unknown) => reason,
  );
}

/** A value in the title of a test. */
function write(value: unknown): string {
  if (typeof value === 'string') return value.length > 40 ? `${value.length} characters` : JSON.stringify(value);
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint' ? `${value}n` : String(value);
  return Array.isArray(value)
    ? `[${value.map(write)}]`
    : `${value.constructor?.name} {${Object.keys(value).slice(0, 3)}}`;
}
