/**
 * `sluice/lambda`: the contract of all adapters behind a front of each kind, what differs between their events, and a streamed response by AWS's own runtime
 * client.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { ALBEvent, APIGatewayProxyEvent, APIGatewayProxyEventV2, APIGatewayProxyHandlerV2 } from 'aws-lambda';
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from 'vitest';
import { answerOf, type FrontKind } from '../../../../tools/lambda/events.ts';
import { type RunningFront, type RunningFunction, startFront, startFunction } from '../../../../tools/lambda/index.ts';
import { type LambdaEvent, rateLimit, rateLimitHeadersOf, rateLimitOf } from '../../src/frameworks/lambda.ts';
import { byIp, byRoute, combine } from '../../src/http/index.ts';
import { concurrency, createLimiter, fixedWindow, type SluiceError, tokenBucket } from '../../src/index.ts';
import { type App, frameworkContract } from './contract.ts';
import type { AnyOptions } from './contract-rows.ts';

const KINDS: readonly FrontKind[] = ['http', 'rest', 'alb', 'alb-multi'];

const headerOf = (event: LambdaEvent, name: string): string | undefined => {
  const [, value] =
    Object.entries(event.headers ?? event.multiValueHeaders ?? {}).find(([own]) => own.toLowerCase() === name) ?? [];
  return Array.isArray(value) ? value.join(', ') : (value as string | undefined);
};

for (const kind of KINDS) {
  frameworkContract(`lambda, ${kind}`, (app: App) => {
    const handler = async (event: LambdaEvent) => {
      const { status, body } = app.answer(rateLimitOf(event), (name) => headerOf(event, name));
      return { statusCode: status, body };
    };
    const limited = (options: AnyOptions) => rateLimit(options)(handler);
    const routes = new Map(Object.entries(app.routes).map(([path, options]) => [path, limited(options)]));
    const others = limited(app.options);
    return startFront(async (event) => {
      const { rawPath, path } = event as LambdaEvent;
      return answerOf(kind, await (routes.get((rawPath ?? path)!) ?? others)(event as LambdaEvent));
    }, kind);
  });
}

const policy = tokenBucket({ name: 'burst', capacity: 2, refillRate: '1/h' });
const v2 = (more: object = {}): LambdaEvent => ({
  ...{ rawPath: '/', routeKey: '$default', headers: {} },
  requestContext: { http: { method: 'GET', sourceIp: '203.0.113.7' } },
  ...more,
});
const v1 = (more: object = {}): LambdaEvent => ({
  ...{ path: '/', httpMethod: 'GET', resource: '/{proxy+}', headers: {} },
  requestContext: { identity: { sourceIp: '203.0.113.7' } },
  ...more,
});
const alb = (headers: Record<string, string>): LambdaEvent => ({
  ...{ path: '/', httpMethod: 'GET', headers },
  requestContext: { elb: { targetGroupArn: 'arn' } },
});
const forwarded = (value: string) => ({ headers: { 'X-Forwarded-For': value } });

describe('who is calling', () => {
  async function keysOf(event: LambdaEvent, key?: ReturnType<typeof byIp>): Promise<string | undefined> {
    const onWarning = (warning: SluiceError): never => expect.unreachable(warning.message);
    const handler = rateLimit({ policy, key, onWarning })(async (given: LambdaEvent) => rateLimitOf(given)?.key);
    const result = (await handler(event)) as unknown as { body?: string } | string;
    return typeof result === 'object' ? result.body : result;
  }

  test.each<[title: string, event: LambdaEvent, key: ReturnType<typeof byIp> | undefined, said: string]>([
    ['an HTTP API', v2(), undefined, 'ip:203.0.113.7'],
    ['one that was sent a header', v2(forwarded('9.9.9.9, 203.0.113.7')), undefined, 'ip:203.0.113.7'],
    ['CloudFront before it', v2(forwarded('1.1.1.1, 203.0.113.7')), byIp({ trustedProxies: 1 }), 'ip:1.1.1.1'],
    [
      'a client behind it that lies',
      v2(forwarded('9.9.9.9, 1.1.1.1, 203.0.113.7')),
      byIp({ trustedProxies: 1 }),
      'ip:1.1.1.1',
    ],
    ['CloudFront and nobody said so', v2(forwarded('203.0.113.7')), byIp({ trustedProxies: 1 }), 'ip:203.0.113.7'],
    [
      'a REST API, which adds an edge of its own',
      v1(forwarded('203.0.113.7, 70.132.1.1')),
      undefined,
      'ip:203.0.113.7',
    ],
    [
      'CloudFront before that',
      v1(forwarded('1.1.1.1, 203.0.113.7, 70.132.1.1')),
      byIp({ trustedProxies: 1 }),
      'ip:1.1.1.1',
    ],
    ['a load balancer', alb({ 'x-forwarded-for': '203.0.113.7' }), undefined, 'ip:203.0.113.7'],
    ['one that was sent a header', alb({ 'x-forwarded-for': '9.9.9.9, 203.0.113.7' }), undefined, 'ip:203.0.113.7'],
    ['one that writes ports', alb({ 'x-forwarded-for': '9.9.9.9, 203.0.113.7:4711' }), undefined, 'ip:203.0.113.7'],
    [
      'CloudFront before it',
      alb({ 'x-forwarded-for': '1.1.1.1, 70.132.1.1' }),
      byIp({ trustedProxies: 1 }),
      'ip:1.1.1.1',
    ],
    [
      'IPv6',
      v2({ requestContext: { http: { method: 'GET', sourceIp: '2001:db8:1:2:3::4' } } }),
      undefined,
      'ip:2001:db8:1:2::/64',
    ],
    [
      'the route of an HTTP API',
      v2({ routeKey: 'GET /users/{id}', rawPath: '/users/7' }),
      combine(byRoute()),
      'all:route:GET /users/{id}',
    ],
    [
      'the route of a REST API',
      v1({ resource: '/users/{id}', path: '/users/7' }),
      combine(byRoute()),
      'all:route:GET /users/{id}',
    ],
    ['a route that takes everything', v1({ path: '/users/7' }), combine(byRoute()), 'all:path:GET /users/7'],
  ])('%s: %#', async (_title, event, key, said) => {
    expect(await keysOf(event, key)).toBe(said);
  });

  test('a load balancer that is told to remove the header says nobody', async () => {
    const result = await rateLimit({ policy, onWarning: () => undefined })(async () => ({ statusCode: 200 }))(
      alb({ a: '' }),
    );
    expect(result).toMatchObject({ statusCode: 500, body: expect.stringContaining('address') });
  });
});

test('an event that is no request is an error in a sentence', async () => {
  const handler = rateLimit({ policy })(async () => 'done');
  await expect(handler({ Records: [] } as never)).rejects.toThrow(/expected the event of an HTTP request .* queues/);
});

describe('what a handler returns', () => {
  const headers = expect.objectContaining({ 'X-RateLimit-Limit': '2' });
  test.each<[title: string, event: LambdaEvent, returned: unknown, sent: unknown]>([
    [
      'its own headers are kept',
      v2(),
      { statusCode: 201, headers: { a: 'b' } },
      { statusCode: 201, headers: expect.objectContaining({ a: 'b', 'X-RateLimit-Limit': '2' }) },
    ],
    ['a text is a body', v2(), 'hi', { statusCode: 200, headers, body: 'hi' }],
    ['an object is JSON', v2(), { hello: 1 }, { statusCode: 200, headers, body: '{"hello":1}' }],
    ['nothing', v2(), undefined, { statusCode: 200, headers, body: 'null' }],
    ['what a REST API takes for an error stays one', v1(), 'hi', 'hi'],
    ['cookies stay', v2(), { statusCode: 200, cookies: ['a=b'] }, { statusCode: 200, cookies: ['a=b'], headers }],
  ])('%s', async (_title, event, returned, sent) => {
    const result = await rateLimit({ policy, key: () => 'a' })(async () => returned)(event);
    expect(result).toEqual(typeof sent === 'object' ? expect.objectContaining(sent as object) : sent);
  });

  test('what is left to do is done before the function is frozen', async () => {
    const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: '1d' }) });
    const handler = rateLimit({ limiter, key: () => 'a', countOnly: ({ status }) => status === 401 })(
      async (event: LambdaEvent) => ({ statusCode: event.rawPath === '/wrong' ? 401 : 200 }),
    );
    const statuses = [];
    for (const rawPath of ['/', '/', '/wrong', '/']) statuses.push((await handler(v2({ rawPath }))).statusCode);
    expect(statuses).toEqual([200, 200, 401, 429]);
  });

  test('a place is free when the handler is done, or has failed', async () => {
    const inFlight = concurrency({ name: 'exports', limit: 1, ttl: '1m' });
    let isFailing = false;
    const handler = rateLimit({ policy: inFlight, key: () => 'a' })(async () => {
      if (isFailing) throw new Error('failed');
      return { statusCode: 200 };
    });
    expect((await handler(v2())).statusCode).toBe(200);
    isFailing = true;
    await expect(handler(v2())).rejects.toThrow('failed');
    isFailing = false;
    const both = await Promise.all([handler(v2()), handler(v2())]);
    expect(both.map(({ statusCode }) => statusCode).sort()).toEqual([200, 429]);
  });
});

test('the types of @types/aws-lambda fit', () => {
  const limited = rateLimit({ policy });
  const handler: APIGatewayProxyHandlerV2 = limited(async (event: APIGatewayProxyEventV2) => ({
    statusCode: 200,
    body: event.rawPath,
  }));
  expectTypeOf(handler).toBeFunction();
  expectTypeOf<APIGatewayProxyEvent>().toExtend<LambdaEvent>();
  expectTypeOf<APIGatewayProxyEventV2>().toExtend<LambdaEvent>();
  expectTypeOf<ALBEvent>().toExtend<LambdaEvent>();
  rateLimit<APIGatewayProxyEventV2>({ policy, key: ({ native }) => native.requestContext.accountId });
  expect(rateLimitHeadersOf(v2())).toEqual({});
});

describe("by AWS's own runtime client", () => {
  const CODE = `import { tokenBucket } from 'sluice';
import { rateLimit, rateLimitHeadersOf } from 'sluice/lambda';
const limited = rateLimit({ policy: tokenBucket({ name: 'burst', capacity: 2, refillRate: '1/h' }) });
setInterval(() => {}, 1e6); // as a connection to a store, it never ends
export const plain = limited(async (event) => ({ statusCode: 200, body: 'hello ' + event.requestContext.http.sourceIp }));
export const streaming = awslambda.streamifyResponse(limited(async (event, stream) => {
  const headers = { 'content-type': 'text/plain', ...rateLimitHeadersOf(event) };
  const body = awslambda.HttpResponseStream.from(stream, { statusCode: 200, headers });
  for (const word of ['one ', 'two ', 'three']) body.write(word);
  body.end();
}));
`;
  let folder: string;
  beforeAll(async () => {
    // Below the workspace, where the package is found.
    const cache = fileURLToPath(new URL('../../../../tools/lambda/.cache/', import.meta.url));
    await mkdir(cache, { recursive: true });
    folder = await mkdtemp(`${cache}function-`);
    await writeFile(`${folder}/index.mjs`, CODE);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const servers: (RunningFront | RunningFunction)[] = [];
  afterAll(() => Promise.all(servers.map((server) => server.stop())));

  test.each([
    ['plain', 'hello 203.0.113.7'],
    ['streaming', 'one two three'],
  ])('a %s response: two, and then 429', async (name, body) => {
    const running = await startFunction({ folder, handler: `index.${name}` });
    const front = await startFront(running.invoke, 'http', '203.0.113.7');
    servers.push(running, front);
    const seen = [];
    for (let time = 0; time < 3; time += 1) {
      const response = await fetch(`http://127.0.0.1:${front.port}/`);
      seen.push([response.status, response.headers.get('x-ratelimit-remaining'), await response.text()]);
    }
    expect(seen, running.printed()).toEqual([
      [200, '1', body],
      [200, '0', body],
      [429, '0', expect.stringContaining('"error":"rate_limited"')],
    ]);
  });
});
