/** Keys are any string: no two different pairs of policy and key share state, and all policies of a key lie in one cluster slot. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningServer } from '../../../../tools/servers/index.ts';
import {
  createLimiter,
  fixedWindow,
  gcra,
  leakyBucket,
  manualClock,
  type Policy,
  SluiceError,
  type Store,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '../../src/index.ts';
import { keyNamer } from '../../src/redis/keys.ts';
import { redisStoreOver } from '../../src/redis/redis-store.ts';
import { sha256 } from '../../src/redis/sha256.ts';
import { decide, forget } from '../support/asking.ts';
import { type Random, randomFrom, testSeed } from '../support/random.ts';
import { type Connection, SERVER_KINDS, serversOf, TOPOLOGIES } from './support/topologies.ts';

const KEYS: readonly string[] = [
  ...['', ' ', ':', '::', '{', '}', '{}', '}{', '{{', '}}', '{}}', '{a}', 'a{b}c', '}t', '}t:x', '}2t', '}2t:x'],
  ...['%', '%%', '%;', '%7d;', '%7D;', '%25;', '%257d;', '%d800;', 'd800', '%25'],
  ...['\n', '\r\n', '\t', '\0', 'a\0b', '\u007f', '\\', '"', "'", '$4\r\nPING\r\n', '*', '?', '[a]'],
  // What another policy's or another key's Redis key looks like.
  ...[
    'a',
    'a}t',
    'a}t:b',
    'a}t:b}t',
    'a}2t:b}2t',
    'sluice',
    'sluice:',
    'sluice:{a}t',
    'sluice:{',
    'x:{a',
    '0',
    '1',
    '-1',
    'null',
    'undefined',
  ],
  ...['é', 'e\u0301', 'ß', 'ẞ', '漢字', '😀', '👩‍👩‍👧‍👦', '\u200b', '\ufeff', '\uffff', '\u{10ffff}', 'A', 'Ａ'],
  // Each lone surrogate would be written as U+FFFD, like every other.
  ...['\ud800', '\ud801', '\udfff', '\ufffd', '\ud800\ud800', '\ud800a', '\udc00\ud800', '\ud83d', '\ude00'],
  ...['x'.repeat(10_000), `${'x'.repeat(10_000)}y`, '}'.repeat(3000), '\ud800'.repeat(500), '😀'.repeat(1000)],
];

const NAMES = [
  't',
  ':',
  '::',
  '{',
  '}',
  '{}',
  '}{',
  '%',
  '%7d;',
  ' ',
  'a',
  'a}t:b',
  'sluice',
  'sluice:{a}t',
  'gcra',
  'token-bucket',
  'n'.repeat(64),
];

/** One unit, and nothing comes back while the tests run. */
function policiesNamed(name: string): Policy[] {
  return [
    fixedWindow({ name, limit: 1, window: '36500d' }),
    slidingWindowLog({ name, limit: 1, window: '1d' }),
    slidingWindowCounter({ name, limit: 1, window: '36500d' }),
    tokenBucket({ name, capacity: 1, refillRate: '1/d' }),
    leakyBucket({ name, capacity: 1, leakRate: '1/d' }),
    leakyBucket({ name, capacity: 1, leakRate: '1/d', mode: 'shaping' }),
    gcra({ name, limit: 1, period: '1d' }),
  ];
}

const NAMED = NAMES.flatMap(policiesNamed);
const UNNAMED = [
  fixedWindow({ limit: 1, window: '36500d' }),
  fixedWindow({ limit: 1, window: '36499d' }),
  fixedWindow({ limit: 1, window: '36499d', align: 'first' }),
  slidingWindowLog({ limit: 1, window: '1d' }),
  slidingWindowCounter({ limit: 1, window: '36500d' }),
  tokenBucket({ capacity: 1, refillRate: '1/d' }),
  tokenBucket({ capacity: 1, refillRate: '2/d' }),
  leakyBucket({ capacity: 1, leakRate: '1/d' }),
  leakyBucket({ capacity: 1, leakRate: '1/d', mode: 'shaping' }),
  gcra({ limit: 1, period: '1d' }),
  gcra({ limit: 1, period: '1h' }),
];
const POLICIES = [...NAMED, ...UNNAMED];
/** Few enough to ask for each slot one by one. */
const SOME = [...policiesNamed('a}t:b'), ...UNNAMED];

const spend = (store: Store, key: string, policies: readonly Policy[]) =>
  decide(
    store,
    policies.map((policy) => ({ key, policy, cost: 1 })),
  );

async function expectAll(store: Store, key: string, policies: readonly Policy[], allowed: boolean): Promise<void> {
  const { verdicts } = await spend(store, key, policies);
  const wrong = policies
    .filter((_, index) => verdicts[index]!.allowed !== allowed)
    .map(({ name, algorithm }) => `${algorithm} ${name}`);
  expect(wrong, `key ${JSON.stringify(key.slice(0, 40))}`).toEqual([]);
}

describe('the name of a state in Redis', () => {
  it.each([
    ['key as it is', {}],
    ['hashed', { hashKeys: true }],
    ['without a prefix', { prefix: '' }],
  ])('differs for every pair of key and policy: %s', (_, options) => {
    expect(new Set(KEYS).size).toBe(KEYS.length);
    const nameOf = keyNamer(options);
    const pairs = KEYS.flatMap((key) => POLICIES.map((policy) => nameOf(key, policy)));
    expect(new Set(pairs).size).toBe(KEYS.length * POLICIES.length);
    // Also as the bytes that are sent.
    expect(new Set(pairs.map((name) => Buffer.from(name).toString('hex'))).size).toBe(pairs.length);
  });

  it('differs for every prefix', () => {
    const prefixes = ['', 'sluice', 'sluice:', 'a', 'a:', ':', '::', '%', 'x'.repeat(128)];
    const names = prefixes.flatMap((prefix) => KEYS.map((key) => keyNamer({ prefix })(key, POLICIES[3]!)));
    expect(new Set(names).size).toBe(prefixes.length * KEYS.length);
  });

  it.each(['{', '}', 'a{b', '{a}', '\ud800', 'x'.repeat(129), 7, null])('cannot have the prefix %j', (prefix) => {
    expect(() => keyNamer({ prefix: prefix as string })).toThrow(SluiceError);
  });

  it('differs for random keys of the characters that matter', () => {
    const random = randomFrom(testSeed());
    const characters = ['{', '}', '%', ':', ';', '7', 'd', '2', '5', 't', 'a', '\ud800', '\udc00', '\ufffd', '\0'];
    const text = (): string => Array.from({ length: random.whole(0, 6) }, () => random.pick(characters)).join('');
    const keys = new Set(Array.from({ length: 20_000 }, text));
    const nameOf = keyNamer({});
    const [policy, other] = [
      tokenBucket({ capacity: 1, refillRate: 1 }),
      tokenBucket({ name: '}t', capacity: 1, refillRate: 1 }),
    ];
    const names = [...keys].flatMap((key) => [nameOf(key, policy), nameOf(key, other)]);
    expect(new Set(names.map((name) => Buffer.from(name).toString('hex'))).size).toBe(keys.size * 2);
  });
});

describe.each(SERVER_KINDS)('%s', (kind) => {
  const servers = serversOf(kind);
  afterAll(() => servers.stop());

  describe('a single server', () => {
    let server: RunningServer;
    let connection: Connection;
    beforeAll(async () => {
      server = await servers.single();
      connection = await TOPOLOGIES.find((topology) => topology.title === `ioredis client on ${kind}`)!.connect(
        servers,
      );
    });
    afterAll(() => connection.close());

    it.each([
      ['keys as they are', {}],
      ['hashed keys', { hashKeys: true }],
    ])('keeps every pair of key and policy apart: %s', async (_, options) => {
      await server.command('FLUSHALL');
      const store = connection.store(options);
      for (const key of KEYS) await expectAll(store, key, POLICIES, true);
      for (const key of KEYS) await expectAll(store, key, POLICIES, false);
      expect(await server.command('DBSIZE')).toBe(KEYS.length * POLICIES.length);
    });

    it('keeps prefixes apart, and forgets only what it is told to', async () => {
      await server.command('FLUSHALL');
      const stores = ['one', 'two', 'one:', ''].map((prefix) => connection.store({ prefix }));
      for (const store of stores) for (const key of KEYS) await expectAll(store, key, SOME, true);
      for (const key of KEYS) await forget(stores[0]!, key, SOME);
      for (const key of KEYS) await expectAll(stores[0]!, key, SOME, true);
      for (const store of stores) for (const key of KEYS) await expectAll(store, key, SOME, false);
    });

    it.each(
      TOPOLOGIES.filter((topology) => topology.kind === kind && topology.shape === 'single').map(
        ({ title, connect }) => [title, connect] as const,
      ),
    )('every client writes the same key: %s', async (_, connect) => {
      await server.command('FLUSHALL');
      for (const key of KEYS) await expectAll(connection.store(), key, SOME, true);
      const other = await connect(servers);
      for (const key of KEYS) await expectAll(other.store(), key, SOME, false);
      await other.close();
    });

    it('with hashed keys has nothing of a key in its keys and commands, and answers the same', async () => {
      await server.command('FLUSHALL');
      const clock = manualClock(1_763_280_000_000);
      const sent: string[] = [];
      const hashed = redisStoreOver(
        (script, keys, args) => {
          sent.push(...keys, ...args);
          return connection.run(script, keys, args);
        },
        { prefix: 'hashed', hashKeys: true, clock },
      );
      const plain = connection.store({ prefix: 'plain', clock });
      const secret = 'mrs.miller@example.com';
      const personal = KEYS.map((key) => `${key}${secret}${key}`);
      for (const key of personal) {
        for (let i = 0; i < 2; i += 1) expect(await spend(hashed, key, SOME)).toEqual(await spend(plain, key, SOME));
        const log = SOME.find(({ algorithm }) => algorithm === 'sliding-window-log')!;
        const listed = (store: Store) => createLimiter({ policy: log, store }).history(key);
        expect(await listed(hashed)).toEqual(await listed(plain));
        clock.advance(1);
      }
      const names = (await server.command('KEYS', '*')) as string[];
      const ofHashed = names.filter((name) => name.startsWith('hashed'));
      expect(ofHashed).toHaveLength(KEYS.length * SOME.length);
      expect(names.filter((name) => name.includes('miller'))).toHaveLength(KEYS.length * SOME.length);
      for (const name of ofHashed) expect(name).toMatch(/^hashed:\{[\w-]{43}\}2[flctpsg]/);
      expect(sent.filter((word) => word.includes('miller') || word.includes('example'))).toEqual([]);
      await forget(hashed, personal[0]!, SOME);
      await expectAll(hashed, personal[0]!, SOME, true);
    });
  });

  describe('a cluster', () => {
    it('has all policies of a key in one slot, and different keys in different ones', async () => {
      const [node] = (await servers.cluster()).nodes;
      const slots = new Set<number>();
      for (const options of [{}, { hashKeys: true }, { prefix: '' }]) {
        const nameOf = keyNamer(options);
        for (const key of KEYS) {
          const names = SOME.map((policy) => nameOf(key, policy));
          const found = new Set(await Promise.all(names.map((name) => node!.command('CLUSTER', 'KEYSLOT', name))));
          expect(found.size, `key ${JSON.stringify(key.slice(0, 40))}`).toBe(1);
          for (const slot of found) slots.add(Number(slot));
        }
      }
      expect(slots.size).toBeGreaterThan(KEYS.length);
    });

    it.each(
      TOPOLOGIES.filter((topology) => topology.kind === kind && topology.shape === 'cluster').map(
        ({ title, connect }) => [title, connect] as const,
      ),
    )('decides several policies at once for every key: %s', async (title, connect) => {
      const connection = await connect(servers);
      for (const hashKeys of [false, true]) {
        const store = connection.store({ prefix: title, hashKeys });
        for (const key of KEYS) await expectAll(store, key, POLICIES, true);
        for (const key of KEYS) await expectAll(store, key, POLICIES, false);
        for (const key of KEYS) await forget(store, key, POLICIES);
        for (const key of KEYS) await expectAll(store, key, SOME, true);
      }
      await connection.close();
    });
  });
});

describe('sha256', () => {
  const expected = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('base64url');
  const ALPHABETS = ['a', 'abcdefghijklmnopqrstuvwxyz0123456789', '\0\u007f\u0080\u07ff\u0800\uffff', '😀é漢a'];

  const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text);

  function randomText(random: Random, length: number): string {
    const characters = Array.from(random.pick(ALPHABETS));
    return Array.from({ length }, () => random.pick(characters)).join('');
  }

  it('equals that of node:crypto for every length', () => {
    const random = randomFrom(testSeed());
    for (let length = 0; length <= 200; length += 1) {
      for (let i = 0; i < 10; i += 1) {
        const text = randomText(random, length);
        expect(sha256(text), JSON.stringify(text)).toBe(expected(text));
      }
    }
    for (const length of [1000, 4096, 10_000, 65_536]) {
      const text = randomText(random, length);
      expect(sha256(text)).toBe(expected(text));
    }
    for (const key of KEYS.filter(isWellFormed)) expect(sha256(key)).toBe(expected(key));
  });

  it('tells lone surrogates apart', () => {
    const texts = KEYS.filter((text) => !isWellFormed(text));
    expect(texts.length).toBeGreaterThan(5);
    for (const text of texts) {
      const units = Buffer.from(text, 'utf16le').swap16();
      expect(sha256(text)).toBe(expected(Buffer.concat([Buffer.of(0xff), units])));
    }
    expect(new Set(KEYS.map(sha256)).size).toBe(KEYS.length);
  });
});
