/** Kuadrant's calls over real gRPC, with a client made from the proto: look, report, reserve and commit, on the limits of Envoy's files. */
import { credentials, Metadata, makeClientConstructor, status } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { afterEach, describe, expect, test } from 'vitest';
import {
  type EnvoyOptions,
  type EnvoyService,
  LOAD_OPTIONS,
  PROTO_FOLDER,
  type Reply,
  START,
  startEnvoy,
} from './support.ts';

const YAML = `
domain: llm
descriptors:
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 100 }
  - key: org
    rate_limit: { unit: minute, requests_per_unit: 150 }
  - key: trial
    shadow_mode: true
    rate_limit: { unit: minute, requests_per_unit: 1 }
  - key: nobody
    rate_limit: { unit: minute, requests_per_unit: 0 }
  - key: model
    rate_limit: { unit: minute, requests_per_unit: 100, algorithm: token-bucket }
`;
const NAME = 'kuadrant.service.ratelimit.v1.RateLimitService';
const definition = loadSync('kuadrant/service/ratelimit/v1/kuadrantrls.proto', {
  includeDirs: [PROTO_FOLDER],
  ...LOAD_OPTIONS,
});
const KuadrantClient = makeClientConstructor(definition[NAME] as never, 'RateLimitService');

let service: EnvoyService;
let client: InstanceType<typeof KuadrantClient>;
async function start(options: EnvoyOptions = {}): Promise<void> {
  service = await startEnvoy(YAML, options);
  client = new KuadrantClient(`127.0.0.1:${service.grpcPort}`, credentials.createInsecure());
}
afterEach(async () => {
  client.close();
  await service.stop();
});

const under = (...pairs: readonly string[]) => ({
  domain: 'llm',
  descriptors: pairs.map((pair) => {
    const [key, value] = pair.split('=');
    return { entries: [{ key, value }] };
  }),
});
const call = (method: string, message: object, headers: Record<string, string> = {}): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    client[method]!(message, metadata, (error: unknown, reply: Reply) => (error ? reject(error) : resolve(reply)));
  });
/** What is left of the descriptor, as everybody else sees it. */
const left = async (pair: string): Promise<number> =>
  (
    await service.grpc({
      ...under(pair),
      descriptors: [{ ...under(pair).descriptors[0], hitsAddend: { value: 0 } }],
    } as never)
  ).statuses[0].limitRemaining ?? 0;

describe('look and report', () => {
  test('a look spends nothing and tells what would be', async () => {
    await start();
    for (let time = 0; time < 2; time++) {
      expect((await call('CheckRateLimit', { ...under('user=ann'), hitsAddend: 100 })).overallCode).toBe('OK');
    }
    expect((await call('CheckRateLimit', { ...under('user=ann'), hitsAddend: 101 })).overallCode).toBe('OVER_LIMIT');
    expect(await left('user=ann')).toBe(100);
  });

  test('a report spends, beyond the limit too, and is always OK', async () => {
    await start();
    expect((await call('Report', { ...under('user=ann'), hitsAddend: 60 })).overallCode).toBe('OK');
    expect(await left('user=ann')).toBe(40);
    expect((await call('Report', { ...under('user=ann'), hitsAddend: 60 })).overallCode).toBe('OK');
    expect((await call('CheckRateLimit', under('user=ann'))).overallCode).toBe('OVER_LIMIT');
  });
});

describe('reserve and commit', () => {
  test.each(['user=ann', 'model=large'])('less than estimated comes back: %s', async (pair) => {
    await start();
    const { code, reservationId } = await call('Reserve', { ...under(pair), amount: 80 });
    expect(code).toBe('OK');
    expect(await left(pair)).toBe(20);
    expect((await call('Reserve', { ...under(pair), amount: 21 })).code).toBe('OVER_LIMIT');
    const done = await call('Commit', { ...under(pair), reservationId, actualAmount: 30 });
    expect(done).toEqual({ reservationReleased: true });
    expect(await left(pair)).toBe(70);
  });

  test('all limits of a request, or none', async () => {
    await start();
    const both = under('user=ann', 'org=acme');
    const { reservationId } = await call('Reserve', { ...both, amount: 90 });
    expect((await call('Reserve', { ...under('user=bob', 'org=acme'), amount: 90 })).code).toBe('OVER_LIMIT');
    expect(await left('user=bob')).toBe(100);
    await call('Commit', { ...both, reservationId, actualAmount: 10 });
    expect([await left('user=ann'), await left('org=acme')]).toEqual([90, 140]);
  });

  test('a hold that has expired is spent as it was estimated, and what is above it too', async () => {
    await start();
    const { reservationId } = await call('Reserve', { ...under('user=ann'), amount: 50, ttl: { seconds: 5 } });
    service.clock.set(START + 10_000);
    const late = await call('Commit', { ...under('user=ann'), reservationId, actualAmount: 60 });
    expect(late.reservationReleased ?? false).toBe(false);
    expect(await left('user=ann')).toBe(40);
  });

  test('what is no reservation is reported', async () => {
    await start();
    for (const reservationId of ['', 'nonsense', Buffer.from('[5,"x"]').toString('base64url')]) {
      const done = await call('Commit', { ...under('user=ann'), reservationId, actualAmount: 5 });
      expect(done.reservationReleased ?? false).toBe(false);
    }
    expect(await left('user=ann')).toBe(85);
  });

  test('nothing to hold, a dry run, no limit, and a limit of nothing', async () => {
    await start();
    expect(await call('Reserve', { ...under('user=ann'), amount: 0 })).toMatchObject({ code: 'OK' });
    expect((await call('Reserve', { ...under('trial=x'), amount: 50 })).code).toBe('OK');
    expect((await call('Reserve', { ...under('unknown=x'), amount: 50 })).code).toBe('OK');
    expect((await call('Reserve', { ...under('nobody=x'), amount: 1 })).code).toBe('OVER_LIMIT');
  });
});

test('errors are statuses with sentences', async () => {
  await start();
  const invalid = { code: status.INVALID_ARGUMENT };
  await expect(call('Reserve', { domain: '', amount: 1 })).rejects.toMatchObject({
    ...invalid,
    details: 'rate limit domain must not be empty',
  });
  await expect(call('Commit', { domain: 'llm' })).rejects.toMatchObject(invalid);
  await expect(call('Reserve', { ...under('user=a'), amount: 1, ttl: { seconds: 9999 } })).rejects.toMatchObject({
    ...invalid,
    details: 'ttl must be from 1 ms to 3600 s',
  });
});

test('the token, metrics and reflection', async () => {
  await start({ token: 'secret', protect: 'everything' });
  await expect(call('Reserve', { ...under('user=a'), amount: 1 })).rejects.toMatchObject({
    code: status.UNAUTHENTICATED,
  });
  const authorization = 'Bearer secret';
  expect((await call('Reserve', { ...under('user=a'), amount: 1 }, { authorization })).code).toBe('OK');
  const { text } = await service.get('/metrics', { authorization });
  expect(text).toContain('sluice_kuadrant_calls_total{method="Reserve",result="ok"} 1');
  const { FILES } = await import('../../src/grpc/descriptors.generated.ts');
  expect(FILES.flatMap(({ symbols }) => symbols)).toContain(`${NAME}.Reserve`);
});
