/**
 * Hostile HTTP/2, frame by frame: floods of resets, pings, settings and headers, streams that are never read, frames of every kind at random. The server is a process
 * of its own with a small heap. It may close such connections; it must not end, must not grow, and answers honest clients meanwhile.
 */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ServingProcess, serve } from '../processes.ts';
import { type Asked, type GrpcClient, grpcClient } from './support.ts';

const HEAP_MB = 96;
/** Of the whole process, with what Node itself takes. */
const MOST_MB = 320;
/** Of each kind, twice: some 60,000 frames and streams in all. */
const FRAMES = 4000;

const config = fileURLToPath(new URL('../../../../examples/gateways/envoy/ratelimit.yaml', import.meta.url));
const HONEST: Asked = { domain: 'shop', descriptors: [{ entries: [{ key: 'api_key', value: 'honest' }] }] };

let server: ServingProcess;
let honest: GrpcClient;
let port: number;
beforeAll(async () => {
  const args = ['--config', config, '--grpc-port', '0', '--no-lab'];
  server = await serve(args, { NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}` });
  port = Number(/over gRPC at 127\.0\.0\.1:(\d+)/.exec(server.greeting)![1]);
  honest = grpcClient(port);
});
afterAll(async () => {
  honest.close();
  await server.stop();
});

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const TYPE = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
};
const END_STREAM = 1;
const END_HEADERS = 4;

function frame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Without a table: each field in full, as a literal that is never indexed. */
function fields(list: readonly (readonly [name: string, value: string])[]): Buffer {
  const text = (value: string): Buffer => {
    const bytes = Buffer.from(value);
    return Buffer.concat([
      Buffer.from(bytes.length < 127 ? [bytes.length] : [127, ...rest(bytes.length - 127)]),
      bytes,
    ]);
  };
  return Buffer.concat(list.map(([name, value]) => Buffer.concat([Buffer.from([0]), text(name), text(value)])));
}

function rest(value: number): number[] {
  return value < 128 ? [value] : [128 + (value % 128), ...rest(Math.floor(value / 128))];
}

const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';
const CALL = fields([
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', PATH],
  [':authority', 'x'],
  ['content-type', 'application/grpc'],
  ['te', 'trailers'],
]);
const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const question = (): Buffer => {
  const text = (field: number, value: string): Buffer => Buffer.from([field, value.length, ...Buffer.from(value)]);
  const wrapped = (field: number, inner: Buffer): Buffer => Buffer.concat([Buffer.from([field, inner.length]), inner]);
  const entry = Buffer.concat([text(0x0a, 'api_key'), text(0x12, 'hostile')]);
  const message = Buffer.concat([text(0x0a, 'shop'), wrapped(0x12, wrapped(0x0a, entry))]);
  return Buffer.concat([Buffer.from([0]), number(message.length), message]);
};

/** Opens a connection, sends it all, and gives it up as soon as the other side does, or when it has been taken. */
async function attack(frames: readonly Buffer[], reads: boolean): Promise<void> {
  const socket: Socket = connect({ port, host: '127.0.0.1' }).on('error', () => {});
  if (reads) socket.resume();
  else socket.pause();
  const isOver = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.write(Buffer.concat([PREFACE, frame(TYPE.settings, 0, 0)]));
  const isTaken = new Promise<void>((resolve) => socket.write(Buffer.concat(frames), () => resolve()));
  await Promise.race([isOver, isTaken]);
  // Honest clients are answered while it is there.
  for (let time = 0; time < 3; time++) expect((await honest.ask(HONEST)).overallCode).toMatch(/^O/);
  socket.destroy();
  await isOver;
}

const many = (make: (stream: number) => readonly Buffer[]): Buffer[] =>
  Array.from({ length: FRAMES / make(1).length }, (_, index) => make(2 * index + 1)).flat();

const ATTACKS: Readonly<Record<string, readonly Buffer[]>> = {
  'streams that are reset as soon as they are open': many((stream) => [
    frame(TYPE.headers, END_HEADERS, stream, CALL),
    frame(TYPE.reset, 0, stream, number(8)),
  ]),
  'calls that are asked and reset': many((stream) => [
    frame(TYPE.headers, END_HEADERS, stream, CALL),
    frame(TYPE.data, END_STREAM, stream, question()),
    frame(TYPE.reset, 0, stream, number(8)),
    frame(TYPE.priority, 0, stream, Buffer.concat([number(0), Buffer.from([1])])),
  ]),
  pings: many(() => [frame(TYPE.ping, 0, 0, Buffer.alloc(8))]),
  settings: many(() => [frame(TYPE.settings, 0, 0, Buffer.from([0, 3, 0, 0, 0, 100]))]),
  // The window of answers is closed, and opened byte by byte.
  'windows that are closed, opened by a byte and closed again': [
    frame(TYPE.settings, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0])),
    ...many((stream) => [
      frame(TYPE.headers, END_HEADERS, stream, CALL),
      frame(TYPE.data, END_STREAM, stream, question()),
      frame(TYPE.window, 0, stream, number(1)),
      frame(TYPE.settings, 0, 0, Buffer.from([0, 4, 0, 0, 0, stream % 4])),
    ]),
  ],
  'windows that are opened too far': many((stream) => [
    frame(TYPE.headers, END_HEADERS, stream, CALL),
    frame(TYPE.window, 0, stream, number(2 ** 31 - 1)),
    frame(TYPE.window, 0, stream, number(2 ** 31 - 1)),
    frame(TYPE.window, 0, 0, number(0)),
  ]),
  'long lists of headers': Array.from({ length: 20 }, (_, index) =>
    frame(
      TYPE.headers,
      END_HEADERS,
      2 * index + 1,
      Buffer.concat([CALL, fields(Array.from({ length: 120 }, (_, at) => [`x-${at}`, 'y'.repeat(100)] as const))]),
    ),
  ),
  'empty data': [frame(TYPE.headers, END_HEADERS, 1, CALL), ...many(() => [frame(TYPE.data, 0, 1)])],
};

const residentMb = (): number =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))![1]) / 1024;

test.each(Object.entries(ATTACKS))('%s', async (_, frames) => {
  for (const reads of [true, false]) await attack(frames, reads);
  expect(residentMb()).toBeLessThan(MOST_MB);
});

test('headers without an end', async () => {
  const block = fields(Array.from({ length: 200 }, (_, index) => [`x-${index}`, 'y'.repeat(50)] as const));
  const frames = [
    frame(TYPE.headers, 0, 1, CALL),
    ...Array.from({ length: 500 }, () => frame(TYPE.continuation, 0, 1, block)),
  ];
  for (const reads of [true, false]) await attack(frames, reads);
  expect(residentMb()).toBeLessThan(MOST_MB);
});

test('answers that are read a byte at a time hold up nobody else', async () => {
  const frames = many((stream) => [
    frame(TYPE.headers, END_HEADERS, stream, CALL),
    frame(TYPE.data, END_STREAM, stream, question()),
  ]);
  const socket: Socket = connect({ port, host: '127.0.0.1' }).on('error', () => {});
  const isOver = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.pause();
  socket.write(Buffer.concat([PREFACE, frame(TYPE.settings, 0, 0), ...frames]));
  for (let time = 0; time < 200 && !socket.destroyed; time++) {
    socket.read(1);
    if (time % 20 === 0) expect((await honest.ask(HONEST)).overallCode).toMatch(/^O/);
  }
  socket.destroy();
  await isOver;
  expect(residentMb()).toBeLessThan(MOST_MB);
});

test('a message in pieces of one byte takes no longer than it is long', async () => {
  const length = 200_000;
  const frames = [
    frame(TYPE.headers, END_HEADERS, 1, CALL),
    frame(TYPE.data, 0, 1, Buffer.concat([Buffer.from([0]), number(length)])),
    ...Array.from({ length: 20_000 }, () => frame(TYPE.data, 0, 1, Buffer.alloc(1))),
  ];
  await attack(frames, true);
  expect(residentMb()).toBeLessThan(MOST_MB);
});

test('frames at random', async () => {
  const anyFrame = fc
    .tuple(fc.nat(12), fc.nat(255), fc.constantFrom(0, 1, 1, 3, 5, 2, 2 ** 31 - 1), fc.uint8Array({ maxLength: 60 }))
    .map(([type, flags, stream, payload]) => frame(type, flags, stream, payload));
  const opened = fc.constantFrom(
    frame(TYPE.headers, END_HEADERS, 1, CALL),
    frame(TYPE.window, 0, 0, number(2 ** 31 - 1)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(anyFrame, opened), { minLength: 20, maxLength: 60 }), (frames) =>
      attack(frames, true),
    ),
    { numRuns: 60 },
  );
  expect(residentMb()).toBeLessThan(MOST_MB);
});
