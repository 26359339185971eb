/** What a statsd daemon hears, on a real socket. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { afterAll, describe, expect, test } from 'vitest';
import { startServer } from '../../../tools/servers/index.ts';
import { datagrams, parseStatsd } from '../src/telemetry/statsd.ts';
import { eventually, type ServingProcess, serve } from './processes.ts';
import { run } from './run.ts';
import { ask } from './support.ts';

const socket = createSocket('udp4');
socket.bind(0, '127.0.0.1');
await once(socket, 'listening');
afterAll(() => socket.close());
const address = `127.0.0.1:${socket.address().port}`;

/** All that came, by name: counts added up, gauges the last one. */
const heard = new Map<string, number>();
const sizes: number[] = [];
socket.on('message', (message) => {
  sizes.push(message.length);
  for (const line of message.toString().split('\n')) {
    const [, name, value, kind, tags = ''] = /^([\w.-]+):([\d.]+)\|([cg])(\|#[\w:,-]+)?$/.exec(line)!;
    const key = `${name}${tags}`;
    heard.set(key, kind === 'g' ? Number(value) : (heard.get(key) ?? 0) + Number(value));
  }
});

const attempts = async ({ url }: ServingProcess, policy: string, count: number): Promise<void> => {
  for (let each = 0; each < count; each += 1) {
    const body = { key: 'a', policy: { name: policy, algorithm: 'fixed-window', limit: 2, window: '1h' } };
    await ask(`${url}/v1/attempt`, { method: 'POST', body: JSON.stringify(body) });
  }
};

test('names with everything in them', async () => {
  heard.clear();
  const server = await serve(['--statsd', address]);
  await attempts(server, 'hourly', 3);
  await eventually(
    async () => heard.get('sluice.decisions.inline.denied'),
    (count) => count === 1,
  );
  await attempts(server, 'hourly', 2);
  await server.stop();
  await eventually(
    async () => heard.get('sluice.decisions.inline.denied'),
    (count) => count === 3,
  );
  expect(Object.fromEntries(heard)).toMatchObject({
    'sluice.decisions.inline.allowed': 2,
    'sluice.decisions.inline.denied': 3,
    'sluice.answers.store': 5,
    'sluice.http_responses.200': 5,
    'sluice.checks': 5,
    'sluice.store_up': 1,
    'sluice.breaker_open': 0,
  });
});

test('with tags, from all workers together', async () => {
  heard.clear();
  const redis = await startServer({ kind: 'redis' });
  const server = await serve(['--redis', redis.url, '--workers', '2', '--deadline', '30s'], {
    SLUICE_STATSD: address,
    SLUICE_STATSD_TAGS: 'true',
  });
  await attempts(server, 'hourly', 6);
  await server.stop();
  await eventually(
    async () => heard.get('sluice.http_responses|#status:200'),
    (count) => count === 6,
  );
  expect(heard.get('sluice.decisions|#policy:inline,outcome:allowed')).toBe(2);
  expect(heard.get('sluice.decisions|#policy:inline,outcome:denied')).toBe(4);
  await redis.stop();
});

test('a daemon that is not there costs nothing but a line in the log', async () => {
  const server = await serve(['--statsd', 'nowhere.invalid:8125']);
  await eventually(
    async () => server.logs(),
    (lines) => lines.length > 0,
  );
  await attempts(server, 'hourly', 1);
  await server.stop();
  expect(server.logs().filter(({ level }) => level === 'warn')).toMatchObject([
    { message: 'statsd cannot be reached' },
  ]);
});

describe('addresses and datagrams', () => {
  test('no datagram is larger than a network carries', () => {
    const lines = Array.from({ length: 1000 }, (_, index) => `sluice.decisions.policy-${index}.allowed:1|c`);
    const all = datagrams(lines);
    expect(all.join('\n').split('\n')).toEqual(lines);
    expect(Math.max(...all.map(({ length }) => length))).toBeLessThanOrEqual(1432);
    expect(all.length).toBeLessThan(50);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1432);
  });

  test('a host and a port', async () => {
    expect(parseStatsd('localhost:8125', false)).toEqual({ host: 'localhost', port: 8125, tags: false });
    expect(parseStatsd('[::1]:8125', true)).toEqual({ host: '::1', port: 8125, tags: true });
    for (const wrong of ['localhost', 'localhost:0', 'localhost:99999', ':8125', 'udp://localhost:8125']) {
      const { code, error } = await run(['serve', '--statsd', wrong]);
      expect([code, error]).toEqual([
        2,
        expect.stringContaining('--statsd: expected HOST:PORT, such as localhost:8125'),
      ]);
    }
    expect(await run(['serve', '--statsd-tags'])).toMatchObject({
      code: 2,
      error: expect.stringContaining('expected --statsd HOST:PORT as well'),
    });
  });
});
