/** The quota service over real gRPC, with a client made from the protos: what it is told, errors to the letter, reconnecting, and hostile reports. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import {
  type Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
  makeClientConstructor,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { memoryStore, systemClock } from 'sluice';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { readReports } from '../../src/rlqs/messages.ts';
import { PROTO_FOLDER } from '../envoy/support.ts';
import { eventually } from '../processes.ts';
import { configOf, type RunningService, startService } from '../support.ts';

const CONFIG = `
policies:
  shop: { algorithm: fixed-window, limit: 1000, window: 1d }
  small: { algorithm: fixed-window, limit: 3, window: 1d }
quotas:
  - { match: { name: checkout, env: '*' }, policy: shop, ttl: 5s }
  - { match: { name: small }, policy: small }
  - { match: { name: quiet }, policy: shop, idle: 100ms }
  - { match: { name: each }, policy: shop, strategy: requests_per_time_unit }
  - { domain: other, match: {}, blanket: allow }
  - { match: { name: closed }, blanket: deny }
`;
const definition = loadSync('envoy/service/rate_limit_quota/v3/rlqs.proto', {
  ...{ includeDirs: [PROTO_FOLDER], longs: Number, enums: String, oneofs: true },
});
const NAME = 'envoy.service.rate_limit_quota.v3.RateLimitQuotaService';
const QuotaClient = makeClientConstructor(definition[NAME] as never, 'RateLimitQuotaService');

// biome-ignore lint/suspicious/noExplicitAny: what it is, each test says.
type Message = any;
type Labels = Readonly<Record<string, string>>;

let service: RunningService;
let port: number;
const clients: Client[] = [];
beforeAll(async () => {
  const store = memoryStore({ clock: systemClock });
  service = await startService({
    config: configOf(CONFIG),
    store: { store, description: 'test', failsClosed: false, isUp: async () => true, close: async () => {} },
  });
  port = await service.service.listenGrpc(0, '127.0.0.1');
});
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});
afterAll(() => service.stop());

/** One proxy: what it was told, and how its stream ended. */
class TestProxy {
  readonly told: Message[] = [];
  readonly ended: Promise<{ readonly code: number; readonly details: string }>;
  readonly #stream: ClientDuplexStream<Message, Message>;

  constructor(
    readonly domain = 'd',
    metadata: Readonly<Record<string, string>> = {},
  ) {
    const client = new QuotaClient(`127.0.0.1:${port}`, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
    });
    clients.push(client);
    const given = new Metadata();
    for (const [name, value] of Object.entries(metadata)) given.set(name, value);
    this.#stream = client.StreamRateLimitQuotas!(given);
    this.#stream.on('data', (message: Message) => this.told.push(...message.bucketAction));
    this.#stream.on('error', () => {});
    this.ended = new Promise((resolve) => this.#stream.on('status', resolve));
  }

  write(message: Message): void {
    this.#stream.write(message);
  }

  report(bucket: Labels, allowed: number, denied = 0): void {
    const usage = {
      bucketId: { bucket },
      timeElapsed: { seconds: 1 },
      numRequestsAllowed: allowed,
      numRequestsDenied: denied,
    };
    this.write({ domain: this.domain, bucketQuotaUsages: [usage] });
  }

  /** The next thing it is told. */
  async next(): Promise<Message> {
    await eventually(
      async () => this.told.length,
      (count) => count > 0,
    );
    return this.told.shift();
  }

  close(): void {
    this.#stream.cancel();
  }
}

const BUCKET = { name: 'checkout', env: 'prod' };

test("a client made from Envoy's own protos reads the same", async () => {
  const xds = dirname(createRequire(import.meta.url).resolve('@grpc/grpc-js-xds/package.json'));
  const includeDirs = ['envoy-api', 'googleapis', 'protoc-gen-validate', 'xds'].map((name) => join(xds, 'deps', name));
  const envoy = loadSync('envoy/service/rate_limit_quota/v3/rlqs.proto', {
    ...{ includeDirs, longs: Number, enums: String, oneofs: true },
  });
  const EnvoyClient = makeClientConstructor(envoy[NAME] as never, 'RateLimitQuotaService');
  const client = new EnvoyClient(`127.0.0.1:${port}`, credentials.createInsecure());
  clients.push(client);
  const stream = client.StreamRateLimitQuotas!();
  stream.on('error', () => {});
  const answer = new Promise<Message>((resolve) => stream.once('data', resolve));
  const bucket = { name: 'checkout', env: 'envoy' };
  const usage = { bucketId: { bucket }, timeElapsed: { seconds: 2 }, numRequestsDenied: 10 };
  stream.write({ domain: 'd', bucketQuotaUsages: [usage] });
  const [action] = (await answer).bucketAction;
  expect(action).toMatchObject({ bucketId: { bucket }, bucketAction: 'quotaAssignmentAction' });
  const { assignmentTimeToLive, rateLimitStrategy } = action.quotaAssignmentAction;
  expect(assignmentTimeToLive.seconds).toBe(5);
  // Five a second, for four reports.
  expect(rateLimitStrategy.tokenBucket.maxTokens).toBe(20);
  stream.cancel();
});

test('usages as a map, which some versions of the proto have', () => {
  const text = (tag: number, inner: Buffer): Buffer => Buffer.concat([Buffer.from([tag, inner.length]), inner]);
  const pair = Buffer.concat([text(0x0a, Buffer.from('name')), text(0x12, Buffer.from('x'))]);
  const usage = Buffer.concat([
    text(0x0a, text(0x0a, pair)),
    text(0x12, Buffer.from([0x08, 2])),
    Buffer.from([0x18, 7]),
  ]);
  const expected = { domain: 'd', usages: [{ labels: { name: 'x' }, elapsedMs: 2000, allowed: 7, denied: 0 }] };
  const domain = text(0x0a, Buffer.from('d'));
  const inMap = Buffer.concat([Buffer.from([0x08, 99]), text(0x12, usage)]);
  expect(readReports(Buffer.concat([domain, text(0x12, inMap)]))).toEqual(expected);
  expect(readReports(Buffer.concat([domain, text(0x12, usage)]))).toEqual(expected);
});

describe('assignments', () => {
  test('tokens for what was reported, for so long', async () => {
    const proxy = new TestProxy();
    proxy.report(BUCKET, 0, 100);
    const action = await proxy.next();
    expect(action.bucketId).toEqual({ bucket: BUCKET });
    const { assignmentTimeToLive, rateLimitStrategy } = action.quotaAssignmentAction;
    expect(assignmentTimeToLive).toMatchObject({ seconds: 5 });
    // A hundred a second, for four reports.
    expect(rateLimitStrategy.tokenBucket.maxTokens).toBe(400);
    expect(rateLimitStrategy.tokenBucket.tokensPerFill).toEqual({ value: 1 });
    expect(rateLimitStrategy.tokenBucket.fillInterval.seconds).toBe(86_400);
  });

  test('those of another proxy are others, and what is gone is gone', async () => {
    const bucket = { name: 'small' };
    const [one, other] = [new TestProxy(), new TestProxy()];
    one.report(bucket, 0, 2);
    expect((await one.next()).quotaAssignmentAction.rateLimitStrategy.tokenBucket.maxTokens).toBe(3);
    other.report(bucket, 0, 2);
    const { rateLimitStrategy } = (await other.next()).quotaAssignmentAction;
    expect(rateLimitStrategy).toMatchObject({ strategy: 'blanketRule', blanketRule: 'DENY_ALL' });
  });

  test('so many in each second', async () => {
    const proxy = new TestProxy();
    proxy.report({ name: 'each' }, 0, 10);
    const { rateLimitStrategy } = (await proxy.next()).quotaAssignmentAction;
    // 30 units for 3 s, and one second more that its bucket begins with.
    expect(rateLimitStrategy.requestsPerTimeUnit).toEqual({ requestsPerTimeUnit: 7, timeUnit: 'SECOND' });
  });

  test('everything, nothing, and nothing at all', async () => {
    const [all, none] = [new TestProxy('other'), new TestProxy()];
    all.report({ any: 'thing' }, 1);
    expect((await all.next()).quotaAssignmentAction.rateLimitStrategy).toMatchObject({ strategy: 'blanketRule' });
    none.report({ name: 'unknown' }, 1);
    none.report({ name: 'closed' }, 1);
    const action = await none.next();
    expect(action.bucketId.bucket).toEqual({ name: 'closed' });
    expect(action.quotaAssignmentAction.rateLimitStrategy.blanketRule).toBe('DENY_ALL');
    expect((await service.get('/metrics')).text).toMatch(/^sluice_rlqs_unmatched_total [1-9]/m);
  });

  test('a bucket without requests is abandoned', async () => {
    const proxy = new TestProxy();
    proxy.report({ name: 'quiet' }, 1);
    await proxy.next();
    const isAbandoned = await eventually(
      async () => {
        proxy.report({ name: 'quiet' }, 0);
        return proxy.told.some(({ abandonAction }) => abandonAction !== null && abandonAction !== undefined);
      },
      (isSo) => isSo,
    );
    expect(isAbandoned).toBe(true);
  });

  test('a proxy that comes back on another stream is assigned anew', async () => {
    const first = new TestProxy();
    first.report({ name: 'checkout', env: 'again' }, 0, 10);
    await first.next();
    first.close();
    await first.ended;
    const second = new TestProxy();
    second.report({ name: 'checkout', env: 'again' }, 5);
    expect((await second.next()).quotaAssignmentAction.rateLimitStrategy.tokenBucket.maxTokens).toBeGreaterThan(0);
  });
});

describe('errors', () => {
  const usage = (bucket: Labels | undefined): Message => ({
    domain: 'd',
    bucketQuotaUsages: [{ bucketId: bucket === undefined ? undefined : { bucket }, timeElapsed: { seconds: 1 } }],
  });
  const many = (count: number): Labels => Object.fromEntries(Array.from({ length: count }, (_, at) => [`l${at}`, 'x']));
  const ROWS: readonly (readonly [details: string, message: Message, code?: number])[] = [
    ['domain must not be empty in the first report', { ...usage(BUCKET), domain: '' }],
    ['bucket_id must not be empty', usage(undefined)],
    ['bucket_id must not be empty', usage({})],
    ['bucket_id must have neither empty labels nor empty values', usage({ name: '' })],
    ['bucket_id must not have more than 32 labels', usage(many(33))],
    ['a label of bucket_id must not be longer than 1024 characters', usage({ name: 'x'.repeat(1025) })],
  ];

  test.each(ROWS)('%s', async (details, message, code = status.INVALID_ARGUMENT) => {
    const proxy = new TestProxy();
    proxy.write(message);
    expect(await proxy.ended).toMatchObject({ code, details });
  });

  test('the domain of a stream stays', async () => {
    const proxy = new TestProxy();
    proxy.report(BUCKET, 1);
    proxy.write({ ...usage(BUCKET), domain: 'e' });
    expect(await proxy.ended).toMatchObject({ code: status.INVALID_ARGUMENT });
  });

  test('more buckets than one stream may have', async () => {
    const proxy = new TestProxy();
    const reports = (from: number): Message => ({
      domain: 'd',
      bucketQuotaUsages: Array.from({ length: 600 }, (_, at) => ({
        bucketId: { bucket: { name: 'checkout', env: `e${from + at}` } },
        timeElapsed: { seconds: 1 },
      })),
    });
    proxy.write(reports(0));
    proxy.write(reports(600));
    expect(await proxy.ended).toMatchObject({ code: status.RESOURCE_EXHAUSTED });
  });

  test('bytes that are no message, and numbers without end', async () => {
    const hostile = new TestProxy();
    hostile.report(BUCKET, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
    const { tokenBucket } = (await hostile.next()).quotaAssignmentAction.rateLimitStrategy;
    // No more than there is, and never more than the policy has.
    expect(tokenBucket.maxTokens).toBeLessThanOrEqual(1000);
  });
});

test('a flood of reports is bounded, and honest proxies are answered meanwhile', async () => {
  const hostile = new TestProxy();
  for (let index = 0; index < 5000; index++) hostile.report({ name: 'checkout', env: `f${index % 100}` }, index, index);
  const honest = new TestProxy();
  honest.report({ name: 'checkout', env: 'honest' }, 0, 10);
  expect((await honest.next()).quotaAssignmentAction.rateLimitStrategy.tokenBucket.maxTokens).toBeGreaterThan(0);
});

test('metrics, health and reflection know it', async () => {
  const { text } = await service.get('/metrics');
  expect(text).toMatch(/^sluice_rlqs_reports_total [1-9]/m);
  expect(text).toMatch(/^sluice_rlqs_assignments_total\{kind="token_bucket"\} [1-9]/m);
  const { FILES } = await import('../../src/grpc/descriptors.generated.ts');
  expect(FILES.flatMap(({ symbols }) => symbols)).toContain(NAME);
});
