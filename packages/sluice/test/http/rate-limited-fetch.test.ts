/** The fetch that keeps to limits, against a real server; time passes only where the test lets it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type RateLimitedFetchOptions, rateLimitedFetch } from '../../src/http/index.ts';
import { createLimiter, leakyBucket, manualClock, memoryStore, type Policy, tokenBucket } from '../../src/index.ts';

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

let handle: Handler;
const bodies: string[] = [];
const server = createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => {
    body += chunk;
  });
  request.on('end', () => {
    bodies.push(body);
    handle(request, response, body);
  });
});
let url: string;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterEach(() => bodies.splice(0));
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

type Reply = [status: number, headers?: Record<string, string>];

/** Replies one after the other; the last one again and again. */
function serve(...replies: readonly Reply[]): void {
  let next = 0;
  handle = (_, response) => {
    const [status, headers] = replies[Math.min(next++, replies.length - 1)]!;
    response.writeHead(status, headers).end(`${status}`);
  };
}

const NOW = Date.parse('2026-11-05T12:00:00Z');

/** A client for whom waiting takes no time. */
function clientWith(options: Omit<RateLimitedFetchOptions, 'limiter'> & { policy?: Policy } = {}) {
  const { policy, ...rest } = options;
  const clock = manualClock(NOW);
  const slept: number[] = [];
  const sleep = async (ms: number): Promise<void> => {
    slept.push(ms);
    clock.advance(ms);
  };
  const limiter = policy && createLimiter({ policy, store: memoryStore({ clock }) });
  return { slept, clock, limiter, fetch: rateLimitedFetch(fetch, { clock, sleep, limiter, ...rest }) };
}

/** `Date` is what the server says it is: the real one of node:http would not fit the clock of the tests. */
const DATE = { date: new Date(NOW).toUTCString() };
const OK: Reply = [200];
const after = (seconds: string): Reply => [429, { ...DATE, 'retry-after': seconds }];

describe('what a server says is kept', () => {
  test.each<[why: string, replies: Reply[], slept: number[], status: number]>([
    ['nothing to wait for', [OK], [], 200],
    ['Retry-After', [after('2'), OK], [2000], 200],
    ['Retry-After as a date', [after('Thu, 05 Nov 2026 12:00:03 GMT'), OK], [3000], 200],
    ['Retry-After: 0', [after('0'), OK], [0], 200],
    ['again and again', [after('1'), after('2'), after('3'), OK], [1000, 2000, 3000], 200],
    ['but not more often than asked', [after('1')], [1000, 1000, 1000], 429],
    ['503 with Retry-After', [[503, { 'retry-after': '4' }], OK], [4000], 200],
    ['503 without is not tried again', [[503], OK], [], 503],
    [
      'GitHub, which says 403 when nothing is left',
      [[403, { ...DATE, 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${NOW / 1000 + 9}` }], OK],
      [9000],
      200,
    ],
    ['403 with Retry-After, as GitHub for too much at once', [[403, { 'retry-after': '4' }], OK], [4000], 200],
    ['403 without is a refusal', [[403, { 'x-ratelimit-remaining': '7', 'x-ratelimit-reset': '9' }], OK], [], 403],
    ['other errors are not tried again', [[500, { 'retry-after': '1' }], OK], [], 500],
    ['a reset in place of Retry-After', [[429, { ratelimit: '"a";r=0;t=7' }], OK], [7000], 200],
    ['OpenAI', [[429, { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '20ms' }], OK], [20], 200],
    ['a reset of a quota that is not empty says nothing', [[429, { ratelimit: '"a";r=3;t=7' }], OK], [1000], 200],
    ['429 without a word', [[429]], [1000, 2000, 4000], 429],
  ])('%s', async (_, replies, slept, status) => {
    serve(...replies);
    const client = clientWith();
    expect((await client.fetch(url)).status).toBe(status);
    expect(client.slept).toEqual(slept);
  });

  test('the response that is given back can be read', async () => {
    serve(after('1'), OK);
    expect(await (await clientWith().fetch(url)).text()).toBe('200');
  });
});

describe('the deadline', () => {
  test('a wait beyond it is not begun', async () => {
    serve(after('31'));
    const client = clientWith();
    expect((await client.fetch(url)).status).toBe(429);
    expect(client.slept).toEqual([]);
  });

  test('a wait that ends with it is', async () => {
    serve(after('5'), OK);
    const client = clientWith({ deadline: '5s' });
    expect((await client.fetch(url)).status).toBe(200);
    expect(client.slept).toEqual([5000]);
  });

  test('counts all waits together', async () => {
    serve(after('2'));
    const client = clientWith({ deadline: '5s', retries: 100 });
    expect((await client.fetch(url)).status).toBe(429);
    expect(client.slept).toEqual([2000, 2000]);
  });

  test('ends a request that hangs', async () => {
    handle = () => {};
    await expect(rateLimitedFetch(fetch, { deadline: 40 })(url)).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  test('leaves no timer behind, so the body may take as long as it likes', async () => {
    vi.useFakeTimers();
    await rateLimitedFetch(async () => new Response())(url);
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });
});

describe('the limiter', () => {
  test('is asked before each request', async () => {
    serve(OK);
    const client = clientWith({ policy: tokenBucket({ capacity: 2, refillRate: 3 }) });
    for (let request = 0; request < 4; request++) await client.fetch(url);
    expect(client.slept).toEqual([334, 333]);
  });

  test('and before each try', async () => {
    serve(after('1'), OK);
    const client = clientWith({ policy: tokenBucket({ capacity: 1, refillRate: 0.5 }) });
    await client.fetch(url);
    expect(client.slept).toEqual([1000, 1000]);
  });

  test('books slots when it shapes', async () => {
    serve(OK);
    const client = clientWith({ policy: leakyBucket({ capacity: 10, leakRate: 4, mode: 'shaping' }) });
    for (let request = 0; request < 3; request++) await client.fetch(url);
    expect(client.slept).toEqual([250, 250]);
  });

  test('no request when the turn comes after the deadline', async () => {
    serve(OK);
    const client = clientWith({ policy: tokenBucket({ capacity: 1, refillRate: 0.1 }), deadline: '9s' });
    await client.fetch(url);
    await expect(client.fetch(url)).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(bodies).toHaveLength(1);
    expect(client.slept).toEqual([]);
  });

  test.each([
    ['the host', undefined, (address: string) => new URL(address).host],
    ['one for all', 'partner', () => 'partner'],
    ['by the URL', (address: string) => `path:${new URL(address).pathname}`, () => 'path:/'],
  ])('whose limit: %s', async (_, key, expected) => {
    serve(OK);
    const client = clientWith({ policy: tokenBucket({ capacity: 5, refillRate: 1 }), key });
    for (const input of [url, new URL(url), new Request(url)]) await client.fetch(input);
    expect(await client.limiter!.peek(expected(url), { cost: 0 })).toMatchObject({ remaining: 2 });
  });
});

describe('signals', () => {
  const reason = new Error('enough');

  test('end a wait', async () => {
    serve(after('20'));
    const controller = new AbortController();
    const clock = manualClock(NOW);
    const sent = rateLimitedFetch(fetch, { clock, signal: controller.signal })(url);
    await expect.poll(() => bodies.length).toBe(1);
    controller.abort(reason);
    await expect(sent).rejects.toBe(reason);
  });

  test('end a request', async () => {
    handle = () => {};
    const controller = new AbortController();
    const sent = rateLimitedFetch(fetch)(url, { signal: controller.signal });
    await expect.poll(() => bodies.length).toBe(1);
    controller.abort(reason);
    await expect(sent).rejects.toBe(reason);
  });

  test('of a Request count too', async () => {
    handle = () => {};
    const controller = new AbortController();
    const sent = rateLimitedFetch(fetch)(new Request(url, { signal: controller.signal }));
    await expect.poll(() => bodies.length).toBe(1);
    controller.abort(reason);
    await expect(sent).rejects.toBe(reason);
  });

  test('that have aborted before: nothing is asked, spent or sent', async () => {
    serve(OK);
    const client = clientWith({
      policy: tokenBucket({ capacity: 5, refillRate: 1 }),
      key: 'k',
      signal: AbortSignal.abort(reason),
    });
    await expect(client.fetch(url)).rejects.toBe(reason);
    expect(bodies).toEqual([]);
    expect(await client.limiter!.peek('k')).toMatchObject({ remaining: 5 });
  });
});

async function* generated(): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode('hello');
}

describe('bodies', () => {
  const POST = { method: 'POST', body: 'hello' };

  test('are sent again', async () => {
    serve(after('1'), OK);
    await clientWith().fetch(url, POST);
    expect(bodies).toEqual(['hello', 'hello']);
  });

  test('of a Request too', async () => {
    serve(after('1'), OK);
    await clientWith().fetch(new Request(url, POST));
    expect(bodies).toEqual(['hello', 'hello']);
  });

  test.each<[what: string, body: () => unknown]>([
    ['of the web', () => new Blob(['hello']).stream()],
    ['of Node', () => Readable.from(['hel', 'lo'])],
    ['generated', () => generated()],
  ])('that are streams can be sent only once: %s', async (_, body) => {
    serve(after('1'), OK);
    const init = { method: 'POST', body: body(), duplex: 'half' } as RequestInit;
    expect((await clientWith().fetch(url, init)).status).toBe(429);
    expect(bodies).toEqual(['hello']);
  });

  test('of responses that are not given back are let go of', async () => {
    const refused = new Response('a lot', { status: 429, headers: { 'retry-after': '1' } });
    const cancel = vi.spyOn(refused.body!, 'cancel');
    const answers = [refused, new Response('fine')];
    const client = rateLimitedFetch(async () => answers.shift()!, { sleep: async () => {} });
    expect(await (await client(url)).text()).toBe('fine');
    expect(cancel).toHaveBeenCalledOnce();
  });
});

describe('options are refused when it is made', () => {
  test.each([
    ['an unknown one', { retry: 3 }, 'rateLimitedFetch.retry'],
    ['a limiter that is none', { limiter: {} }, 'rateLimitedFetch.limiter'],
    ['a key that is none', { key: 5 }, 'rateLimitedFetch.key'],
    ['a deadline that is none', { deadline: 'soon' }, 'rateLimitedFetch.deadline'],
    ['a deadline beyond what timers can', { deadline: '25d' }, 'rateLimitedFetch.deadline'],
    ['retries that are none', { retries: -1 }, 'rateLimitedFetch.retries'],
    ['a controller for a signal', { signal: new AbortController() }, 'rateLimitedFetch.signal'],
    ['a clock that is none', { clock: Date.now }, 'rateLimitedFetch.clock'],
    ['a sleep that is none', { sleep: 5 }, 'rateLimitedFetch.sleep'],
  ])('%s', (_, options, path) => {
    expect(() => rateLimitedFetch(fetch, options as never)).toThrow(expect.objectContaining({ path }));
  });

  test('a fetch that is none', () => {
    expect(() => rateLimitedFetch({} as never)).toThrow(expect.objectContaining({ path: 'rateLimitedFetch(fetch)' }));
  });
});
