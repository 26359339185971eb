/** Bytes that are no message, and frames that are no gRPC: errors, and nothing else happens. */
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { status } from '@grpc/grpc-js';
import { loadSync, type MethodDefinition } from '@grpc/proto-loader';
import fc from 'fast-check';
import { type MemoryStore, memoryStore } from 'sluice';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Asked, type EnvoyService, type GrpcClient, grpcClient, PROTO_FOLDER, startEnvoy } from './support.ts';

const YAML = 'domain: shop\ndescriptors: [{ key: user, rate_limit: { unit: minute, requests_per_unit: 5 } }]';
const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';

let service: EnvoyService;
let store: MemoryStore;
let client: GrpcClient;
beforeAll(async () => {
  service = await startEnvoy(YAML, { store: (clock) => (store = memoryStore({ clock })) });
  client = grpcClient(service.grpcPort);
});
afterAll(async () => {
  client.close();
  await service.stop();
});

const definition = loadSync('envoy/service/ratelimit/v3/rls.proto', { includeDirs: [PROTO_FOLDER] });
const method = (
  definition['envoy.service.ratelimit.v3.RateLimitService'] as Record<string, MethodDefinition<object, object>>
).ShouldRateLimit!;

/** The code of the answer to these bytes. */
const send = (bytes: Uint8Array): Promise<number> =>
  new Promise((resolve) => {
    const identity = (value: Buffer): Buffer => value;
    client.client.makeUnaryRequest(PATH, identity, identity, Buffer.from(bytes), (error) =>
      resolve(error === null ? status.OK : error.code),
    );
  });

/** Nothing was kept, nothing is in the log, and the next question is answered. */
const isUnharmed = async (): Promise<void> => {
  expect(service.logs).toEqual([]);
  expect(store.stats().keys).toBe(0);
  const look = { domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'a' }], hitsAddend: { value: 0 } }] };
  expect((await client.ask(look)).statuses[0].limitRemaining).toBe(5);
};

/** Messages of a domain that no file has: whatever is made of them, no state may come of it. */
const entry = fc.record({ key: fc.string(), value: fc.string() });
const message = fc
  .record({
    domain: fc.constantFrom('nowhere', ''),
    hitsAddend: fc.nat(),
    descriptors: fc.array(
      fc.record(
        {
          entries: fc.array(entry, { maxLength: 3 }),
          limit: fc.record({ requestsPerUnit: fc.nat(), unit: fc.nat(9) }),
          hitsAddend: fc.record({ value: fc.nat() }),
        },
        { requiredKeys: ['entries'] },
      ),
      { maxLength: 3 },
    ),
  })
  .map((value) => method.requestSerialize(value));

const damaged = fc
  .tuple(message, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 5 }), fc.nat())
  .map(([bytes, changes, end]) => {
    const copy = Buffer.from(bytes);
    for (const [at, byte] of changes) if (copy.length > 0) copy[at % copy.length] = byte;
    return end % 3 === 0 ? copy.subarray(0, end % (copy.length + 1)) : copy;
  });
const bytes = fc.oneof(damaged, fc.uint8Array({ maxLength: 200 }), message);

test('thousands of messages that are none', async () => {
  const codes = new Set<number>();
  await fc.assert(
    fc.asyncProperty(fc.array(bytes, { minLength: 20, maxLength: 20 }), async (list) => {
      for (const code of await Promise.all(list.map(send))) codes.add(code);
    }),
    { numRuns: 150 },
  );
  expect([...codes].sort((one, other) => one - other)).toEqual([status.OK, status.UNKNOWN, status.INTERNAL]);
  await isUnharmed();
});

test('texts that are no UTF-8 are refused, so that no two of them become one key', async () => {
  const asked = (value: string): Asked => ({ domain: 'shop', descriptors: [{ entries: [{ key: 'user', value }] }] });
  const serialized = Buffer.from(method.requestSerialize(asked('XYZ')));
  for (const invalid of [0xff, 0xfe, 0xc0]) {
    const copy = Buffer.from(serialized);
    copy[copy.indexOf('Y')] = invalid;
    expect(await send(copy)).toBe(status.INTERNAL);
  }
  await isUnharmed();
  expect((await client.ask({ ...asked('\uFFFD'), domain: 'nowhere' })).overallCode).toBe('OK');
});

/** Status and code of the answer to a body that is framed by hand; undefined when the stream is reset. */
const post = (
  session: ClientHttp2Session,
  body: Buffer,
  more: Record<string, string> = {},
): Promise<(number | undefined)[]> =>
  new Promise((resolve) => {
    const headers = { ':method': 'POST', ':path': PATH, 'content-type': 'application/grpc', te: 'trailers' };
    const stream = session.request({ ...headers, ...more });
    let [http, code]: (number | undefined)[] = [];
    const read = (headers: object): void => {
      const { ':status': status, 'grpc-status': grpc } = headers as Record<string, string | undefined>;
      http ??= status === undefined ? undefined : Number(status);
      code ??= grpc === undefined ? undefined : Number(grpc);
    };
    stream
      .on('response', read)
      .on('trailers', read)
      .on('error', () => {});
    stream.on('close', () => resolve([http, code])).resume();
    stream.end(body);
  });

const frame = (flag: number, length: number, body: Uint8Array): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt8(flag);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, body]);
};

test('frames that are none', async () => {
  const session = connectHttp2(`http://127.0.0.1:${service.grpcPort}`).on('error', () => {});
  const good = method.requestSerialize({ domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'a' }] }] });
  const frames = [
    Buffer.alloc(0),
    Buffer.from([0]),
    frame(0, good.length + 10, good),
    frame(0, good.length - 3, good),
    frame(0, 2 ** 32 - 1, good),
    frame(9, 2 ** 31, good),
    Buffer.concat([frame(0, good.length, good), frame(0, good.length, good)]),
  ];
  for (const body of frames) {
    expect((await post(session, body))[1], body.toString('hex')).not.toBe(status.OK);
  }
  const compressed = frame(1, good.length, good);
  expect((await post(session, compressed, { 'grpc-encoding': 'gzip' }))[1]).not.toBe(status.OK);
  expect((await post(session, frame(0, good.length, good), { 'content-type': 'text/plain' }))[0]).toBe(415);
  session.close();
  await isUnharmed();
});

test('bytes that are no HTTP/2', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 300 }), async (garbage) => {
      const socket = connect(service.grpcPort, '127.0.0.1');
      const isOver = new Promise<void>((resolve) => socket.on('close', () => resolve()));
      socket.on('error', () => {}).resume();
      socket.end(garbage);
      await isOver;
    }),
    { numRuns: 100 },
  );
  await isUnharmed();
});
