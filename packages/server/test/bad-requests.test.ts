/** Whatever is sent: a 4xx that names the field, a service that still runs, and no state. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { exchange, rawRequest } from './raw.ts';
import { type RunningService, startService } from './support.ts';

let running: RunningService;
beforeAll(async () => {
  running = await startService({ maxBodyBytes: 20_000, bodyTimeoutMs: 200 });
});
afterAll(() => running.stop());

const ask = (more: object): string => JSON.stringify({ policy: 'api', key: 'a', ...more });
const log = { algorithm: 'sliding-window-log', limit: 1e6, window: '1d' };

/** Path, body, status, error, field. */
const ROWS: readonly (readonly [path: string, body: string, status: number, error: string, field?: string])[] = [
  ['/v1/attempt', '', 400, 'malformed_json'],
  ['/v1/attempt', '{', 400, 'malformed_json'],
  ['/v1/attempt', '{"key":"a",}', 400, 'malformed_json'],
  ['/v1/attempt', 'null', 400, 'invalid_field', 'body'],
  ['/v1/attempt', '5', 400, 'invalid_field', 'body'],
  ['/v1/attempt', '"a"', 400, 'invalid_field', 'body'],
  ['/v1/attempt', '[]', 400, 'invalid_field', 'body'],
  ['/v1/attempt', JSON.stringify(Array(257).fill({})), 400, 'invalid_field', 'body'],
  ['/v1/attempt', '{}', 400, 'invalid_field', 'key'],
  ['/v1/attempt', ask({ key: '' }), 400, 'invalid_field', 'key'],
  ['/v1/attempt', ask({ key: 5 }), 400, 'invalid_field', 'key'],
  ['/v1/attempt', ask({ key: null }), 400, 'invalid_field', 'key'],
  ['/v1/attempt', ask({ key: ['a'] }), 400, 'invalid_field', 'key'],
  ['/v1/attempt', ask({ key: 'k'.repeat(1025) }), 400, 'invalid_field', 'key'],
  ['/v1/attempt', ask({ cost: -1 }), 400, 'invalid_field', 'cost'],
  ['/v1/attempt', ask({ cost: 1.5 }), 400, 'invalid_field', 'cost'],
  ['/v1/attempt', ask({ cost: '1' }), 400, 'invalid_field', 'cost'],
  ['/v1/attempt', ask({ cost: null }), 400, 'invalid_field', 'cost'],
  ['/v1/attempt', '{"policy":"api","key":"a","cost":1e999}', 400, 'invalid_field', 'cost'],
  ['/v1/attempt', ask({ costs: 1 }), 400, 'invalid_field', 'costs'],
  ['/v1/attempt', '{"policy":"api","key":"a","__proto__":{"cost":5}}', 400, 'invalid_field', '__proto__'],
  ['/v1/attempt', ask({ plan: 'gold' }), 400, 'invalid_field', 'plan'],
  ['/v1/attempt', ask({ plan: 5 }), 400, 'invalid_field', 'plan'],
  ['/v1/attempt', ask({ policies: ['api'] }), 400, 'invalid_field', 'policy'],
  ['/v1/attempt', ask({ policy: undefined }), 400, 'invalid_field', 'policy'],
  ['/v1/attempt', ask({ policy: undefined, policies: [] }), 400, 'invalid_field', 'policies'],
  ['/v1/attempt', ask({ policy: undefined, policies: 'api' }), 400, 'invalid_field', 'policies'],
  ['/v1/attempt', ask({ policy: undefined, policies: Array(17).fill('api') }), 400, 'invalid_field', 'policies'],
  ['/v1/attempt', ask({ policy: undefined, policies: ['api', 'api'] }), 400, 'invalid_field', 'policies[1]'],
  ['/v1/attempt', ask({ policy: 'nope' }), 400, 'unknown_policy', 'policy'],
  ['/v1/attempt', ask({ policy: '__proto__' }), 400, 'unknown_policy', 'policy'],
  ['/v1/attempt', ask({ policy: 5 }), 400, 'SLUICE_INVALID_POLICY', 'policy'],
  ['/v1/attempt', ask({ policy: {} }), 400, 'SLUICE_UNKNOWN_ALGORITHM', 'policy.algorithm'],
  [
    '/v1/attempt',
    ask({ policy: { algorithm: 'gcra', limit: 0, period: '1s' } }),
    400,
    'SLUICE_INVALID_LIMIT',
    'policy.limit',
  ],
  [
    '/v1/attempt',
    ask({ policy: { algorithm: 'gcra', limit: 1, period: 'x' } }),
    400,
    'SLUICE_INVALID_DURATION',
    'policy.period',
  ],
  [
    '/v1/attempt',
    ask({ policy: { algorithm: 'gcra', name: 'api', limit: 1, period: '1s' } }),
    400,
    'invalid_field',
    'policy.name',
  ],
  ['/v1/attempt', ask({ policy: log }), 400, 'invalid_field', 'policy.limit'],
  ['/v1/peek', ask({ cost: -1 }), 400, 'invalid_field', 'cost'],
  ['/v1/refund', ask({ of: 5 }), 400, 'invalid_field', 'of'],
  ['/v1/refund', ask({ of: { allowed: true, decisions: [null] } }), 400, 'invalid_field', 'of'],
  ['/v1/refund', ask({ of: { allowed: true, decisions: [{}] } }), 400, 'SLUICE_INVALID_OPTION', 'of'],
  ['/v1/refund', ask({ of: { allowed: false, decisions: [] } }), 400, 'SLUICE_INVALID_OPTION', 'of'],
  ['/v1/reset', ask({ cost: 1 }), 400, 'invalid_field', 'cost'],
  ['/v1/block', ask({}), 400, 'invalid_field', 'duration'],
  ['/v1/block', ask({ duration: 'long' }), 400, 'SLUICE_INVALID_DURATION', 'duration'],
  ['/v1/block', ask({ duration: -5 }), 400, 'SLUICE_INVALID_DURATION', 'duration'],
  ['/v1/attempt', ask({ cost: {} }), 400, 'invalid_field', 'cost.api'],
  ['/v1/attempt', ask({ cost: { api: 1, apo: 1 } }), 400, 'invalid_field', 'cost.apo'],
  ['/v1/attempt', ask({ cost: { api: -1 } }), 400, 'invalid_field', 'cost.api'],
  ['/v1/attempt', ask({ cost: { api: null } }), 400, 'invalid_field', 'cost.api'],
  ['/v1/attempt', ask({ id: '' }), 400, 'invalid_field', 'id'],
  ['/v1/attempt', ask({ ttl: 5 }), 400, 'invalid_field', 'id'],
  ['/v1/attempt', ask({ id: 'a', ttl: 0 }), 400, 'invalid_field', 'ttl'],
  ['/v1/attempt', ask({ cost: { most: 1, least: 2 } }), 400, 'invalid_field', 'cost.least'],
  ['/v1/attempt', ask({ cost: { most: -1 } }), 400, 'invalid_field', 'cost.most'],
  ['/v1/attempt', ask({ cost: { most: 1, lest: 1 } }), 400, 'invalid_field', 'cost.lest'],
  ['/v1/reserve', ask({ ttl: 0 }), 400, 'invalid_field', 'ttl'],
  ['/v1/reserve', ask({ ttl: 1e9 }), 400, 'invalid_field', 'ttl'],
  ['/v1/settle', '{}', 400, 'invalid_field', 'hold'],
  ['/v1/settle', '{"hold":"x"}', 400, 'invalid_field', 'actual'],
  ['/v1/settle', '{"hold":"x","actual":-1}', 400, 'invalid_field', 'actual'],
  ['/v1/settle', '{"hold":"x","actual":1}', 404, 'unknown_hold', 'hold'],
  ['/v1/attempt', ask({ key: 'k'.repeat(30_000) }), 413, 'body_too_large'],
  ['/v1/attempt', '['.repeat(15_000), 400, 'malformed_json'],
  ['/', '{}', 404, 'not_found'],
  ['/v1', '{}', 404, 'not_found'],
  ['/v1/attempt/', '{}', 404, 'not_found'],
  ['/V1/attempt', '{}', 404, 'not_found'],
  ['/constructor', '{}', 404, 'not_found'],
  ['/healthz', '{}', 405, 'method_not_allowed'],
];

const rows = ROWS.map(([path, body, status, error, field]) => ({ path, body, status, error, field }));

test.each(rows)('$path $body is a $status', async ({ path, body, status, error, field }) => {
  const reply = await running.post(path, body);
  expect(reply.status).toBe(status);
  expect(reply.body).toMatchObject({ error, message: expect.any(String), requestId: expect.any(String) });
  if (field !== undefined) expect(reply.body.path).toBe(field);
});

test.each(['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])(
  '%s /v1/attempt is a 405 that says what it takes',
  async (method) => {
    const response = await fetch(`${running.url}/v1/attempt`, { method });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  },
);

test('bytes that are no UTF-8', async () => {
  const body = Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]);
  const response = await fetch(`${running.url}/v1/attempt`, { method: 'POST', body });
  expect([response.status, await response.json()]).toMatchObject([400, { error: 'malformed_json' }]);
});

/** What a client that speaks no HTTP library can send: the first line of what comes back, until the connection ends. */
async function raw(...pieces: readonly string[]): Promise<string> {
  const socket = connect(running.port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', () => {});
  for (const piece of pieces) socket.write(piece);
  await once(socket, 'close');
  return text.split('\r\n')[0]!;
}

const HEAD = 'POST /v1/attempt HTTP/1.1\r\nHost: x\r\n';

test.each([
  ['a body that never comes', [`${HEAD}Content-Length: 50\r\n\r\n{"key"`], 'HTTP/1.1 408 Request Timeout'],
  [
    'a body in chunks that never ends',
    [`${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\n{"key\r\n`],
    'HTTP/1.1 408 Request Timeout',
  ],
  ['a body that says it is huge', [`${HEAD}Content-Length: 99999999999\r\n\r\n`], 'HTTP/1.1 413 Payload Too Large'],
  [
    'a body in chunks that is too large',
    [`${HEAD}Transfer-Encoding: chunked\r\n\r\n`, `6000\r\n${'x'.repeat(0x6000)}\r\n`],
    'HTTP/1.1 413 Payload Too Large',
  ],
  ['garbage', ['\x00\x01\x02 hello\r\n\r\n'], 'HTTP/1.1 400 Bad Request'],
  ['two lengths', [`${HEAD}Content-Length: 5\r\nContent-Length: 6\r\n\r\n`], 'HTTP/1.1 400 Bad Request'],
  ['a giant header', [`${HEAD}X-Big: ${'x'.repeat(40_000)}\r\n\r\n`], 'HTTP/1.1 431 Request Header Fields Too Large'],
])('%s', async (_, pieces, expected) => {
  expect(await raw(...pieces)).toBe(expected);
});

test('no header is lost, however many there are', async () => {
  const [response] = await exchange(
    running.port,
    [rawRequest('GET /healthz', [...Array(5000).fill('a:'), 'X-Request-Id: the-last'])],
    1,
  );
  expect(response?.head).toContain('X-Request-Id: the-last');
});

test('after all of that: it runs, it has logged no failure, and nothing was spent', async () => {
  expect((await running.get('/healthz')).status).toBe(200);
  expect(running.logs).toEqual([]);
  for (const policy of ['api', 'daily', 'trial']) {
    const { body } = await running.post('/v1/peek', { policy, key: 'a' });
    expect(body.remaining).toBe(body.limit);
  }
});
