/** The ports of docs/engines/ports.md as they stand there, on a real Memcached, a real etcd and dynalite: the contract, and eight clients at the same time. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
import Memcached from 'memcached';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type SmallServer, startEtcd, startMemcached } from '../../../../tools/servers/small-servers.ts';
import { createLimiter, memoryStore, type Store, tokenBucket } from '../../src/index.ts';
import { layered, resilient } from '../../src/layers/index.ts';
import type { StoreOverOptions } from '../../src/store/index.ts';
import { storeContract } from '../../src/testing/index.ts';
import { blockFolder, type Folder, textOf } from '../support/doc-blocks.ts';
import { callsOf } from './support/calls-of.mjs';
import { expectInTable } from './support/measured.ts';
import { counted } from './support/open-store.mjs';
import { watchWarnings } from './support/outage.ts';

const PAGE = 'docs/engines/ports.md';
const blocks = [...textOf(PAGE).matchAll(/```typescript\n(.*?)```/gs)].map(([, code]) => code!);

let folder: Folder;
beforeAll(() => {
  folder = blockFolder('ports');
});
afterAll(() => folder?.remove());

// biome-ignore lint/suspicious/noExplicitAny: each takes a client of its own.
type MakeStore = (...args: any[]) => Store;

/** What the block exports that has this function in it. */
async function exported(name: string): Promise<MakeStore> {
  const index = blocks.findIndex((code) => code.includes(`export function ${name}(`));
  const code = blocks[index]!;
  // Forty lines of code, as the page says; what is imported and left blank aside.
  expect(
    code.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('import')).length,
  ).toBeLessThanOrEqual(42);
  const file = await folder.write({ page: PAGE, index, code, title: name });
  return (await import(file.href))[name];
}

interface Port {
  readonly name: string;
  /** Makes a client of its own for each call. */
  start(): Promise<{
    open(options: StoreOverOptions, calls?: string[]): Store;
    readonly on: string;
    stop(): Promise<void> | void;
  }>;
}

async function startDynalite(): Promise<{ server: Server; endpoint: string }> {
  const server = dynalite({ createTableMs: 0 });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const PORTS: readonly Port[] = [
  {
    name: 'Memcached',
    async start() {
      const server: SmallServer = await startMemcached();
      const make = await exported('memcachedStore');
      const clients: Memcached[] = [];
      return {
        on: `Memcached ${server.version}`,
        open(options, calls = []) {
          const client = new Memcached(`${server.host}:${server.port}`, { timeout: 60_000 });
          clients.push(client);
          return make(counted(client, ['gets', 'add', 'cas'], calls), options);
        },
        async stop() {
          for (const client of clients) client.end();
          await server.stop();
        },
      };
    },
  },
  {
    name: 'etcd',
    async start() {
      const server: SmallServer = await startEtcd();
      const make = await exported('etcdStore');
      return {
        on: `etcd ${server.version}`,
        open(options, calls) {
          if (calls !== undefined) counted(globalThis, ['fetch'], calls);
          return make(server.url, options);
        },
        stop: () => server.stop(),
      };
    },
  },
  {
    name: 'DynamoDB',
    async start() {
      const { server, endpoint } = await startDynalite();
      const make = await exported('dynamoStore');
      const credentials = { accessKeyId: 'none', secretAccessKey: 'none' };
      const clientOf = () => new DynamoDBClient({ endpoint, region: 'local', credentials, maxAttempts: 1 });
      const first = clientOf();
      const table = {
        TableName: 'limits',
        KeySchema: [{ AttributeName: 'key', KeyType: 'HASH' as const }],
        AttributeDefinitions: [{ AttributeName: 'key', AttributeType: 'S' as const }],
        BillingMode: 'PAY_PER_REQUEST' as const,
      };
      await first.send(new CreateTableCommand(table));
      const clients = [first];
      return {
        on: 'dynalite',
        open(options, calls = []) {
          clients.push(counted(clientOf(), ['send'], calls));
          return make(clients.at(-1), 'limits', options);
        },
        stop() {
          for (const client of clients) client.destroy();
          server.closeAllConnections();
          server.close();
        },
      };
    },
  },
];

describe.each(PORTS)('$name', ({ name, start }) => {
  let port: Awaited<ReturnType<Port['start']>>;
  let shared: Store;
  beforeAll(async () => {
    port = await start();
    shared = port.open({});
  });
  afterAll(() => port?.stop());

  let cases = 0;
  for (const { name, run } of storeContract(({ clock }) => {
    cases += 1;
    return port.open({ clock, prefix: `case ${cases}:` });
  })) {
    test(name, run);
  }

  test('eight clients are allowed exactly the limit', async () => {
    const policy = tokenBucket({ capacity: 50, refillRate: '1/d' });
    const allowed = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const limiter = createLimiter({ policy, store: port.open({ tries: 10_000 }) });
        const answers = await Promise.all(Array.from({ length: 100 }, () => limiter.attempt('shared')));
        return answers.filter((answer) => answer.allowed).length;
      }),
    );
    const sum = allowed.reduce((one, other) => one + other);
    expect(sum).toBe(50);
    const fetching = globalThis.fetch;
    const calls: string[] = [];
    const made = await callsOf(port.open({}, calls), calls);
    globalThis.fetch = fetching;
    await expectInTable(name, { allowed: sum, calls: made, on: port.on });
  });

  test('with the layers of the page, an outage is bounded and loud', async () => {
    const own = await start();
    // As on the page, but for the longer deadline of a busy machine until the engine is away.
    const layers = resilient({ fallback: { to: memoryStore() }, deadline: { timeout: '10s' } });
    const store = layered(own.open({}), layers);
    const limiter = createLimiter({ policy: tokenBucket({ capacity: 100, refillRate: '1/d' }), store });
    expect(await limiter.attempt('key')).toMatchObject({ source: 'store', remaining: 99 });
    const warnings = watchWarnings();
    await own.stop();
    const during = [];
    for (let time = 0; time < 12; time += 1) during.push((await limiter.attempt('key')).source);
    warnings.stop();
    expect(during).toEqual(Array(12).fill('fallback'));
    expect(warnings.codes).toEqual(['SLUICE_STORE_AWAY']);
  });

  test('no two keys share a state', async () => {
    const limiter = createLimiter({ policy: tokenBucket({ capacity: 5, refillRate: '1/d' }), store: shared });
    const keys = [
      '',
      ' ',
      '%',
      '\0',
      'a b',
      'é',
      '\ud800',
      '\ud801',
      '\ufffd',
      '"',
      'x'.repeat(3000),
      `${'x'.repeat(2999)}y`,
    ];
    for (const key of keys) expect((await limiter.attempt(key)).remaining, JSON.stringify(key.slice(0, 9))).toBe(4);
    for (const key of keys) expect((await limiter.attempt(key)).remaining, JSON.stringify(key.slice(0, 9))).toBe(3);
  });
});
