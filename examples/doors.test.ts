/** The examples that are asked by other means than requests of HTTP, each by the client that its users have. */
import { once } from 'node:events';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { createTRPCClient, httpBatchLink } from '@trpc/client';
import { io } from 'socket.io-client';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { RUNTIMES } from '../tools/runtimes/index.ts';
import { type PackedApp, packedApp } from '../tools/runtimes/packed-app.ts';
import { startExample } from './start.ts';
import type { AppRouter } from './trpc/server.ts';

let app: PackedApp;
const stops: (() => unknown)[] = [];
beforeAll(async () => {
  app = await packedApp(['examples']);
}, 300_000);
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});
afterAll(() => app?.remove());

const soon = { timeout: 20_000 };

async function start(name: string) {
  const example = await startExample(app, RUNTIMES[0]!, name);
  stops.push(() => example.stop());
  return example;
}

test('trpc', async () => {
  const { url } = await start('trpc');
  const client = createTRPCClient<AppRouter>({ links: [httpBatchLink({ url })] });
  const asked = await Promise.allSettled(Array.from({ length: 6 }, () => client.home.query()));
  expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
  const denied = asked.find(({ status }) => status === 'rejected') as PromiseRejectedResult;
  expect(denied.reason.data).toMatchObject({ code: 'TOO_MANY_REQUESTS', retryAfter: expect.any(Number) });
  expect([await client.login.mutate(), await client.health.query()]).toEqual([{ welcome: true }, 'ok']);
});

const graphql = async (url: string, query: string) => {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  return (await response.json()) as { data?: object | null; errors?: { extensions: Record<string, unknown> }[] };
};

test('graphql', async () => {
  const { url } = await start('graphql');
  expect((await graphql(url, '{ users(first: 3) { name } }')).data).toHaveProperty('users');
  expect((await graphql(url, '{ users(first: 5) { name report } }')).errors![0]!.extensions).toMatchObject({
    ...{ code: 'RATE_LIMITED', cost: 106 },
  });
  expect((await graphql(url, '{ users(first: 4) { report } }')).data).toHaveProperty('users');
  expect((await graphql(url, '{ users(first: 4) { report } }')).errors![0]!.extensions).toMatchObject({
    ...{ code: 'RATE_LIMITED', retryAfter: expect.any(Number) },
  });
});

test('nest-graphql', async () => {
  const { url, port } = await start('nest-graphql');
  for (let time = 0; time < 2; time++) expect(await graphql(url, '{ report }')).toEqual({ data: { report: 'long' } });
  expect((await graphql(url, '{ report }')).errors![0]!.extensions).toMatchObject({ code: 'RATE_LIMITED' });
  expect((await graphql(url, '{ home }')).data).toEqual({ home: 'hello' });
  const got = await saying(port, JSON.stringify({ event: 'say', data: 'hi' }), 6);
  // The resolver and the gateway share the limit of the module.
  expect(got.filter((text) => text.includes('"said"'))).toHaveLength(4);
  expect(got.filter((text) => text.includes('rate_limited'))).toHaveLength(2);
});

async function open(port: number): Promise<WebSocket> {
  const socket = new WebSocket(`ws://localhost:${port}`);
  stops.push(() => socket.terminate());
  await once(socket, 'open');
  return socket;
}

async function saying(port: number, text: string, times: number): Promise<string[]> {
  const socket = await open(port);
  const got: string[] = [];
  socket.on('message', (data) => got.push(String(data)));
  for (let time = 0; time < times; time++) socket.send(text);
  await expect.poll(() => got.length, soon).toBe(times);
  return got;
}

test('ws', async () => {
  const { port } = await start('ws');
  const got = await saying(port, 'hi', 6);
  expect(got.slice(0, 5)).toEqual([4, 3, 2, 1, 0].map((left) => `hi (${left} left)`));
  expect(JSON.parse(got[5]!)).toMatchObject({ error: 'rate_limited', retryAfter: expect.any(Number) });
  await open(port);
  await expect(open(port)).rejects.toThrow('429');
});

test('socket.io', async () => {
  const { url } = await start('socket.io');
  const connect = () => {
    const socket = io(url, { forceNew: true, reconnection: false });
    stops.push(() => socket.disconnect());
    return socket;
  };
  const socket = connect();
  const answers = await Promise.all(Array.from({ length: 6 }, () => socket.timeout(20_000).emitWithAck('say', 'hi')));
  expect(answers.map(({ said, error }) => said ?? error)).toEqual([...Array(5).fill('hi'), 'rate_limited']);
  await once(connect() as never, 'connect');
  const [error] = await once(connect() as never, 'connect_error');
  expect(error.data).toMatchObject({ error: 'rate_limited' });
});

describe('mcp', () => {
  test('over stdio', async () => {
    const client = new Client({ name: 'tester', version: '1.0.0' });
    const args = [join(app.folder, 'examples/run.mjs'), 'mcp'];
    await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd: app.folder }) as never);
    stops.push(() => client.close());
    const search = () => client.callTool({ name: 'search', arguments: { query: 'cats' } });
    for (let time = 0; time < 2; time++)
      expect((await search()).content).toEqual([{ type: 'text', text: 'Nothing about cats.' }]);
    const { isError, content } = await search();
    expect(isError).toBe(true);
    expect((content as { text: string }[])[0]!.text).toMatch(
      /^The tool "search" is rate limited\. Wait \d+ seconds before/,
    );
    expect((await client.callTool({ name: 'version' })).isError).toBeUndefined();
  });
});
