/** Tools of an MCP server behind streamable HTTP, called by the SDK's own client. examples/doors.test.ts does the same over stdio. */
import { createServer } from 'node:http';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { type McpRateLimitOptions, rateLimit } from '../../src/frameworks/mcp.ts';
import { byHeader, byUser } from '../../src/http/index.ts';
import { concurrency, createLimiter, fixedWindow, manualClock, memoryStore } from '../../src/index.ts';
import { listening } from './servers.ts';

const day = (name: string, limit: number) => fixedWindow({ name, limit, window: '1d', align: 'first' });
const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

type Work = (query: string) => unknown;

/** A new server for each request, as servers without sessions have it: the limit is one for all of them. */
function toolsOf(options: McpRateLimitOptions, work: Work = (query) => query) {
  const limited = rateLimit(options);
  return () => {
    const server = limited(new McpServer({ name: 'test', version: '1.0.0' }));
    server.registerTool('search', { inputSchema: { query: z.string() } }, async ({ query }) => ({
      content: [{ type: 'text', text: String(await work(query)) }],
    }));
    server.registerTool('now', { outputSchema: { time: z.number() } }, async () => ({
      content: [{ type: 'text', text: '1' }],
      structuredContent: { time: 1 },
    }));
    server.registerTool('wrong', {}, async () => ({ isError: true, content: [{ type: 'text', text: 'no' }] }));
    return server;
  };
}

async function serve(make: () => McpServer): Promise<string> {
  const http = createServer(async (request, response) => {
    const token = request.headers.authorization?.replace('Bearer ', '');
    // As the SDK's requireBearerAuth leaves it.
    if (token !== undefined)
      Object.assign(request, { auth: { token, clientId: token, scopes: [] } satisfies AuthInfo });
    const transport = new StreamableHTTPServerTransport();
    const server = make();
    response.on('close', () => void server.close());
    await server.connect(transport as never);
    await transport.handleRequest(request, response);
  });
  const running = await listening(http.listen(0, '127.0.0.1'));
  stops.push(running.stop);
  return `http://127.0.0.1:${running.port}/mcp`;
}

async function connect(url: string, headers: Record<string, string> = {}): Promise<Client> {
  const client = new Client({ name: 'tester', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }) as never);
  stops.push(() => client.close());
  return client;
}

const as = (who: string) => ({ authorization: `Bearer ${who}` });
const search = (client: Client, query = 'x') => client.callTool({ name: 'search', arguments: { query } });
const textOf = (result: Awaited<ReturnType<Client['callTool']>>) => (result.content as { text: string }[])[0]!.text;

describe('over HTTP', () => {
  test('each tool and each caller has a limit, and a denied model is told how long to wait', async () => {
    const store = memoryStore({ clock: manualClock() });
    const url = await serve(toolsOf({ policy: day('tools', 1), store }));
    const [ada, bob] = [await connect(url, as('ada')), await connect(url, as('bob'))];
    expect(textOf(await search(ada))).toBe('x');
    expect(await search(ada)).toEqual({
      isError: true,
      content: [
        {
          type: 'text',
          text: 'The tool "search" is rate limited. Wait 86400 seconds before you call it again; calls before that will be denied, too.',
        },
      ],
      _meta: { 'sluice/rate-limit': { error: 'rate_limited', status: 429, retryAfter: 86_400 } },
    });
    expect((await ada.callTool({ name: 'now' })).structuredContent).toEqual({ time: 1 });
    expect(await ada.callTool({ name: 'now' })).toMatchObject({ isError: true });
    expect(textOf(await search(bob))).toBe('x');
    expect((await ada.listTools()).tools.map(({ name }) => name)).toEqual(['search', 'now', 'wrong']);
  });

  test('without a login nobody knows who it is, and the sentence says so', async () => {
    const work = vi.fn();
    const client = await connect(await serve(toolsOf({ policy: day('tools', 1) }, work)));
    expect(textOf(await search(client))).toBe(
      'This request does not say who is calling: a client who is logged in (give rateLimit a `key` that says who is calling) is missing.',
    );
    expect(work).not.toHaveBeenCalled();
  });

  test('a key of your own, and one limit for all tools', async () => {
    const url = await serve(toolsOf({ policy: day('tools', 2), key: byHeader('x-api-key') }));
    const client = await connect(url, { 'X-API-Key': 'k' });
    await search(client);
    await client.callTool({ name: 'now' });
    expect(await search(client)).toMatchObject({ isError: true });
    const byClient = byUser(({ authInfo }: { authInfo?: { clientId?: string } | undefined }) => authInfo?.clientId);
    const other = await connect(await serve(toolsOf({ policy: day('tools', 1), key: byClient as never })), as('ada'));
    await search(other);
    expect(await other.callTool({ name: 'now' })).toMatchObject({ isError: true });
  });
});

async function direct(make: () => McpServer): Promise<Client> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const server = make();
  await server.connect(far as never);
  const client = new Client({ name: 'tester', version: '1.0.0' });
  await client.connect(near as never);
  stops.push(() => client.close());
  return client;
}

describe('by whatever transport', () => {
  test('tools with limits of their own, and without', async () => {
    const tools = { search: { policy: day('search', 1) }, now: false as const };
    const client = await direct(toolsOf({ policy: day('all', 2), tools }));
    expect([textOf(await search(client)), (await search(client)).isError]).toEqual(['x', true]);
    for (let time = 0; time < 3; time++) expect((await client.callTool({ name: 'now' })).isError).toBeUndefined();
    await client.callTool({ name: 'wrong' });
    await client.callTool({ name: 'wrong' });
    expect(textOf(await client.callTool({ name: 'wrong' }))).toContain('rate limited');
  });

  test('a call that costs too much is told that waiting does not help', async () => {
    const client = await direct(toolsOf({ policy: day('tools', 5), cost: ({ native }) => (native.args ? 9 : 1) }));
    const result = await search(client);
    expect(textOf(result)).toContain('Calling it again with the same arguments will not help.');
    expect(result._meta).toEqual({ 'sluice/rate-limit': { error: 'rate_limited', status: 429 } });
  });

  test('only failures count', async () => {
    const client = await direct(
      toolsOf({ policy: day('tools', 1), key: () => 'one', countOnly: ({ status }) => status >= 400 }),
    );
    for (let time = 0; time < 3; time++) expect(textOf(await search(client))).toBe('x');
    expect(textOf(await client.callTool({ name: 'wrong' }))).toBe('no');
    expect(await search(client)).toMatchObject({ isError: true });
  });

  test('a place is held while a tool runs, also when it throws', async () => {
    const limiter = createLimiter({ policy: concurrency({ limit: 1, ttl: '1h' }) });
    const free = async () => (await limiter.peek('one', { cost: 0 })).remaining;
    let end = (): void => {};
    const work: Work = (query) =>
      query === 'throw' ? Promise.reject(new Error('broken')) : new Promise((resolve) => (end = () => resolve('late')));
    const client = await direct(toolsOf({ limiter, key: () => 'one' }, work));
    const waiting = search(client);
    await expect.poll(free).toBe(0);
    expect(textOf(await client.callTool({ name: 'wrong' }))).toContain('Wait ');
    end();
    expect(textOf(await waiting)).toBe('late');
    expect(textOf(await search(client, 'throw'))).toContain('broken');
    expect(await free()).toBe(1);
  });

  test('a store that fails is a result that says so, and the tool does not run', async () => {
    const work = vi.fn();
    const store = { ask: () => Promise.reject(new Error('the store is away')) };
    const client = await direct(toolsOf({ policy: day('tools', 1), store }, work));
    expect(await search(client)).toMatchObject({ isError: true, content: [{ text: 'the store is away' }] });
    expect(work).not.toHaveBeenCalled();
  });
});

test.each<[options: object, path: string]>([
  [{}, 'rateLimit'],
  [{ policy: day('x', 1), max: 5 }, 'rateLimit.max'],
  [{ policy: day('x', 1), tools: { search: 5 } }, 'rateLimit.tools.search'],
  [{ policy: day('x', 1), tools: { search: { max: 5 } } }, 'rateLimit.tools.search.max'],
])('refuses %o', (options, path) => {
  expect(() => rateLimit(options as never)).toThrow(expect.objectContaining({ path }));
});

test('refuses what is no server', () => {
  expect(() => rateLimit({ policy: day('x', 1) })({} as never)).toThrow(
    'rateLimit(...)(server): expected an McpServer of @modelcontextprotocol/sdk, got an object',
  );
});

test('tools that were there before are an error, and the older way to declare them is limited, too', async () => {
  const limited = rateLimit({ policy: day('tools', 1) });
  const late = new McpServer({ name: 'test', version: '1.0.0' });
  late.registerTool('early', {}, async () => ({ content: [] }));
  expect(() => limited(late)).toThrow(
    'The tool "early" is not rate limited: it was registered before the limit. Call `limited(server)` first.',
  );
  const client = await direct(() => {
    const server = limited(new McpServer({ name: 'test', version: '1.0.0' }));
    server.tool('search', { query: z.string() }, async ({ query }) => ({ content: [{ type: 'text', text: query }] }));
    server.tool('plain', async () => ({ content: [] }));
    return server;
  });
  expect([textOf(await search(client)), (await search(client)).isError]).toEqual(['x', true]);
  expect([
    (await client.callTool({ name: 'plain' })).isError,
    (await client.callTool({ name: 'plain' })).isError,
  ]).toEqual([...[undefined, true]]);
});
