/** Events and connections of a real server of Socket.IO, from its own client. */
import { createServer } from 'node:http';
import { Server } from 'socket.io';
import { type ManagerOptions, io as open, type Socket, type SocketOptions } from 'socket.io-client';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  byConnection,
  rateLimit,
  rateLimitConnections,
  type SocketIoRateLimitOptions,
} from '../../src/frameworks/socket.io.ts';
import { byHeader, byRoute, byUser } from '../../src/http/index.ts';
import { concurrency, createLimiter, fixedWindow, manualClock, memoryStore, type Store } from '../../src/index.ts';
import { listening } from './servers.ts';

const day = (limit: number) => fixedWindow({ name: 'day', limit, window: '1d', align: 'first' });
const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

interface Setup {
  readonly events?: SocketIoRateLimitOptions;
  readonly connections?: Parameters<typeof rateLimitConnections>[0];
}

type Options = Partial<ManagerOptions & SocketOptions>;

async function serve({ events, connections }: Setup) {
  const http = createServer();
  const io = new Server(http);
  io.use((socket, next) => {
    socket.data.user = socket.handshake.auth.user;
    next();
  });
  if (connections !== undefined) io.use(rateLimitConnections(connections));
  if (events !== undefined) io.use(rateLimit(events));
  const heard: string[] = [];
  io.on('connection', (socket) => {
    socket.on('say', (text: string, answer?: (text: string) => void) => {
      heard.push(text);
      answer?.(`got ${text}`);
    });
    socket.on('other', (_: string, answer: (text: string) => void) => answer('other'));
  });
  const running = await listening(http.listen(0, '127.0.0.1'));
  stops.push(running.stop, () => io.close());
  const connecting = (options: Options = {}): Socket => {
    const socket = open(`http://127.0.0.1:${running.port}`, {
      reconnection: false,
      forceNew: true,
      transports: ['websocket'],
      ...options,
    });
    stops.push(() => socket.disconnect());
    return socket;
  };
  const connect = async (options: Options = {}) => {
    const socket = connecting(options);
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('connect_error', reject));
    return socket;
  };
  return { io, connect, heard };
}

const soon = { timeout: 20_000 };
const say = (socket: Socket, text: string, event = 'say') => socket.timeout(20_000).emitWithAck(event, text);
const DENIED = { error: 'rate_limited', message: 'Too many requests. Retry after 86400 seconds.', retryAfter: 86_400 };

describe('events', () => {
  test.each(['websocket', 'polling'])('over %s: those over the limit are acknowledged with when', async (transport) => {
    const { connect, heard } = await serve({
      events: { policy: day(2), store: memoryStore({ clock: manualClock() }) },
    });
    const socket = await connect({ transports: [transport] });
    const answers = await Promise.all(['one', 'two', 'three'].map((text) => say(socket, text)));
    expect(answers).toEqual(['got one', 'got two', DENIED]);
    expect(heard).toEqual(['one', 'two']);
  });

  test('without an acknowledgement by an event', async () => {
    const { connect, heard } = await serve({
      events: { policy: day(1), store: memoryStore({ clock: manualClock() }) },
    });
    const socket = await connect();
    const told = vi.fn();
    socket.on('rate_limited', told);
    socket.emit('say', 'one');
    socket.emit('say', 'two');
    await expect.poll(() => told.mock.calls, soon).toEqual([[{ event: 'say', ...DENIED }]]);
    expect(heard).toEqual(['one']);
  });

  test('by user, by connection, by event', async () => {
    const users = await serve({
      events: {
        policy: day(1),
        key: byUser(({ socket }: { socket: { data: { user?: string } } }) => socket.data.user) as never,
      },
    });
    const as = (user: string) => users.connect({ auth: { user } });
    expect(await say(await as('ada'), 'x')).toBe('got x');
    expect(await say(await as('ada'), 'x')).toMatchObject({ error: 'rate_limited' });
    expect(await say(await as('bob'), 'x')).toBe('got x');
    const alone = await serve({ events: { policy: day(1), key: byConnection() } });
    for (const socket of [await alone.connect(), await alone.connect()]) {
      expect([await say(socket, 'x'), (await say(socket, 'x')).error]).toEqual(['got x', 'rate_limited']);
    }
    const events = await serve({ events: { policy: day(1), key: byRoute() } });
    const socket = await events.connect();
    expect([await say(socket, 'x'), await say(socket, 'x', 'other')]).toEqual(['got x', 'other']);
  });

  test('drop, close and a function of your own', async () => {
    const dropping = await serve({
      events: { policy: day(1), onDenied: 'drop', skip: ({ native }) => native.args[0] === 'free' },
    });
    const socket = await dropping.connect();
    for (const text of ['one', 'two', 'free']) socket.emit('say', text);
    await expect.poll(() => dropping.heard, soon).toEqual(['one', 'free']);
    const closing = await serve({ events: { policy: day(1), onDenied: 'close' } });
    const other = await closing.connect();
    const gone = new Promise((resolve) => other.once('disconnect', resolve));
    for (const text of ['one', 'two']) other.emit('say', text);
    expect(await gone).toBe('io server disconnect');
    const onDenied = vi.fn((refusal, { args }) => args.at(-1)(refusal.status));
    const own = await serve({ events: { policy: day(1), onDenied } });
    const third = await own.connect();
    expect([await say(third, 'one'), await say(third, 'two')]).toEqual(['got one', 429]);
  });

  test('with a slow store events keep their order, and those beyond what may wait are denied', async () => {
    const memory = memoryStore();
    const answers: (() => void)[] = [];
    const slow: Store = {
      ask: async (question) => {
        await new Promise<void>((resolve) => answers.push(resolve));
        return memory.ask(question);
      },
    };
    const { connect, heard } = await serve({ events: { policy: day(1000), store: slow } });
    const socket = await connect();
    const busy = vi.fn();
    socket.on('rate_limited', busy);
    for (let index = 0; index < 103; index++) socket.emit('say', `${index}`);
    await expect.poll(() => busy.mock.calls.length, soon).toBeGreaterThan(0);
    expect(busy.mock.calls[0]![0]).toMatchObject({ error: 'temporarily_unavailable', retryAfter: 1 });
    while (heard.length < 100) {
      answers.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    socket.emit('say', 'last');
    while (heard.length < 101) {
      answers.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(heard).toEqual([...Array.from({ length: 100 }, (_, index) => `${index}`), 'last']);
  });

  test('a store that fails is told to onError, and the event is not heard', async () => {
    const onError = vi.fn();
    const store: Store = { ask: () => Promise.reject(new Error('the store is away')) };
    const { connect, heard } = await serve({ events: { policy: day(1), store, onError } });
    (await connect()).emit('say', 'one');
    await expect.poll(() => onError.mock.calls.length, soon).toBe(1);
    expect(heard).toEqual([]);
  });
});

describe('connections', () => {
  test('so many at a time: the next is told when to come back, until one has gone', async () => {
    const limiter = createLimiter({ policy: concurrency({ name: 'sockets', limit: 2, ttl: '1h' }) });
    const free = async () => (await limiter.peek('ip:127.0.0.1', { cost: 0 })).remaining;
    const { connect, io } = await serve({ connections: { limiter } });
    const first = await connect();
    await connect({ transports: ['polling', 'websocket'] });
    await expect(connect()).rejects.toMatchObject({
      message: expect.stringMatching(/^Too many requests\. Retry after \d+ seconds?\.$/),
      data: { error: 'rate_limited', retryAfter: expect.any(Number) },
    });
    first.disconnect();
    await expect.poll(free, soon).toBe(1);
    const [left] = [...io.sockets.sockets.values()];
    left!.conn.close();
    await expect.poll(free, soon).toBe(2);
  });

  test('a client that goes while it is asked about gives its place back', async () => {
    const limiter = createLimiter({ policy: concurrency({ limit: 2, ttl: '1h' }) });
    let go = (): void => {};
    const key = async () => {
      await new Promise<void>((resolve) => (go = resolve));
      return 'all';
    };
    const asked = vi.fn(key);
    const { connect, io } = await serve({ connections: { limiter, key: asked } });
    const connecting = connect().catch(() => 'gone');
    await expect.poll(() => asked.mock.calls.length, soon).toBe(1);
    const { clients } = io.engine as unknown as { clients: Record<string, { close(): void }> };
    for (const client of Object.values(clients)) client.close();
    await expect.poll(() => io.engine.clientsCount, soon).toBe(0);
    go();
    await expect.poll(async () => (await limiter.peek('all', { cost: 0 })).remaining, soon).toBe(2);
    void connecting;
  });

  test('attempts to connect under another policy, by a header, with a store', async () => {
    const { connect } = await serve({ connections: { policy: day(1), store: memoryStore(), key: byHeader('x-user') } });
    const as = (user: string) => connect({ extraHeaders: { 'x-user': user } });
    await as('ada');
    await expect(as('ada')).rejects.toMatchObject({ data: { error: 'rate_limited' } });
    await as('bob');
    await expect(connect()).rejects.toThrow('the header x-user is missing');
  });

  test('a store that fails says so, and onError is told', async () => {
    const onError = vi.fn();
    const store: Store = { ask: () => Promise.reject(new Error('away')) };
    const { connect } = await serve({ connections: { policy: day(1), store, onError } });
    await expect(connect()).rejects.toThrow('The rate limiter failed.');
    expect(onError).toHaveBeenCalledOnce();
  });
});

test.each<[limit: (options: never) => unknown, options: object, path: string]>([
  [rateLimit, {}, 'rateLimit'],
  [rateLimit, { policy: day(1), onDenied: 'shout' }, 'rateLimit.onDenied'],
  [rateLimit, { policy: day(1), countOnly: () => true }, 'rateLimit.countOnly'],
  [rateLimitConnections, { policy: day(1), settle: () => 1 }, 'rateLimitConnections'],
  [rateLimitConnections, { policy: day(1), max: 5 }, 'rateLimitConnections.max'],
])('%o refuses %o', (limit, options, path) => {
  expect(() => limit(options as never)).toThrow(expect.objectContaining({ path }));
});
