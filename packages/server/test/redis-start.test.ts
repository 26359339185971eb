/** A Redis that was given and has never answered: what the service says, when it is ready, and when it ends at once. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, randomPort, startServer } from '../../../tools/servers/index.ts';
import { NEEDED_COMMANDS } from '../src/service/redis-problem.ts';
import { eventually, type ServingProcess, serve, sluice } from './processes.ts';
import { run } from './run.ts';
import { ask } from './support.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-redis-start-'));
afterAll(() => rmSync(folder, { recursive: true }));
const config = join(folder, 'policies.yaml');
writeFileSync(config, 'policies:\n  api: { algorithm: fixed-window, limit: 5, window: 1d }\n');

const readiness = ({ url }: ServingProcess) => ask(`${url}/readyz`, {});
const attempt = ({ url }: ServingProcess, policy: unknown = 'api') =>
  ask(`${url}/v1/attempt`, {
    method: 'POST',
    body: JSON.stringify({ key: 'a', policy }),
    headers: { 'content-type': 'application/json' },
  });

describe('what no waiting mends ends it at once, with a sentence', () => {
  let redis: RunningServer;
  let port: string;
  beforeAll(async () => {
    redis = await startServer({ kind: 'redis' });
    port = new URL(redis.url).port;
    const client = new Redis(redis.url);
    const users = {
      noscripts: ['~*', '+@all', '-@scripting'],
      nokeys: ['~other:*', '+@all'],
      noset: ['~*', '+@all', '-set'],
      noincrby: ['~*', '+@all', '-incrby'],
      nologs: ['~*', '+@all', '-setrange'],
      nodel: ['~*', '+@all', '-del'],
      enough: ['~mine:*', '-@all', ...NEEDED_COMMANDS.map((command) => `+${command.toLowerCase()}`)],
    };
    for (const [user, rights] of Object.entries(users)) await client.acl('SETUSER', user, 'on', '>pw', ...rights);
    await client.config('SET', 'requirepass', 'secret');
    client.disconnect();
  });
  afterAll(() => redis.stop());

  test.each([
    ['redis://:wrong@127.0.0.1:PORT', 'rejects this user and password'],
    ['redis://nobody:pw@127.0.0.1:PORT', 'rejects this user and password'],
    ['redis://127.0.0.1:PORT', 'needs a password and got none'],
    ['redis+cluster://127.0.0.1:PORT', 'needs a password and got none'],
    ['redis+cluster://:secret@127.0.0.1:PORT', 'is not a cluster: use redis:// instead of redis+cluster://'],
    [
      'redis://noscripts:pw@127.0.0.1:PORT',
      /does not allow this user to run what limits need: NOPERM .*evalsha.* It needs PING, /,
    ],
    ['redis://nokeys:pw@127.0.0.1:PORT', /does not allow this user to run what limits need: NOPERM .*keys/],
    ['redis://noset:pw@127.0.0.1:PORT', 'does not allow this user to run what limits need'],
    ['redis://noincrby:pw@127.0.0.1:PORT', 'does not allow this user to run what limits need'],
    ['redis://nologs:pw@127.0.0.1:PORT', 'does not allow this user to run what limits need'],
    ['redis://nodel:pw@127.0.0.1:PORT', 'does not allow this user to run what limits need'],
    ['redis://:secret@127.0.0.1:PORT/999', 'has no database of that number'],
  ])('%s', async (address, message) => {
    const ended = await sluice('serve', '--port', '0', '--redis', address.replace('PORT', port));
    expect(ended.error).toMatch(message);
    expect(ended.error).toMatch(/^sluice serve: Redis at redis(\+cluster)?:\/\/127\.0\.0\.1:\d+(\/999)? /);
    expect(ended.error).not.toMatch(/wrong@|pw@|secret@|\n\s+at /);
    expect(ended.code).toBe(3);
  });

  test('a user with nothing but what the sentence names can do everything', async () => {
    const address = `redis://enough:pw@127.0.0.1:${port}`;
    const server = await serve(['--redis', address, '--prefix', 'mine', '--deadline', '30s', '--config', config]);
    expect(await readiness(server)).toMatchObject({ status: 200, body: { ready: true, store: 'up' } });
    const numbers = { limit: 9, capacity: 9, window: '1h', period: '1h', refillRate: '1/h', leakRate: '1/h' };
    const fields: Record<string, readonly (keyof typeof numbers)[]> = {
      'fixed-window': ['limit', 'window'],
      'sliding-window-log': ['limit', 'window'],
      'sliding-window-counter': ['limit', 'window'],
      'token-bucket': ['capacity', 'refillRate'],
      'leaky-bucket': ['capacity', 'leakRate'],
      gcra: ['limit', 'period'],
    };
    for (const [algorithm, names] of Object.entries(fields)) {
      const policy = { algorithm, ...Object.fromEntries(names.map((name) => [name, numbers[name]])) };
      for (const verb of ['attempt', 'attempt', 'peek', 'penalize', 'refund', 'block', 'unblock', 'reset'] as const) {
        const more = verb === 'block' ? { duration: '1m' } : {};
        const body = JSON.stringify({ key: 'a', policy, ...more });
        const init = { method: 'POST', body, headers: { 'content-type': 'application/json' } };
        const reply = await ask(`${server.url}/v1/${verb}`, init);
        expect([algorithm, verb, reply.status, reply.body.source ?? 'store']).toEqual([algorithm, verb, 200, 'store']);
      }
    }
    expect(server.logs()).toEqual([]);
    await server.stop();
  });
});

describe('what may come yet is waited for: not ready, with the cause', () => {
  test.each([
    ['redis://127.0.0.1:1', 'Redis at redis://127.0.0.1:1 refuses the connection: nothing listens there.'],
    ['redis://:secret@nowhere.invalid', 'Redis at redis://nowhere.invalid:6379: the host name is unknown.'],
    ['redis+sentinel://127.0.0.1:1/main', /Redis at redis\+sentinel:\/\/127\.0\.0\.1:1\/main/],
    ['redis+cluster://127.0.0.1:1', /Redis at redis\+cluster:\/\/127\.0\.0\.1:1/],
  ])('%s', async (address, sentence) => {
    const server = await serve(['--redis', address, '--config', config]);
    const { status, body } = await readiness(server);
    expect([status, body]).toEqual([
      503,
      { ready: false, draining: false, store: 'down', problem: expect.stringMatching(sentence) },
    ]);
    expect((await ask(`${server.url}/healthcheck`, {})).status).toBe(500);
    expect((await ask(`${server.url}/healthz`, {})).status).toBe(200);
    expect(server.logs()[0]).toMatchObject({
      level: 'warn',
      message: expect.stringMatching(/ The server is not ready until it answers\.$/),
    });
    // Whoever asks all the same is answered by the fallback.
    expect((await attempt(server)).body.source).toBe('fallback');
    expect(JSON.stringify(server.logs())).not.toContain('secret');
    await server.stop();
  });

  test('it comes: ready; it goes again: still ready, and it says so', async () => {
    const port = randomPort();
    const server = await serve(['--redis', `redis://127.0.0.1:${port}`, '--config', config]);
    expect((await readiness(server)).status).toBe(503);
    const redis = await startServer({ kind: 'redis', port });
    const ready = await eventually(
      () => readiness(server),
      ({ status }) => status === 200,
    );
    expect(ready.body).toEqual({ ready: true, draining: false, store: 'up' });
    expect(server.logs().map(({ message }) => message)).toContain('Redis answers: the server is ready now');
    await eventually(
      () => attempt(server),
      ({ body }) => body.source === 'store',
    );
    await redis.stop();
    const away = await eventually(
      () => readiness(server),
      ({ body }) => body.store === 'down',
    );
    expect([away.status, away.body]).toMatchObject([
      200,
      { ready: true, problem: expect.stringContaining('Redis at') },
    ]);
    await server.stop();
  });

  test('it comes, and does not take the password: the server ends', async () => {
    const redis = await startServer({ kind: 'redis' });
    const client = new Redis(redis.url);
    await client.config('SET', 'requirepass', 'secret');
    client.disconnect();
    const port = randomPort();
    const server = await serve(['--redis', `redis://:wrong@127.0.0.1:${port}`, '--config', config]);
    expect((await readiness(server)).status).toBe(503);
    // There, from now on.
    const door = createServer((socket) => {
      const inner = connect(Number(new URL(redis.url).port), '127.0.0.1');
      socket.pipe(inner).pipe(socket);
      for (const end of [socket, inner])
        end.on('error', () => {}).on('close', () => [socket, inner].map((each) => each.destroy()));
    }).listen(port, '127.0.0.1');
    expect(await server.ended).toBe(3);
    const said = server.logs().filter(({ level }) => level === 'error');
    expect(said).toMatchObject([{ message: expect.stringContaining('rejects this user and password') }]);
    door.close();
    await redis.stop();
  });

  test('--require-redis: ends when it has not come', async () => {
    const { code, error } = await sluice('serve', '--port', '0', '--require-redis', '--redis', 'redis://127.0.0.1:1');
    expect([code, error]).toEqual([
      3,
      'sluice serve: Redis at redis://127.0.0.1:1 refuses the connection: nothing listens there. --require-redis was given.\n',
    ]);
  });
});

describe('REDIS_URL', () => {
  let redis: RunningServer;
  beforeAll(async () => {
    redis = await startServer({ kind: 'redis' });
  });
  afterAll(() => redis.stop());
  const AWAY = 'redis://127.0.0.1:1';

  test.each([
    [[], { REDIS_URL: 'URL' }, 'on Redis at redis://127.0.0.1:PORT'],
    [[], { REDIS_URL: AWAY, SLUICE_REDIS: 'URL' }, 'on Redis at redis://127.0.0.1:PORT'],
    [['--redis', 'URL'], { REDIS_URL: AWAY, SLUICE_REDIS: AWAY }, 'on Redis at redis://127.0.0.1:PORT'],
    [['--redis', 'memory'], { REDIS_URL: AWAY }, 'in the memory of this process'],
    [[], { REDIS_URL: AWAY, SLUICE_REDIS: 'memory' }, 'in the memory of this process'],
    [[], { REDIS_URL: '' }, 'in the memory of this process'],
  ])('serve %j with %j: its state is %s', async (args, environment, where) => {
    const filled = (text: string): string => text.replace('URL', redis.url).replace('PORT', new URL(redis.url).port);
    const variables = Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, filled(value)]));
    const server = await serve(args.map(filled), variables);
    expect(server.greeting).toContain(`its state is ${filled(where)}`);
    await server.stop();
  });

  test('is named when it is no address, as that of envoyproxy/ratelimit', async () => {
    const { code, error } = await run(['serve'], { REDIS_URL: 'redis:6379' });
    expect([code, error]).toEqual([2, expect.stringContaining('REDIS_URL: expected redis://host:6379')]);
  });

  test('is read by inspect, and by verbs that have a config; without one a server is asked', async () => {
    const environment = { REDIS_URL: redis.url };
    const verb = ['attempt', 'ann', '--policy', 'api'];
    expect(await run([...verb, '--config', config], environment)).toMatchObject({ code: 0 });
    expect(await run([...verb, '--config', config], { REDIS_URL: AWAY, SLUICE_REDIS: redis.url })).toMatchObject({
      code: 0,
    });
    expect((await run(['inspect', 'ann'], environment)).out).toContain('fixed-window');
    const asked = await run([...verb, '--server', AWAY.replace('redis', 'http')], environment);
    expect([asked.code, asked.error]).toEqual([3, expect.stringContaining('http://127.0.0.1:1')]);
    for (const command of ['serve', 'inspect', 'attempt']) {
      expect((await run([command, '--help'])).out, command).toMatch(/SLUICE_REDIS, or else REDIS_URL/);
    }
  });
});
