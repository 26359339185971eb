/** One server for each framework on each runtime: started as a visitor would, and asked the same of all. */
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RUNTIMES } from '../tools/runtimes/index.ts';
import type { PackedApp } from '../tools/runtimes/packed-app.ts';
import { appWithExamples, type RunningExample, startExample } from './start.ts';

const FRAMEWORKS = ['express', 'fastify', 'hono', 'koa', 'nest', 'fetch', 'node', 'h3', 'elysia'];
const ROWS = RUNTIMES.flatMap((runtime) => FRAMEWORKS.map((name) => ({ name, runtime }))).filter(
  // Elysia is for Bun, and has a server for Node.
  ({ name, runtime }) => name !== 'elysia' || /^(Bun|Node)/.test(runtime.name),
);

let app: PackedApp;
beforeAll(async () => {
  app = await appWithExamples();
}, 300_000);
afterAll(() => app?.remove());

describe.each(ROWS)('$name on $runtime.name', ({ name, runtime }) => {
  let example: RunningExample;
  beforeAll(async () => {
    example = await startExample(app, runtime, name);
  });
  afterAll(() => example?.stop());

  const ask = async (path: string, init?: RequestInit) => {
    const response = await fetch(example.url + path, init);
    return { status: response.status, headers: response.headers, body: await response.text() };
  };

  test('five at once, then told when', async () => {
    for (const left of [4, 3, 2, 1, 0]) expect(await ask('/')).toMatchObject({ status: 200, body: `{"left":${left}}` });
    const { status, headers, body } = await ask('/');
    expect([status, headers.get('content-type'), headers.get('retry-after')]).toEqual([
      ...[429, 'application/problem+json', expect.stringMatching(/^(60|59|5\d)$/)],
    ]);
    expect(headers.get('ratelimit-policy')).toBe('"burst";q=5;w=300');
    expect(JSON.parse(body)).toMatchObject({ status: 429, 'violated-policies': ['burst'] });
  });

  test('logins have a limit of their own', async () => {
    const login = () => ask('/login', { method: 'POST' });
    expect(await login()).toMatchObject({ status: 200, body: '{"welcome":true}' });
    expect((await login()).headers.get('ratelimit')).toMatch(/^"login";r=0;t=/);
    expect((await login()).status).toBe(429);
  });

  test('the health check is not limited', async () => {
    for (let time = 0; time < 10; time++) expect(await ask('/health')).toMatchObject({ status: 200, body: 'ok' });
  });
});

test.each(RUNTIMES)('node on $name: two connections of a WebSocket, and no third', async (runtime) => {
  const example = await startExample(app, runtime, 'node');
  const open = async (): Promise<string> => {
    const socket = connect(example.port, 'localhost');
    const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13';
    socket.write(`GET /live HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${key}\r\n\r\n`);
    let text = '';
    for await (const chunk of socket) text += chunk;
    return text.split('\r\n')[0]!;
  };
  expect([await open(), await open(), await open()]).toEqual([
    ...Array(2).fill('HTTP/1.1 101 Switching Protocols'),
    'HTTP/1.1 429 Too Many Requests',
  ]);
  await example.stop();
});

test('an example that does not exist is one line and exit code 2', async () => {
  await expect(startExample(app, RUNTIMES[0]!, 'rails')).rejects.toThrow(
    /ended with 2: Usage: node examples\/run.mjs <algorithm \| elysia \| express \|/,
  );
});
