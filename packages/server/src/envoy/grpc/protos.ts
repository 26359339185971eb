/** The messages as protobuf: loaded from the files that come with the package, and turned into what the rest works with. */
import { fileURLToPath } from 'node:url';
import type { MethodDefinition, PackageDefinition } from '@grpc/proto-loader';
import { loadSync } from '@grpc/proto-loader';
import { type Descriptor, type RateLimitRequest, ServiceError } from '../request.ts';
import type { DescriptorStatus, RateLimitResponse } from '../response.ts';
import { UNITS, type Unit } from '../unit.ts';

const folder = fileURLToPath(new URL('../../../proto/', import.meta.url));

const RATE_LIMIT_SERVICE = 'envoy.service.ratelimit.v3.RateLimitService';

/** Loaded once, when somebody first wants gRPC. */
export const PROTOS: PackageDefinition = loadSync('envoy/service/ratelimit/v3/rls.proto', {
  ...{ includeDirs: [folder], longs: Number, enums: String, arrays: true },
});

/** As proto-loader gives it: what was not sent is not there. */
interface WireRequest {
  readonly domain?: string;
  readonly descriptors: readonly WireDescriptor[];
  readonly hitsAddend?: number;
}

interface WireDescriptor {
  readonly entries: readonly { readonly key?: string; readonly value?: string }[];
  readonly limit?: { readonly requestsPerUnit?: number; readonly unit?: string | number };
  readonly hitsAddend?: { readonly value?: number };
  readonly isNegativeHits?: boolean;
}

/** The side of a method that a server needs. */
export type ShouldRateLimit = Pick<
  MethodDefinition<RateLimitRequest, RateLimitResponse>,
  'path' | 'requestStream' | 'responseStream' | 'requestDeserialize' | 'responseSerialize'
>;

/** The method with messages that are checked, and named as everywhere else here. */
export function typedMethod(): ShouldRateLimit {
  const service = PROTOS[RATE_LIMIT_SERVICE] as Record<string, MethodDefinition<WireRequest, object>>;
  const method = service.ShouldRateLimit!;
  const { path, requestStream, responseStream } = method;
  return {
    ...{ path, requestStream, responseStream },
    requestDeserialize: (bytes) => requestOf(method.requestDeserialize(bytes), bytes),
    responseSerialize: (response) => method.responseSerialize(wireResponse(response)),
  };
}

function requestOf({ domain = '', descriptors, hitsAddend = 0 }: WireRequest, bytes: Buffer): RateLimitRequest {
  const request = { domain, descriptors: descriptors.map(descriptorOf), hitsAddend };
  refuseInvalidText(request, bytes);
  return request;
}

function descriptorOf({ entries, limit, hitsAddend, isNegativeHits }: WireDescriptor): Descriptor {
  return {
    entries: entries.map(({ key = '', value = '' }) => ({ key, value })),
    ...(limit === undefined
      ? {}
      : { limit: { requestsPerUnit: limit.requestsPerUnit ?? 0, unit: unitIn(limit.unit) } }),
    ...(hitsAddend === undefined ? {} : { hitsAddend: hitsAddend.value ?? 0 }),
    ...(isNegativeHits === true ? { isNegativeHits } : {}),
  };
}

function unitIn(value: string | number | undefined): Unit {
  return UNITS.find((unit) => unit === value) ?? 'UNKNOWN';
}

const REPLACEMENT = '\uFFFD';

/** The decoder puts this character where bytes are no UTF-8, and different texts would become one key. */
function refuseInvalidText({ domain, descriptors }: RateLimitRequest, bytes: Buffer): void {
  const isInvalid = (text: string): boolean => text.includes(REPLACEMENT) && !bytes.includes(text, 0, 'utf8');
  const isBad = descriptors.some(({ entries }) => entries.some(({ key, value }) => isInvalid(key) || isInvalid(value)));
  if (isBad || isInvalid(domain)) throw new ServiceError('string field contains invalid UTF-8');
}

function wireResponse(response: RateLimitResponse): object {
  const { overallCode, statuses, responseHeadersToAdd, requestHeadersToAdd, dynamicMetadata } = response;
  return {
    ...{ overallCode, responseHeadersToAdd, requestHeadersToAdd },
    statuses: statuses.map(wireStatus),
    ...(dynamicMetadata === undefined ? {} : { dynamicMetadata: structOf(dynamicMetadata) }),
  };
}

function wireStatus({ code, currentLimit, limitRemaining, durationUntilReset }: DescriptorStatus): object {
  return {
    code,
    ...(currentLimit === undefined ? {} : { currentLimit }),
    limitRemaining,
    ...(durationUntilReset === undefined ? {} : { durationUntilReset: { seconds: durationUntilReset } }),
  };
}

/** google.protobuf.Struct and its values. */
function structOf(map: Readonly<Record<string, unknown>>): object {
  return { fields: Object.fromEntries(Object.entries(map).map(([key, value]) => [key, structValue(value)])) };
}

function structValue(value: unknown): object {
  if (value === null || value === undefined) return { nullValue: 'NULL_VALUE' };
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'number') return { numberValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (Array.isArray(value)) return { listValue: { values: value.map(structValue) } };
  return { structValue: structOf(value as Readonly<Record<string, unknown>>) };
}
