/** gRPC itself: a client made from Envoy's own protos, errors to the letter, health, reflection, limits of size, the token, and the end. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type Client, credentials, Metadata, makeClientConstructor, status } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { service as healthService } from 'grpc-health-check';
import { memoryStore } from 'sluice';
import { checksOf } from 'sluice/store';
import { afterEach, describe, expect, test } from 'vitest';
import { eventually } from '../processes.ts';
import { answerText, askedOf, CASES } from './cases.ts';
import { type Asked, type EnvoyService, grpcClient, LOAD_OPTIONS, type Reply, START, startEnvoy } from './support.ts';

const YAML = 'domain: shop\ndescriptors: [{ key: user, rate_limit: { unit: minute, requests_per_unit: 2 } }]';
const asked: Asked = { domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'ann' }] }] };

let service: EnvoyService;
const clients: { close(): void }[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await service.stop();
});
const closed = <T extends { close(): void }>(client: T): T => {
  clients.push(client);
  return client;
};

describe('a client made from the whole of Envoy`s protos', () => {
  const xds = dirname(createRequire(import.meta.url).resolve('@grpc/grpc-js-xds/package.json'));
  const includeDirs = ['envoy-api', 'googleapis', 'protoc-gen-validate', 'xds'].map((name) => join(xds, 'deps', name));
  const envoy = loadSync('envoy/service/ratelimit/v3/rls.proto', { includeDirs, ...LOAD_OPTIONS });
  // These protos are older than hits of a descriptor's own, and than the week.
  const known = CASES.filter(({ steps }) => !/ x[\d-]|WEEK/.test(JSON.stringify(steps)));
  if (known.length < 20) throw new Error('most of the cases are to be asked in it');

  test.each(known)('$why', async ({ yaml, settings = {}, steps }) => {
    service = await startEnvoy(yaml, { settings });
    const client = closed(grpcClient(service.grpcPort, { definition: envoy }));
    for (const step of steps) {
      if (step.at !== undefined) service.clock.set(START + step.at * 1e3);
      for (let time = 0; time < (step.times ?? 1); time++) {
        expect(answerText(await client.ask(askedOf(step))), JSON.stringify(step)).toBe(step.expect);
      }
    }
  });

  test('headers and dynamic metadata', async () => {
    const headers = { limit: 'RateLimit-Limit', remaining: 'RateLimit-Remaining', reset: 'RateLimit-Reset' };
    service = await startEnvoy(YAML, { settings: { headers, dynamicMetadata: true } });
    expect(await closed(grpcClient(service.grpcPort, { definition: envoy })).ask(asked)).toMatchObject({
      responseHeadersToAdd: [
        { key: 'RateLimit-Limit', value: '2' },
        { key: 'RateLimit-Remaining', value: '1' },
        { key: 'RateLimit-Reset', value: '40' },
      ],
      dynamicMetadata: { domain: 'shop', descriptors: [{ entries: ['user=ann'] }] },
    });
  });
});

describe('errors', () => {
  const descriptors = asked.descriptors;
  const many = Array.from({ length: 257 }, () => descriptors[0]!);
  const brought = { ...descriptors[0]!, limit: { requestsPerUnit: 1, unit: 'UNKNOWN' } };
  const ERRORS: readonly (readonly [message: string, asked: Asked, yaml: string])[] = [
    ['rate limit domain must not be empty', { domain: '', descriptors }, YAML],
    ['rate limit domain must not be empty', { domain: '', descriptors: [] }, ''],
    ['rate limit descriptor list must not be empty', { domain: 'shop', descriptors: [] }, ''],
    ['rate limit descriptor list must not be longer than 256', { domain: 'shop', descriptors: many }, YAML],
    ['no rate limit configuration loaded', asked, ''],
    ["invalid rate limit unit 'UNKNOWN'", { domain: 'shop', descriptors: [brought] }, YAML],
  ];

  test.each(ERRORS)('%s', async (details, question, yaml) => {
    service = await startEnvoy(yaml);
    await expect(service.grpc(question)).rejects.toMatchObject({ code: status.UNKNOWN, details });
    await expect(service.json(question)).rejects.toMatchObject({ code: 400, message: 'Bad Request\n' });
    expect(service.logs).toEqual([]);
  });

  test('what the store says', async () => {
    const fail = () => Promise.reject(new Error('connect ECONNREFUSED'));
    service = await startEnvoy(YAML, { store: () => ({ ask: fail }) });
    await expect(service.grpc(asked)).rejects.toMatchObject({
      ...{ code: status.UNKNOWN, details: 'the store failed: connect ECONNREFUSED' },
    });
    expect(service.logs).toMatchObject([{ level: 'error', status: 503 }]);
  });

  test('a message that is too large', async () => {
    service = await startEnvoy(YAML, { maxBodyBytes: 1000 });
    const question = { ...asked, domain: 'x'.repeat(2000) };
    await expect(service.grpc(question)).rejects.toMatchObject({ code: status.RESOURCE_EXHAUSTED });
    expect((await service.grpc(asked)).overallCode).toBe('OK');
  });
});

test('a long value becomes a key of its own, of bounded length', async () => {
  const seen: string[] = [];
  const base = memoryStore();
  service = await startEnvoy(YAML, {
    store: () => ({
      ...base,
      ask: (question) => {
        if (question.verb === 'attempt') seen.push(...checksOf(question).map(({ key }) => key));
        return base.ask(question);
      },
    }),
  });
  for (const value of ['a'.repeat(5000), `${'a'.repeat(4999)}b`, 'short']) {
    await service.grpc({ domain: 'shop', descriptors: [{ entries: [{ key: 'user', value }] }] });
  }
  expect(new Set(seen).size).toBe(3);
  expect(seen[2]).toBe('["shop","user","short"]');
  expect(Math.max(...seen.map((key) => key.length))).toBeLessThan(600);
});

test('a token that protects everything is asked for here too', async () => {
  service = await startEnvoy(YAML, { token: 'secret', protect: 'everything' });
  await expect(service.grpc(asked)).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
  await expect(service.grpc(asked, { authorization: 'Bearer wrong' })).rejects.toMatchObject({
    code: status.UNAUTHENTICATED,
  });
  expect((await service.grpc(asked, { authorization: 'Bearer secret' })).statuses[0].limitRemaining).toBe(1);
  expect(await health('')).toEqual({ status: 'SERVING' });
});

const Health = makeClientConstructor(healthService as never, 'Health');
const healthClient = (): Client & Record<string, Reply> =>
  closed(new Health(`127.0.0.1:${service.grpcPort}`, credentials.createInsecure()));
const health = (name: string): Promise<Reply> =>
  new Promise((resolve, reject) => {
    healthClient().check({ service: name }, (error: unknown, reply: Reply) => (error ? reject(error) : resolve(reply)));
  });

describe('health', () => {
  test.each(['', 'ratelimit'])('of %j', async (name) => {
    service = await startEnvoy(YAML);
    expect(await health(name)).toEqual({ status: 'SERVING' });
  });

  test('of a service that is not there', async () => {
    service = await startEnvoy(YAML);
    await expect(health('other')).rejects.toMatchObject({ code: status.NOT_FOUND });
  });

  test('without a config where one is needed', async () => {
    service = await startEnvoy('', { settings: { needsConfig: true } });
    expect(await health('ratelimit')).toEqual({ status: 'NOT_SERVING' });
  });

  test('is over when the service drains, which waits for no watcher', async () => {
    service = await startEnvoy(YAML);
    const seen: string[] = [];
    const watching = healthClient().watch({ service: 'ratelimit' });
    const isServing = new Promise<void>((resolve) => {
      watching.on('data', ({ status }: { status: string }) => {
        seen.push(status);
        resolve();
      });
    });
    watching.on('error', () => {});
    await isServing;
    await service.service.drain(3_600_000);
    expect(seen).toEqual(['SERVING', 'NOT_SERVING']);
    await expect(service.grpc(asked)).rejects.toMatchObject({ code: status.UNAVAILABLE });
  });
});

test('what is under way when the service drains is answered', async () => {
  const base = memoryStore();
  let answer = (): void => {};
  const isHeld = new Promise<void>((resolve) => {
    answer = resolve;
  });
  let asking = (): void => {};
  const isAsked = new Promise<void>((resolve) => {
    asking = resolve;
  });
  service = await startEnvoy(YAML, {
    store: () => ({
      ...base,
      async ask(question) {
        asking();
        await isHeld;
        return base.ask(question);
      },
    }),
  });
  const reply = service.grpc(asked);
  await isAsked;
  const drained = service.service.drain(60_000);
  answer();
  expect((await reply).overallCode).toBe('OK');
  await drained;
});

describe.each(['v1', 'v1alpha'])('reflection %s', (version) => {
  const folder = join(dirname(createRequire(import.meta.url).resolve('@grpc/reflection')), '../proto/grpc/reflection');
  const definition = loadSync(join(folder, version, 'reflection.proto'), { ...LOAD_OPTIONS, includeDirs: [folder] });
  const Reflection = makeClientConstructor(definition[`grpc.reflection.${version}.ServerReflection`] as never, 'R');
  const ask = (question: object, headers: Record<string, string> = {}): Promise<Reply> => {
    const client = closed(new Reflection(`127.0.0.1:${service.grpcPort}`, credentials.createInsecure()));
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    return new Promise((resolve, reject) => {
      const call = client.ServerReflectionInfo!(metadata);
      call.on('data', resolve).on('error', reject);
      call.write(question);
      call.end();
    });
  };

  test('names the services and their messages', async () => {
    service = await startEnvoy(YAML);
    const { listServicesResponse } = await ask({ listServices: '' });
    const names = listServicesResponse.service.map(({ name }: { name: string }) => name);
    expect(names).toContain('envoy.service.ratelimit.v3.RateLimitService');
    expect(names).toContain('grpc.health.v1.Health');
    const { fileDescriptorResponse } = await ask({
      fileContainingSymbol: 'envoy.service.ratelimit.v3.RateLimitRequest',
    });
    expect(fileDescriptorResponse.fileDescriptorProto.length).toBeGreaterThan(1);
  });

  test('needs the token where everything does', async () => {
    service = await startEnvoy(YAML, { token: 'secret', protect: 'everything' });
    const question = { listServices: '' };
    await expect(ask(question)).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
    const wrong = { authorization: 'Bearer wrong' };
    await expect(ask(question, wrong)).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
    expect(await ask(question, { authorization: 'Bearer secret' })).toHaveProperty('listServicesResponse');
  });

  test('needs none where only changes do', async () => {
    service = await startEnvoy(YAML, { token: 'secret' });
    expect(await ask({ listServices: '' })).toHaveProperty('listServicesResponse');
  });
});

test('whoever waits as short as Envoy asks the store for those in a hurry, everyone else the patient one', async () => {
  service = await startEnvoy(YAML, { hurried: (clock) => memoryStore({ clock }) });
  const look = { ...asked, descriptors: [{ ...asked.descriptors[0]!, hitsAddend: { value: 0 } }] };
  const left = async (waitsMs?: number): Promise<number> =>
    (await service.grpc(look, {}, waitsMs)).statuses[0].limitRemaining ?? 0;
  await service.grpc(asked);
  expect(await left()).toBe(1);
  expect(await left(60_000)).toBe(1);
  expect((await service.json(look)).statuses[0].limitRemaining).toBe(1);
  // Perhaps not enough for an answer on a busy machine: then it is asked again.
  const hurried = (): Promise<number> => left(290).catch(() => -1);
  expect(await eventually(hurried, (remaining) => remaining >= 0)).toBe(2);
});
