/** Messages and connections of a real server of `ws`, from its own client. */

import { once } from 'node:events';
import { request as ask, createServer } from 'node:http';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type ClientOptions, type RawData, WebSocket, WebSocketServer } from 'ws';
import { byConnection, rateLimit, rateLimitConnections, type WsRateLimitOptions } from '../../src/frameworks/ws.ts';
import { byHeader, byUser } from '../../src/http/index.ts';
import { concurrency, createLimiter, fixedWindow, manualClock, memoryStore, type Store } from '../../src/index.ts';
import { fallback } from '../../src/layers/index.ts';
import { listening } from './servers.ts';

const day = (limit: number) => fixedWindow({ name: 'day', limit, window: '1d', align: 'first' });
const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

interface Setup {
  readonly messages?: WsRateLimitOptions;
  readonly connections?: Parameters<typeof rateLimitConnections>[0];
}

async function serve({ messages, connections }: Setup) {
  const http = createServer();
  const server = new WebSocketServer({
    server: http,
    ...(connections && { verifyClient: rateLimitConnections(connections) }),
  });
  const heard: string[] = [];
  const limited = messages && rateLimit(messages);
  server.on('connection', (socket, request) => {
    const listener = (data: RawData): void => {
      heard.push(String(data));
      socket.send(`got ${data}`);
    };
    socket.on('message', limited === undefined ? listener : limited(socket, request, listener));
  });
  const running = await listening(http.listen(0, '127.0.0.1'));
  stops.push(running.stop, () => server.close());
  const connect = async (options: ClientOptions = {}) => {
    const socket = new WebSocket(`ws://127.0.0.1:${running.port}/live`, options);
    stops.push(() => socket.terminate());
    socket.on('error', () => {});
    const got: string[] = [];
    socket.on('message', (data) => got.push(String(data)));
    await once(socket, 'open');
    return Object.assign(socket, { got });
  };
  return { server, connect, heard, port: running.port };
}

const soon = { timeout: 20_000 };
const DENIED = '{"error":"rate_limited","message":"Too many requests. Retry after 86400 seconds.","retryAfter":86400}';

describe('messages', () => {
  test('those over the limit are answered with when, and nobody hears them', async () => {
    const store = memoryStore({ clock: manualClock() });
    const { connect, heard } = await serve({ messages: { policy: day(2), store } });
    const socket = await connect();
    for (const text of ['one', 'two', 'three', 'four']) socket.send(text);
    await expect.poll(() => socket.got, soon).toEqual(['got one', 'got two', DENIED, DENIED]);
    expect(heard).toEqual(['one', 'two']);
    const other = await connect();
    other.send('from the same address');
    await expect.poll(() => other.got, soon).toEqual([DENIED]);
  });

  test('each connection by itself, or each user', async () => {
    const alone = await serve({ messages: { policy: day(1), key: byConnection() } });
    for (const socket of [await alone.connect(), await alone.connect()]) {
      socket.send('one');
      socket.send('two');
      await expect.poll(() => socket.got.length, soon).toBe(2);
    }
    expect(alone.heard).toEqual(['one', 'one']);
    const users = await serve({ messages: { policy: day(1), key: byHeader('x-user') } });
    for (const user of ['ada', 'ada', 'bob']) {
      const socket = await users.connect({ headers: { 'x-user': user } });
      socket.send(user);
      await expect.poll(() => socket.got.length, soon).toBe(1);
    }
    expect(users.heard).toEqual(['ada', 'bob']);
  });

  test('the cost may be the size', async () => {
    const { connect, heard } = await serve({
      messages: { policy: day(10), cost: ({ native }) => (native.data as Buffer).length },
    });
    const socket = await connect();
    for (const text of ['12345678', '1234', '12']) socket.send(text);
    await expect.poll(() => socket.got.length, soon).toBe(3);
    expect(heard).toEqual(['12345678', '12']);
  });

  test('drop: nothing is said', async () => {
    const { connect } = await serve({
      messages: { policy: day(1), onDenied: 'drop', skip: ({ native }) => String(native.data) === 'free' },
    });
    const socket = await connect();
    for (const text of ['one', 'two', 'free']) socket.send(text);
    await expect.poll(() => socket.got, soon).toEqual(['got one', 'got free']);
  });

  test('close: 1008 with a reason, and 1013 when the limiter fails closed', async () => {
    const { connect } = await serve({ messages: { policy: day(1), onDenied: 'close' } });
    const socket = await connect();
    for (const text of ['one', 'two', 'three']) socket.send(text);
    const [code, reason] = await once(socket, 'close');
    expect([code, String(reason)]).toEqual([
      1008,
      expect.stringMatching(/^Too many requests\. Retry after \d+ seconds\.$/),
    ]);
    const away: Store = { ask: () => Promise.reject(new Error('away')) };
    const store = fallback({ to: 'deny' })(away);
    const shut = await serve({ messages: { policy: day(1), store, onDenied: 'close' } });
    const other = await shut.connect();
    other.send('one');
    expect((await once(other, 'close'))[0]).toBe(1013);
  });

  test('a function does what it likes, and is told all', async () => {
    const onDenied = vi.fn((refusal, { socket, data }) => socket.send(`${data}: ${refusal.error}`));
    const { connect } = await serve({ messages: { policy: day(1), onDenied } });
    const socket = await connect();
    for (const text of ['one', 'two']) socket.send(text);
    await expect.poll(() => socket.got, soon).toEqual(['got one', 'two: rate_limited']);
  });

  test('nobody who is logged in is answered with a sentence', async () => {
    const { connect, heard } = await serve({ messages: { policy: day(1), key: byUser(() => undefined) } });
    const socket = await connect();
    socket.send('one');
    await expect
      .poll(() => socket.got, soon)
      .toEqual([
        '{"error":"missing_key","message":"This request does not say who is calling: a user who is logged in is missing."}',
      ]);
    expect(heard).toEqual([]);
  });

  test('a store that fails is told to onError, and the message is not heard', async () => {
    const onError = vi.fn();
    const store: Store = { ask: () => Promise.reject(new Error('the store is away')) };
    const { connect, heard } = await serve({ messages: { policy: day(1), store, onError } });
    (await connect()).send('one');
    await expect.poll(() => onError.mock.calls.length, soon).toBe(1);
    expect(heard).toEqual([]);
  });

  test('with a slow store messages keep their order, and a client that floods is paused', async () => {
    const memory = memoryStore();
    const answers: (() => void)[] = [];
    const slow: Store = {
      ask: async (question) => {
        await new Promise<void>((resolve) => answers.push(resolve));
        return memory.ask(question);
      },
    };
    const { connect, heard, server } = await serve({ messages: { policy: day(1000), store: slow } });
    const socket = await connect();
    for (let index = 0; index < 300; index++) socket.send(`${index}`);
    const [accepted] = [...server.clients];
    await expect.poll(() => accepted!.isPaused, soon).toBe(true);
    while (heard.length < 300) {
      answers.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(heard).toEqual(Array.from({ length: 300 }, (_, index) => `${index}`));
    expect(accepted!.isPaused).toBe(false);
  });

  test('a client that sends and does not read is not answered for ever', async () => {
    const sent = vi.fn();
    const limited = rateLimit({ policy: day(1), key: () => 'one' });
    const socket = { send: sent, readyState: 1, bufferedAmount: 1e9, pause() {}, resume() {}, isPaused: false };
    const heard: string[] = [];
    const listen = limited(socket as never, { headers: {}, url: '/' } as never, (data) => {
      heard.push(String(data));
      socket.bufferedAmount = 1e9;
    });
    for (const text of ['one', 'two']) listen(text as never, false);
    await expect.poll(() => heard).toEqual(['one']);
    await new Promise((resolve) => setImmediate(resolve));
    socket.bufferedAmount = 0;
    listen('three' as never, false);
    await expect.poll(() => sent.mock.calls.length).toBe(1);
  });
});

describe('connections', () => {
  test('so many at a time for each address: the next gets a 429, until one is closed', async () => {
    const limiter = createLimiter({ policy: concurrency({ name: 'sockets', limit: 2, ttl: '1h' }) });
    const { connect, port } = await serve({ connections: { limiter } });
    const first = await connect();
    await connect();
    const denied = ask({ port, host: '127.0.0.1', headers: UPGRADE });
    denied.end();
    const [response] = await once(denied, 'response');
    expect([response.statusCode, response.headers['retry-after']]).toEqual([429, expect.stringMatching(/^\d+$/)]);
    let text = '';
    for await (const chunk of response) text += chunk;
    expect(text).toMatch(/^Too many requests\./);
    first.close();
    await expect.poll(async () => (await limiter.peek('ip:127.0.0.1', { cost: 0 })).remaining, soon).toBe(1);
    await connect();
  });

  test('attempts to connect under another policy, by user, with a store', async () => {
    const store = memoryStore();
    const { connect } = await serve({ connections: { policy: day(1), store, key: byHeader('x-user') } });
    await connect({ headers: { 'x-user': 'ada' } });
    await expect(connect({ headers: { 'x-user': 'ada' } })).rejects.toThrow('429');
    await connect({ headers: { 'x-user': 'bob' } });
    await expect(connect()).rejects.toThrow('401');
  });

  test('a store that fails is a 500, and onError is told', async () => {
    const onError = vi.fn();
    const store: Store = { ask: () => Promise.reject(new Error('away')) };
    const { connect } = await serve({ connections: { policy: day(1), store, onError } });
    await expect(connect()).rejects.toThrow('500');
    expect(onError).toHaveBeenCalledOnce();
  });
});

const UPGRADE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-version': '13',
};

test.each<[limit: (options: never) => unknown, options: object, path: string]>([
  [rateLimit, {}, 'rateLimit'],
  [rateLimit, { policy: day(1), onDenied: 'shout' }, 'rateLimit.onDenied'],
  [rateLimit, { policy: day(1), settle: () => 1 }, 'rateLimit.settle'],
  [rateLimit, { policy: day(1), headers: 'draft' }, 'rateLimit.headers'],
  [rateLimitConnections, { policy: day(1), countOnly: () => true }, 'rateLimitConnections'],
  [rateLimitConnections, { policy: day(1), max: 5 }, 'rateLimitConnections.max'],
])('%o refuses %o', (limit, options, path) => {
  expect(() => limit(options as never)).toThrow(expect.objectContaining({ path }));
});

test.each([
  [undefined, {}, () => {}],
  [{ send() {} }, undefined, () => {}],
  [{ send() {} }, { headers: {} }, undefined],
])('refuses a connection that is none: %o %o', (socket, request, listener) => {
  const limited = rateLimit({ policy: day(1) });
  expect(() => limited(socket as never, request as never, listener as never)).toThrow(
    'rateLimit(...)(socket, request, listener)',
  );
});
