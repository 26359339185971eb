/** With a token set, nothing changes what others have spent without it: not by another spelling, method, version, header or connection. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROUTES } from '../src/service/routes.ts';
import { exchange, type RawResponse } from './raw.ts';
import { type RunningService, startService } from './support.ts';

const TOKEN = 'correct-horse';
const GOOD = `Authorization: Bearer ${TOKEN}`;
const SPENT = 3;
const SUBJECT = { policy: 'api', key: 'victim' };
const BODIES: Readonly<Record<string, object>> = {
  '/v1/refund': { ...SUBJECT, cost: SPENT },
  '/v1/penalize': { ...SUBJECT, cost: SPENT },
  '/v1/reset': SUBJECT,
  '/v1/block': { ...SUBJECT, duration: '1h' },
  '/v1/unblock': SUBJECT,
  '/v1/exceptions': { kind: 'deny', key: SUBJECT.key },
};

const changes = ROUTES.filter(({ access }) => access === 'change').map(({ path }) => path);
const METHODS = ['POST', 'GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'post', 'PROPFIND', 'TRACE'];

/** None of them is the token. */
const HEADERS: readonly (readonly string[])[] = [
  [],
  ['Authorization:'],
  ['Authorization: Bearer'],
  ['Authorization: Bearer '],
  ['Authorization: Bearer wrong'],
  [`Authorization: ${TOKEN}`],
  [`Authorization: Basic ${TOKEN}`],
  [`Authorization: Basic ${Buffer.from(`x:${TOKEN}`).toString('base64')}`],
  [`Authorization: Bearer ${TOKEN.slice(0, -1)}`],
  [`Authorization: Bearer ${TOKEN}x`],
  [`Authorization: Bearer ${TOKEN.toUpperCase()}`],
  [`Authorization: Bearer "${TOKEN}"`],
  [`Authorization: Bearer ${TOKEN}, wrong`],
  [`Authorization: Bearer wrong ${TOKEN}`],
  [`Authorization: Bearer: ${TOKEN}`],
  [`Authorization: Bearer\t${TOKEN}`],
  [`Authorization: Bearer ${encodeURIComponent(TOKEN).replace('-', '%2d')}`],
  ['Authorization: Bearer null'],
  ['Authorization: Bearer undefined'],
  // Of two, the first counts.
  ['Authorization: Bearer wrong', GOOD],
  ['Authorization:', GOOD],
  [`Proxy-Authorization: Bearer ${TOKEN}`],
  [`X-Authorization: Bearer ${TOKEN}`],
  [`X-Forwarded-Authorization: Bearer ${TOKEN}`],
  [`Cookie: authorization=Bearer ${TOKEN}; token=${TOKEN}`],
  [`X-Api-Key: ${TOKEN}`],
];

/** Said in a header, so that it means something to some servers; here it must mean nothing. */
const OVERRIDES: readonly string[] = [
  'X-HTTP-Method-Override: POST',
  'X-Method-Override: POST',
  'X-Original-URL: /healthz',
  'X-Rewrite-URL: /healthz',
  'X-Forwarded-Uri: /healthz',
  'X-Forwarded-For: 127.0.0.1',
  'X-Sluice-Key: victim',
  'Connection: close, Authorization',
];

/** Other ways to write the path. */
function spellings(path: string): string[] {
  const name = path.slice('/v1/'.length);
  return [
    path,
    `${path}/`,
    `${path}?token=${TOKEN}&access_token=${TOKEN}&authorization=Bearer%20${TOKEN}`,
    `${path}#x`,
    `/${path}`,
    path.toUpperCase(),
    `/V1/${name}`,
    `/v1//${name}`,
    `/v1/./${name}`,
    `/v1/peek/../${name}`,
    `/v1/peek/%2e%2e/${name}`,
    `/v1/check/..%2f${name}`,
    `/v1/%${name.charCodeAt(0).toString(16)}${name.slice(1)}`,
    `/v1%2f${name}`,
    `${path}%20`,
    `${path}%00`,
    `${path};x`,
    `${path}.json`,
    `/healthz/..${path}`,
    `\\v1\\${name}`,
    `http://127.0.0.1${path}`,
    `http://healthz${path}?/healthz`,
    `//127.0.0.1${path}`,
  ];
}

function request(method: string, target: string, body: object, headers: readonly string[], version = '1.1'): string {
  const text = JSON.stringify(body);
  const head = [`${method} ${target} HTTP/${version}`, 'Host: x', `Content-Length: ${text.length}`, ...headers];
  return `${[...head, '', ''].join('\r\n')}${text}`;
}

describe.each(['changes', 'everything'] as const)('a token for %s', (protect) => {
  let service: RunningService;
  const ask = async (text: string): Promise<RawResponse | undefined> => (await exchange(service.port, [text], 1))[0];
  const remaining = async (): Promise<number> => {
    const reply = await service.post('/v1/peek', SUBJECT, { authorization: `Bearer ${TOKEN}` });
    expect(reply.body.allowed).toBe(true);
    return reply.body.remaining;
  };
  beforeAll(async () => {
    service = await startService({ token: TOKEN, protect });
    await service.post('/v1/attempt', { ...SUBJECT, cost: SPENT }, { authorization: `Bearer ${TOKEN}` });
  });
  afterAll(() => service.stop());

  /** Refused, or not even heard: a connection that ends is fine too. */
  const expectUnchanged = async (requests: readonly string[]): Promise<void> => {
    for (let at = 0; at < requests.length; at += 50) {
      const batch = requests.slice(at, at + 50);
      const replies = await Promise.all(batch.map(ask));
      for (const [index, reply] of replies.entries()) {
        expect(reply?.status ?? 400, batch[index]).toBeGreaterThanOrEqual(400);
        expect(reply?.status ?? 400, batch[index]).toBeLessThan(500);
      }
    }
    expect(await remaining()).toBe(10 - SPENT);
  };

  test.each(changes)('%s: no header is the token but the token', async (path) => {
    await expectUnchanged(HEADERS.map((headers) => request('POST', path, BODIES[path]!, headers)));
    for (const headers of HEADERS) expect((await ask(request('POST', path, BODIES[path]!, headers)))?.status).toBe(401);
  });

  test.each(changes)('%s: no spelling, method or version is a way around it', async (path) => {
    const requests = spellings(path).flatMap((target) =>
      METHODS.flatMap((method) =>
        ['1.1', '1.0'].map((version) => request(method, target, BODIES[path]!, ['Connection: close'], version)),
      ),
    );
    await expectUnchanged(requests);
    await expectUnchanged(OVERRIDES.map((header) => request('POST', path, BODIES[path]!, [header])));
  });

  test.each(changes)('%s: who has shown the token once has to show it again', async (path) => {
    const [first, second] = await exchange(
      service.port,
      [request('GET', '/readyz', {}, [GOOD]), request('POST', path, BODIES[path]!, [])],
      2,
    );
    expect([first?.status, second?.status]).toEqual([200, 401]);
    expect(await remaining()).toBe(10 - SPENT);
  });

  test('in a list, and hidden in a body, too', async () => {
    const bodies = changes.flatMap((path) => [
      request('POST', path, [BODIES[path]!, BODIES[path]!], []),
      request('POST', path, { ...BODIES[path], token: TOKEN, authorization: `Bearer ${TOKEN}` }, []),
    ]);
    await expectUnchanged(bodies);
  });
});

test('with the token each of them does change something', async () => {
  const service = await startService({ token: TOKEN });
  const peek = async () => (await service.post('/v1/peek', SUBJECT)).body;
  const change = (path: string) => service.post(path, BODIES[path]!, { authorization: `Bearer ${TOKEN}` });
  await service.post('/v1/attempt', { ...SUBJECT, cost: SPENT });
  await change('/v1/refund');
  expect((await peek()).remaining).toBe(10);
  await service.post('/v1/attempt', { ...SUBJECT, cost: SPENT });
  await change('/v1/penalize');
  expect((await peek()).remaining).toBe(10 - 2 * SPENT);
  await change('/v1/reset');
  expect((await peek()).remaining).toBe(10);
  await change('/v1/block');
  expect((await peek()).allowed).toBe(false);
  await change('/v1/unblock');
  expect((await peek()).allowed).toBe(true);
  await change('/v1/exceptions');
  expect((await peek()).allowed).toBe(false);
  expect(Object.keys(BODIES).sort()).toEqual([...changes].sort());
  await service.stop();
});
