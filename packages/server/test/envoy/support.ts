/** An Envoy service on sockets of its own, with a clock that stands still, asked over gRPC and over /json alike. */
import { fileURLToPath } from 'node:url';
import {
  type ChannelCredentials,
  type Client,
  credentials,
  Metadata,
  makeClientConstructor,
  type ServiceError,
} from '@grpc/grpc-js';
import { loadSync, type PackageDefinition } from '@grpc/proto-loader';
import { type ManualClock, manualClock, memoryStore, type Store } from 'sluice';
import type { Config } from '../../src/config/config.ts';
import { readConfigs } from '../../src/config/read-config.ts';
import { DEFAULT_SETTINGS, type EnvoySettings } from '../../src/envoy/settings.ts';
import type { ServiceOptions } from '../../src/service/service.ts';
import { type RunningService, startService } from '../support.ts';

/** 20 s into a minute, 800 s into an hour. */
export const START = 1_700_000_000_000;

export interface AskedDescriptor {
  readonly entries: readonly { readonly key: string; readonly value: string }[];
  readonly limit?: { readonly requestsPerUnit: number; readonly unit: string };
  readonly hitsAddend?: { readonly value: number };
  readonly isNegativeHits?: boolean;
}

export interface Asked {
  readonly domain: string;
  readonly descriptors: readonly AskedDescriptor[];
  readonly hitsAddend?: number;
}

// biome-ignore lint/suspicious/noExplicitAny: what it is, each test says.
export type Reply = any;

export interface EnvoyService extends RunningService {
  readonly grpcPort: number;
  readonly clock: ManualClock;
  grpc(asked: Asked, metadata?: Record<string, string>, waitsMs?: number): Promise<Reply>;
  /** The same question as JSON; the answer has the form of the other. */
  json(asked: Asked): Promise<Reply>;
}

export interface EnvoyOptions extends Omit<Partial<ServiceOptions>, 'envoy' | 'store' | 'config'> {
  readonly settings?: Partial<EnvoySettings>;
  readonly store?: (clock: ManualClock) => Store;
  /** For those who do not wait long. */
  readonly hurried?: (clock: ManualClock) => Store;
}

export function envoyConfig(...yaml: readonly string[]): Config {
  const { config, problems } = readConfigs(yaml.map((text, index) => ({ file: `${index}.yaml`, text })));
  if (config === undefined) throw new Error(JSON.stringify(problems));
  return config;
}

export async function startEnvoy(yaml: string, options: EnvoyOptions = {}): Promise<EnvoyService> {
  const { settings, store = (clock) => memoryStore({ clock }), hurried, ...others } = options;
  const clock = manualClock(START);
  const running = await startService({
    ...others,
    config: yaml === '' ? { policies: new Map(), rules: [], trustedProxies: 0 } : envoyConfig(yaml),
    envoy: { ...DEFAULT_SETTINGS, ...settings },
    store: {
      store: store(clock),
      hurried: hurried?.(clock),
      description: 'test',
      failsClosed: false,
      isUp: async () => true,
      close: async () => {},
    },
  });
  const grpcPort = await running.service.listenGrpc(0, '127.0.0.1');
  const client = grpcClient(grpcPort);
  return {
    ...running,
    ...{ grpcPort, clock },
    grpc: client.ask,
    async json(asked) {
      const { status, body, text } = await running.post('/json', jsonOf(asked));
      if (status === 400) throw Object.assign(new Error(text), { code: 400 });
      if ((status === 429) !== (body.overallCode === 'OVER_LIMIT')) throw new Error(`${status} with ${text}`);
      return body;
    },
    async stop() {
      client.close();
      await running.stop();
    },
  };
}

/** A wrapper is its value in JSON. */
export function jsonOf({ descriptors, ...asked }: Asked): object {
  return {
    ...asked,
    descriptors: descriptors.map(({ hitsAddend, ...descriptor }) => ({
      ...descriptor,
      ...(hitsAddend === undefined ? {} : { hitsAddend: String(hitsAddend.value) }),
    })),
  };
}

export const PROTO_FOLDER = fileURLToPath(new URL('../../proto/', import.meta.url));
export const LOAD_OPTIONS = { longs: Number, enums: String, arrays: false } as const;
const own = loadSync('envoy/service/ratelimit/v3/rls.proto', { includeDirs: [PROTO_FOLDER], ...LOAD_OPTIONS });

export interface GrpcClient {
  ask(asked: Asked, metadata?: Record<string, string>, waitsMs?: number): Promise<Reply>;
  readonly client: Client;
  close(): void;
}

export interface GrpcClientOptions {
  readonly definition?: PackageDefinition;
  readonly host?: string;
  readonly secured?: ChannelCredentials;
  /** With a connection of its own, which others of this process do not share. */
  readonly isAlone?: boolean;
}

export function grpcClient(port: number, options: GrpcClientOptions = {}): GrpcClient {
  const { definition = own, host = '127.0.0.1', secured = credentials.createInsecure(), isAlone = false } = options;
  const service = definition['envoy.service.ratelimit.v3.RateLimitService'];
  const Constructor = makeClientConstructor(service as never, 'RateLimitService');
  const client = new Constructor(`${host}:${port}`, secured, isAlone ? { 'grpc.use_local_subchannel_pool': 1 } : {});
  return {
    client,
    ask: async (asked, headers = {}, waitsMs = Number.POSITIVE_INFINITY) => {
      const metadata = new Metadata();
      for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
      const deadline = Date.now() + waitsMs;
      return new Promise((resolve, reject) => {
        client.ShouldRateLimit!(asked, metadata, { deadline }, (error: ServiceError | null, reply: Reply) =>
          error === null ? resolve(asJson(reply)) : reject(error),
        );
      });
    },
    close: () => client.close(),
  };
}

/** As protojson would have it: what is zero or empty is left out, a duration is a text, and a struct is what it means. */
function asJson({ overallCode, statuses = [], dynamicMetadata, ...headers }: Reply): Reply {
  const { responseHeadersToAdd = [], requestHeadersToAdd = [] } = headers;
  return {
    overallCode,
    statuses: statuses.map(({ durationUntilReset, currentLimit, ...status }: Reply) => ({
      ...withoutZero(status),
      ...(currentLimit ? { currentLimit: withoutZero(currentLimit) } : {}),
      ...(durationUntilReset ? { durationUntilReset: `${durationUntilReset.seconds ?? 0}s` } : {}),
    })),
    ...(responseHeadersToAdd.length === 0 ? {} : { responseHeadersToAdd: responseHeadersToAdd.map(withoutZero) }),
    ...(requestHeadersToAdd.length === 0 ? {} : { requestHeadersToAdd: requestHeadersToAdd.map(withoutZero) }),
    ...(dynamicMetadata ? { dynamicMetadata: plainStruct(dynamicMetadata) } : {}),
  };
}

function withoutZero(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== 0 && value !== '' && value !== 'UNKNOWN' && value !== null),
  );
}

function plainStruct({ fields = {} }: Reply): Reply {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, plainValue(value)]));
}

function plainValue(value: Reply): Reply {
  if (value.structValue) return plainStruct(value.structValue);
  if (value.listValue) return (value.listValue.values ?? []).map(plainValue);
  return value.stringValue ?? value.numberValue ?? value.boolValue ?? null;
}
