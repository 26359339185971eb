/** What is around the verbs: the token, health, metrics, request ids, logs, and the description of the API. */
import { Ajv } from 'ajv';
import { fallback, layered } from 'sluice/layers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { OPENAPI } from '../src/service/openapi.ts';
import { ROUTES } from '../src/service/routes.ts';
import { ask, type Reply, type RunningService, startService } from './support.ts';

let running: RunningService;
beforeEach(async () => {
  running = await startService();
});
afterEach(() => running.stop());

const send = (service: RunningService, method: string, path: string, headers: Record<string, string> = {}) =>
  method === 'GET'
    ? service.get(path.replace(':policy', 'api?key=a'), headers)
    : service.post(path.replace(':policy', 'api?key=a'), { policy: 'api', key: 'a' }, headers);

describe('the token', () => {
  const routes = ROUTES.flatMap(({ methods, path, access }) =>
    methods.map((method) => [method, path, access] as const),
  );
  const CHANGES = ['/v1/refund', '/v1/penalize', '/v1/reset', '/v1/block', '/v1/unblock', '/v1/exceptions'];

  test.each(routes)('%s %s (%s)', async (method, path, access) => {
    expect(access === 'change').toBe(CHANGES.includes(path));
    expect(access === 'see-keys').toBe(['/v1/live', '/v1/history'].includes(path));
    for (const protect of ['changes', 'everything'] as const) {
      const service = await startService({ token: 'secret', protect });
      const isGuarded = access === 'change' || access === 'see-keys' || (access === 'use' && protect === 'everything');
      for (const authorization of ['', 'secret', 'Bearer', 'Bearer wrong', 'Basic secret', 'Bearer secret2']) {
        const { status } = await send(service, method, path, { authorization });
        expect(status === 401, `${protect} ${authorization}`).toBe(isGuarded);
      }
      expect((await send(service, method, path, { authorization: 'Bearer secret' })).status).not.toBe(401);
      await service.stop();
    }
  });

  test('what is refused is told how to ask, and nothing is changed', async () => {
    const service = await startService({ token: 'secret' });
    const { status, headers, body } = await service.post('/v1/block', { policy: 'api', key: 'a', duration: '1h' });
    expect([status, headers.get('www-authenticate'), body.error]).toEqual([
      401,
      'Bearer realm="sluice"',
      'unauthorized',
    ]);
    expect((await service.post('/v1/attempt', { policy: 'api', key: 'a' })).body.allowed).toBe(true);
    await service.stop();
  });
});

test('health', async () => {
  expect(await running.get('/healthz')).toMatchObject({ status: 200, body: { healthy: true } });
  expect(await running.get('/readyz')).toMatchObject({ status: 200, body: { ready: true, store: 'up' } });
});

test('metrics count decisions by policy, and never name what callers send', async () => {
  const attempt = (policy: unknown, cost = 1) => running.post('/v1/attempt', { policy, key: 'somebody', cost });
  for (let time = 0; time < 3; time++) await attempt('api', 4);
  for (let time = 0; time < 3; time++) await attempt('trial');
  await attempt({ algorithm: 'gcra', name: 'mine"', limit: 1, period: '1s' });
  await running.post('/v1/peek', { policy: 'daily', key: 'somebody' });
  const { text, headers } = await running.get('/metrics');
  expect(headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  for (const line of [
    'sluice_decisions_total{policy="api",outcome="allowed"} 2',
    'sluice_decisions_total{policy="api",outcome="denied"} 1',
    'sluice_decisions_total{policy="trial",outcome="allowed"} 1',
    'sluice_decisions_total{policy="trial",outcome="shadow_denied"} 2',
    'sluice_decisions_total{policy="inline",outcome="allowed"} 1',
    // A policy that nobody has asked yet is there too.
    'sluice_decisions_total{policy="daily",outcome="denied"} 0',
    'sluice_answers_total{source="store"} 7',
    'sluice_answers_total{source="fallback"} 0',
    'sluice_fallback_seconds_total 0',
    'sluice_breaker_open 0',
    'sluice_check_duration_seconds_count 7',
    'sluice_check_duration_seconds_bucket{le="+Inf"} 7',
    'sluice_store_errors_total 0',
    'sluice_store_up 1',
    'sluice_http_responses_total{status="200"} 8',
  ])
    expect(text.split('\n')).toContain(line);
  expect(text).toMatch(/^sluice_build_info\{version="\d+\.\d+\.\d+",node="\d+\.\d+\.\d+"\} 1$/m);
  const numberOf = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)![1]);
  expect(numberOf('process_cpu_seconds_total')).toBeGreaterThan(0);
  expect(numberOf('process_resident_memory_bytes')).toBeGreaterThan(20e6);
  expect(Math.abs(numberOf('process_start_time_seconds') - (Date.now() / 1e3 - process.uptime()))).toBeLessThan(60);
  expect(text).not.toMatch(/somebody|mine/);
  expect(
    text
      .trim()
      .split('\n')
      .filter((line) => !/^(# (HELP|TYPE) \w+ .+|\w+(\{[^}]+\})? [\d.e+-]+)$/.test(line)),
  ).toEqual([]);
});

test.each([
  ['abc-123', 'abc-123'],
  ['a b', expect.stringMatching(/^[\da-f-]{36}$/)],
  ['x'.repeat(200), expect.stringMatching(/^[\da-f-]{36}$/)],
])('the request id %s', async (given, expected) => {
  const { headers, body } = await running.post('/v1/attempt', '{', { 'x-request-id': given });
  expect(headers.get('x-request-id')).toEqual(expected);
  expect(body.requestId).toEqual(expected);
});

describe('a store that fails', () => {
  const failing = (error: unknown) => {
    const fail = () => Promise.reject(error);
    const store = { ask: fail };
    return { store, description: 'broken', failsClosed: true, isUp: async () => false, close: async () => {} };
  };

  test('is a 503, not ready, and in the log without the key', async () => {
    const service = await startService({ store: failing(new Error('ECONNREFUSED')) });
    const { status, headers, body } = await service.post('/v1/attempt', { policy: 'api', key: 'somebody' });
    expect([status, headers.get('retry-after'), body.error]).toEqual([503, '1', 'store_unavailable']);
    const inList = await service.post('/v1/reset', [{ policy: 'api', key: 'somebody' }]);
    expect(inList.body).toMatchObject([{ error: 'store_unavailable' }]);
    expect(await service.get('/readyz')).toMatchObject({ status: 503, body: { ready: false, store: 'down' } });
    expect((await service.get('/metrics')).text).toContain('sluice_store_up 0');
    expect(service.logs[0]).toMatchObject({ level: 'error', status: 503, cause: 'Error: ECONNREFUSED' });
    expect(JSON.stringify(service.logs)).not.toContain('somebody');
    await service.stop();
  });
});

test('requests are logged when asked, without query and key', async () => {
  const service = await startService({ logRequests: true });
  await service.get('/v1/check/api?key=somebody', { 'x-request-id': 'r1' });
  expect(service.logs).toMatchObject([
    { level: 'info', message: 'request', requestId: 'r1', method: 'GET', path: '/v1/check/api', status: 200 },
  ]);
  await service.stop();
});

describe('the description at /openapi.json', () => {
  const paths = OPENAPI.paths as Record<string, Record<string, Operation>>;
  interface Operation {
    readonly requestBody?: unknown;
    readonly responses: Record<string, { content?: Record<string, { schema: object }> }>;
  }
  const ajv = new Ajv({ strict: false, allowUnionTypes: true });
  ajv.addSchema({ $id: 'api', components: OPENAPI.components });
  const pointed = (schema: object): object =>
    JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"api#/components'));

  /** The answer is of the schema that the description has for its status and type. */
  const expectDescribed = ({ status, headers, body, text }: Reply, { responses }: Operation): void => {
    const described = responses[status] ?? responses[`${String(status)[0]}XX`];
    const type = headers.get('content-type')!.split(';')[0]!;
    const schema = described?.content?.[type]?.schema;
    expect(schema, `${status} ${type}`).toBeDefined();
    const validate = ajv.compile(pointed(schema!));
    expect(validate(body ?? text), JSON.stringify(validate.errors)).toBe(true);
  };

  test('is served, and names exactly the routes there are', async () => {
    const { body } = await running.get('/openapi.json');
    const described = Object.entries<Record<string, unknown>>(body.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/, ':$1')}`),
    );
    const real = ROUTES.flatMap(({ methods, path }) => methods.map((method) => `${method} ${path}`));
    expect(described.sort()).toEqual(real.sort());
  });

  const subject = { policy: 'api', key: 'a' };
  const BODIES: Readonly<Record<string, object>> = {
    '/v1/block': { ...subject, duration: '1m' },
    '/v1/settle': { hold: 'x', actual: 1 },
    '/v1/exceptions': { kind: 'deny', key: 'nobody', for: '1m' },
    '/v1/reserve': { ...subject, ttl: 5 },
    '/v1/enter': { key: 'a', policy: { algorithm: 'concurrency', limit: 5, ttl: '30s' } },
    '/v1/release': { permit: 'x' },
    '/v1/extend': { permit: 'x' },
  };

  test.each(Object.keys(paths))('%s answers as described', async (path) => {
    for (const [method, operation] of Object.entries(paths[path]!)) {
      const target = path.replace('{policy}', 'api?key=a');
      const headers = { 'x-forwarded-uri': '/' };
      const body = BODIES[path] ?? subject;
      const bodies = operation.requestBody === undefined ? [''] : [body, [body, {}], {}, '{'];
      const replies =
        method === 'get' ? [running.get(target, headers)] : bodies.map((body) => running.post(target, body, headers));
      for (const reply of await Promise.all(replies)) expectDescribed(reply, operation);
    }
  });

  test('so do a settlement and a denial', async () => {
    const { body } = await running.post('/v1/reserve', subject);
    expectDescribed(await running.post('/v1/settle', { hold: body.hold, actual: 3 }), paths['/v1/settle']!.post!);
    await running.post('/v1/attempt', { ...subject, cost: 7 });
    expectDescribed(await running.get('/v1/check/api?key=a'), paths['/v1/check/{policy}']!.get!);
    for (const accept of ['*/*', 'application/json']) {
      const check = paths['/v1/check/{policy}']!.get!;
      expectDescribed(await running.get('/v1/check/api?key=a', { accept }), check);
      expectDescribed(await running.get('/v1/check/api?key=a&deny=403', { accept }), check);
    }
  });

  test.each(Object.keys(paths))(
    '%s refuses as described, without the token and while the store is away',
    async (path) => {
      const away = () => Promise.reject(new Error('away'));
      const store = layered({ ask: away }, fallback({ to: 'deny' }));
      const opened = { store, failsClosed: true, description: 'away', isUp: async () => false, close: async () => {} };
      const locked = await startService({ token: 'secret', protect: 'everything', store: opened });
      for (const [method, operation] of Object.entries(paths[path]!)) {
        for (const headers of [{}, { authorization: 'Bearer secret' }]) {
          const target = locked.url + path.replace('{policy}', 'api?key=a');
          const body = operation.requestBody === undefined ? {} : { body: JSON.stringify(BODIES[path] ?? subject) };
          const init = { method: method.toUpperCase(), headers: { ...headers, 'x-forwarded-uri': '/' } };
          if (method === 'get' && operation.requestBody !== undefined) continue;
          expectDescribed(await ask(target, { ...init, ...body }), operation);
        }
      }
      await locked.stop();
    },
  );

  test('describes questions as they are taken', () => {
    const validate = ajv.compile({ $ref: 'api#/components/schemas/Ask' });
    expect(validate(subject)).toBe(true);
    for (const more of [{ policy: undefined }, { policies: ['api'] }, { policy: undefined, policies: [] }]) {
      expect(validate(JSON.parse(JSON.stringify({ ...subject, ...more }))), JSON.stringify(more)).toBe(false);
    }
  });
});
