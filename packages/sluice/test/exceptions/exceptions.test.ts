/** Exceptions while a program runs: who is exempt, denied or has other numbers, on every kind of store, shared by a document. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../../tools/servers/index.ts';
import { waitUntil } from '../../../../tools/servers/wait-until.ts';
import {
  type Exceptions,
  type ExceptionsPort,
  exceptionsOver,
  redisExceptions,
  sharedExceptions,
} from '../../src/exceptions/index.ts';
import { denial, rateLimitHeaders } from '../../src/http/index.ts';
import {
  createLimiter,
  fixedWindow,
  manualClock,
  memoryStore,
  type Store,
  tokenBucket,
  unlimited,
} from '../../src/index.ts';
import { layered, shadow } from '../../src/layers/index.ts';
import { redisStore, runScriptWith } from '../../src/presets/ioredis.ts';
import { storeOver } from '../../src/store/index.ts';
import { mapPort } from '../support/map-port.ts';

let server: RunningServer;
let client: Redis;
beforeAll(async () => {
  server = await startServer({ kind: 'redis' });
  client = new Redis(server.url);
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

const opened: Exceptions[] = [];
afterEach(() => {
  for (const exceptions of opened.splice(0)) exceptions.close();
});
const sharing = (port: ExceptionsPort, more: object = {}): Exceptions => {
  const exceptions = sharedExceptions({ port, refresh: '50ms', ...more });
  opened.push(exceptions);
  return exceptions;
};

let names = 0;
interface Place {
  readonly store: Store;
  readonly port: () => ExceptionsPort;
}
const PLACES: readonly (readonly [name: string, make: () => Place])[] = [
  [
    'Redis',
    () => {
      const prefix = `exceptions-${++names}`;
      const store = redisStore(client, { prefix, deadline: '1m', silence: '1m' });
      return { store, port: () => redisExceptions(runScriptWith(client), { prefix }) };
    },
  ],
  [
    'storeOver',
    () => {
      const port = mapPort();
      return { store: storeOver(port), port: () => exceptionsOver(port) };
    },
  ],
];

const bucket = fixedWindow({ name: 'api', limit: 10, window: '1h', align: 'first' });

test('with hashed keys no key is in the document, and everything works by the key', async () => {
  const prefix = `hashed-${++names}`;
  const port = () => redisExceptions(runScriptWith(client), { prefix, hashKeys: true });
  const [one, other] = [sharing(port()), sharing(port())];
  const store = redisStore(client, { prefix, hashKeys: true, deadline: '1m', silence: '1m' });
  const [here, there] = [one, other].map((exceptions) => createLimiter({ policy: bucket, store, exceptions }));
  await one.exempt('user:secret', { for: '1h', reason: 'load test' });
  await one.deny({ network: '203.0.113.0/24' });
  await here!.block('user:blocked', '10m', { reason: 'abuse' });
  await waitUntil('the other process to see them', () => other.list().length === 3);
  expect(await there!.attempt('user:secret', { cost: 1000 })).toMatchObject({ allowed: true, source: 'exception' });
  expect(await there!.attempt('ip:203.0.113.9')).toMatchObject({ allowed: false, source: 'exception' });
  expect(await there!.attempt('user:other')).toMatchObject({ allowed: true, source: 'store' });
  expect(other.of('user:secret')).toMatchObject([{ kind: 'exempt', reason: 'load test' }]);
  const keys = await client.keys(`${prefix}*`);
  const texts = await Promise.all(keys.map((key) => client.get(key)));
  expect(`${keys.join()}${texts.join()}`).not.toMatch(/secret|blocked:|user:/);
  expect(texts.join()).toContain('203.0.113.0/24');
  await there!.unblock('user:blocked');
  expect(await other.remove('user:secret')).toBe(1);
  await waitUntil('the first process to see that', () => one.list().length === 1);
});

test('a limiter lists all that holds besides its policies', async () => {
  const exceptions = sharedExceptions();
  const limiter = createLimiter({ policy: bucket, exceptions });
  expect(limiter.exceptions()).toEqual([]);
  await exceptions.exempt({ prefix: 'partner:' });
  await exceptions.override('partner:1', { limit: 500 }, { for: '1h' });
  await limiter.block('user:13', '10m', { reason: 'abuse' });
  await waitUntil('the block to be listed', () => limiter.exceptions().length === 3);
  expect(limiter.exceptions().map(({ kind }) => kind)).toEqual(['exempt', 'override', 'block']);
  expect(limiter.exceptions('partner:1').map(({ kind }) => kind)).toEqual(['override', 'exempt']);
  expect(createLimiter({ policy: bucket }).exceptions()).toEqual([]);
});

test('in one process: exempt, denied, and other numbers, by key, prefix and network', async () => {
  const clock = manualClock(1_800_000_000_000);
  const exceptions = sharedExceptions({ clock });
  const limiter = createLimiter({ policy: bucket, store: memoryStore({ clock }), exceptions });
  await exceptions.exempt('user:1', { for: '1h', reason: 'load test' });
  await exceptions.deny({ prefix: 'bot:' }, '10m');
  await exceptions.deny({ network: '203.0.113.0/24' });
  await exceptions.exempt({ network: '203.0.113.128/25' });
  await exceptions.override('user:2', { limit: 5000 }, { until: new Date(clock.now() + 60_000), policy: 'api' });
  const all = Number.POSITIVE_INFINITY;
  expect(await limiter.attempt('user:1', { cost: 99 })).toMatchObject({
    ...{ allowed: true, limit: all, remaining: all, source: 'exception', retryAfter: null },
  });
  expect(await limiter.attempt('bot:7')).toMatchObject({
    ...{ allowed: false, limit: 10, remaining: 0, retryAfter: 600, resetAfter: 600, source: 'exception' },
  });
  expect(await limiter.attempt('ip:203.0.113.7')).toMatchObject({ allowed: false, retryAfter: all });
  expect((await limiter.attempt('ip:203.0.113.200')).allowed).toBe(true);
  expect((await limiter.attempt('203.0.113.9')).allowed).toBe(false);
  expect(await limiter.attempt('user:2', { cost: 99 })).toMatchObject({ allowed: true, limit: 5000, remaining: 4901 });
  expect(await limiter.attempt('user:3', { cost: 4 })).toMatchObject({ limit: 10, remaining: 6, source: 'store' });
  clock.advance(60_000);
  // The override has ended: what was spent stays spent.
  expect(await limiter.attempt('user:2')).toMatchObject({ allowed: false, limit: 10, remaining: 0 });
  clock.advance(540_000);
  expect((await limiter.attempt('bot:7')).allowed).toBe(true);
  expect(exceptions.list().map(({ kind, reason }) => [kind, reason])).toEqual([
    ['exempt', 'load test'],
    ['deny', undefined],
    ['exempt', undefined],
  ]);
  clock.advance(3_000_000);
  expect(await limiter.attempt('user:1')).toMatchObject({ limit: 10, remaining: 9 });
});

describe('what is more specific holds', () => {
  const setUp = async (...puts: ((exceptions: Exceptions) => Promise<unknown>)[]) => {
    const exceptions = sharedExceptions();
    for (const put of puts) await put(exceptions);
    return exceptions;
  };

  test.each([
    ['a key before a prefix', 'a:b:c', 'exempt'],
    ['a long prefix before a short one', 'a:b:d', 'deny'],
    ['a short prefix', 'a:x', 'exempt'],
    ['an empty tail', 'a:', 'exempt'],
    ['nothing', 'b', undefined],
    ['a prefix before a network', 'ip:10.1.2.3', 'exempt'],
    ['a small network before a large one', 'ip:10.2.0.1', 'deny'],
    ['a large network', 'ip:10.3.0.1', 'exempt'],
    ['no network', 'ip:11.0.0.1', undefined],
    ['IPv6', 'ip:2001:db8:1::/56', 'deny'],
    ['IPv6, outside', 'ip:2001:db9::/56', undefined],
    ['a subnet that is larger than the network', 'ip:2001::/16', undefined],
    ['an address in the middle of a key', 'all:ip:10.2.0.1|path:/', undefined],
    ['a long key', `ip:${'1'.repeat(60_000)}`, undefined],
  ])('%s: %s', async (_, key, kind) => {
    const exceptions = await setUp(
      (to) => to.exempt('a:b:c'),
      (to) => to.deny({ prefix: 'a:b:' }),
      (to) => to.exempt({ prefix: 'a:' }),
      (to) => to.exempt({ prefix: 'ip:10.1.' }),
      (to) => to.deny({ network: '10.1.0.0/16' }),
      (to) => to.deny({ network: '10.2.0.0/16' }),
      (to) => to.exempt({ network: '10.0.0.0/8' }),
      (to) => to.deny({ network: '2001:db8::/32' }),
    );
    expect(exceptions.of(key)[0]?.kind).toBe(kind);
  });

  test('one of a kind for a subject: the new one takes its place, and remove ends it', async () => {
    const exceptions = await setUp(
      (to) => to.exempt('a'),
      (to) => to.deny('a'),
      (to) => to.override('a', { limit: 5 }),
      (to) => to.override('a', { limit: 6 }),
      (to) => to.override('a', { limit: 7 }, { policy: 'api' }),
    );
    expect(exceptions.list().map(({ kind, numbers }) => [kind, numbers?.limit])).toEqual([
      ['deny', undefined],
      ['override', 6],
      ['override', 7],
    ]);
    expect(await exceptions.remove('a')).toBe(3);
    expect(await exceptions.remove('a')).toBe(0);
    expect(exceptions.list()).toEqual([]);
  });

  test('what stands in a file holds beside, and again when what took its place has ended', async () => {
    const clock = manualClock(1_800_000_000_000);
    const exceptions = sharedExceptions({ clock });
    exceptions.setFixed([{ kind: 'deny', network: '10.0.0.0/8', reason: 'not ours' }]);
    expect(exceptions.of('ip:10.0.0.1')[0]?.kind).toBe('deny');
    await exceptions.exempt({ network: '10.0.0.0/8' }, '1m');
    expect(exceptions.of('ip:10.0.0.1')[0]?.kind).toBe('exempt');
    clock.advance(60_000);
    expect(exceptions.of('ip:10.0.0.1')[0]?.kind).toBe('deny');
    exceptions.setFixed([]);
    expect(exceptions.list()).toEqual([]);
    expect(() => exceptions.setFixed([{ kind: 'deny' }])).toThrow(
      'exceptions[0]: expected one of key, prefix and network',
    );
  });
});

describe.each(PLACES)('shared on %s', (_, make) => {
  test('two processes: a change of one is seen by the other, and lost updates are not', async () => {
    const { store, port } = make();
    const [one, other] = [sharing(port()), sharing(port())];
    const limiter = createLimiter({ policy: bucket, store, exceptions: other });
    await Promise.all([
      one.exempt('vip'),
      other.deny('bad', { reason: 'spam' }),
      one.override('big', { limit: 500 }),
      ...Array.from({ length: 20 }, (_, index) => (index % 2 ? one : other).deny(`key:${index}`)),
    ]);
    await waitUntil('the list is as it should be', () => one.list().length === 23 && other.list().length === 23);
    expect((await limiter.attempt('vip', { cost: 1e6 })).allowed).toBe(true);
    expect((await limiter.attempt('bad')).allowed).toBe(false);
    expect((await limiter.attempt('big')).limit).toBe(500);
    await one.remove('bad');
    await waitUntil('the list is as it should be', () => other.of('bad').length === 0);
    expect((await limiter.attempt('bad')).allowed).toBe(true);
  });

  test('attempts on several keys are all or nothing', async () => {
    const { store, port } = make();
    const exceptions = sharing(port());
    const limiter = createLimiter({ policy: bucket, store, exceptions });
    await exceptions.deny('bad');
    await exceptions.exempt('vip');
    const denied = await limiter.attempt([{ key: 'a', cost: 3 }, { key: 'bad' }]);
    expect(denied).toMatchObject({ allowed: false, key: 'bad', source: 'exception' });
    expect((await limiter.peek('a')).remaining).toBe(10);
    const allowed = await limiter.attempt([
      { key: 'a', cost: 3 },
      { key: 'vip', cost: 1000 },
    ]);
    expect(allowed).toMatchObject({ allowed: true, key: 'a', remaining: 7 });
  });

  test('nothing is minted: refunds and settlements of an exempt key give nothing back, and charge nothing', async () => {
    const { store, port } = make();
    const exceptions = sharing(port());
    const limiter = createLimiter({ policy: bucket, store, exceptions });
    await limiter.attempt('a', { cost: 6 });
    await exceptions.exempt('a');
    const free = await limiter.attempt('a', { cost: 5 });
    const hold = await limiter.reserve('a', { cost: 5 });
    expect(await hold.commit(9)).toMatchObject({ changed: 4, missing: 0 });
    await exceptions.remove('a');
    expect((await limiter.refund('a', { cost: 5, of: free })).changed).toBe(0);
    expect((await limiter.peek('a')).remaining).toBe(4);
  });

  test('blocks hold immediately, by the state of the key, and are listed', async () => {
    const { store, port } = make();
    const [one, other] = [sharing(port()), sharing(port())];
    const limiter = createLimiter({ policy: bucket, store, exceptions: one });
    await limiter.block('a', '10m', { reason: 'card testing' });
    expect((await createLimiter({ policy: bucket, store, exceptions: other }).attempt('a')).allowed).toBe(false);
    await waitUntil('the list is as it should be', () => other.list().length === 1);
    expect(other.list()).toMatchObject([{ kind: 'block', key: 'a', reason: 'card testing' }]);
    expect(await other.remove('a')).toBe(0);
    await limiter.unblock('a');
    expect((await limiter.attempt('a')).allowed).toBe(true);
    await waitUntil('the list is as it should be', () => other.list().length === 0);
  });
});

test('Redis: keys without an exception cost no command more, and the poll is one script for each look', async () => {
  const prefix = 'counted';
  const port = redisExceptions(runScriptWith(client), { prefix });
  // It is asked only when the test says so.
  const exceptions = sharing(port, { wakeAfter: () => {} });
  await exceptions.deny('bad');
  await exceptions.exempt({ network: '10.0.0.0/8' });
  const store = redisStore(client, { prefix, deadline: '1m', silence: '1m' });
  const [plain, excepted] = [
    createLimiter({ policy: bucket, store }),
    createLimiter({ policy: bucket, store, exceptions }),
  ];
  const calls = async (): Promise<number> => {
    const text = await client.info('commandstats');
    return [...text.matchAll(/cmdstat_(\w+):calls=(\d+)/g)]
      .filter(([, name]) => name !== 'info')
      .reduce((sum, [, , count]) => sum + Number(count), 0);
  };
  const cost = async (act: () => Promise<unknown>): Promise<number> => {
    const before = await calls();
    await act();
    return (await calls()) - before;
  };
  const hundred = (limiter: typeof plain, name: string) => async () => {
    for (let index = 0; index < 100; index += 1) await limiter.attempt(`${name}:${index}`);
  };
  // Both have been asked once, so that the server knows the scripts.
  await plain.attempt('warm');
  await exceptions.refresh();
  const without = await cost(hundred(plain, 'a'));
  expect(await cost(hundred(excepted, 'b'))).toBe(without);
  expect(await cost(async () => void (await excepted.attempt('bad')))).toBe(0);
  expect(await cost(async () => void (await excepted.attempt('ip:10.0.0.1')))).toBe(0);
  // EVALSHA, and GETRANGE inside it.
  expect(await cost(() => exceptions.refresh())).toBe(2);
});

test('Redis away: the last known list stays in force, and a warning says so once each way', async () => {
  const own = await startServer({ kind: 'redis' });
  const other = new Redis(own.url, { retryStrategy: () => 50, maxRetriesPerRequest: 0 });
  other.on('error', () => {});
  const warnings: string[] = [];
  const exceptions = sharing(redisExceptions(runScriptWith(other)), {
    onWarning: ({ code }: { code: string }) => warnings.push(code),
  });
  const limiter = createLimiter({ policy: bucket, exceptions });
  await exceptions.deny('bad');
  await own.stop();
  await waitUntil('the list is as it should be', () => warnings.length === 1);
  expect(exceptions.isCurrent).toBe(false);
  expect((await limiter.attempt('bad')).allowed).toBe(false);
  expect((await limiter.attempt('good')).allowed).toBe(true);
  await expect(exceptions.exempt('vip')).rejects.toThrow();
  expect(exceptions.list().length).toBe(1);
  expect(warnings).toEqual(['SLUICE_STORE_AWAY']);
  const again = await startServer({ kind: 'redis', port: own.port });
  await waitUntil('the list is as it should be', () => exceptions.isCurrent);
  expect(warnings).toEqual(['SLUICE_STORE_AWAY', 'SLUICE_STORE_BACK']);
  other.disconnect();
  exceptions.close();
  await again.stop();
});

test('exceptions hold for unlimited keys and for limits that are only tried', async () => {
  const exceptions = sharedExceptions();
  await exceptions.deny('bad');
  const free = createLimiter({ policy: unlimited(), exceptions });
  expect((await free.attempt('bad')).allowed).toBe(false);
  const tried = createLimiter({ policy: bucket, store: layered(exceptions.around(memoryStore()), shadow()) });
  expect((await tried.attempt('bad')).allowed).toBe(false);
});

test('clients are told when to come back, and never why', async () => {
  const exceptions = sharedExceptions();
  const limiter = createLimiter({ policy: tokenBucket({ name: 'api', capacity: 5, refillRate: 1 }), exceptions });
  await exceptions.deny('a', { reason: 'fraud' });
  await exceptions.exempt('b');
  const result = await limiter.attempt('a');
  const { status, headers, body } = denial(result, { headers: rateLimitHeaders(result) });
  expect(status).toBe(429);
  expect(JSON.parse(body).message).toBe('Too many requests. This client is blocked.');
  expect(JSON.stringify({ headers, body, result })).not.toContain('fraud');
  expect(rateLimitHeaders(await limiter.attempt('b'))).toEqual({});
});

describe('bounds', () => {
  test('what is found for a key costs the same, however many there are', async () => {
    const entries = Array.from({ length: 20_000 }, (_, index) => [
      { kind: 'deny', key: `key:${index}` },
      { kind: 'deny', prefix: `prefix:${index}:` },
      { kind: 'deny', network: `10.${index >> 8}.${index & 255}.0/24` },
    ]).flat();
    const [few, many] = [sharedExceptions(), sharedExceptions()];
    few.setFixed(entries.slice(0, 30));
    many.setFixed(entries);
    const time = (exceptions: Exceptions): number => {
      const startedAt = performance.now();
      for (let index = 0; index < 100_000; index += 1) exceptions.of(`prefix:${index % 10}`);
      return performance.now() - startedAt;
    };
    time(few);
    time(many);
    // Generous: a scan would be a thousand times as long.
    expect(time(many)).toBeLessThan(20 * time(few) + 200);
    expect(many.of('ip:10.78.31.9')[0]?.network).toBe('10.78.31.0/24');
    expect(many.of('prefix:19999:x')[0]?.prefix).toBe('prefix:19999:');
  });

  test('no more than so many', async () => {
    const exceptions = sharedExceptions({ maxEntries: 2 });
    await exceptions.deny('a');
    await exceptions.deny('b');
    await exceptions.deny('b', '1h');
    await expect(exceptions.deny('c')).rejects.toThrow('There are 2 exceptions, and no more are possible.');
    await exceptions.remove('a');
    await exceptions.deny('c');
  });

  test.each([
    [(to: Exceptions) => to.deny(''), 'deny.key: expected a text of 1 to 1024 characters'],
    [(to: Exceptions) => to.deny('x'.repeat(1025)), 'deny.key: expected a text of 1 to 1024 characters, got 1025'],
    [(to: Exceptions) => to.deny({ prefix: '' }), 'deny.prefix: expected a text of 1 to 256 characters'],
    [
      (to: Exceptions) => to.deny({ network: '10.0.0/8' }),
      "deny.network: expected an address or a network such as '10",
    ],
    [(to: Exceptions) => to.deny({ network: '10.0.0.0/33' }), 'deny.network: expected an address or a network'],
    [(to: Exceptions) => to.deny(42 as never), "deny: expected a key, { prefix: '...' } or { network"],
    [(to: Exceptions) => to.deny('a', '1x' as never), 'deny.for: expected a positive number of milliseconds'],
    [(to: Exceptions) => to.deny('a', { for: '1h', until: '2099-01-01' }), 'deny: expected for or until, got both'],
    [(to: Exceptions) => to.deny('a', { until: '2001-01-01' }), 'deny.until: expected a moment that lies ahead'],
    [(to: Exceptions) => to.deny('a', { until: 'soon' }), "deny.until: expected a date, or text such as '2027"],
    [(to: Exceptions) => to.deny('a', { reason: 'x'.repeat(201) }), 'deny.reason: expected a text of 1 to 200'],
    [(to: Exceptions) => to.deny('a', { why: 'x' } as never), 'deny: unknown option `why`'],
    [(to: Exceptions) => to.override('a', {}), 'override.numbers: expected the numbers that hold instead'],
    [(to: Exceptions) => to.override('a', { align: 'first' }), 'override.numbers: expected the numbers that hold'],
  ])('a wrong exception is an error: %#', async (put, message) => {
    await expect(put(sharedExceptions())).rejects.toThrow(message);
  });
});

test('reading in the background keeps no process alive', async () => {
  const built = new URL('../../dist/exceptions/index.js', import.meta.url).href;
  const program = `import { sharedExceptions } from ${JSON.stringify(built)};
    const port = { read: () => ({ version: undefined }), swap: () => true };
    await sharedExceptions({ port, refresh: '1h' }).deny('a');`;
  // It would go on for ever, and the test with it.
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
});

test('what cannot be read is no empty list', async () => {
  const warnings: string[] = [];
  const texts = ['{"format":1,"entries":[{"kind":"deny","key":"bad"}]}', 'nonsense', '{"format":2}'];
  let at = 0;
  const port: ExceptionsPort = { read: () => ({ version: `v${at}`, text: texts[at] }), swap: () => false };
  const exceptions = sharing(port, {
    wakeAfter: () => {},
    onWarning: ({ code }: { code: string }) => warnings.push(code),
  });
  await exceptions.refresh();
  expect(exceptions.of('bad').length).toBe(1);
  for (at = 1; at < 3; at += 1) {
    await expect(exceptions.refresh()).rejects.toThrow();
    expect(exceptions.of('bad').length).toBe(1);
  }
  at = 0;
  await exceptions.refresh();
  expect(warnings).toEqual(['SLUICE_STORE_AWAY', 'SLUICE_STORE_BACK']);
  await expect(exceptions.deny('x')).rejects.toThrow('were changed by others 32 times');
});
