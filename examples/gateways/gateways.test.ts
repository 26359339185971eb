/**
 * Real gateways in front of a real upstream, with a real `sluice serve` beside them that is stopped and killed. What is expected is one
 * table for all of them.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type OutgoingHttpHeaders, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ServingProcess, serve, sluice } from '../../packages/server/test/processes.ts';
import { exchange, rawRequest } from '../../packages/server/test/raw.ts';
import { type GatewayKind, randomPort } from '../../tools/servers/index.ts';
import { waitUntil } from '../../tools/servers/wait-until.ts';
import { type RunningGateway, startGateway } from './start-gateway.ts';

const CONFIG = `
trustedProxies: 1
policies:
  api: { algorithm: fixed-window, limit: 5, window: 1h, align: first }
  login: { algorithm: fixed-window, limit: 2, window: 1h, align: first }
rules:
  - { name: health, match: { path: /health }, unlimited: true }
  - { name: logins, match: { method: POST, path: /login }, key: header:x-api-key, policy: login }
  - { name: all, key: header:x-api-key | ip, policy: api }
`;
const folder = mkdtempSync(join(tmpdir(), 'sluice-gateways-'));
const config = join(folder, 'policies.yaml');
writeFileSync(config, CONFIG);
afterAll(() => rmSync(folder, { recursive: true }));

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string;
}

interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** What an answer must look like. Headers: a text, a pattern, or whether there is one. */
interface Expected {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | RegExp | boolean>>;
  readonly body?: RegExp;
}

const ALLOWED_HEADERS = { 'ratelimit-policy': '"api";q=5;w=3600', 'x-ratelimit-limit': '5', 'retry-after': false };
const UNLIMITED = { ratelimit: false, 'ratelimit-policy': false, 'x-ratelimit-limit': false };
const allowed = (left: number): Expected => ({
  status: 200,
  headers: {
    ...ALLOWED_HEADERS,
    ratelimit: new RegExp(`^"api";r=${left};t=3\\d{3}$`),
    'x-ratelimit-remaining': String(left),
  },
});
const denied = (policy: string): Expected => ({
  status: 429,
  headers: {
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    'retry-after': true,
    ratelimit: true,
    'ratelimit-policy': true,
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': true,
  },
  body: new RegExp(`"status":429,.*"violated-policies":\\["${policy}"\\]`),
});
const refused = (status: number): Expected => ({ status });

const from = (key: string): Sent => ({ headers: { 'x-api-key': key } });
/** What a client may send to be taken for somebody or something else. */
const LIES = {
  'x-forwarded-for': '9.9.9.9',
  forwarded: 'for=9.9.9.9',
  'x-real-ip': '9.9.9.9',
  'x-forwarded-uri': '/health',
  'x-forwarded-method': 'GET',
  'x-original-uri': '/health',
  'x-original-method': 'GET',
  'x-sluice-key': 'somebody else',
  connection: 'close, x-forwarded-uri, x-forwarded-for, x-sluice-key',
};

interface Row {
  readonly what: string;
  readonly requests: readonly (readonly [Sent, Expected])[];
  /** How many of them the upstream has seen in the end. */
  readonly seen: number;
}

const ROWS: readonly Row[] = [
  {
    what: 'five, then no more; another key has its own',
    requests: [
      ...[4, 3, 2, 1, 0].map((left) => [from('a'), allowed(left)] as const),
      [from('a'), denied('api')],
      [from('a'), denied('api')],
      [from('b'), allowed(4)],
    ],
    seen: 6,
  },
  {
    what: 'by address, whatever the client says of itself',
    requests: [
      ...[4, 3, 2, 1, 0].map((left) => [{}, allowed(left)] as const),
      [{}, denied('api')],
      [{ headers: LIES }, denied('api')],
    ],
    seen: 5,
  },
  {
    what: 'a rule for one method and path; bodies arrive whole',
    requests: [
      ...Array.from({ length: 2 }, () => {
        const sent = { ...from('poster'), method: 'POST', path: '/login?x=1', body: 'x'.repeat(50_000) };
        return [
          sent,
          { status: 200, headers: { 'ratelimit-policy': true }, body: /^POST \/login\?x=1 50000$/ },
        ] as const;
      }),
      [{ ...from('poster'), method: 'POST', path: '/login', body: 'x' }, denied('login')],
      [{ ...from('poster'), method: 'GET', path: '/login' }, { status: 200 }],
    ],
    seen: 3,
  },
  {
    what: 'a limited path in other spellings is limited, whatever the upstream makes of it',
    requests: [
      ...['/login', '/x%ff/%2e%2e/login'].map((path) => {
        return [{ ...from('speller'), method: 'POST', path, body: 'x' }, { status: 200 }] as const;
      }),
      ...['/%6cogin', '/y%2fz/../login', '/health%ff/..%2flogin', '/./LOGIN/', '/health/../login'].map((path) => {
        return [{ ...from('speller'), method: 'POST', path, body: 'x' }, denied('login')] as const;
      }),
    ],
    seen: 2,
  },
  {
    what: 'browsers that come from another site, under a name of the application',
    requests: [
      [
        {
          headers: {
            ...{ host: 'shop.example.com', origin: 'https://other.example', 'sec-fetch-site': 'cross-site' },
            ...{ 'x-api-key': 'browser', referer: 'https://other.example/' },
          },
        },
        allowed(4),
      ],
    ],
    seen: 1,
  },
  {
    what: 'what has no limit has no headers',
    requests: Array.from({ length: 7 }, () => [{ path: '/health' }, { status: 200, headers: UNLIMITED }] as const),
    seen: 7,
  },
  {
    what: "the upstream's own answers are its own",
    requests: [403, 404, 429, 500].map((status) => [
      { ...from('status'), path: `/status/${status}` },
      { status, headers: { ratelimit: true }, body: new RegExp(`^GET /status/${status} 0$`) },
    ]),
    seen: 4,
  },
  {
    what: 'an upstream that fails is not asked again',
    requests: [[{ ...from('crash'), method: 'POST', path: '/crash', body: 'x' }, { status: 502 }]],
    seen: 1,
  },
  {
    what: 'no client can make the question fail, to be let through',
    requests: [
      [{ ...from('k'.repeat(1100)) }, refused(400)],
      [{ headers: { 'x-api-key': 'k', ...giantHeaders() } }, refused(400)],
      [{ ...from('k'), path: `/${'x'.repeat(40_000)}` }, refused(414)],
      // As long as nginx takes each of them.
      [{ ...from('k'.repeat(8100)), path: `/${'x'.repeat(8100)}` }, refused(400)],
      // As long as HAProxy takes it, when the question has to hold it as well.
      ...Array.from({ length: 12 }, (_, index) => {
        return [{ ...from('k'), path: `/?${'x'.repeat(14_900 + 40 * index)}` }, refused(414)] as const;
      }),
    ],
    seen: 0,
  },
];

function giantHeaders(): OutgoingHttpHeaders {
  return Object.fromEntries(Array.from({ length: 6 }, (_, index) => [`x-big-${index}`, 'x'.repeat(7500)]));
}

/** The word of each server for "too large". */
const TOO_LARGE = [400, 413, 414, 431];

function expectReply({ status, headers, body }: Reply, expected: Expected): void {
  if (TOO_LARGE.includes(expected.status)) expect(TOO_LARGE).toContain(status);
  else expect(status, body).toBe(expected.status);
  for (const [name, value] of Object.entries(expected.headers ?? {})) {
    if (typeof value === 'boolean') expect(headers[name] !== undefined, `${name}: ${headers[name]}`).toBe(value);
    else expect(headers[name], name).toEqual(typeof value === 'string' ? value : expect.stringMatching(value));
  }
  if (expected.body !== undefined) expect(body).toMatch(expected.body);
}

async function ask(port: number, { method = 'GET', path = '/', headers = {}, body = '' }: Sent): Promise<Reply> {
  // An answer has to come, sooner or later: one that never does is what is being looked for.
  const sent = request({ port, host: '127.0.0.1', method, path, headers, agent: false, timeout: 60_000 });
  sent.on('timeout', () => sent.destroy(new Error('no answer')));
  sent.end(body);
  const [response] = await once(sent, 'response');
  let text = '';
  for await (const chunk of response) text += chunk;
  return { status: response.statusCode, headers: response.headers, body: text };
}

/** Says what it was asked. */
let upstream: Server;
let upstreamPort: number;
let seen = 0;
beforeAll(async () => {
  // It takes what many servers take: who refuses control characters has to be the gateway, or the service.
  upstream = createServer({ insecureHTTPParser: true }, (request, response) => {
    if (request.headers['x-probe'] === undefined) seen += 1;
    const [, status = '200'] = /^\/status\/(\d+)/.exec(request.url ?? '') ?? [];
    let bytes = 0;
    request.on('data', (chunk) => {
      bytes += chunk.length;
    });
    request.on('end', () => {
      if (request.url === '/crash') request.socket.destroy();
      else response.writeHead(Number(status)).end(`${request.method} ${request.url} ${bytes}`);
    });
  });
  await once(upstream.listen(0, '127.0.0.1'), 'listening');
  upstreamPort = (upstream.address() as AddressInfo).port;
});
afterAll(() => upstream.close());

async function startService(port?: number): Promise<ServingProcess> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await serve(['--config', config, '--port', String(port ?? randomPort())]);
    } catch (error) {
      if (port !== undefined || attempt === 20) throw error;
    }
  }
}

const AWAY: Readonly<Record<'open' | 'closed', Expected>> = {
  open: { status: 200, headers: UNLIMITED, body: /^POST \/login 5$/ },
  closed: {
    status: 503,
    headers: { 'retry-after': '1', 'cache-control': 'no-store', 'content-type': 'application/problem+json' },
    body: /"title":"Rate limits cannot be checked right now","status":503/,
  },
};

const setups = (['nginx', 'caddy', 'haproxy'] satisfies GatewayKind[]).flatMap((kind) =>
  (['open', 'closed'] as const).map((whenAway) => ({ kind, whenAway })),
);

describe.each(setups)('$kind, which fails $whenAway', ({ kind, whenAway }) => {
  let service: ServingProcess;
  let servicePort: number;
  let gateway: RunningGateway;
  beforeAll(async () => {
    service = await startService();
    servicePort = Number(new URL(service.url).port);
    gateway = await startGateway({ kind, servicePort, upstreamPort, whenAway });
  });
  afterAll(async () => {
    service?.signal('SIGKILL');
    await gateway?.stop();
  });

  const limitedAgain = () =>
    waitUntil('limits hold again', async () => {
      const { status, headers } = await ask(gateway.port, { headers: { 'x-api-key': 'probe', 'x-probe': '1' } });
      return (status === 200 || status === 429) && headers.ratelimit !== undefined;
    });

  test.each(whenAway === 'open' ? ROWS : [])('$what', async ({ requests, seen: expectedSeen }) => {
    seen = 0;
    for (const [sent, expected] of requests) expectReply(await ask(gateway.port, sent), expected);
    expect(seen).toBe(expectedSeen);
  });

  test.each([0x01, 0x0b, 0x1b, 0x7f])('nor with the byte %i in a header', async (byte) => {
    seen = 0;
    const header = `X-Api-Key: k${String.fromCharCode(byte)}k`;
    const [response] = await exchange(gateway.port, [rawRequest('GET /', [header, 'Connection: close'])], 1);
    // Caddy and nginx may take it for no header at all, and then the address is limited as ever.
    if (response?.status === 200) expect(response.head).toMatch(/^ratelimit: /im);
    else expect([400, 429]).toContain(response?.status);
    expect(seen).toBe(response?.status === 200 ? 1 : 0);
  });

  test('forty at once: exactly five', async () => {
    const replies = await Promise.all(Array.from({ length: 40 }, () => ask(gateway.port, from('crowd'))));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(5);
    for (const reply of replies.filter(({ status }) => status !== 200)) expectReply(reply, denied('api'));
  });

  const login = { ...from('away'), method: 'POST', path: '/login', body: 'hello' };
  const expectAway = async () => {
    seen = 0;
    for (const reply of await Promise.all([1, 2, 3].map(() => ask(gateway.port, login)))) {
      expectReply(reply, AWAY[whenAway]);
    }
    expect(seen).toBe(whenAway === 'open' ? 3 : 0);
  };

  test('a service that hangs, and wakes up', async () => {
    service.signal('SIGSTOP');
    await expectAway();
    service.signal('SIGCONT');
    await limitedAgain();
  });

  test('a service that is killed, and comes back', async () => {
    service.signal('SIGKILL');
    await service.ended;
    await expectAway();
    service = await startService(servicePort);
    await limitedAgain();
    for (const left of [4, 3, 2, 1, 0]) expectReply(await ask(gateway.port, from('after')), allowed(left));
    expectReply(await ask(gateway.port, from('after')), denied('api'));
  });
});

test.each(['nginx', 'caddy', 'haproxy'] as const)('%s without rules, as its README says', async (kind) => {
  const service = await startService();
  const servicePort = Number(new URL(service.url).port);
  const gateway = await startGateway({ kind, servicePort, upstreamPort, whenAway: 'closed', withoutRules: true });
  for (const left of [4, 3, 2, 1, 0]) {
    expectReply(await ask(gateway.port, { path: '/health', ...from('a') }), allowed(left));
  }
  expectReply(await ask(gateway.port, { ...from('a'), path: '/?by=ip&key=b' }), denied('api'));
  expectReply(await ask(gateway.port, { headers: { 'x-api-key': 'a', 'x-sluice-key': 'b' } }), denied('api'));
  await service.stop();
  await gateway.stop();
});

test('the example of a config is a right one', async () => {
  const file = fileURLToPath(new URL('policies.yaml', import.meta.url));
  expect(await sluice('check', file)).toMatchObject({ code: 0, out: expect.stringContaining('2 policies, 3 rules') });
});
