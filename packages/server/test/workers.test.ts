/** `sluice serve --workers`: one server made of several processes. Nobody outside can tell, but by the speed. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { credentials } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../tools/servers/index.ts';
import { type GrpcClient, grpcClient } from './envoy/support.ts';
import { eventually, type ServingProcess, serve, sluice } from './processes.ts';
import { run } from './run.ts';
import { isAlive, send, valueIn, visitAll, workersOf } from './workers-support.ts';

const LIMIT = 50;
const ASKS = 400;

const folder = mkdtempSync(join(tmpdir(), 'sluice-workers-'));
const fileWith = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const policies = (limit: number): string => `policies:
  api: { algorithm: fixed-window, limit: ${limit}, window: 1d, align: first }
  visits: { algorithm: fixed-window, limit: 100000, window: 1d, align: first }
`;
const domain = `domain: shop
descriptors: [{ key: user, rate_limit: { unit: year, requests_per_unit: ${LIMIT} } }]
`;
const config = fileWith('policies.yaml', policies(LIMIT));
const envoy = fileWith('ratelimit.yaml', domain);

let redis: RunningServer;
let count = 0;
const running: ServingProcess[] = [];
beforeAll(async () => {
  redis = await startServer({ kind: 'redis' });
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop()));
});
afterAll(async () => {
  await redis.stop();
  rmSync(folder, { recursive: true });
});

/** Two workers with states of their own, on a Redis that may take its time: the machine is busy. */
async function start(args: readonly string[] = [], environment: Record<string, string> = {}): Promise<ServingProcess> {
  count += 1;
  const usual = ['--redis', redis.url, '--prefix', `workers-${count}`, '--deadline', '30s', '--workers', '2'];
  const server = await serve([...usual, ...args], environment);
  running.push(server);
  return server;
}

const grpcPortOf = ({ greeting }: ServingProcess): number =>
  Number(/over gRPC at 127\.0\.0\.1:(\d+)/.exec(greeting)![1]);
const messagesOf = (server: ServingProcess): unknown[] => server.logs().map(({ message }) => message);
const attempts = (server: ServingProcess, key: string, times = ASKS) =>
  Promise.all(Array.from({ length: times }, () => send(server.url, '/v1/attempt', { policy: 'api', key })));
const allowedIn = (replies: readonly { body: { allowed: boolean } }[]): number =>
  replies.filter(({ body }) => body.allowed).length;

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

describe('how many there are', () => {
  const memory = (workers: string): string =>
    `sluice serve: --workers ${workers}: without Redis each worker counts in its own memory, so ${workers} of them would allow ${workers} times each limit. ` +
    'Say where Redis is with --redis ADDRESS, or leave --workers out.\n';

  test('several without Redis are refused, with the cause and the cure', async () => {
    expect(await run(['serve', '--workers', '2'])).toMatchObject({
      code: 2,
      error: expect.stringContaining(memory('2')),
    });
    const byVariable = await run(['serve', '--redis', 'memory'], { SLUICE_WORKERS: '3' });
    expect([byVariable.code, byVariable.error]).toEqual([2, expect.stringContaining(memory('3'))]);
  });

  test.each(['0', '65', '1.5', 'x', '-1'])('%s is none', async (workers) => {
    const { code, error } = await run(['serve', `--workers=${workers}`, '--redis', redis.url]);
    expect([code, error]).toEqual([2, expect.stringContaining('--workers: expected ')]);
  });

  test.each([
    ['one by itself without Redis', []],
    ['one that was asked for', ['--workers', '1', '--redis', 'REDIS']],
  ])('%s is the process itself', async (_, args) => {
    const server = await serve(args.map((word) => word.replace('REDIS', redis.url)));
    running.push(server);
    expect(workersOf(server)).toEqual([]);
    const { text } = await send(server.url, '/metrics');
    expect(text).not.toContain('sluice_workers');
    expect((await send(server.url, '/v1/live')).body).not.toHaveProperty('workers');
  });

  test.each([[[]], [['--workers', 'auto']]])('one for each core by itself on Redis (%j)', async (args) => {
    const server = await serve(['--redis', redis.url, ...args]);
    running.push(server);
    const cores = Math.min(availableParallelism(), 8);
    expect(workersOf(server)).toHaveLength(cores === 1 ? 0 : cores);
  });
});

describe('one limit', () => {
  test('over HTTP: of 400 attempts at the same time 50 are allowed, and every view says so', async () => {
    const server = await start(['--config', config]);
    expect(server.greeting.match(/Sluice listens on/g)).toHaveLength(1);
    const visitors = await visitAll(server, 'visits');
    const replies = await attempts(server, 'everyone');
    expect(allowedIn(replies)).toBe(LIMIT);
    expect(new Set(replies.map(({ body }) => body.source))).not.toContain('fallback');
    const name = (outcome: string): string => `sluice_decisions_total{policy="api",outcome="${outcome}"}`;
    for (const visitor of visitors) {
      const { text } = await visitor.send('/metrics');
      expect([valueIn(text, name('allowed')), valueIn(text, name('denied'))]).toEqual([LIMIT, ASKS - LIMIT]);
      expect([valueIn(text, 'sluice_workers'), valueIn(text, 'sluice_workers_silent')]).toEqual([2, 0]);
      const visits = valueIn(text, 'sluice_decisions_total{policy="visits",outcome="allowed"}');
      expect(valueIn(text, 'sluice_check_duration_seconds_count')).toBe(ASKS + visits);
      expect(valueIn(text, 'sluice_check_duration_seconds_bucket{le="+Inf"}')).toBe(ASKS + visits);
      const { body } = await visitor.send('/v1/live?seconds=60&history=60');
      expect(body.workers).toEqual({ count: 2, silent: [] });
      expect(body.policies[0]).toMatchObject({ name: 'api', allowed: LIMIT, denied: ASKS - LIMIT });
      expect(body.top.denied).toEqual([{ policy: 'api', key: 'everyone', count: ASKS - LIMIT, error: 0 }]);
    }
    // When the last of these seconds is over, it has the same number and the same counts, whoever is asked.
    const deniedBySecond = async (visitor: (typeof visitors)[number]) => {
      const { body } = await visitor.send('/v1/live?history=60');
      const history: { second: number; policies: { api?: { denied: number } } }[] = body.history;
      return history.flatMap(({ second, policies: { api } }) => (api === undefined ? [] : [[second, api.denied]]));
    };
    const histories = await eventually(
      () => Promise.all(visitors.map(deniedBySecond)),
      (all) => all.every((history) => sumOf(history.map(([, denied]) => denied!)) === ASKS - LIMIT),
    );
    expect(sumOf(histories[0]!.map(([, denied]) => denied!))).toBe(ASKS - LIMIT);
    expect(histories[1]).toEqual(histories[0]);
    const top = await run(['top', '--server', server.url, '--once', '--json', '--seconds', '60']);
    expect(JSON.parse(top.out).policies[0]).toMatchObject({ allowed: LIMIT, denied: ASKS - LIMIT });
    expect(server.logs()).toEqual([]);
    for (const visitor of visitors) visitor.leave();
  });

  test('over gRPC', async () => {
    const server = await start(['--config', envoy, '--grpc-port', '0']);
    const clients = Array.from({ length: 8 }, () => grpcClient(grpcPortOf(server), { isAlone: true }));
    const asked = { domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'ann' }] }] };
    const answers = await Promise.all(Array.from({ length: ASKS }, (_, index) => clients[index % 8]!.ask(asked)));
    expect(answers.filter(({ overallCode }) => overallCode === 'OK')).toHaveLength(LIMIT);
    const { text } = await send(server.url, '/metrics');
    const series = (name: string) => valueIn(text, `ratelimit_service_rate_limit_${name}{domain="shop",key1="user"}`);
    expect([series('total_hits'), series('within_limit'), series('over_limit')]).toEqual([ASKS, LIMIT, ASKS - LIMIT]);
    expect(valueIn(text, 'ratelimit_service_config_load_success')).toBe(1);
    for (const client of clients) client.close();
  });

  test('over TLS, on both ports', async () => {
    const file = (name: string): string => fileURLToPath(new URL(`tls/${name}`, import.meta.url));
    const certificate = ['--tls-cert', file('localhost.pem'), '--tls-key', file('localhost.key')];
    const server = await start(['--config', envoy, '--grpc-port', '0', ...certificate]);
    const secured = credentials.createSsl(readFileSync(file('ca.pem')));
    const clients: GrpcClient[] = Array.from({ length: 4 }, () =>
      grpcClient(grpcPortOf(server), { secured, host: 'localhost', isAlone: true }),
    );
    const asked = { domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'tls' }] }] };
    const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => clients[index % 4]!.ask(asked)));
    expect(answers.filter(({ overallCode }) => overallCode === 'OK')).toHaveLength(LIMIT);
    for (const client of clients) client.close();
    const statuses = await Promise.all(
      Array.from({ length: 4 }, () => healthOver(server, readFileSync(file('ca.pem')))),
    );
    expect(statuses).toEqual([200, 200, 200, 200]);
  });

  test('while Redis is away too: each worker allows its part', async () => {
    const server = await start(['--config', config, '--redis', 'redis://127.0.0.1:1']);
    const replies = await attempts(server, 'nobody');
    expect(new Set(replies.map(({ body }) => body.source))).toEqual(new Set(['fallback']));
    expect(allowedIn(replies)).toBe(LIMIT);
    expect(replies[0]!.body.limit).toBe(LIMIT);
    const warnings = server.logs().filter(({ message }) => /not ready until it answers/.test(String(message)));
    expect(warnings).toHaveLength(1);
    expect(await send(server.url, '/readyz')).toMatchObject({ status: 503, body: { ready: false, store: 'down' } });
  });
});

describe('what lives in one process works whoever is asked', () => {
  test('a hold is settled by another worker, once', async () => {
    const server = await start(['--config', config]);
    const [one, other] = await visitAll(server, 'visits');
    const reserve = async () =>
      (await one!.send('/v1/reserve', { policy: 'api', key: 'a', cost: 20 })).body.hold as string;
    const hold = await reserve();
    const settled = await other!.send('/v1/settle', { hold, actual: 5 });
    expect([settled.status, settled.body]).toMatchObject([200, { remaining: 45, changed: 15, expired: false }]);
    for (const visitor of [one!, other!]) {
      const again = await visitor.send('/v1/settle', { hold, actual: 5 });
      expect([again.status, again.body.error]).toEqual([409, 'SLUICE_HOLD_SETTLED']);
    }
    const wrong = await other!.send('/v1/settle', { hold: await reserve(), actual: 'x' });
    expect([wrong.status, wrong.body.path]).toEqual([400, 'actual']);
    const list = [await reserve(), 'nobody.99'].map((id) => ({ hold: id, actual: 0 }));
    const { body } = await other!.send('/v1/settle', list);
    expect(body).toMatchObject([{ changed: 20 }, { error: 'unknown_hold' }]);
    for (const visitor of [one!, other!]) visitor.leave();
  });

  test('what is given back, reset or unblocked is seen by all at once', async () => {
    const server = await start(['--config', config]);
    const [one, other] = await visitAll(server, 'visits');
    const isAllowed = async (visitor: typeof one) =>
      (await visitor!.send('/v1/attempt', { policy: 'api', key: 'b' })).body.allowed;
    await one!.send('/v1/attempt', { policy: 'api', key: 'b', cost: LIMIT });
    const freed = [
      ['/v1/refund', { cost: 1 }],
      ['/v1/reset', {}],
      ['/v1/unblock', {}],
    ] as const;
    for (const [path, more] of freed) {
      if (path === '/v1/unblock') await one!.send('/v1/block', { policy: 'api', key: 'b', duration: '10m' });
      else await one!.send('/v1/penalize', { policy: 'api', key: 'b', cost: LIMIT });
      // Both have the denial now, and repeat it.
      expect([await isAllowed(one), await isAllowed(other)], path).toEqual([false, false]);
      expect((await one!.send(path, { policy: 'api', key: 'b', ...more })).status).toBe(200);
      expect(await isAllowed(other), path).toBe(true);
    }
    for (const visitor of [one!, other!]) visitor.leave();
  });

  test('the lab: a session and the memory it plays on', async () => {
    const server = await start(['--config', config]);
    const visitors = await visitAll(server, 'visits');
    const card = { algorithm: 'fixed-window', limit: 5, window: '1h', align: 'first' };
    const first = await visitors[0]!.send('/api/lab/reset', {});
    const cookie = String(first.headers['set-cookie']).split(';')[0]!;
    const attempt = async (turn: number) => {
      const question = { engine: 'memory', attempts: [{ card: 'a', key: 'k', policy: card }] };
      return visitors[turn % 2]!.send('/api/lab/attempt', question, { cookie });
    };
    const left: number[] = [];
    for (let turn = 0; turn < 4; turn += 1) left.push((await attempt(turn)).body.results[0].remaining);
    expect(left).toEqual([4, 3, 2, 1]);
    await visitors[1]!.send('/api/lab/reset', {}, { cookie });
    expect((await attempt(0)).body.results[0].remaining).toBe(4);
    const demo = async (turn: number) =>
      (await visitors[turn % 2]!.send('/api/rate-limit/fixed-window', {}, { cookie })).body.remaining;
    expect([await demo(0), await demo(1)]).toEqual([9, 8]);
    const wrong = await visitors[1]!.send('/api/lab/attempt', { engine: 'paper', attempts: [] }, { cookie });
    expect([wrong.status, wrong.body.error, wrong.body.path]).toEqual([400, 'invalid_field', 'engine']);
    for (const visitor of visitors) visitor.leave();
  });
});

describe('a changed config', () => {
  const limitsAt = (visitors: Awaited<ReturnType<typeof visitAll>>) =>
    Promise.all(visitors.map(async (each) => (await each.send('/v1/peek', { policy: 'api', key: 'c' })).body.limit));

  test('is taken by all, and told and counted once; a bad one by nobody', async () => {
    const file = fileWith('reload.yaml', policies(5));
    const server = await start(['--config', file]);
    const visitors = await visitAll(server, 'visits');
    writeFileSync(file, policies(8));
    server.signal('SIGHUP');
    await eventually(
      async () => messagesOf(server),
      (messages) => messages.includes('the config has changed'),
    );
    expect(await limitsAt(visitors)).toEqual([8, 8]);
    writeFileSync(file, policies(-1));
    await eventually(
      async () => server.logs(),
      (logs) => logs.some(({ level }) => level === 'error'),
    );
    expect(await limitsAt(visitors)).toEqual([8, 8]);
    const { text } = await visitors[0]!.send('/metrics');
    const reloads = ['applied', 'rejected'].map((result) =>
      valueIn(text, `sluice_config_reloads_total{result="${result}"}`),
    );
    expect(reloads).toEqual([1, 1]);
    expect(messagesOf(server)).toHaveLength(2);
    for (const visitor of visitors) visitor.leave();
  });

  test('one worker that does not look at it keeps it from all; the views say that it is silent', async () => {
    const file = fileWith('stopped.yaml', policies(5));
    const server = await start(['--config', file]);
    const visitors = await visitAll(server, 'visits');
    const stopped = workersOf(server)[1]!;
    const awake = visitors.find(({ worker }) => worker === 1)!;
    const asleep = visitors.find(({ worker }) => worker === 2)!;
    const before = valueIn((await awake.send('/metrics')).text, 'sluice_http_responses_total{status="200"}');
    process.kill(stopped, 'SIGSTOP');
    try {
      const { text } = await awake.send('/metrics');
      expect([valueIn(text, 'sluice_workers'), valueIn(text, 'sluice_workers_silent')]).toEqual([2, 1]);
      expect(valueIn(text, 'sluice_http_responses_total{status="200"}')).toBe(before + 1);
      expect((await awake.send('/v1/live')).body.workers).toEqual({ count: 2, silent: [2] });
      const top = await awake.send('/readyz');
      expect([top.status, top.body.problem]).toEqual([503, 'Worker 2 of 2 did not answer in time.']);
      writeFileSync(file, policies(9));
      await eventually(
        async () => server.logs(),
        (logs) => logs.some(({ level }) => level === 'error'),
      );
      expect(server.logs().find(({ level }) => level === 'error')).toMatchObject({
        message: expect.stringContaining('the old one stays in force in all workers'),
        problems: [expect.stringMatching(/^worker 2 did not look at it: no answer in \d+ ms$/)],
      });
      expect(await limitsAt([awake])).toEqual([5]);
    } finally {
      process.kill(stopped, 'SIGCONT');
    }
    await eventually(
      async () => messagesOf(server),
      (messages) => messages.includes('the config has changed'),
    );
    expect(await limitsAt([awake, asleep])).toEqual([9, 9]);
    expect((await asleep.send('/readyz')).status).toBe(200);
    for (const visitor of visitors) visitor.leave();
  });
});

describe('the end', () => {
  test('SIGTERM: what is on its way in each worker is answered, and all end', async () => {
    const server = await start(['--config', config]);
    const pids = workersOf(server);
    const { port } = new URL(server.url);
    const body = '{"policy":"api","key":"end"}';
    const head = `POST /v1/attempt HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`;
    const sockets = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const socket = connect(Number(port), '127.0.0.1');
        socket.write(
          `${head.replace('POST /v1/attempt', 'GET /healthz').replace(/Content-Length: \d+\r\n/, '')}${head}${body.slice(0, 5)}`,
        );
        let text = '';
        socket.on('data', (chunk) => {
          text += chunk;
        });
        await eventually(
          async () => text,
          (seen) => seen.includes('healthy'),
        );
        return { socket, text: () => text };
      }),
    );
    server.signal('SIGTERM');
    await eventually(
      async () => messagesOf(server),
      (messages) => messages.includes('draining'),
    );
    // Nobody answers: refused, or taken by the primary in the moment in which the last worker left.
    const isAnswered = (): Promise<boolean> =>
      fetch(`${server.url}/healthz`, { signal: AbortSignal.timeout(1000) }).then(
        () => true,
        () => false,
      );
    expect(await eventually(isAnswered, (answered) => !answered)).toBe(false);
    for (const { socket } of sockets) socket.write(body.slice(5));
    expect(await server.ended).toBe(0);
    for (const { text } of sockets) expect(text()).toMatch(/Connection: close.*"allowed":true/s);
    expect(messagesOf(server)).toEqual(['draining', 'ended']);
    expect(pids.map(isAlive)).toEqual([false, false]);
  });

  test('a signal to the whole group, as of a terminal, is one end and no crash', async () => {
    const server = await start(['--config', config]);
    for (const pid of workersOf(server)) process.kill(pid, 'SIGINT');
    server.signal('SIGINT');
    expect(await server.ended).toBe(0);
    expect(messagesOf(server)).toEqual(['draining', 'ended']);
  });

  test('workers do not outlive a primary that is killed', async () => {
    const server = await start(['--config', config]);
    const pids = workersOf(server);
    server.signal('SIGKILL');
    await server.ended;
    expect(
      await eventually(
        async () => pids.filter(isAlive),
        (alive) => alive.length === 0,
      ),
    ).toEqual([]);
  });
});

describe('a worker that dies', () => {
  test('is replaced, with the cause in the log; nothing is counted twice or lost', async () => {
    const server = await start(['--config', config]);
    const visitors = await visitAll(server, 'visits');
    const hold = (await visitors[0]!.send('/v1/reserve', { policy: 'visits', key: 'h' })).body.hold;
    await attempts(server, 'd', 60);
    const { text } = await visitors[1]!.send('/metrics');
    const name = 'sluice_decisions_total{policy="api",outcome="allowed"}';
    expect(valueIn(text, name)).toBe(LIMIT);
    process.kill(workersOf(server)[visitors[0]!.worker - 1]!, 'SIGKILL');
    await eventually(
      async () => messagesOf(server),
      (messages) => messages.includes('another worker has taken its place'),
    );
    const [death, birth] = server.logs();
    expect(death).toMatchObject({
      level: 'error',
      message: 'a worker ended',
      worker: visitors[0]!.worker,
      cause: 'signal SIGKILL',
    });
    expect(birth).toMatchObject({ level: 'info', worker: 3, instead: visitors[0]!.worker });
    expect(workersOf(server)).toHaveLength(2);
    const others = await visitAll(server, 'visits');
    expect(others.map(({ worker }) => worker).sort()).toEqual([visitors[1]!.worker, 3].sort());
    for (const visitor of others) {
      expect(valueIn((await visitor.send('/metrics')).text, name)).toBe(LIMIT);
      expect((await visitor.send('/readyz')).status).toBe(200);
    }
    expect(allowedIn(await attempts(server, 'd', 20))).toBe(0);
    const lost = await others[0]!.send('/v1/settle', { hold, actual: 0 });
    expect([lost.status, lost.body]).toMatchObject([200, { changed: 1, expired: false }]);
    for (const visitor of [...visitors, ...others]) visitor.leave();
  });

  test('of an error says which', async () => {
    const server = await start(['--config', config], {
      NODE_OPTIONS: withHook('boom.mjs', "process.on('SIGUSR2', () => { throw new Error('boom'); });"),
    });
    process.kill(workersOf(server)[0]!, 'SIGUSR2');
    await eventually(
      async () => messagesOf(server),
      (messages) => messages.includes('another worker has taken its place'),
    );
    expect(server.logs()[0]).toMatchObject({
      message: 'a worker ended',
      cause: expect.stringMatching(/^Error: boom\n/),
    });
  });

  test('again and again ends the server', async () => {
    const server = await start(['--config', config]);
    for (let death = 1; death <= 5; death += 1) {
      const [pid] = workersOf(server);
      process.kill(pid!, 'SIGKILL');
      if (death < 5)
        await eventually(
          async () => workersOf(server),
          (pids) => pids.length === 2 && !pids.includes(pid!),
        );
    }
    expect(await server.ended).toBe(3);
    expect(messagesOf(server)).toContain(
      '5 workers ended within a minute, the last one because of: signal SIGKILL. The server ends, because another one would end too.',
    );
    running.splice(0);
  });
});

describe('what cannot start', () => {
  const failing = (...args: string[]) => sluice('serve', '--workers', '2', '--redis', redis.url, ...args);

  test('a port that is taken: one sentence, and no worker is left', async () => {
    const first = await start();
    const { port } = new URL(first.url);
    expect(await failing('--port', port)).toEqual({
      code: 3,
      out: '',
      error: `sluice serve: Port ${port} of 127.0.0.1 is taken by another program (EADDRINUSE). Choose another one with --port, or 0 for any that is free.\n`,
    });
  });

  test('workers that crash before they listen', async () => {
    const NODE_OPTIONS = withHook('exit.mjs', "if (process.argv[1]?.endsWith('worker.mjs')) process.exit(7);");
    const ending = start([], { NODE_OPTIONS });
    await expect(ending).rejects.toThrow(
      'ended with 3: sluice serve: a worker ended before it listened: exit code 7\n',
    );
  });

  test('a Redis that is required and not there', async () => {
    const { code, error } = await sluice(
      'serve',
      '--port',
      '0',
      '--workers',
      '2',
      '--require-redis',
      '--redis',
      'redis://127.0.0.1:1',
    );
    expect([code, error]).toEqual([
      3,
      'sluice serve: Redis at redis://127.0.0.1:1 refuses the connection: nothing listens there. --require-redis was given.\n',
    ]);
  });
});

function healthOver({ url }: ServingProcess, ca: Buffer): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asking = request(`${url.replace('127.0.0.1', 'localhost')}/healthz`, { ca, agent: false });
    asking.on('error', reject).on('response', (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asking.end();
  });
}

/** A module that every process of the server loads first. */
function withHook(name: string, text: string): string {
  return `--import ${pathToFileURL(fileWith(name, text))}`;
}
