/** Unix sockets, the age of connections, and how many calls are answered at a time: by the flags of the command, and by a client of bare HTTP/2. */
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { credentials, makeClientConstructor, status } from '@grpc/grpc-js';
import { service as healthService } from 'grpc-health-check';
import { memoryStore } from 'sluice';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { type ServingProcess, serve } from '../processes.ts';
import { type Asked, type EnvoyService, type Reply, startEnvoy } from './support.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const config = fileURLToPath(new URL('../../../../examples/gateways/envoy/ratelimit.yaml', import.meta.url));
const Health = makeClientConstructor(healthService as never, 'Health');

const httpStatus = (socketPath: string): Promise<number> =>
  new Promise((resolve, reject) => {
    request({ socketPath, path: '/healthz' }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    })
      .on('error', reject)
      .end();
  });

const grpcHealth = (address: string): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const client = new Health(address, credentials.createInsecure());
    client.check!({ service: '' }, (error: unknown, reply: Reply) => {
      client.close();
      if (error) reject(error);
      else resolve(reply);
    });
  });

describe('Unix sockets', () => {
  const [socket, grpcSocket] = [join(folder, 'http.sock'), join(folder, 'grpc.sock')];
  const args = ['--config', config, '--no-lab', '--socket', socket, '--grpc-socket', grpcSocket];
  let server: ServingProcess;
  afterEach(() => server.stop());

  test('both are served, also where a process has left its files behind', async () => {
    const killed = await serve(args);
    killed.signal('SIGKILL');
    await killed.ended;
    server = await serve(args);
    expect(server.greeting).toContain(`http+unix://${socket}`);
    expect(server.greeting).toContain(`unix:${grpcSocket}`);
    expect(await httpStatus(socket)).toBe(200);
    expect(await grpcHealth(`unix:${grpcSocket}`)).toEqual({ status: 'SERVING' });
    await expect(serve(args)).rejects.toThrow(/is taken by another program/);
  });
});

test('a connection that is old is told to go elsewhere, and finishes what it has', async () => {
  const service = await startEnvoy('', { grpc: { connectionAge: { mostMs: 50, graceMs: 60_000 } } });
  const session = connectHttp2(`http://127.0.0.1:${service.grpcPort}`).on('error', () => {});
  const isTold = new Promise<number>((resolve) => session.once('goaway', (code) => resolve(code)));
  const isClosed = new Promise<void>((resolve) => session.once('close', () => resolve()));
  expect(await isTold).toBe(0);
  await isClosed;
  await service.stop();
});

test('the age of connections is a flag, and a bad one an error', async () => {
  await expect(serve(['--grpc-max-connection-age', 'soon'])).rejects.toThrow(
    /--grpc-max-connection-age: expected a time/,
  );
  const server = await serve([
    '--config',
    config,
    '--no-lab',
    '--grpc-port',
    '0',
    '--grpc-max-connection-age',
    '100ms',
  ]);
  const port = /over gRPC at 127\.0\.0\.1:(\d+)/.exec(server.greeting)![1];
  const session = connectHttp2(`http://127.0.0.1:${port}`).on('error', () => {});
  await new Promise((resolve) => session.once('goaway', resolve));
  session.destroy();
  await server.stop();
});

test('more calls at a time than may be are told to try again', async () => {
  const YAML = 'domain: shop\ndescriptors: [{ key: user, rate_limit: { unit: minute, requests_per_unit: 9 } }]';
  const asked: Asked = { domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'ann' }] }] };
  const base = memoryStore();
  let goOn = (): void => {};
  let began = (): void => {};
  const hasBegun = new Promise<void>((resolve) => {
    began = resolve;
  });
  const gate = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const service: EnvoyService = await startEnvoy(YAML, {
    grpc: { maxConcurrent: 1 },
    store: () => ({
      ask: (question) => {
        began();
        return gate.then(() => base.ask(question));
      },
    }),
  });
  const first = service.grpc(asked);
  await hasBegun;
  await expect(service.grpc(asked)).rejects.toMatchObject({
    code: status.RESOURCE_EXHAUSTED,
    details: 'more than 1 calls are being answered: try again',
  });
  goOn();
  expect((await first).overallCode).toBe('OK');
  expect((await service.grpc(asked)).overallCode).toBe('OK');
  await service.stop();
});
