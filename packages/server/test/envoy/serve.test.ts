/** `sluice serve` with a domain, as a process: where it listens, how limits change under a client, and several of them on one Redis. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { status } from '@grpc/grpc-js';
import { afterAll, describe, expect, test } from 'vitest';
import { startServer } from '../../../../tools/servers/index.ts';
import { eventually, type ServingProcess, serve, sluice } from '../processes.ts';
import { ask } from '../support.ts';
import { type GrpcClient, grpcClient, jsonOf } from './support.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-envoy-'));
afterAll(() => rmSync(folder, { recursive: true }));
const sample = fileURLToPath(new URL('../../../../examples/gateways/envoy/ratelimit.yaml', import.meta.url));

const limit = (requests: number): string =>
  `domain: shop\ndescriptors: [{ key: user, rate_limit: { unit: year, requests_per_unit: ${requests} } }]\n`;
const asked = { domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'ann' }] }] };
const look = { domain: 'shop', descriptors: [{ ...asked.descriptors[0]!, hitsAddend: { value: 0 } }] };

function grpcPortOf({ greeting }: ServingProcess): number {
  return Number(/over gRPC at 127\.0\.0\.1:(\d+)/.exec(greeting)?.[1]);
}

function clientOf(server: ServingProcess): GrpcClient {
  return grpcClient(grpcPortOf(server));
}

/** Through a relay that counts connections. */
async function countedClientOf(server: ServingProcess) {
  let count = 0;
  const relay = createServer((socket) => {
    count += 1;
    const onward = connect(grpcPortOf(server), '127.0.0.1');
    socket.pipe(onward).pipe(socket);
    for (const end of [socket, onward]) end.on('error', () => {});
  });
  await once(relay.listen(0, '127.0.0.1'), 'listening');
  const client = grpcClient((relay.address() as AddressInfo).port);
  const close = (): void => {
    client.close();
    relay.close();
  };
  return { client, connections: () => count, close };
}

test('says where Envoy asks and what it limits, and ends with SIGTERM', async () => {
  const server = await serve(['--config', sample, '--grpc-port', '0']);
  expect(server.greeting).toContain(`  the domain shop of ${sample}\n`);
  const client = clientOf(server);
  expect((await client.ask(look)).overallCode).toBe('OK');
  expect((await ask(`${server.url}/json`, { method: 'POST', body: JSON.stringify(jsonOf(look)) })).status).toBe(200);
  server.signal('SIGTERM');
  expect(await server.ended).toBe(0);
  await expect(client.ask(look)).rejects.toMatchObject({ code: status.UNAVAILABLE });
  client.close();
});

test('without a domain there is no gRPC, unless it is asked for: then it waits for one', async () => {
  const without = await serve([]);
  expect(without.greeting).not.toContain('gRPC');
  await without.stop();
  const server = await serve(['--grpc-port', '0']);
  const client = clientOf(server);
  await expect(client.ask(asked)).rejects.toMatchObject({ details: 'no rate limit configuration loaded' });
  client.close();
  await server.stop();
});

test('a changed file changes the limits, not what was spent, and no connection is lost; a bad one changes nothing', async () => {
  const file = join(folder, 'reload.yaml');
  writeFileSync(file, limit(5));
  const server = await serve(['--config', file, '--grpc-port', '0'], { LIMIT_RESPONSE_HEADERS_ENABLED: 'true' });
  const { client, connections, close } = await countedClientOf(server);
  expect((await client.ask({ ...asked, hitsAddend: 3 })).responseHeadersToAdd[1]).toEqual({
    ...{ key: 'RateLimit-Remaining', value: '2' },
  });
  const metrics = async (): Promise<string> => (await ask(`${server.url}/metrics`, {})).text;
  expect(await metrics()).toContain('ratelimit_service_config_load_success 1\n');

  const remaining = async (): Promise<number> => (await client.ask(look)).statuses[0].limitRemaining ?? 0;
  writeFileSync(file, limit(10));
  expect(await eventually(remaining, (left) => left === 7)).toBe(7);

  writeFileSync(file, limit(10).replace('year', 'yaer'));
  const isCounted = (text: string): boolean => text.includes('ratelimit_service_config_load_error 1\n');
  expect(isCounted(await eventually(metrics, isCounted))).toBe(true);
  expect(await metrics()).toContain('ratelimit_service_config_load_success 2\n');
  expect(await remaining()).toBe(7);
  const { problems } = server.logs().find(({ level }) => level === 'error') as { problems: string[] };
  expect(problems[0]).toMatch(`${file}: invalid rate limit unit 'yaer'`);

  writeFileSync(file, limit(2));
  const isOver = async (): Promise<string> => (await client.ask(look)).overallCode;
  expect(await eventually(isOver, (code) => code === 'OVER_LIMIT')).toBe('OVER_LIMIT');
  expect(connections()).toBe(1);
  close();
  await server.stop();
});

describe('a first domain that comes later', () => {
  const own = 'policies: { api: { algorithm: gcra, limit: 1, period: 1s } }\n';
  const logged = (server: ServingProcess, message: string) =>
    eventually(
      async () => server.logs().find((line) => line.message === message),
      (line) => line !== undefined,
    );
  const opened = (server: ServingProcess) => logged(server, 'Envoy can now ask over gRPC');

  // Addresses of this machine that nobody else listens on: the port is the one for servers that were told none.
  test('is answered at /json and over gRPC, which is opened for it', async () => {
    const file = join(folder, 'later.yaml');
    writeFileSync(file, own);
    const server = await serve(['--config', file, '--host', '127.83.76.1']);
    expect(server.greeting).not.toContain('gRPC');
    writeFileSync(file, limit(5));
    expect(await opened(server)).toMatchObject({ level: 'info', grpc: '127.83.76.1:8081' });
    const json = () => ask(`${server.url}/json`, { method: 'POST', body: JSON.stringify(jsonOf(look)) });
    expect((await eventually(json, ({ status }) => status === 200)).body.statuses[0].limitRemaining).toBe(5);
    const client = grpcClient(8081, { host: '127.83.76.1' });
    expect((await client.ask(look)).statuses[0].limitRemaining).toBe(5);
    writeFileSync(file, limit(6));
    const remaining = async (): Promise<number> => (await client.ask(look)).statuses[0].limitRemaining ?? 0;
    expect(await eventually(remaining, (left) => left === 6)).toBe(6);
    client.close();
    await server.stop();
  });

  test('where the port is taken: it is logged, /json answers, and the next change tries again', async () => {
    const file = join(folder, 'taken.yaml');
    writeFileSync(file, own);
    const other = createServer();
    await once(other.listen(8081, '127.83.76.2'), 'listening');
    const server = await serve(['--config', file, '--host', '127.83.76.2']);
    writeFileSync(file, limit(5));
    const failure = await logged(server, 'Envoy can ask only at /json until the config changes again');
    expect(failure).toMatchObject({ level: 'error', error: expect.stringContaining('EADDRINUSE') });
    expect((await ask(`${server.url}/json`, { method: 'POST', body: JSON.stringify(jsonOf(look)) })).status).toBe(200);
    other.close();
    writeFileSync(file, limit(6));
    expect(await opened(server)).toMatchObject({ grpc: '127.83.76.2:8081' });
    await server.stop();
  });
});

test('two servers on one Redis enforce one limit exactly, over gRPC and /json at once', async () => {
  const redis = await startServer({ kind: 'redis' });
  const file = join(folder, 'redis.yaml');
  writeFileSync(file, limit(150));
  const args = ['--config', file, '--grpc-port', '0', '--redis', redis.url, '--deadline', '30s'];
  const servers = await Promise.all([serve(args), serve(args)]);
  const clients = servers.map(clientOf);
  const codes = await Promise.all(
    Array.from({ length: 250 }, async (_, index) => {
      if (index % 2 === 0) return (await clients[index % 4 === 0 ? 0 : 1]!.ask(asked)).overallCode;
      const url = `${servers[index % 4 === 1 ? 0 : 1]!.url}/json`;
      return (await ask(url, { method: 'POST', body: JSON.stringify(asked) })).body.overallCode;
    }),
  );
  expect(codes.filter((code) => code === 'OK')).toHaveLength(150);
  expect(codes.filter((code) => code === 'OVER_LIMIT')).toHaveLength(100);
  for (const client of clients) client.close();
  await Promise.all(servers.map((server) => server.stop()));
  await redis.stop();
});

test('a port that is taken is named', async () => {
  const server = await serve(['--grpc-port', '0']);
  const port = String(grpcPortOf(server));
  const taken = await sluice('serve', '--port', '0', '--grpc-port', port);
  expect([taken.code, taken.error]).toEqual([
    3,
    expect.stringContaining(`cannot listen for gRPC on 127.0.0.1:${port}:`),
  ]);
  await server.stop();
});

test.each([
  [['--grpc-port', 'x'], {}, '--grpc-port: expected a number'],
  [['--envoy-denied', 'x'], {}, '--envoy-denied: expected free or spend'],
  [[], { SHADOW_MODE: 'maybe' }, 'SHADOW_MODE: expected true or false'],
  [[], { NEAR_LIMIT_RATIO: '2' }, 'NEAR_LIMIT_RATIO: expected a number above 0'],
])('serve %j with %j is wrong usage', async (args, environment, message) => {
  await expect(serve(args, environment)).rejects.toThrow(`ended with 2: sluice serve: ${message}`);
});

test('sluice check knows such files', async () => {
  expect(await sluice('check', sample)).toMatchObject({
    code: 0,
    out: `${sample}: domain shop, 6 limits\n1 file, no problems\n`,
  });
  const bad = join(folder, 'bad.yaml');
  writeFileSync(bad, limit(1).replace('user', '""'));
  const checked = await sluice('check', bad);
  expect([checked.code, checked.out]).toEqual([
    1,
    [
      `${bad}: descriptor has empty key (line 2, column 15: descriptors[0])`,
      '2 | descriptors: [{ key: "", rate_limit: { unit: year, requests_per_unit: 1 } }]',
      '  |               ^',
      '1 problem in 1 file\n',
    ].join('\n'),
  ]);
  expect(JSON.parse((await sluice('check', '--json', bad)).out).problems).toEqual([
    { file: bad, line: 2, column: 15, path: 'descriptors[0]', message: 'descriptor has empty key' },
  ]);
});
