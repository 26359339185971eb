/** `sluice serve` as a process: what it prints, how it reloads and ends, and several of them on one Redis. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../tools/servers/index.ts';
import { binary, eventually, type ServingProcess, serve, sluice } from './processes.ts';
import { ask } from './support.ts';

const sample = fileURLToPath(new URL('../examples/policies.yaml', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'sluice-serve-'));
afterAll(() => rmSync(folder, { recursive: true }));

const configWith = (limit: number): string =>
  `policies:\n  api: { algorithm: fixed-window, limit: ${limit}, window: 1d }\n`;
const post = (url: string, path: string, body: unknown) =>
  ask(url + path, { method: 'POST', body: JSON.stringify(body) });
const limitAt = async (url: string): Promise<number> =>
  (await post(url, '/v1/peek', { policy: 'api', key: 'a' })).body.limit;

test('says where it listens, where its state is and what it limits', async () => {
  const server = await serve(['--config', sample]);
  expect(server.greeting).toMatch(
    /^Sluice listens on http:\/\/127\.0\.0\.1:\d+, its state is in the memory of this process/,
  );
  expect(server.greeting).toContain('  api: token-bucket capacity 100, refillRate 10/s\n');
  expect(server.greeting).toContain('search: gcra limit 60, period 1 min, capacity 10 (shadow)');
  await server.stop();
});

test('SIGTERM: what is on its way is answered, nothing new is taken, exit code 0', async () => {
  const server = await serve(['--config', sample]);
  const { port } = new URL(server.url);
  const socket = connect(Number(port), '127.0.0.1');
  const body = '{"policy":"api","key":"a"}';
  socket.write(`POST /v1/attempt HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`);
  await eventually(
    () => ask(`${server.url}/healthz`, {}),
    ({ status }) => status === 200,
  );
  server.signal('SIGTERM');
  await eventually(
    async () => server.logs(),
    (logs) => logs.some(({ message }) => message === 'draining'),
  );
  await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.write(body.slice(5));
  await once(socket, 'close');
  expect(text).toMatch(/^HTTP\/1\.1 200 OK.*Connection: close.*"allowed":true/s);
  expect(await server.ended).toBe(0);
});

describe('a changed config', () => {
  test('is used at once; a bad one is reported, counted and not used', async () => {
    const file = join(folder, 'reload.yaml');
    writeFileSync(file, configWith(5));
    const server = await serve(['--config', file]);
    await post(server.url, '/v1/attempt', { policy: 'api', key: 'a', cost: 3 });

    writeFileSync(file, configWith(8));
    expect(
      await eventually(
        () => limitAt(server.url),
        (limit) => limit === 8,
      ),
    ).toBe(8);
    expect((await post(server.url, '/v1/peek', { policy: 'api', key: 'a' })).body.remaining).toBe(5);

    writeFileSync(file, `${configWith(0)}typo: 1\n`);
    const isReported = ({ text }: { text: string }) =>
      text.includes('sluice_config_reloads_total{result="rejected"} 1');
    expect(isReported(await eventually(() => ask(`${server.url}/metrics`, {}), isReported))).toBe(true);
    expect(await limitAt(server.url)).toBe(8);
    const { problems } = server.logs().find(({ level }) => level === 'error') as { problems: string[] };
    expect(problems.map((line) => line.replace(folder, ''))).toEqual([
      expect.stringContaining('/reload.yaml:2:35: policies.api.limit: expected a whole number'),
      expect.stringContaining('/reload.yaml:3:1: typo: no such field'),
    ]);

    writeFileSync(file, configWith(9));
    server.signal('SIGHUP');
    expect(
      await eventually(
        () => limitAt(server.url),
        (limit) => limit === 9,
      ),
    ).toBe(9);
    await server.stop();
  });

  test('a ConfigMap whose link is turned, as Kubernetes does: other limits, and what was spent stays spent', async () => {
    const mount = join(folder, 'mount');
    const version = (name: string, limit: number): void => {
      mkdirSync(join(mount, name), { recursive: true });
      writeFileSync(join(mount, name, 'policies.yaml'), configWith(limit));
      symlinkSync(name, join(mount, '..data_new'));
      renameSync(join(mount, '..data_new'), join(mount, '..data'));
    };
    version('..1', 5);
    symlinkSync('..data/policies.yaml', join(mount, 'policies.yaml'));
    const server = await serve([], { SLUICE_CONFIG: mount });
    await post(server.url, '/v1/attempt', { policy: 'api', key: 'a', cost: 3 });
    version('..2', 7);
    await eventually(
      () => limitAt(server.url),
      (limit) => limit === 7,
    );
    expect((await post(server.url, '/v1/peek', { policy: 'api', key: 'a' })).body).toMatchObject({
      limit: 7,
      remaining: 4,
    });
    expect((await ask(`${server.url}/metrics`, {})).text).toContain('sluice_config_reloads_total{result="applied"} 1');
    await server.stop();
  });
});

test('--json says where it listens and what it limits', async () => {
  const server = await serve(['--json', '--config', sample]);
  const { url, store, policies, rules } = JSON.parse(server.greeting);
  expect([url, store]).toEqual([server.url, 'in the memory of this process']);
  expect(policies[0]).toMatchObject({ name: 'api', algorithm: 'token-bucket', capacity: 100, shadow: false });
  expect(rules).toEqual(['health checks', 'logins', 'search', 'the whole API']);
  await server.stop();
});

test.each([
  [['--config', '/nowhere.yaml'], 3, 'cannot be read'],
  [['--port', 'x'], 2, '--port: expected a number'],
  [['--fallback', 'x'], 2, '--fallback: expected local or allow or deny'],
  [['--token', ''], 2, '--token: expected a text'],
  [['--colour'], 2, "Unknown option '--colour'"],
  [['extra'], 2, 'unexpected "extra"'],
])('serve %s ends with %i', async (args, code, message) => {
  const ended = await sluice('serve', ...args);
  expect([ended.code, ended.error]).toEqual([code, expect.stringContaining(message)]);
});

describe('on Redis', () => {
  let redis: RunningServer;
  beforeAll(async () => {
    redis = await startServer({ kind: 'redis' });
  });
  afterAll(() => redis.stop());
  const file = join(folder, 'redis.yaml');
  writeFileSync(file, configWith(200));

  test('two servers enforce one limit exactly', async () => {
    // A long deadline: on a busy machine nothing is to be answered by anybody but Redis.
    const args = ['--config', file, '--redis', redis.url, '--deadline', '30s'];
    const servers = await Promise.all([serve(args), serve(args)]);
    const attempts = Array.from({ length: 300 }, (_, index) => {
      const item = { policy: 'api', key: 'shared' };
      return index % 3 === 0
        ? post(servers[index % 2]!.url, '/v1/attempt', [item, item, item]).then(({ body }) => body)
        : post(servers[index % 2]!.url, '/v1/attempt', item).then(({ body }) => [body]);
    });
    const answers = (await Promise.all(attempts)).flat();
    expect(answers).toHaveLength(500);
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(200);
    expect(new Set(answers.map(({ source }) => source))).not.toContain('fallback');
    await Promise.all(servers.map((server) => server.stop()));
  });

  test('a Redis that goes away and comes back', async () => {
    const own = await startServer({ kind: 'redis' });
    const server: ServingProcess = await serve(['--config', file, '--redis', own.url]);
    const attempt = () => post(server.url, '/v1/attempt', { policy: 'api', key: 'a' });
    const storeUp = async () => (await ask(`${server.url}/metrics`, {})).text.includes('sluice_store_up 1');
    expect((await attempt()).body.source).toBe('store');
    expect(await storeUp()).toBe(true);
    await own.stop();
    expect(await eventually(attempt, ({ body }) => body.source === 'fallback')).toMatchObject({
      status: 200,
      body: { allowed: true },
    });
    expect(await storeUp()).toBe(false);
    expect(await ask(`${server.url}/readyz`, {})).toMatchObject({ status: 200, body: { ready: true, store: 'down' } });
    expect(await post(server.url, '/v1/reset', { policy: 'api', key: 'a' })).toMatchObject({ status: 503 });
    expect((await ask(`${server.url}/metrics`, {})).text).toMatch(/sluice_store_errors_total [1-9]/);

    const back = await startServer({ kind: 'redis', port: Number(new URL(own.url).port) });
    expect((await eventually(attempt, ({ body }) => body.source === 'store')).body.source).toBe('store');
    // Each worker finds out by itself.
    expect(await eventually(storeUp, (isUp) => isUp)).toBe(true);
    await server.stop();
    await back.stop();
  });

  test('what cannot start ends, also with a connection to Redis', async () => {
    const first = await serve(['--redis', redis.url]);
    const taken = await sluice('serve', '--redis', redis.url, '--port', new URL(first.url).port);
    expect([taken.code, taken.error]).toEqual([3, expect.stringContaining('EADDRINUSE')]);
    const wrong = await sluice('serve', '--redis', redis.url, '--deadline', 'soon');
    expect([wrong.code, wrong.error]).toEqual([2, expect.stringContaining('--deadline: expected')]);
    await first.stop();
  });

  test('starts without Redis, and says so', async () => {
    const server = await serve(['--config', file, '--redis', 'redis://:secret@127.0.0.1:1', '--fallback', 'deny']);
    expect(server.greeting).toContain('its state is on Redis at redis://127.0.0.1:1.');
    expect(server.logs()[0]).toMatchObject({ level: 'warn', message: expect.stringContaining('not ready until') });
    expect((await ask(`${server.url}/readyz`, {})).status).toBe(503);
    expect((await ask(`${server.url}/v1/check/api?key=a`, {})).status).toBe(503);
    await server.stop();
  });
});

test('a log that nobody reads any more does not end the server', async () => {
  const child = spawn(process.execPath, [binary, 'serve', '--port', '0', '--no-lab', '--log-requests', '--json']);
  const [greeting] = await once(child.stdout, 'data');
  child.stderr.destroy();
  for (let time = 0; time < 3; time++) {
    expect((await fetch(`${JSON.parse(String(greeting)).url}/healthz`)).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});

test('tells at the start of variables that are none, and of what is open to others', async () => {
  const server = await serve(['--host', '0.0.0.0', '--no-lab'], { SLUICE_PROT: '8080', SLUICE_TOKENS: 'x' });
  expect(server.logs().map(({ level, message }) => [level, message])).toEqual([
    ['warn', 'The unknown variable SLUICE_PROT is ignored. Did you mean SLUICE_PORT?'],
    ['warn', 'The unknown variable SLUICE_TOKENS is ignored. Did you mean SLUICE_TOKEN?'],
    [
      'warn',
      expect.stringMatching(
        /^There is no token: everyone who reaches 0\.0\.0\.0:0 may ask, and may refund, penalize, reset/,
      ),
    ],
  ]);
  await server.stop();
  const guarded = await serve(['--host', '0.0.0.0', '--no-lab'], { SLUICE_TOKEN: 'secret' });
  expect(guarded.logs()).toEqual([]);
  await guarded.stop();
});

test('a port that is taken, forbidden or none, and an address that is not ours, in sentences', async () => {
  const first = await serve(['--no-lab']);
  const { port } = new URL(first.url);
  const rows: readonly (readonly [args: readonly string[], code: number, message: string | RegExp])[] = [
    [
      ['--port', port],
      3,
      `sluice serve: Port ${port} of 127.0.0.1 is taken by another program (EADDRINUSE). Choose another one with --port`,
    ],
    [['--host', '192.0.2.1', '--port', '0'], 3, 'sluice serve: This machine has no address 192.0.2.1 (EADDRNOTAVAIL).'],
    [['--port', '70000'], 2, '--port: expected a number from 0 to 65535, got "70000"'],
    [['--port', '-1'], 2, ''],
  ];
  for (const [args, code, message] of rows) {
    const ended = await sluice('serve', '--no-lab', ...args);
    expect([args, ended.code, ended.error]).toEqual([args, code, expect.stringContaining(String(message))]);
  }
  await first.stop();
});
