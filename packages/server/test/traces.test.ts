/**
 * Traces, as a collector gets them: a real HTTP server that reads the body with the messages generated from OpenTelemetry's own protos, by the
 * rules of OTLP for JSON (ids in hex, 64 bits as text).
 */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, randomPort, startServer } from '../../../tools/servers/index.ts';
import { SpanExporter } from '../src/telemetry/span-exporter.ts';
import { isSampled, parseTraceparent } from '../src/telemetry/trace-context.ts';
import { readTraceSettings } from '../src/telemetry/trace-settings.ts';
import { createTracer } from '../src/telemetry/tracer.ts';
import { eventually, type ServingProcess, serve } from './processes.ts';
import { run } from './run.ts';
import { ask } from './support.ts';

const { opentelemetry } = createRequire(import.meta.url)('@opentelemetry/otlp-transformer/build/src/generated/root.js');
const Request = opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;

interface Seen {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Record<string, unknown>;
  readonly status?: { readonly code: number };
}

interface Collector {
  readonly url: string;
  readonly spans: Seen[];
  readonly resources: Record<string, unknown>[];
  readonly headers: IncomingHttpHeaders[];
  status: number;
  stop(): Promise<void>;
}

async function startCollector(port = 0): Promise<Collector> {
  const collector = {
    spans: [] as Seen[],
    resources: [] as Record<string, unknown>[],
    headers: [] as IncomingHttpHeaders[],
    status: 200,
  };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      if (collector.status === 200) {
        expect(request.url).toBe('/v1/traces');
        collector.headers.push(request.headers);
        read(body, collector);
      }
      response.writeHead(collector.status, { 'Content-Type': 'application/json' }).end('{}');
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return Object.assign(collector, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop });
}

/** By the official messages: what they do not know, or know otherwise, fails here. */
function read(body: string, { spans, resources }: Pick<Collector, 'spans' | 'resources'>): void {
  const sent = JSON.parse(body, (name, value) =>
    /^(traceId|spanId|parentSpanId)$/.test(name) ? Buffer.from(value, 'hex') : value,
  );
  const message = Request.fromObject(sent);
  const bytes = Request.encode(message).finish();
  const known = Request.toObject(Request.decode(bytes), { longs: String, bytes: Buffer });
  // What stands for nothing is not sent in protobuf, and nothing else is lost.
  expect(JSON.parse(JSON.stringify(known))).toEqual(JSON.parse(JSON.stringify(sent)));
  for (const { resource, scopeSpans } of known.resourceSpans) {
    resources.push(plain(resource.attributes));
    for (const { scope, spans: list } of scopeSpans) {
      expect(scope).toEqual({ name: 'sluice', version: expect.stringMatching(/^\d+\.\d+/) });
      for (const span of list) {
        const [traceId, spanId] = [span.traceId.toString('hex'), span.spanId.toString('hex')];
        const parent = span.parentSpanId && { parentSpanId: span.parentSpanId.toString('hex') };
        spans.push({ ...span, traceId, spanId, ...parent, attributes: plain(span.attributes) });
      }
    }
  }
}

function plain(attributes: { key: string; value: Record<string, unknown> }[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

const POLICY = { algorithm: 'fixed-window', limit: 1, window: '1h', name: 'hourly' };
const attempt = ({ url }: ServingProcess, traceparent?: string, key = 'a-secret-key') =>
  ask(`${url}/v1/attempt`, {
    method: 'POST',
    body: JSON.stringify({ key, policy: POLICY }),
    headers: traceparent === undefined ? {} : { traceparent },
  });

const [TRACE, PARENT] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'];
const QUICKLY = { OTEL_BSP_SCHEDULE_DELAY: '20' };

describe('a request', () => {
  let [collector, redis, server] = [] as unknown as [Collector, RunningServer, ServingProcess];
  beforeAll(async () => {
    collector = await startCollector();
    redis = await startServer({ kind: 'redis' });
    server = await serve(['--redis', redis.url, '--workers', '1', '--deadline', '30s', '--otlp', collector.url], {
      ...QUICKLY,
      OTEL_SERVICE_NAME: 'limits',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,team=a%20team',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=one',
    });
  });
  afterAll(async () => {
    await server?.stop();
    await redis?.stop();
    await collector?.stop();
  });

  test('is a span of the trace that the caller began, and what was asked of Redis is one below it', async () => {
    await attempt(server, `00-${TRACE}-${PARENT}-01`);
    await attempt(server, `00-${TRACE}-${PARENT}-01`);
    const of = () => collector.spans.filter(({ traceId }) => traceId === TRACE);
    const spans = await eventually(
      async () => of(),
      (all) => all.length >= 4,
    );
    expect(spans).toHaveLength(4);
    const [first, second] = spans.filter(({ kind }) => kind === 2) as [Seen, Seen];
    for (const span of [first, second]) {
      expect(span).toMatchObject({
        name: 'POST /v1/attempt',
        parentSpanId: PARENT,
        attributes: {
          'http.request.method': 'POST',
          'http.route': '/v1/attempt',
          'http.response.status_code': '200',
          'url.scheme': 'http',
        },
      });
    }
    const children = [first, second].map(({ spanId }) => spans.find(({ parentSpanId }) => parentSpanId === spanId)!);
    expect(children.map(({ name, kind, attributes }) => [name, kind, attributes])).toEqual([
      [
        'sluice.attempt',
        3,
        { 'db.system.name': 'redis', 'sluice.policies': 'hourly', 'sluice.allowed': true, 'sluice.source': 'store' },
      ],
      [
        'sluice.attempt',
        3,
        { 'db.system.name': 'redis', 'sluice.policies': 'hourly', 'sluice.allowed': false, 'sluice.source': 'store' },
      ],
    ]);
    for (const [index, { startTimeUnixNano, endTimeUnixNano }] of children.entries()) {
      const around = [first, second][index]!;
      expect(BigInt(startTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(around.startTimeUnixNano));
      expect(BigInt(endTimeUnixNano)).toBeLessThanOrEqual(BigInt(around.endTimeUnixNano));
      expect(Math.abs(Number(BigInt(startTimeUnixNano) / 1_000_000n) - Date.now())).toBeLessThan(600_000);
    }
    expect(collector.resources[0]).toEqual({
      'service.name': 'limits',
      'deployment.environment.name': 'test',
      team: 'a team',
    });
    expect(collector.headers[0]).toMatchObject({ 'x-tenant': 'one', 'content-type': 'application/json' });
    expect(JSON.stringify(collector.spans)).not.toContain('a-secret-key');
  });

  test('is not traced when the caller does not; begins a trace without one; health checks are never traced', async () => {
    await attempt(server, `00-${TRACE.replace('4', '5')}-${PARENT}-00`, 'b');
    await ask(`${server.url}/healthz`, {});
    await ask(`${server.url}/metrics`, {});
    await ask(`${server.url}/nowhere/a-secret-key`, {});
    await attempt(server, undefined, 'c');
    const own = () => collector.spans.filter(({ parentSpanId, kind }) => kind === 2 && parentSpanId === undefined);
    const spans = await eventually(
      async () => own(),
      (all) => all.length >= 2,
    );
    expect(spans.map(({ name }) => name)).toEqual(['GET', 'POST /v1/attempt']);
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(2);
    expect(collector.spans.some(({ traceId }) => traceId.startsWith('5bf'))).toBe(false);
    expect(JSON.stringify(collector.spans)).not.toContain('a-secret-key');
  });
});

test('while the collector is away requests are answered, what waits is bounded, and the log says so once', async () => {
  const port = await randomPort();
  const server = await serve([], {
    ...QUICKLY,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_BSP_MAX_QUEUE_SIZE: '10',
  });
  for (let count = 0; count < 20; count += 1) expect((await attempt(server, undefined, `k${count}`)).status).toBe(200);
  const said = (message: string) => server.logs().filter((line) => line.message === message);
  await eventually(
    async () => said('traces do not arrive at the collector'),
    (lines) => lines.length > 0,
  );
  const collector = await startCollector(port);
  await eventually(
    async () => said('traces arrive at the collector again'),
    (lines) => lines.length > 0,
  );
  expect(said('traces do not arrive at the collector')).toMatchObject([
    { level: 'warn', url: `${collector.url}/v1/traces` },
  ]);
  // Two spans for each request, and ten of them waited at most.
  expect(collector.spans.length).toBeGreaterThan(0);
  const [{ dropped }] = said('traces arrive at the collector again') as unknown as [{ dropped: number }];
  expect(collector.spans.length + dropped).toBe(40);
  expect(collector.spans.length).toBeLessThanOrEqual(10);
  collector.status = 400;
  await attempt(server, undefined, 'refused');
  await eventually(
    async () => said('traces do not arrive at the collector'),
    (lines) => lines.length > 1,
  );
  expect(said('traces do not arrive at the collector')[1]).toMatchObject({ error: 'it answered 400' });
  await server.stop();
  await collector.stop();
});

test('a span that comes while others are sent is sent too, and so are those after it', async () => {
  const held: (() => void)[] = [];
  const gate = createServer((_, response) => held.push(() => response.end('{}'))).listen(0, '127.0.0.1');
  await once(gate, 'listening');
  const url = `http://127.0.0.1:${(gate.address() as AddressInfo).port}`;
  const settings = readTraceSettings({ OTEL_BSP_SCHEDULE_DELAY: '1' }, url)!;
  const exporter = new SpanExporter(settings, '1.0.0', { onProblem: () => {}, onDelivered: () => {} });
  const tracer = createTracer(settings.sampling, (span) => exporter.add(span));
  const sent = async (count: number): Promise<void> => {
    expect(
      await eventually(
        async () => held.length,
        (length) => length >= count,
      ),
    ).toBe(count);
  };
  tracer.begin(undefined)!.end('first', {}, false);
  await sent(1);
  tracer.begin(undefined)!.end('while the first is sent', {}, false);
  // Timers ring in the order in which they are due: that of the exporter has rung when this one does.
  await new Promise((resolve) => setTimeout(resolve, 5));
  held[0]!();
  await sent(2);
  for (let count = 3; count <= 7; count += 1) {
    held[count - 2]!();
    await new Promise((resolve) => setTimeout(resolve, 20));
    tracer.begin(undefined)!.end('later', {}, false);
    await sent(count);
  }
  held.at(-1)!();
  await exporter.close();
  gate.close();
});

test('workers trace too, and send what is left when they end', async () => {
  const [collector, redis] = [await startCollector(), await startServer({ kind: 'redis' })];
  const args = ['--redis', redis.url, '--workers', '2', '--otlp', collector.url];
  const server = await serve(args, { OTEL_BSP_SCHEDULE_DELAY: '600000' });
  for (let count = 0; count < 4; count += 1) await attempt(server, `00-${TRACE}-${PARENT}-01`, `k${count}`);
  expect(collector.spans).toEqual([]);
  await server.stop();
  expect(collector.spans).toHaveLength(8);
  await redis.stop();
  await collector.stop();
});

describe('traceparent', () => {
  test.each([
    [`00-${TRACE}-${PARENT}-01`, true],
    [`00-${TRACE}-${PARENT}-00`, false],
    [`00-${TRACE}-${PARENT}-03`, true],
    [`cc-${TRACE}-${PARENT}-01-more`, true],
  ])('%s', (text, isSampledThere) => {
    expect(parseTraceparent(text)).toEqual({ traceId: TRACE, spanId: PARENT, isSampled: isSampledThere });
  });

  test.each([
    ...[undefined, '', 'x', `00-${TRACE}-${PARENT}`, `00-${TRACE}-${PARENT}-01-more`, `00-${TRACE}-${PARENT}-0102`],
    ...[`ff-${TRACE}-${PARENT}-01`, `00-${'0'.repeat(32)}-${PARENT}-01`, `00-${TRACE}-${'0'.repeat(16)}-01`],
    ...[`00-${TRACE.toUpperCase()}-${PARENT}-01`, `cc-${TRACE}-${PARENT}-01.more`],
  ])('%s is none', (text) => {
    expect(parseTraceparent(text)).toBeUndefined();
  });
});

describe('settings', () => {
  const OTLP = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' };

  test('off unless an endpoint is named, and by the variables that turn it off', () => {
    expect(readTraceSettings({})).toBeUndefined();
    expect(readTraceSettings({ ...OTLP, OTEL_SDK_DISABLED: 'true' })).toBeUndefined();
    expect(readTraceSettings({ ...OTLP, OTEL_TRACES_EXPORTER: 'none' })).toBeUndefined();
    expect(readTraceSettings(OTLP)).toMatchObject({
      url: 'http://collector:4318/v1/traces',
      sampling: { isParentBased: true, ratio: 1 },
      resource: { 'service.name': 'sluice' },
      warnings: [],
    });
    const own = {
      ...OTLP,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://else/where',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    };
    expect(readTraceSettings(own)).toMatchObject({
      url: 'https://else/where',
      warnings: [expect.stringContaining('http/json')],
    });
  });

  test.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector' }, '--otlp: expected a URL'],
    [{ ...OTLP, OTEL_TRACES_SAMPLER: 'some' }, 'OTEL_TRACES_SAMPLER: expected one of always_on'],
    [
      { ...OTLP, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' },
      'OTEL_TRACES_SAMPLER_ARG: expected a share',
    ],
    [{ ...OTLP, OTEL_BSP_SCHEDULE_DELAY: 'soon' }, 'OTEL_BSP_SCHEDULE_DELAY: expected a whole number'],
    [{ ...OTLP, OTEL_EXPORTER_OTLP_HEADERS: 'x' }, 'OTEL_EXPORTER_OTLP_HEADERS: expected name=value'],
  ])('%j is wrong usage', async (environment, message) => {
    expect(await run(['serve'], environment as unknown as Record<string, string>)).toMatchObject({
      code: 2,
      error: expect.stringContaining(message),
    });
  });

  test('a share of traces is by their id, and what the caller decided holds only where it is to', () => {
    const ids = Array.from({ length: 1000 }, (_, index) => index.toString(16).padStart(2, '0').repeat(16).slice(0, 32));
    const share = (ratio: number) =>
      ids.filter((id) => isSampled(id, undefined, { isParentBased: true, ratio })).length;
    expect([share(0), share(1)]).toEqual([0, 1000]);
    expect(share(0.5)).toBeGreaterThan(300);
    const parent = { traceId: TRACE, spanId: PARENT, isSampled: false };
    expect(isSampled(TRACE, parent, { isParentBased: true, ratio: 1 })).toBe(false);
    expect(isSampled(TRACE, parent, { isParentBased: false, ratio: 1 })).toBe(true);
  });
});
