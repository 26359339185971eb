/** Procedures of tRPC behind real servers, asked by its client: alone, in a batch, as a subscription. */
import { createServer, get, type IncomingMessage } from 'node:http';

import { createTRPCClient, httpBatchLink, httpLink, TRPCClientError } from '@trpc/client';
import { initTRPC, TRPCError } from '@trpc/server';
import * as expressAdapter from '@trpc/server/adapters/express';
import { fetchRequestHandler } from '@trpc/server/adapters/fetch';
import { createHTTPHandler } from '@trpc/server/adapters/standalone';
import express from 'express';
import { afterEach, expect, test, vi } from 'vitest';
import {
  RateLimitError,
  rateLimit,
  retryAfterOf,
  type TrpcCall,
  type TrpcRateLimitOptions,
} from '../../src/frameworks/trpc.ts';
import { byHeader, byIp, byRoute, byUser, combine } from '../../src/http/index.ts';
import { concurrency, createLimiter, fixedWindow, manualClock, memoryStore } from '../../src/index.ts';
import type { Running } from './contract.ts';
import { listening } from './servers.ts';

interface Ctx {
  readonly user?: string | undefined;
  readonly req?: unknown;
}

const t = initTRPC.context<Ctx>().create({
  errorFormatter: ({ shape, error }) => ({ ...shape, data: { ...shape.data, retryAfter: retryAfterOf(error) } }),
});

const day = (name: string, limit: number) => fixedWindow({ name, limit, window: '1d', align: 'first' });
const onError = vi.fn();

/** `hello` and `bye` share a limit, `open` has none. */
function routerOf(options: TrpcRateLimitOptions<Ctx>, work: () => unknown = () => undefined) {
  const limited = t.procedure.use(rateLimit<Ctx>(options));
  return t.router({
    hello: limited.query(async ({ ctx }) => {
      await work();
      return ctx.rateLimit?.remaining;
    }),
    bye: limited.mutation(({ ctx }) => ctx.rateLimit?.remaining),
    wrong: limited.mutation(() => {
      throw new TRPCError({ code: 'UNAUTHORIZED' });
    }),
    ticks: limited.subscription(async function* ({ signal }) {
      yield 1;
      await new Promise((resolve) => signal?.addEventListener('abort', resolve, { once: true }));
    }),
    once: limited.subscription(async function* () {
      yield 1;
    }),
    open: t.procedure.query(() => 'open'),
  });
}

type Router = ReturnType<typeof routerOf>;

let running: Running | undefined;
afterEach(async () => {
  await running?.stop();
  running = undefined;
  onError.mockReset();
});

const contextOf = ({ req, res }: { req: IncomingMessage; res: unknown }) => ({
  user: req.headers['x-user'] as string | undefined,
  req,
  res,
});

async function serve(router: Router): Promise<string> {
  const handler = createHTTPHandler({ router, createContext: contextOf, onError });
  running = await listening(createServer(handler).listen(0, '127.0.0.1'));
  return `http://127.0.0.1:${running.port}`;
}

const clientOf = (url: string, headers: Record<string, string> = {}) =>
  createTRPCClient<Router>({ links: [httpLink({ url, headers })] });
const batching = (url: string, headers: Record<string, string> = {}) =>
  createTRPCClient<Router>({ links: [httpBatchLink({ url, headers })] });

const told = async (asked: Promise<unknown>) => {
  const error = await asked.then(
    (value) => value,
    (reason: unknown) => reason,
  );
  if (!(error instanceof TRPCClientError)) return error;
  const { code, retryAfter, httpStatus } = error.data;
  return { message: error.message, code, retryAfter, httpStatus };
};

const DENIED = {
  message: 'Too many requests. Retry after 86400 seconds.',
  code: 'TOO_MANY_REQUESTS',
  retryAfter: 86_400,
  httpStatus: 429,
};

test('a call that is denied says when, to the client and on the server', async () => {
  const url = await serve(routerOf({ policy: day('api', 2), store: memoryStore({ clock: manualClock() }) }));
  const client = clientOf(url);
  expect([await client.hello.query(), await client.bye.mutate()]).toEqual([1, 0]);
  expect(await told(client.hello.query())).toEqual(DENIED);
  expect(await client.open.query()).toBe('open');
  const { error } = onError.mock.calls[0]![0];
  expect(error).toBeInstanceOf(TRPCError);
  expect(error.cause).toBeInstanceOf(RateLimitError);
  expect(error.cause).toMatchObject({ retryAfter: 86_400, result: { key: 'ip:127.0.0.1', allowed: false } });
});

test('each call of a batch counts, and the others of it are answered', async () => {
  const client = batching(await serve(routerOf({ policy: day('api', 3) })));
  const asked = [client.hello.query(), client.open.query(), ...Array.from({ length: 3 }, () => client.hello.query())];
  const answers = await Promise.all(asked.map(told));
  expect(answers.slice(0, 4).sort()).toEqual([0, 1, 2, 'open']);
  expect(answers[4]).toMatchObject({ code: 'TOO_MANY_REQUESTS' });
});

test('responses have the headers, also a denied one', async () => {
  const url = await serve(routerOf({ policy: day('api', 1), headers: 'draft' }));
  const seen = [await fetch(`${url}/hello`), await fetch(`${url}/hello`)];
  expect(seen.map(({ status, headers }) => [status, headers.get('ratelimit'), headers.get('retry-after')])).toEqual([
    [200, '"api";r=0;t=86400', null],
    [429, '"api";r=0;t=86400', '86400'],
  ]);
  expect(seen[1]!.headers.get('content-type')).toContain('application/json');
});

test('keys see the context, the headers and the procedure', async () => {
  const url = await serve(
    routerOf({
      policy: day('api', 9),
      key: combine(
        byUser(({ ctx }: TrpcCall<Ctx>) => ctx.user),
        byRoute(),
      ),
    }),
  );
  const [ada, bob] = [clientOf(url, { 'x-user': 'ada' }), clientOf(url, { 'x-user': 'bob' })];
  expect([await ada.hello.query(), await ada.hello.query(), await ada.bye.mutate(), await bob.hello.query()]).toEqual([
    ...[8, 7, 8, 8],
  ]);
  const header = await serve(routerOf({ policy: day('api', 9), key: byHeader('x-api-key') }));
  expect(await clientOf(header, { 'X-API-Key': 'k' }).hello.query()).toBe(8);
});

test('nobody who is logged in is UNAUTHORIZED, with a sentence, and nothing runs', async () => {
  const work = vi.fn();
  const url = await serve(routerOf({ policy: day('api', 9), key: byUser(({ ctx }) => ctx.user) }, work));
  expect(await told(clientOf(url).hello.query())).toMatchObject({
    code: 'UNAUTHORIZED',
    message: 'This request does not say who is calling: a user who is logged in is missing.',
  });
  expect(work).not.toHaveBeenCalled();
});

test('without a request in ctx there is no address, and the sentence says what to do', async () => {
  const onWarning = vi.fn();
  const caller = routerOf({ policy: day('api', 9), onWarning }).createCaller({});
  await expect(caller.hello()).rejects.toMatchObject({
    code: 'INTERNAL_SERVER_ERROR',
    message: expect.stringContaining('another `key`'),
  });
  expect(onWarning).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: 'SLUICE_NO_ADDRESS' }));
  const there = routerOf({ policy: day('api', 9), request: () => ({ headers: {}, socket: { remoteAddress: '::1' } }) });
  expect(await there.createCaller({}).hello()).toBe(8);
});

test('the trust of Express is kept to', async () => {
  const app = express().set('trust proxy', 1);
  const router = routerOf({ policy: day('api', 9), key: byIp() });
  app.use('/trpc', expressAdapter.createExpressMiddleware({ router, createContext: contextOf }));
  running = await listening(app.listen(0, '127.0.0.1'));
  const from = (address: string) =>
    clientOf(`http://127.0.0.1:${running!.port}/trpc`, { 'x-forwarded-for': address }).hello.query();
  expect([await from('192.0.2.1'), await from('192.0.2.1'), await from('192.0.2.2')]).toEqual([8, 7, 8]);
});

test('on the fetch adapter headers go through resHeaders', async () => {
  const router = routerOf({ policy: day('api', 1), key: () => 'all', headers: 'draft' });
  const handle = (req: Request) =>
    fetchRequestHandler({
      endpoint: '/trpc',
      req,
      router,
      createContext: ({ req, resHeaders }) => ({ req, resHeaders }),
    });
  const seen = [];
  for (let time = 0; time < 2; time++) seen.push(await handle(new Request('http://localhost/trpc/hello')));
  expect(
    seen.map(({ status, headers }) => [status, headers.get('ratelimit-policy'), headers.has('retry-after')]),
  ).toEqual([
    [200, '"api";q=1;w=86400', false],
    [429, '"api";q=1;w=86400', true],
  ]);
});

test('only failures count, by what HTTP would call them', async () => {
  const statuses: number[] = [];
  const url = await serve(
    routerOf({
      policy: day('api', 3),
      countOnly: ({ status }) => statuses.push(status) > 0 && status >= 400,
    }),
  );
  const client = clientOf(url);
  await client.bye.mutate();
  await told(client.wrong.mutate());
  await expect.poll(() => statuses).toEqual([200, 401]);
  expect(await client.bye.mutate()).toBe(1);
});

test('a place is held until the procedure has ended, or its subscription', async () => {
  const limiter = createLimiter({ policy: concurrency({ limit: 3, ttl: '1h' }) });
  const free = async () => (await limiter.peek('all', { cost: 0 })).remaining;
  const during: number[] = [];
  const router = routerOf({ limiter, key: () => 'all' }, async () => during.push(await free()));
  const url = await serve(router);
  const client = clientOf(url);
  await client.hello.query();
  await told(client.wrong.mutate());
  expect([during, await free()]).toEqual([[2], 3]);
  const streaming = get(`${url}/ticks`, { headers: { accept: 'text/event-stream' } });
  streaming.on('error', () => {});
  const response = await new Promise<IncomingMessage>((resolve) => streaming.once('response', resolve));
  response.on('error', () => {});
  await new Promise((resolve) => response.once('data', resolve));
  expect(await free()).toBe(2);
  streaming.destroy();
  await expect.poll(free, { timeout: 10_000 }).toBe(3);
  await (await fetch(`${url}/once`, { headers: { accept: 'text/event-stream' } })).text();
  await expect.poll(free, { timeout: 10_000 }).toBe(3);
});

test('a middleware that stands twice before a procedure is noticed, two calls of a batch are not', async () => {
  const codes: string[] = [];
  const limit = rateLimit<Ctx>({ policy: day('api', 9), key: () => 'ada', onWarning: ({ code }) => codes.push(code) });
  const router = t.router({
    hello: t.procedure.use(limit).query(() => 1),
    twice: t.procedure
      .use(limit)
      .use(limit)
      .query(() => 1),
  });
  const caller = router.createCaller({});
  await Promise.all([caller.hello(), caller.hello()]);
  expect(codes).toEqual([]);
  await caller.twice();
  expect(codes).toEqual(['SLUICE_COUNTED_TWICE']);
});

test('a store that fails is an error of the call', async () => {
  const store = { ask: () => Promise.reject(new Error('the store is away')) };
  const caller = routerOf({ policy: day('api', 9), key: () => 'ada', store }).createCaller({});
  await expect(caller.hello()).rejects.toMatchObject({ code: 'INTERNAL_SERVER_ERROR', message: 'the store is away' });
});
