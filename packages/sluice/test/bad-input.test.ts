/**
 * Law 10 as tables: a bad policy, key, cost or option is an error with a code and the path of the field, thrown where it is
 * defined, or rejecting the attempt before anything is spent. And what merely looks odd works.
 */
import { inspect } from 'node:util';
import { Cluster, Redis } from 'ioredis';
import { createClient, createClientPool, createCluster, createSentinel } from 'redis';
import { describe, expect, test } from 'vitest';
import {
  type Clock,
  calendarQuota,
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
import { ruleOf } from '../src/model/policy.ts';
import { redisStore as overIoredis } from '../src/presets/ioredis.ts';
import { redisStore as overNodeRedis } from '../src/presets/node-redis.ts';
import { redisStore as overValkeyGlide } from '../src/presets/valkey-glide.ts';
import { redisStoreOver } from '../src/redis/index.ts';

/** What a call gives when nobody checked its types: from JavaScript, JSON, YAML or the environment. */
const bad = (value: unknown): never => value as never;

/** What an error has to say. */
type Mistake = [
  code: ErrorCode,
  path: string,
  /** A part of what it says was expected; or of what it says altogether, where it is not about a value. */
  expected: string | Sentence,
  /** All of what it says came, where that is not simply the value. */
  got?: string | undefined,
];

interface Sentence {
  readonly sentence: string;
}

const says = (sentence: string): Sentence => ({ sentence });

type Definition = [title: string, define: () => unknown, ...mistake: Mistake];

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

/** Those with more fields than `good` has. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  fixedWindow: ['limit', 'window', 'align'],
  leakyBucket: ['capacity', 'leakRate', 'mode'],
};

const BARE_OPTIONS = 'prefix, hashKeys, clock';
const PRESET_OPTIONS = `${BARE_OPTIONS}, raw, silence, deadline, circuitBreaker, fallback, fallbackShare, onFallback, onRecovered, warnings, denyCache, leases, wait`;

const BAD_LIMITS = [Number.NaN, -1, 0, 1.5, Number.POSITIVE_INFINITY, 2 ** 53, '100', null, true, 5n, [], {}];
const BAD_DURATIONS = [
  ...[0, -1, Number.NaN, Number.POSITIVE_INFINITY, 0.0001, 36525 * 86400e3 + 1, null, undefined, 5n, [1]],
  ...[0.0015, 1.0005, 1000.0005, 86400e3 + 0.0005, '1000.0005ms', '1.0000005s'],
  ...['10', '10  s', '1y', '-1s', '', '1S', 's', '1e3ms', '.5s', '1s ', ' 1s', '1m30', '1h,30m', '0s', '0.0001ms'],
  ...['36526d', '5218w', '1 minute', '1mins', '1h-30m', 'constructor'],
];
const BAD_RATES = [
  ...[0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, null, undefined, 5n, {}],
  ...['10', '10/y', '0/s', '-1/s', '10 /s', '10/', '/s', '', '1e3/s', '1/0s', '1/5', '1/constructor', '1/s/s'],
];
const BAD_OPTIONS = [null, 'text', 5, true, [], () => ({})];

const wrongFields: Definition[] = FACTORIES.flatMap(([name, make, good, { limits, durations = [], rates = [] }]) => {
  const rowsFor = (
    fields: readonly string[],
    values: readonly unknown[],
    ...[code, expected, got]: [code: ErrorCode, expected: string | Sentence, got?: string]
  ) =>
    fields.flatMap((field) =>
      values.map((value): Definition => {
        const path = `${name}.${field}`;
        return [`${path}: ${write(value)}`, () => make({ ...good, [field]: value }), code, path, expected, got];
      }),
    );
  const unknownField = (field: string, cure: string) => says(`${name}: unknown field \`${field}\`. ${cure}`);
  const fields = FIELDS[name] ?? Object.keys(good);
  return [
    ...rowsFor(limits, BAD_LIMITS, 'SLUICE_INVALID_LIMIT', 'a whole number from 1 to '),
    ...rowsFor(limits.slice(0, 1), [undefined], 'SLUICE_INVALID_LIMIT', 'a whole number from 1 to '),
    ...rowsFor(durations, BAD_DURATIONS, 'SLUICE_INVALID_DURATION', 'a positive number of milliseconds (whole micro'),
    ...rowsFor(rates, BAD_RATES, 'SLUICE_INVALID_RATE', "a positive number of units a second, or text such as '10/s'"),
    ...rowsFor(
      ['name'],
      ['', 'é', 'a\nb', 'a\u007f', 'x'.repeat(65), 5, true, null],
      'SLUICE_INVALID_NAME',
      '1 to 64 printable',
    ),
    ...rowsFor(['nmae'], ['x', 5, undefined], 'SLUICE_INVALID_POLICY', unknownField('nmae', 'Did you mean `name`?')),
    ...rowsFor(
      ['algorithm'],
      ['x'],
      'SLUICE_INVALID_POLICY',
      unknownField('algorithm', `The fields are name, ${fields.join(', ')}, visible.`),
    ),
    ...[...BAD_OPTIONS, undefined].map((options): Definition => {
      return [`${name}(${write(options)})`, () => make(options), 'SLUICE_INVALID_POLICY', name, 'an object of options'];
    }),
    [`${name}({})`, () => make({}), 'SLUICE_INVALID_LIMIT', `${name}.${limits[0]}`, 'a whole number'],
  ];
});

const ONE_POLICY = 'one policy (several go into policies)';

const policies: Definition[] = [
  ...refused('fixedWindow.align', ['epoc', '', 0, null, true], "'epoch' or 'first'", (align) =>
    fixedWindow({ limit: 5, window: 1, align: bad(align) }),
  ),
  ...refused('leakyBucket.mode', ['x', '', 0, null, 'Shaping'], "'policing' or 'shaping'", (mode) =>
    leakyBucket({ capacity: 5, leakRate: 1, mode: bad(mode) }),
  ),
  ...refused('calendarQuota.every', [undefined, 'minute', 'Month', 5, null], "'month' or 'hour' or", (every) =>
    calendarQuota({ limit: 5, every: bad(every) }),
  ),
  ...refused(
    'calendarQuota.timeZone',
    ['', 'Berlin', 'Europe/Atlantis', '+01:00', 5, null],
    "a time zone such as 'Europe/Berlin'",
    (timeZone) => calendarQuota({ limit: 5, every: 'day', timeZone: bad(timeZone) }),
  ),
  ...refused('calendarQuota.startsOn', [0, 32, 1.5, 'monday', '', null], 'a day of the month', (startsOn) =>
    calendarQuota({ limit: 5, every: 'month', startsOn: bad(startsOn) }),
  ),
  ...refused('calendarQuota.startsOn', [0, 8, 'Monday', 'mon', null], 'a weekday', (startsOn) =>
    calendarQuota({ limit: 5, every: 'week', startsOn: bad(startsOn) }),
  ),
  ...refused('calendarQuota.startsOn', [0, 13, '02-30', '4-6', '13-01', null], 'a month and a day', (startsOn) =>
    calendarQuota({ limit: 5, every: 'year', startsOn: bad(startsOn) }),
  ),
  ...refused('calendarQuota.startsOn', [1, 'monday'], 'nothing, since hours and days', (startsOn) =>
    calendarQuota({ limit: 5, every: 'day', startsOn: bad(startsOn) }),
  ),
  ...refused(
    'tokenBucket.refillrate',
    [10],
    says('tokenBucket: unknown field `refillrate`. Did you mean `refillRate`?'),
    (refillrate) => tokenBucket(bad({ capacity: 100, refillrate })),
  ),
  ...refused(
    'policy',
    [null, undefined, 'token-bucket', 5, () => {}, Promise.resolve()],
    'a policy, as tokenBucket({ ... })',
    (policy) => checkPolicy(policy),
  ),
  ...refused('policy', [[], [1], [1, 2]], ONE_POLICY, (policy) => checkPolicy(policy)),
  ...[undefined, null, 5, 'tokenBucket', 'token bucket', 'constructor', '__proto__'].map((algorithm): Definition => {
    const policy = { algorithm, capacity: 5, refillRate: 1 };
    const expected =
      'one of calendar-quota, concurrency, fixed-window, gcra, leaky-bucket, sliding-window-counter, sliding-window-log, token-bucket';
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
    () => checkPolicy({ algorithm: 'gcra', limit: 5, period: '1 minute' }, 'config.rules[3]'),
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
    ...slow('tokenBucket.refillRate', 101),
  ],
  [
    'a leaky bucket slower than a century',
    () => leakyBucket({ capacity: 1e6, leakRate: '1/d' }),
    ...slow('leakyBucket.leakRate', 2738),
  ],
  ['a gcra slower than a century', () => gcra({ limit: 1, period: '1d', capacity: 36526 }), ...slow('gcra.limit', 101)],
  [
    'data slower than a century',
    () => checkPolicy({ algorithm: 'token-bucket', capacity: 36526, refillRate: '1/d' }, 'config.rules[3]'),
    ...slow('config.rules[3].refillRate', 101),
  ],
];

function refused(
  path: string,
  values: readonly unknown[],
  expected: string | Sentence,
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

function slow(path: string, years: number): [ErrorCode, string, string, string] {
  return ['SLUICE_INVALID_RATE', path, 'a rate that recovers the whole capacity within 100 years', `${years} years`];
}

const policy = tokenBucket({ capacity: 10, refillRate: 1 });

const KINDS_OF_NO_STORE: readonly [store: unknown, kind: string][] = [
  [null, 'null'],
  [5, 'a number'],
  ['redis', 'a string'],
  [{}, 'an object with no fields'],
  [[], 'an empty array'],
  [memoryStore, 'a function'],
  [new Map(), 'an instance of Map'],
  [Promise.resolve(memoryStore()), 'a promise'],
  [{ ask: 'memory' }, 'an object with ask'],
  [{ decide() {} }, 'an object with decide'],
  [{ forget() {} }, 'an object with forget'],
  [{ decide() {}, forget() {} }, 'an object with decide, forget'],
];

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
  ['neither', () => createLimiter(bad({})), ...eitherOr('neither')],
  [
    'neither but undefined',
    () => createLimiter(bad({ policy: undefined, policies: undefined })),
    ...eitherOr('neither'),
  ],
  ['both', () => createLimiter(bad({ policy, policies: [policy] })), ...eitherOr('both')],
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
    'an array of 65 items',
  ],
  ...(
    [
      [[], 'an empty array'],
      [[policy], 'an array of 1 item'],
      [[policy, policy], 'an array of 2 items'],
    ] as const
  ).map(([value, got]): Definition => {
    const define = () => createLimiter({ policy: bad(value) });
    return [`policy: ${got}`, define, 'SLUICE_INVALID_POLICY', 'policy', ONE_POLICY, got];
  }),
  [
    'policies within policies',
    () => createLimiter({ policies: [policy, bad([policy])] }),
    'SLUICE_INVALID_POLICY',
    'policies[1]',
    ONE_POLICY,
    'an array of 1 item',
  ],
  ...[null, 'token-bucket', 5, Promise.resolve(policy)].map((value): Definition => {
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
    return [
      title,
      () => createLimiter({ policies: bad(value) }),
      'SLUICE_INVALID_POLICY',
      'policies',
      'an array of 1 to 64 policies',
    ];
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
    ...plainData('policies[1]'),
  ],
  ['data', () => createLimiter({ policy: bad({ algorithm: 'gcra', limit: 5, period: '1m' }) }), ...plainData('policy')],
  ['a policy that was spread', () => createLimiter({ policy: bad({ ...policy }) }), ...plainData('policy')],
  [
    'a policy that came from JSON',
    () => createLimiter({ policies: [policy, bad(JSON.parse(JSON.stringify(gcra({ limit: 1, period: 1 }))))] }),
    ...plainData('policies[1]'),
  ],
  ['a policy twice', () => createLimiter({ policies: [policy, policy] }), ...duplicate(1, 'token-bucket')],
  [
    'two of one algorithm without names',
    () => createLimiter({ policies: [policy, tokenBucket({ capacity: 5, refillRate: 1 })] }),
    ...duplicate(1, 'token-bucket'),
  ],
  [
    'one name for two algorithms',
    () =>
      createLimiter({
        policies: [policy, gcra({ limit: 1, period: 1 }), fixedWindow({ name: 'gcra', limit: 1, window: 1 })],
      }),
    ...duplicate(2, 'gcra'),
  ],
  ...['polcy', 'cost', 'context', 'clock'].map((option): Definition => {
    const define = () => createLimiter({ policy, [option]: 1 });
    return [
      `createLimiter({ ${option} })`,
      define,
      ...unknownOption(`createLimiter.${option}`, 'policy, policies, store', 1),
    ];
  }),
  ...[0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, '5', null, 5n].map((queueLimit): Definition => {
    const define = () => createLimiter({ policy, queueLimit: bad(queueLimit) });
    const [path, expected] = ['createLimiter.queueLimit', 'a whole number of at least 1'];
    return [`queueLimit: ${write(queueLimit)}`, define, 'SLUICE_INVALID_OPTION', path, expected];
  }),
  ...[null, 5, 'timers', {}, [], { sleep: 5 }, () => {}, { clock: manualClock() }].map((timers): Definition => {
    const define = () => createLimiter({ policy, timers: bad(timers) });
    const expected = 'an object with a clock and sleep(ms, signal)';
    return [`timers: ${write(timers)}`, define, 'SLUICE_INVALID_OPTION', 'createLimiter.timers', expected];
  }),
  ...[undefined, ...[null, 5, {}]].map((clock): Definition => {
    const define = () => createLimiter({ policy, timers: bad({ clock, sleep: async () => {} }) });
    return [`timers.clock: ${write(clock)}`, define, 'SLUICE_INVALID_CLOCK', 'createLimiter.timers.clock', 'now()'];
  }),
  ...[...KINDS_OF_NO_STORE, [ioredisClient()] as const].map(([store, got]): Definition => {
    const define = () => createLimiter({ policy, store: bad(store) });
    const expected = 'a store, such as memoryStore() or redisStore(client)';
    return [`store: ${write(store)}`, define, 'SLUICE_INVALID_STORE', 'createLimiter.store', expected, got];
  }),
];

function eitherOr(got: string): [ErrorCode, string, string, string] {
  return ['SLUICE_INVALID_POLICY', 'createLimiter', 'either policy or policies', got];
}

/** What looks like a policy and was never checked. */
function plainData(path: string): [ErrorCode, string, Sentence] {
  return ['SLUICE_INVALID_POLICY', path, says(`${path}: this is plain data, not a policy. Make it with`)];
}

function duplicate(index: number, name: string): [ErrorCode, string, Sentence] {
  const sentence = `policies[${index}]: another policy of this limiter is already called "${name}". `;
  return ['SLUICE_DUPLICATE_POLICY', `policies[${index}].name`, says(sentence)];
}

/** The value of an unknown option may be a secret, so the error does not say it. */
function unknownOption(path: string, _known: string, _value: unknown): [ErrorCode, string, Sentence] {
  const [, owner, option] = /^(.*)\.(.*)$/.exec(path)!;
  return ['SLUICE_INVALID_OPTION', path, says(`${owner}: unknown option \`${option}\`. `)];
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
  ...[0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, '1mb', null, 5n].map((maxBytes): Definition => {
    const title = `memoryStore({ maxBytes: ${write(maxBytes)} })`;
    const define = () => memoryStore({ maxBytes: bad(maxBytes) });
    return [title, define, 'SLUICE_INVALID_OPTION', 'memoryStore.maxBytes', 'a whole number of at least 1'];
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
    ...unknownOption('memoryStore.maxkeys', 'clock, maxKeys', 5),
  ],
];

const BAD_TIMES = [
  Number.NaN,
  -1,
  -0.0001,
  Number.POSITIVE_INFINITY,
  2 ** 53,
  'a',
  '5',
  null,
  true,
  5n,
  [5],
  new Date(5),
];

const manualClocks: Definition[] = [
  ...BAD_TIMES.map((ms): Definition => {
    const expected = 'milliseconds since the Unix epoch as a number of at least 0';
    return [
      `manualClock(${write(ms)})`,
      () => manualClock(bad(ms)),
      'SLUICE_INVALID_CLOCK',
      'manualClock(ms)',
      expected,
    ];
  }),
  ...(['set', 'advance'] as const).flatMap((move) =>
    [...BAD_TIMES, undefined].map((ms): Definition => {
      const path = `manualClock.${move}(ms)`;
      return [
        `${path} of ${write(ms)}`,
        () => manualClock()[move](bad(ms)),
        'SLUICE_INVALID_CLOCK',
        path,
        'milliseconds',
      ];
    }),
  ),
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
    ['a sentinel of redis', createSentinel({ name: 'main', sentinelRootNodes: [{ host: 'localhost', port: 1 }] })],
  ],
  '@valkey/valkey-glide': [['a client of valkey-glide', { customCommand() {} }]],
};

// biome-ignore lint/suspicious/noExplicitAny: three functions for three types of client, called with each other's.
type RedisStoreOf = (client: any, options?: any) => unknown;

const STORES: readonly [title: string, own: string, clients: string, redisStore: RedisStoreOf][] = [
  ['sluice/ioredis', 'ioredis', 'a Redis or Cluster', overIoredis],
  ['sluice/node-redis', 'redis', 'a client, pool, cluster or sentinel', overNodeRedis],
  ['sluice/valkey-glide', '@valkey/valkey-glide', 'a GlideClient or GlideClusterClient', overValkeyGlide],
];

const KINDS_OF_NO_CLIENT: readonly [thing: unknown, kind: string][] = [
  [undefined, 'undefined'],
  [null, 'null'],
  [{}, 'an object with no fields'],
  [[], 'an empty array'],
  ['redis://localhost', 'a string'],
  [6379, 'a number'],
  [{ url: 'x' }, 'an object with url'],
  [Promise.resolve(), 'a promise'],
  [new Map(), 'an instance of Map'],
];

const redisStores: Definition[] = [
  ...STORES.flatMap(([module, own, clients, redisStore]) => {
    const others = Object.entries(CLIENTS).flatMap(([name, clients]) =>
      name === own
        ? []
        : clients.map(([title, client]) => [title, client, `a client of the '${name}' package`] as const),
    );
    const things = [...KINDS_OF_NO_CLIENT, [Redis, 'a function'] as const].map(
      ([thing, kind]) => [write(thing), thing, kind] as const,
    );
    return [
      ...[...things, ...others].map(([title, thing, kind]): Definition => {
        const expected = `${clients} of the '${own}' package`;
        const define = () => redisStore(thing);
        return [`${module} over ${title}`, define, 'SLUICE_INVALID_CLIENT', 'redisStore(client)', expected, kind];
      }),
      ...badStoreOptions(module, (options) => redisStore(CLIENTS[own]![0]![1], options)),
    ];
  }),
  ...[...KINDS_OF_NO_CLIENT, [ioredisClient()] as const].map(([run, kind]): Definition => {
    const define = () => redisStoreOver(bad(run));
    const title = `sluice/redis over ${write(run)}`;
    return [title, define, 'SLUICE_INVALID_CLIENT', 'redisStoreOver(run)', 'a function that runs a script', kind];
  }),
  ...badStoreOptions('sluice/redis', (options) => redisStoreOver(async () => '', bad(options))),
];

function badStoreOptions(module: string, storeWith: (options: unknown) => unknown): Definition[] {
  const isBare = module === 'sluice/redis';
  const known = isBare ? BARE_OPTIONS : PRESET_OPTIONS;
  const withOption = (option: string, values: readonly unknown[], code: ErrorCode, expected: string) =>
    values.map((value): Definition => {
      const define = () => storeWith({ [option]: value });
      return [`${module} { ${option}: ${write(value)} }`, define, code, `redisStore.${option}`, expected];
    });
  return [
    ...BAD_OPTIONS.map((options): Definition => {
      const expected = `an object of options (${known})`;
      const define = () => storeWith(options);
      return [`${module} with ${write(options)}`, define, 'SLUICE_INVALID_OPTION', 'redisStore', expected];
    }),
    ...withOption(
      'prefix',
      ['a{b', 'a}b', 'a\ud800b', 5, null, 'x'.repeat(129)],
      'SLUICE_INVALID_OPTION',
      'well-formed text of at most 128 characters without { and }',
    ),
    ...withOption('hashKeys', ['yes', 'false', 1, 0, null], 'SLUICE_INVALID_OPTION', 'true or false'),
    ...(isBare ? [] : withOption('raw', ['yes', 'false', 1, 0, null], 'SLUICE_INVALID_OPTION', 'true or false')),
    ...withOption('clock', BAD_CLOCKS, 'SLUICE_INVALID_CLOCK', 'now(): number'),
    ...['a', 5, undefined].map((value): Definition => {
      const define = () => storeWith({ prefx: value });
      return [`${module} { prefx: ${write(value)} }`, define, ...unknownOption('redisStore.prefx', known, value)];
    }),
  ];
}

test.each(STORES)('%s takes every kind of client of its package', (_, own, _clients, redisStore) => {
  for (const [, client] of CLIENTS[own]!) expect(redisStore(client)).toHaveProperty('ask');
});

describe('a bad definition throws where it stands', () => {
  test.each([...wrongFields, ...policies, ...limiters, ...memoryStores, ...manualClocks, ...redisStores])(
    '%s',
    (_, define, ...mistake) => {
      expectMistake(thrownBy(define), ...mistake);
    },
  );

  test.each([...BAD_TIMES, undefined].map((ms) => [write(ms), ms]))('a clock is not moved by %s', (_, ms) => {
    const clock = manualClock(5);
    expect(() => clock.set(bad(ms))).toThrow(SluiceError);
    expect(() => clock.advance(bad(typeof ms === 'number' ? ms - 5 : ms))).toThrow(SluiceError);
    expect(clock.now()).toBe(5);
  });
});

type Attempt = [title: string, attempt: (limiter: Limiter) => Promise<unknown>, ...mistake: Mistake];

/** Those that take a key and options, and nothing else. */
const VERBS = [
  ...(['attempt', 'peek', 'reset', 'history'] as const),
  ...(['refund', 'penalize', 'unblock', 'reserve', 'acquire'] as const),
] as const;
const OPTIONS_OF = {
  attempt: 'cost, context',
  peek: 'cost, context',
  reset: 'context',
  history: 'context, policy',
  refund: 'cost, of, context',
  penalize: 'cost, context',
  unblock: 'context',
  reserve: 'cost, ttl, context',
  acquire: 'cost, timeout, signal, context',
};
const COST_VERBS = ['attempt', 'peek', 'refund', 'penalize', 'reserve', 'acquire'] as const;
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
  null,
  [1],
  {},
];
const BAD_KEYS = [undefined, null, 42, Symbol('key'), 5n, true, {}, Promise.resolve('key'), 'k'.repeat(65_537)];

/** A number is a common mistake, with a cure of its own. */
function badKey(key: unknown): Mistake {
  const isNumber = typeof key === 'number' || typeof key === 'bigint';
  const cure = `key: a key is a string, and ${String(key)} is a number. Write \`user:\${id}\` or String(id).`;
  return ['SLUICE_INVALID_KEY', 'key', isNumber ? says(cure) : 'a string of at most 65536 characters'];
}

const attempts: Attempt[] = [
  ...VERBS.flatMap((verb) => [
    ...BAD_KEYS.map((key): Attempt => {
      const title = `${verb}(${write(key)})`;
      return [title, (limiter) => limiter[verb](bad(key)), ...badKey(key)];
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
      ...unknownOption(`${verb}.cots`, OPTIONS_OF[verb], 5),
    ] satisfies Attempt,
  ]),
  ...COST_VERBS.flatMap((verb) =>
    BAD_COSTS.map((cost): Attempt => {
      const title = `${verb}('user:42', { cost: ${write(cost)} })`;
      const attempt = (limiter: Limiter) => limiter[verb]('user:42', { cost: bad(cost) });
      return [title, attempt, 'SLUICE_INVALID_COST', 'cost', 'a whole number from 0 to 9007199254740991'];
    }),
  ),
  ...BAD_KEYS.flatMap((key): Attempt[] => {
    const mistake = badKey(key);
    return [
      [`block(${write(key)})`, (limiter) => limiter.block(bad(key), '1s'), ...mistake],
      [`schedule(${write(key)})`, (limiter) => limiter.schedule(bad(key), () => {}), ...mistake],
      [`waiting(${write(key)})`, async (limiter) => limiter.waiting(bad(key)), ...mistake],
    ];
  }),
  ...BAD_DURATIONS.flatMap((duration): Attempt[] => {
    const expected = 'a positive number of milliseconds (whole micro';
    const row = (verb: string, path: string, attempt: Attempt[1]): Attempt => {
      return [`${verb}, ${write(duration)}`, attempt, 'SLUICE_INVALID_DURATION', path, expected];
    };
    return [
      row('block', 'block.duration', (limiter) => limiter.block('user:42', bad(duration))),
      ...(duration === undefined
        ? []
        : [
            row('reserve', 'reserve.ttl', (limiter) => limiter.reserve('user:42', { ttl: bad(duration) })),
            row('acquire', 'acquire.timeout', (limiter) => limiter.acquire('user:42', { timeout: bad(duration) })),
            row('schedule', 'schedule.timeout', (limiter) =>
              limiter.schedule('user:42', () => {}, { timeout: bad(duration) }),
            ),
          ]),
    ];
  }),
  ...[null, 5, 'abort', {}, [], new AbortController(), { aborted: false }].map((signal): Attempt => {
    const attempt = (limiter: Limiter) => limiter.acquire('user:42', { signal: bad(signal) });
    return [`signal: ${write(signal)}`, attempt, 'SLUICE_INVALID_OPTION', 'acquire.signal', 'an AbortSignal'];
  }),
  ...[undefined, null, 'fetch', {}, Promise.resolve()].map((work): Attempt => {
    const attempt = (limiter: Limiter) => limiter.schedule('user:42', bad(work));
    const expected = 'a function to call when it is its turn';
    return [`schedule ${write(work)}`, attempt, 'SLUICE_INVALID_OPTION', 'schedule(key, work)', expected];
  }),
  ...BAD_OPTIONS.flatMap((options): Attempt[] => {
    const block = (limiter: Limiter) => limiter.block('user:42', '1s', bad(options));
    const schedule = (limiter: Limiter) => limiter.schedule('user:42', () => {}, bad(options));
    const expected = 'an object of options (';
    return [
      [`block with ${write(options)}`, block, 'SLUICE_INVALID_OPTION', 'block', expected],
      [`schedule with ${write(options)}`, schedule, 'SLUICE_INVALID_OPTION', 'schedule', expected],
    ];
  }),
  ...badResults(),
  ...badEntries(),
  [
    'reset takes no cost',
    (limiter) => limiter.reset('user:42', bad({ cost: 1 })),
    ...unknownOption('reset.cost', 'context', 1),
  ],
  ...['x', '', 'sliding window log', 5, null, {}, ['token-bucket']].map((name): Attempt => {
    const attempt = (limiter: Limiter) => limiter.history('user:42', { policy: bad(name) });
    const names = 'sliding-window-log, sliding-window-counter, fixed-window, token-bucket, leaky-bucket, gcra';
    const expected = `the name of a policy of this limiter: ${names}`;
    return [`history of policy ${write(name)}`, attempt, 'SLUICE_INVALID_OPTION', 'history.policy', expected];
  }),
  [
    'no history of a token bucket',
    (limiter) => limiter.history('user:42', { policy: 'token-bucket' }),
    'SLUICE_NO_HISTORY',
    'policy.algorithm',
    'sliding-window-log',
  ],
];

/** What cannot be the result of the attempt that is given back. */
function badResults(): Attempt[] {
  const decisions = ['sliding-window-log', 'token-bucket'].map((policy) => ({ policy, resetAt: 60, resetAfter: 1 }));
  const rows: readonly (readonly [of: unknown, expected: string, got?: string | undefined])[] = [
    ...[null, 5, 'result', {}, [], { allowed: true }, { decisions }].map((of) => {
      return [of, 'the result of the attempt that is given back'] as const;
    }),
    [Promise.resolve({}), 'the result of the attempt that is given back', 'a promise'],
    [{ allowed: false, decisions }, 'the result of an attempt that was allowed', 'one that was denied'],
    [{ allowed: true, decisions }, 'a decision of policy sliding-window-counter for this key', 'none'],
    [{ allowed: true, decisions: [{ policy: 'sliding-window-log' }] }, 'policy sliding-window-log', 'none'],
    [{ allowed: true, decisions: [{ ...decisions[0], key: 'user:43' }] }, 'policy sliding-window-log', 'none'],
  ];
  return rows.map(([of, expected, got]) => {
    const attempt = (limiter: Limiter) => limiter.refund('user:42', { of: bad(of) });
    return [`refund of ${write(of)}: ${expected}`, attempt, 'SLUICE_INVALID_OPTION', 'refund.of', expected, got];
  });
}

/** An attempt on several keys names the entry that is wrong. */
function badEntries(): Attempt[] {
  const good = { key: 'user:42' };
  const rows: readonly [title: string, entries: unknown[], ...Mistake][] = [
    ['none', [], 'SLUICE_INVALID_OPTION', '', 'a key, or entries of at least one', 'an empty array'],
    ['a key', ['user:42'], 'SLUICE_INVALID_OPTION', '[0]', 'an object of options (key, cost, policy, policies)'],
    ['null', [good, null], 'SLUICE_INVALID_OPTION', '[1]', 'an object of options'],
    ['an array', [good, [good]], 'SLUICE_INVALID_OPTION', '[1]', 'an object of options'],
    ['misspelt', [{ ...good, cots: 5 }], 'SLUICE_INVALID_OPTION', '[0].cots', says('[0]: unknown option `cots`. ')],
    ['no key', [good, { cost: 5 }], 'SLUICE_INVALID_KEY', '[1].key', 'a string of at most 65536'],
    ['a bad cost', [good, { key: 'a', cost: 1.5 }], 'SLUICE_INVALID_COST', '[1].cost', 'a whole number from 0'],
    ['no cost', [good, { key: 'a', cost: null }], 'SLUICE_INVALID_COST', '[1].cost', 'a whole number from 0'],
    ['both', [{ ...good, policy, policies: [policy] }], 'SLUICE_INVALID_POLICY', '[0]', 'or neither', 'both'],
    ['no policy', [{ ...good, policy: null }], 'SLUICE_INVALID_POLICY', '[0].policy', 'a policy'],
    ['a function', [{ ...good, policy: () => policy }], 'SLUICE_INVALID_POLICY', '[0].policy', 'a policy'],
    ['no policies', [{ ...good, policies: [] }], 'SLUICE_INVALID_POLICY', '[0].policies', '1 to 64 policies'],
    [
      'data',
      [good, { ...good, policies: [{ ...policy }] }],
      'SLUICE_INVALID_POLICY',
      '[1].policies[0]',
      says('[1].policies[0]: this is plain data, not a policy. '),
    ],
    [
      'a key twice',
      [good, good],
      'SLUICE_DUPLICATE_POLICY',
      '',
      'each policy once for a key',
      'sliding-window-log twice',
    ],
    [
      'a policy twice',
      [good, { ...good, policy }],
      'SLUICE_DUPLICATE_POLICY',
      '',
      'each policy once for a key',
      'token-bucket twice',
    ],
    [
      'too many',
      Array.from({ length: 11 }, (_, index) => ({ key: `user:${index}` })),
      'SLUICE_INVALID_OPTION',
      '',
      'at most 64 policies in one attempt',
      '66',
    ],
  ];
  return (['attempt', 'peek'] as const).flatMap((verb) => [
    ...rows.map(([title, entries, code, path, ...said]): Attempt => {
      const attempt = (limiter: Limiter) => limiter[verb](bad(entries));
      return [`${verb} on several keys: ${title}`, attempt, code, `${verb}${path}`, ...said];
    }),
    [
      `${verb} on several keys: a cost for all`,
      (limiter) => limiter[verb]([good], bad({ cost: 5 })),
      ...unknownOption(`${verb}.cost`, 'context', 5),
    ] satisfies Attempt,
  ]);
}

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
  test.each(attempts)('%s', async (_, attempt, ...mistake) => {
    const { limiter, store } = await spentLimiter({ clock: manualClock(60_000) });
    const before = await limiter.peek('user:42');
    expectMistake(await rejectionOf(() => attempt(limiter)), ...mistake);
    expect(await limiter.peek('user:42')).toEqual(before);
    expect(before.decisions.map(({ remaining }) => remaining)).toEqual(ALL_POLICIES.map(() => 7));
    expect(store.stats().keys).toBe(ALL_POLICIES.length);
  });

  test.each(attempts)('%s: Redis is not asked', async (_, attempt, ...mistake) => {
    const asked: unknown[] = [];
    const store = redisStoreOver(async (script) => asked.push(script));
    const limiter = createLimiter({ policies: ALL_POLICIES, store });
    expectMistake(await rejectionOf(() => attempt(limiter)), ...mistake);
    expect(asked).toEqual([]);
  });
});

/** Both options take a function, and an error names the one that was written. */
const CHOICES = ['policy', 'policies'] as const;

describe('a policy function with a bad answer rejects before anything is spent', () => {
  const answers: readonly [title: string, answer: unknown, ...Mistake][] = [
    ['undefined', undefined, 'SLUICE_INVALID_POLICY', '', 'a policy'],
    ['null', null, 'SLUICE_INVALID_POLICY', '', 'a policy'],
    ['the name of a policy', 'free', 'SLUICE_INVALID_POLICY', '', 'a policy'],
    ['a promise of no policy', Promise.resolve(5), 'SLUICE_INVALID_POLICY', '', 'a policy', '5'],
    ['promises of policies', [Promise.resolve(policy)], 'SLUICE_INVALID_POLICY', '[0]', 'a policy', 'a promise'],
    ['an empty array', [], 'SLUICE_INVALID_POLICY', '', '1 to 64 policies', 'an empty array'],
    ['an array in an array', [policy, [policy]], 'SLUICE_INVALID_POLICY', '[1]', ONE_POLICY, 'an array of 1 item'],
    ['an array with undefined', [policy, undefined], 'SLUICE_INVALID_POLICY', '[1]', 'a policy'],
    [
      'duplicates',
      [policy, policy],
      'SLUICE_DUPLICATE_POLICY',
      '[1].name',
      says('(context)[1]: another policy of this limiter is already called "token-bucket". '),
    ],
    ['data', { ...policy }, 'SLUICE_INVALID_POLICY', '', says('(context): this is plain data, not a policy. ')],
    ['data among others', [policy, { ...policy }], 'SLUICE_INVALID_POLICY', '[1]', says('[1]: this is plain data')],
    ['an unknown algorithm', { algorithm: 'x' }, 'SLUICE_INVALID_POLICY', '', says('this is plain data')],
    ['a bad field', { ...policy, capacity: 0 }, 'SLUICE_INVALID_POLICY', '', says('this is plain data')],
  ];
  const rows = CHOICES.flatMap((choice) =>
    VERBS.flatMap((verb) =>
      answers.map((answer) => [`${choice}, ${verb}: ${answer[0]}`, choice, verb, answer] as const),
    ),
  );

  test.each(rows)('%s', async (_, choice, verb, [, answer, code, path, ...said]) => {
    const log = slidingWindowLog({ limit: 10, window: '1m' });
    const chosen = ({ answer }: { answer: unknown } = { answer: [policy, log] }) => bad(answer);
    const limiter: Limiter = createLimiter(
      bad({ [choice]: chosen, store: memoryStore({ clock: manualClock(60_000) }) }),
    );
    await limiter.attempt('user:42', { cost: 3 });
    const before = await limiter.peek('user:42');
    const error = await rejectionOf(() => limiter[verb]('user:42', { context: { answer } }));
    expectMistake(error, code, `${choice}(context)${path}`, ...said);
    expect(await limiter.peek('user:42')).toEqual(before);
    expect(before.remaining).toBe(7);
  });

  test.each(CHOICES)('%s: asynchronous', async (choice) => {
    const limiter: Limiter = createLimiter(bad({ [choice]: async () => 5 }));
    const error = await rejectionOf(() => limiter.attempt('user:42'));
    expectMistake(error, 'SLUICE_INVALID_POLICY', `${choice}(context)`, 'a policy', '5');
  });
});

describe('a policy function that needs a context and gets none says so', () => {
  const rows = CHOICES.flatMap((choice) => VERBS.map((verb) => [choice, verb] as const));

  test.each(rows)('%s, %s', async (choice, verb) => {
    const called: unknown[] = [];
    const chosen = ({ plan }: { plan: string }) => {
      called.push(plan);
      return slidingWindowLog({ limit: 10, window: '1m' });
    };
    const limiter: Limiter = createLimiter(bad({ [choice]: chosen }));
    for (const options of [undefined, {}, { context: undefined }]) {
      const error = await rejectionOf(() => limiter[verb]('user:42', options));
      expectMistake(error, 'SLUICE_INVALID_OPTION', 'context', 'the context that the policies', 'undefined');
    }
    expect(called).toEqual([]);
    await limiter[verb]('user:42', { context: { plan: 'free' } });
    expect(called).toEqual(['free']);
  });

  test.each(CHOICES)('%s: unless it needs none', async (choice) => {
    const withDefault = createLimiter<string | undefined>(
      bad({ [choice]: (plan = 'free') => tokenBucket({ capacity: plan.length, refillRate: 1 }) }),
    );
    expect((await withDefault.attempt('user:42')).limit).toBe(4);
    expect((await withDefault.attempt('user:42', { context: 'business' })).limit).toBe(8);
    const withOptional = createLimiter<string | undefined>(
      bad({ [choice]: (plan?: string) => (plan === undefined ? policy : bad(plan)) }),
    );
    expect((await withOptional.attempt('user:42')).limit).toBe(10);
    const withoutContext = createLimiter(bad({ [choice]: () => policy }));
    expect((await withoutContext.attempt('user:42')).limit).toBe(10);
    for (const context of [null, 0, '', false]) {
      const limiter = createLimiter(bad({ [choice]: (plan: unknown) => (plan === context ? policy : bad(plan)) }));
      expect((await limiter.attempt('user:42', { context })).limit).toBe(10);
    }
  });
});

describe('a clock that tells no time rejects before anything is spent', () => {
  const readings = [...BAD_TIMES, Number.NEGATIVE_INFINITY, undefined, 'noon', {}];
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
    [['5'], 'an array of 1 item'],
    [[5, 5], 'an array of 2 items'],
    [Promise.resolve(5), 'a promise'],
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

describe('a reply no script of ours gives rejects', () => {
  const verdicts = ['OK', 'QUEUED', '', null, undefined, [], {}, 0, Number.NaN, true, '1 1 1 1 1', '1 1 1 1 1 1 1'];
  const words = ['1 1 1 1 1 x', '1 1 1 1 1 1.5', '1 1 1 1 1 ', ' 1 1 1 1 1 1', '1 1 1 1 1 NaN', '1 1 1 1 1 nil'];
  const histories = [
    'OK',
    '',
    null,
    undefined,
    {},
    0,
    ['1'],
    ['x', 'y'],
    ['1', ''],
    ['1.5', '1'],
    [null, null],
    ['1', '2', '3'],
  ];
  const rows = [
    ...(['attempt', 'peek'] as const).flatMap((verb) => [...verdicts, ...words].map((reply) => [verb, reply] as const)),
    ...histories.map((reply) => ['history', reply] as const),
  ].map(([verb, reply]) => [`${verb}: ${write(reply)}`, verb, reply] as const);

  test.each(rows)('%s', async (_, verb, reply) => {
    const store = redisStoreOver(async () => reply);
    const limiter = createLimiter({ policy: slidingWindowLog({ limit: 5, window: '1m' }), store });
    const error = await rejectionOf(() => limiter[verb]('user:42'));
    expectMistake(error, 'SLUICE_UNEXPECTED_REPLY', 'redis', "the reply of Sluice's own script");
  });
});

/** Errors go to logs, and logs go to people who must not read a password. */
describe('no error tells a secret', () => {
  const SECRET = 'hunter2';
  const url = `redis://app:${SECRET}@localhost:1`;
  const SECRETS: readonly [title: string, holder: unknown][] = [
    ['text', url],
    ['long text', `${url}/${'x'.repeat(100)}`],
    ['a URL', new URL(url)],
    ['an object', { url, password: SECRET }],
    ['an array', [url]],
    ['a promise', Promise.resolve(url)],
    ['a function', () => url],
    ['a client of ioredis', new Redis(url, { lazyConnect: true })],
    ['a cluster of ioredis', new Cluster([url], { lazyConnect: true, redisOptions: { password: SECRET } })],
    ['a client of redis', createClient({ url, password: SECRET })],
    ['a pool of redis', createClientPool({ url })],
    ['a cluster of redis', createCluster({ rootNodes: [{ url }], defaults: { password: SECRET } })],
  ];
  const numbers: readonly [title: string, holder: unknown][] = [['a number', 4111111111111111]];
  const limiter = createLimiter({ policies: ALL_POLICIES });

  const places: (readonly [title: string, place: (holder: unknown) => unknown, code: ErrorCode])[] = [
    ...STORES.map(([module, , , redisStore]) => {
      return [`the client of ${module}`, (holder: unknown) => redisStore(holder), 'SLUICE_INVALID_CLIENT'] as const;
    }),
    ['a store', (store) => createLimiter({ policy, store: bad(store) }), 'SLUICE_INVALID_STORE'],
    ['an option of createLimiter', (url) => createLimiter(bad({ policy, url })), 'SLUICE_INVALID_OPTION'],
    ['an option of memoryStore', (url) => memoryStore(bad({ url })), 'SLUICE_INVALID_OPTION'],
    ['an option of redisStoreOver', (url) => redisStoreOver(async () => '', bad({ url })), 'SLUICE_INVALID_OPTION'],
    ...STORES.map(([module, own, , redisStore]) => {
      const place = (password: unknown) => redisStore(CLIENTS[own]![0]![1], { password });
      return [`an option of ${module}`, place, 'SLUICE_INVALID_OPTION'] as const;
    }),
    ...VERBS.map((verb) => {
      const place = (apiKey: unknown) => limiter[verb]('user:42', bad({ apiKey }));
      return [`an option of ${verb}`, place, 'SLUICE_INVALID_OPTION'] as const;
    }),
    ...FACTORIES.map(([name, make, good]) => {
      return [
        `a field of ${name}`,
        (password: unknown) => make({ ...good, password }),
        'SLUICE_INVALID_POLICY',
      ] as const;
    }),
    ['a field of data', (password) => checkPolicy({ ...policy, password }), 'SLUICE_INVALID_POLICY'],
  ];
  const rows = [
    ...places.flatMap(([title, place, code]) =>
      [...SECRETS, ...numbers]
        .filter(([holder]) => !title.startsWith('the client') || !isOwn(title, holder))
        .map(([holder, value]) => [`${title}: ${holder}`, () => place(value), code] as const),
    ),
    ...SECRETS.filter(([, holder]) => typeof holder !== 'function').map(([title, holder]) => {
      return [`redisStoreOver(run): ${title}`, () => redisStoreOver(bad(holder)), 'SLUICE_INVALID_CLIENT'] as const;
    }),
  ];

  test.each(rows)('%s', async (_, mistake, code) => {
    const error = await rejectionOf(async () => mistake());
    expect(error).toBeInstanceOf(SluiceError);
    expect(error).toMatchObject({ code });
    const told = inspect(error, { depth: null, showHidden: true, getters: true });
    expect(told).toContain((error as SluiceError).message);
    for (const secret of [SECRET, 'app:', '4111111111111111']) expect(told).not.toContain(secret);
  });

  /** Over its own package's client a store is right, whatever the client's password. */
  function isOwn(place: string, holder: string): boolean {
    return STORES.some(([module, own]) => place.endsWith(module) && holder.endsWith(` of ${own}`));
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
    const attempt = (cost: number | undefined) => limiter.attempt('user:42', { cost });

    expect(await attempt(0)).toMatchObject({ allowed: true, remaining: 10, retryAfter: null, resetAfter: 0 });
    expect(await attempt(-0)).toMatchObject({ allowed: true, remaining: 10, retryAfter: null, resetAfter: 0 });
    expect(await attempt(undefined)).toMatchObject({ allowed: true, remaining: 9 });
    expect((await limiter.attempt('user:42', {})).remaining).toBe(8);
    expect((await limiter.attempt('user:42', undefined)).remaining).toBe(7);
    expect((await limiter.peek('user:42', { cost: undefined })).remaining).toBe(7);
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
});

test('an option that is undefined is one that was left out', async () => {
  const name = undefined;
  expect(fixedWindow({ name, limit: 1, window: 1, align: undefined })).toEqual(fixedWindow({ limit: 1, window: 1 }));
  expect(slidingWindowLog({ name, limit: 1, window: 1 })).toEqual(slidingWindowLog({ limit: 1, window: 1 }));
  expect(slidingWindowCounter({ name, limit: 1, window: 1 })).toEqual(slidingWindowCounter({ limit: 1, window: 1 }));
  expect(tokenBucket({ name, capacity: 1, refillRate: 1 })).toEqual(tokenBucket({ capacity: 1, refillRate: 1 }));
  expect(leakyBucket({ name, capacity: 1, leakRate: 1, mode: undefined })).toEqual(
    leakyBucket({ capacity: 1, leakRate: 1 }),
  );
  expect(gcra({ name, limit: 7, period: 1, capacity: undefined })).toEqual(gcra({ limit: 7, period: 1 }));
  expect(manualClock(undefined).now()).toBe(0);

  const log = slidingWindowLog({ limit: 2, window: '1h' });
  const limiter = createLimiter({ policy: undefined, policies: [policy, log], store: undefined });
  expect((await limiter.attempt('user:42', { cost: undefined, context: undefined })).remaining).toBe(1);
  expect(await limiter.history('user:42', { policy: undefined, context: undefined })).toHaveLength(1);
  await limiter.reset('user:42', { context: undefined });
  expect(createLimiter({ policy, store: memoryStore({ clock: undefined, maxKeys: undefined }) })).toHaveProperty(
    'peek',
  );

  const names: string[] = [];
  const options = { prefix: undefined, hashKeys: undefined, clock: undefined };
  const store = redisStoreOver(async (_, keys) => names.push(...keys), options);
  await createLimiter({ policy, store }).reset('user:42');
  expect(names).toEqual(['sluice:{user:42}2ta,1']);
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
    expect(ruleOf(checkPolicy(data)).identity).toBe(ruleOf(policy).identity);
    expect(await story(checkPolicy(data))).toEqual(await story(policy));
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

function expectMistake(error: unknown, ...[code, path, expected, got]: Mistake): void {
  expect(error).toBeInstanceOf(SluiceError);
  const mistake = error as SluiceError;
  expect(mistake).toMatchObject({
    name: 'SluiceError',
    code,
    path,
    page: `node_modules/sluice/docs/errors/${code}.md`,
  });
  expect(mistake.message).toBe(`${mistake.sentence} (${code}, see ${mistake.page})`);
  if (typeof expected === 'object') {
    expect(mistake.sentence).toContain(expected.sentence);
    expect([mistake.expected, mistake.got]).toEqual(['', '']);
    return;
  }
  expect(mistake.sentence).toBe(`${path}: expected ${mistake.expected}, got ${mistake.got}.`);
  expect(mistake.expected).toContain(expected);
  expect(mistake.got).not.toBe('');
  if (got !== undefined) expect(mistake.got).toBe(got);
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
  if (typeof value === 'function') return `function ${value.name}`;
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint' ? `${value}n` : String(value);
  return Array.isArray(value)
    ? `[${value.map(write)}]`
    : `${value.constructor?.name} {${Object.keys(value).slice(0, 3)}}`;
}
