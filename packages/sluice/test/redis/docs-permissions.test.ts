/** The access list that the documentation shows is enough for everything Sluice does, and no command in it is there for nothing. */
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../../tools/servers/index.ts';
import { createLimiter, fixedWindow, type Policy, type Store } from '../../src/index.ts';
import { redisStore as overIoredis } from '../../src/presets/ioredis.ts';
import { checkServer, redisStore as overNodeRedis } from '../../src/presets/node-redis.ts';
import { SAMPLES } from '../../src/testing/samples.generated.ts';
import { textOf } from '../support/doc-blocks.ts';

const PAGES = ['docs/faults.md', 'docs/errors/SLUICE_STORE_REFUSES.md'];
/** The words of the command, as a shell would hand them on. */
const wordsOf = (page: string): string[] =>
  /^ACL SETUSER [^`]*/m
    .exec(textOf(page))![0]
    .split(/[\s\\]+/)
    .filter((word) => word !== '');
const words = wordsOf(PAGES[0]!);
/** What clients send by themselves, some of them only in some setups. */
const OF_CLIENTS = ['+ping', '+info', '+hello', '+client', '+select'];
const granted = words.filter((word) => word.startsWith('+'));

const NUMBERS = { limit: 1000, window: 3_600_000, capacity: 1000, rate: 1 };
const policies: readonly Policy[] = [
  ...SAMPLES.map(({ kind, policy }) => policy(NUMBERS, kind)),
  ...SAMPLES.map(({ policy }) => policy(NUMBERS)),
];

let server: RunningServer;
const closing: (() => unknown)[] = [];
beforeAll(async () => {
  server = await startServer({ kind: 'redis' });
  await server.command(...words);
});
afterAll(async () => {
  for (const close of closing) await close();
  await server?.stop();
});

const USER = { username: 'limits', password: 'password' };

async function everything(store: Store, prefix: string): Promise<void> {
  for (const policy of policies) {
    const limiter = createLimiter({ policy, store });
    const key = `${prefix} ${policy.name}`;
    const first = await limiter.attempt(key);
    await limiter.attempt(key);
    await Promise.all(Array.from({ length: 20 }, (_, index) => limiter.attempt(`${key} ${index % 7}`)));
    await limiter.refund(key, { of: first });
    await limiter.penalize(key, { cost: 2 });
    await limiter.block(key, '1m');
    await limiter.attempt(key);
    await limiter.unblock(key);
    await limiter.peek(key);
    if (policy.algorithm === 'sliding-window-log') await limiter.history(key);
    await limiter.reset(key);
  }
  const named = policies.slice(0, SAMPLES.length);
  await createLimiter({ policies: named, store }).attempt(prefix);
  // A state that ends within a moment is written in another way.
  const { source } = await createLimiter({ policy: fixedWindow({ limit: 10, window: 50 }), store }).attempt(prefix);
  expect(source).toBe('store');
}

async function storesAs(user: { username: string; password: string }): Promise<[string, Store][]> {
  const ioredis = new Redis({ port: server.port, ...user });
  const nodeRedis = createClient({ url: server.url, ...user });
  closing.push(
    () => ioredis.disconnect(),
    () => nodeRedis.destroy(),
  );
  for (const client of [ioredis, nodeRedis]) client.on('error', () => undefined);
  await nodeRedis.connect();
  return [
    ['ioredis', overIoredis(ioredis)],
    ['node-redis', overNodeRedis(nodeRedis)],
  ];
}

test('both pages show the same list', () => {
  expect(wordsOf(PAGES[1]!)).toEqual(words);
});

test('it is enough', async () => {
  for (const [name, store] of await storesAs(USER)) await everything(store, name);
  const client = await createClient({ url: server.url, ...USER }).connect();
  closing.push(() => client.destroy());
  expect(await checkServer(client)).toEqual([]);
  expect(await server.command('ACL', 'LOG')).toEqual([]);
});

/** But for PEXPIRE: only keys on a supplied clock (tests, simulations) expire by that. */
describe('each command of it is needed', () => {
  test.each(granted.filter((word) => !OF_CLIENTS.includes(word) && word !== '+pexpire'))('%s', async (word) => {
    await server.command('SCRIPT', 'FLUSH');
    await server.command('ACL', 'SETUSER', word, ...words.slice(3), word.replace('+', '-'));
    const [[name, store]] = (await storesAs({ username: word, password: 'password' })) as [[string, Store]];
    await expect(everything(store, `${name} ${word}`)).rejects.toMatchObject({ code: 'SLUICE_STORE_REFUSES' });
  });
});
