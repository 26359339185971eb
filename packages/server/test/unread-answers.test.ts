/**
 * Clients that send and never read. The service is a process of its own with a small heap, so that what it cannot bound ends it; meanwhile
 * honest clients are answered.
 */
import { readFileSync } from 'node:fs';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { loadSync, type ServiceDefinition } from '@grpc/proto-loader';
import { afterEach, describe, expect, test } from 'vitest';
import { waitUntil } from '../../../tools/servers/wait-until.ts';
import { createEnvoyServer } from '../src/envoy/grpc/server.ts';
import { CONNECTION_LIMITS } from '../src/service/connections.ts';
import { type Asked, grpcClient, PROTO_FOLDER } from './envoy/support.ts';
import { type ServingProcess, serve } from './processes.ts';
import { exchange, rawRequest } from './raw.ts';
import { ask, type RunningService, startService } from './support.ts';

const HEAP_MB = 64;
/** Of the whole process: it begins with some 90 MB, and Node 24 takes more of what is there than Node 20. */
const MOST_MB = 320;
const CONNECTIONS = 60;

const POLICY = { algorithm: 'fixed-window', limit: 1_000_000, window: '1h' };
const LIST = JSON.stringify(Array(256).fill({ key: 'a', policy: POLICY }));
const JSON_TYPE = 'Content-Type: application/json';

/** What is sent again and again on one connection. */
const FLOODS: Readonly<Record<string, Buffer>> = {
  'small answers': rawRequest('GET /healthz', []),
  'small questions with large answers': rawRequest('GET /openapi.json', []),
  'lists of attempts': rawRequest('POST /v1/attempt', [JSON_TYPE], LIST),
  refusals: rawRequest('GET /nowhere', []),
  'what is no HTTP, behind what is': Buffer.concat([
    ...Array(50).fill(rawRequest('GET /metrics', [])),
    Buffer.from('?\r\n\r\n'),
  ]),
  'the page of the lab': rawRequest('GET /', []),
};

/** Sends as much as the other side takes, until it closes the connection, and reads nothing. */
function flood(port: number, request: Buffer): Socket {
  const socket = connect({ port, host: '127.0.0.1' }).pause();
  const bytes = Buffer.concat(Array(Math.max(1, Math.ceil(65_536 / request.length))).fill(request));
  const send = (): void => {
    while (!socket.destroyed && socket.write(bytes));
  };
  return socket
    .on('connect', send)
    .on('drain', send)
    .on('error', () => {});
}

function residentMb(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const [, kilobytes] = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return Number(kilobytes) / 1024;
}

describe('60 connections that never read', () => {
  let server: ServingProcess;
  let sockets: Socket[] = [];
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    sockets = [];
    await server?.stop();
  });

  test.each(Object.entries(FLOODS))('%s', async (_, request) => {
    server = await serve([], { NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}` });
    const port = Number(new URL(server.url).port);
    const open = (): Socket => flood(port, request);
    // Whoever is closed comes again.
    for (let round = 0; round < 6; round++) {
      const closed = sockets.filter(({ destroyed }) => destroyed).length;
      const fresh = Array.from({ length: CONNECTIONS - sockets.length + closed }, open);
      sockets = [...sockets.filter(({ destroyed }) => !destroyed), ...fresh];
      for (let time = 0; time < 10; time++) {
        const body = JSON.stringify({ key: 'honest', policy: POLICY });
        const headers = { 'content-type': 'application/json' };
        expect((await ask(`${server.url}/v1/attempt`, { method: 'POST', body, headers })).body.allowed).toBe(true);
      }
    }
    expect(residentMb(server.pid, 'VmHWM')).toBeLessThan(MOST_MB);
    expect((await ask(`${server.url}/healthz`, {})).status).toBe(200);
  });
});

test('hundreds of connections that send less than would close them, and never read', async () => {
  const server = await serve([], { NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}` });
  const port = Number(new URL(server.url).port);
  const many = CONNECTION_LIMITS.mostPipelined - 1;
  const pieces = ['GET /healthz', 'GET /openapi.json', 'GET /metrics'].map((line) =>
    Buffer.concat(Array(many).fill(rawRequest(line, []))),
  );
  const sockets = Array.from({ length: 400 }, (_, index) => {
    const socket = connect({ port, host: '127.0.0.1' }).pause();
    return socket.on('error', () => {}).on('connect', () => void socket.write(pieces[index % pieces.length]!));
  });
  for (let time = 0; time < 50; time++) expect((await ask(`${server.url}/healthz`, {})).status).toBe(200);
  expect(residentMb(server.pid, 'VmHWM')).toBeLessThan(MOST_MB);
  for (const socket of sockets) socket.destroy();
  await server.stop();
});

describe('over gRPC, where each answer can be held back by itself', () => {
  const config = fileURLToPath(new URL('../../../examples/gateways/envoy/ratelimit.yaml', import.meta.url));
  const asked: Asked = {
    domain: 'shop',
    descriptors: Array(100).fill({ entries: [{ key: 'api_key', value: 'ann' }] }),
  };

  test('60 connections that ask and never read', async () => {
    const args = ['--config', config, '--grpc-port', '0', '--no-lab'];
    const server = await serve(args, { NODE_OPTIONS: `--max-old-space-size=${2 * HEAP_MB}` });
    const port = Number(/over gRPC at 127\.0\.0\.1:(\d+)/.exec(server.greeting)![1]);
    const honest = grpcClient(port);
    const sessions = Array.from({ length: CONNECTIONS }, () => holdBack(port, asked));
    const question = { domain: 'shop', descriptors: [{ entries: [{ key: 'api_key', value: 'honest' }] }] };
    for (let time = 0; time < 50; time++) expect((await honest.ask(question)).overallCode).toBe('OK');
    expect(residentMb(server.pid, 'VmHWM')).toBeLessThan(1.5 * MOST_MB);
    for (const session of sessions) session.destroy();
    honest.close();
    await server.stop();
  });

  test('one that is too slow, or too many of them, cost their connection; others go on', async () => {
    const callLimits = { mostConnections: 3, timeoutMs: 1000, mostSlow: 1000, mostOpen: 1000 };
    const opened = createEnvoyServer({
      answer: async () => ({
        overallCode: 'OK',
        statuses: [],
        responseHeadersToAdd: [],
        requestHeadersToAdd: [],
        dynamicMetadata: undefined,
      }),
      guard: () => {},
      onError: () => {},
      isHealthy: async () => true,
      callLimits,
    });
    const port = await opened.listen({ port: 0, host: '127.0.0.1' });
    const honest = grpcClient(port);
    const ask = async () => (await honest.ask({ domain: 'x', descriptors: [] })).overallCode;
    expect(await ask()).toBe('OK');
    const slow = holdBack(port, { domain: 'x', descriptors: [] });
    await waitUntil('it is closed', () => slow.destroyed);
    expect(await ask()).toBe('OK');
    // Of three connections one is the honest one's.
    const more = [1, 2, 3].map(() => connect({ port, host: '127.0.0.1' }).on('error', () => {}));
    await waitUntil('the fourth is closed', () => more.some(({ destroyed }) => destroyed));
    expect(more.filter(({ destroyed }) => destroyed)).toHaveLength(1);
    expect(await ask()).toBe('OK');
    for (const socket of more) socket.destroy();
    honest.close();
    await opened.drain(1000);
  });
});

/** Asks again and again on one connection, and lets no answer through. */
function holdBack(port: number, asked: Asked): ClientHttp2Session {
  const session = connectHttp2(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 0 } }).on(
    'error',
    () => {},
  );
  const message = RATE_LIMIT.requestSerialize(asked);
  const frame = Buffer.concat([Buffer.alloc(5), message]);
  frame.writeUInt32BE(message.length, 1);
  const headers = { ':method': 'POST', ':path': RATE_LIMIT.path, 'content-type': 'application/grpc', te: 'trailers' };
  session.on('connect', () => {
    for (let time = 0; time < 500 && !session.destroyed; time++)
      session
        .request(headers)
        .on('error', () => {})
        .end(frame);
  });
  return session;
}

const RATE_LIMIT = (
  loadSync('envoy/service/ratelimit/v3/rls.proto', { includeDirs: [PROTO_FOLDER] })[
    'envoy.service.ratelimit.v3.RateLimitService'
  ] as ServiceDefinition
).ShouldRateLimit!;

describe('one connection', () => {
  let service: RunningService;
  afterEach(() => service.stop());
  const start = async (more: Partial<typeof CONNECTION_LIMITS>) => {
    service = await startService({ connectionLimits: { ...CONNECTION_LIMITS, ...more } });
  };
  const counted = async (): Promise<number> =>
    Number(/^sluice_connections_cut_total (\d+)$/m.exec((await service.get('/metrics')).text)![1]);

  test('may send many requests at once and reads all answers, in order', async () => {
    await start({ mostAtOnce: 3, mostPipelined: 50 });
    const requests = Array.from({ length: 50 }, (_, index) => rawRequest('GET /healthz', [`X-Request-Id: r${index}`]));
    const answers = await exchange(service.port, [Buffer.concat(requests)], 50);
    expect(answers.map(({ head }) => /x-request-id: (\w+)/i.exec(head)![1])).toEqual(
      requests.map((_, index) => `r${index}`),
    );
    expect(await counted()).toBe(0);
  });

  test('with more than that is closed', async () => {
    await start({ mostAtOnce: 2, mostPipelined: 10 });
    const socket = flood(service.port, rawRequest('GET /healthz', []));
    await waitUntil('it is closed', () => socket.destroyed || socket.resume().destroyed);
    expect(await counted()).toBe(1);
  });

  test('waits no longer when too many wait already on others', async () => {
    await start({ mostAtOnce: 1, mostPipelined: 50, mostWaiting: 5 });
    // Each waits for its slot of the shaping policy.
    const slow = rawRequest('GET /v1/check/shaped?key=a&cost=1', []);
    const replies = exchange(service.port, [Buffer.concat(Array(6).fill(slow))], 6);
    const other = await exchange(service.port, [Buffer.concat(Array(8).fill(slow))], 8);
    expect(other.length).toBeLessThan(8);
    expect(await replies).toHaveLength(6);
    expect(await counted()).toBe(1);
  });

  test('that does not read for too long is closed; one that reads slowly, but reads, is not', async () => {
    await start({ readTimeoutMs: 300 });
    const idle = flood(service.port, rawRequest('GET /openapi.json', []));
    await waitUntil('it is closed', async () => (await counted()) === 1);
    idle.destroy();
    const [answer] = await exchange(service.port, [rawRequest('GET /openapi.json', [])], 1);
    expect(answer?.status).toBe(200);
  });

  test('that has not read for longest makes room when unread answers take too much memory', async () => {
    await start({ mostUnreadBytes: 4_000_000 });
    const sockets = Array.from({ length: 30 }, () => flood(service.port, rawRequest('GET /openapi.json', [])));
    await waitUntil('some are closed', async () => (await counted()) > 5);
    const [answer] = await exchange(service.port, [rawRequest('GET /healthz', [])], 1);
    expect(answer?.status).toBe(200);
    for (const socket of sockets) socket.destroy();
  });
});
