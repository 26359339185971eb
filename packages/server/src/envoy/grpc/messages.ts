/** Envoy's messages as bytes, and as what the rest works with. Field numbers are those of proto/envoy/service/ratelimit/v3/rls.proto. */
import { FRAME_ROOM, framed } from '../../grpc/messages-in.ts';
import { Reader, Writer } from '../../grpc/protobuf.ts';
import type { Descriptor, Entry, LimitOverride, RateLimitRequest } from '../request.ts';
import type { Code, CurrentLimit, DescriptorStatus, HeaderValue, RateLimitResponse } from '../response.ts';
import { UNITS } from '../unit.ts';

type Changeable<T> = { -readonly [K in keyof T]: T[K] };

export function readRequest(message: Buffer): RateLimitRequest {
  const descriptors: Descriptor[] = [];
  const request: Changeable<RateLimitRequest> = { domain: '', descriptors, hitsAddend: 0 };
  const reader = new Reader(message);
  while (reader.next()) {
    if (reader.field === 1) request.domain = reader.text();
    else if (reader.field === 2) descriptors.push(readDescriptor(reader.message()));
    else if (reader.field === 3) request.hitsAddend = reader.uint32();
    else reader.skip();
  }
  return request;
}

export function readDescriptor(reader: Reader): Descriptor {
  const entries: Entry[] = [];
  const descriptor: Changeable<Descriptor> = { entries };
  while (reader.next()) {
    if (reader.field === 1) entries.push(readEntry(reader.message()));
    else if (reader.field === 2) descriptor.limit = readLimit(reader.message(), descriptor.limit);
    else if (reader.field === 3) descriptor.hitsAddend = readWrapped(reader.message(), descriptor.hitsAddend);
    else if (reader.field === 4) descriptor.isNegativeHits = reader.bool();
    else reader.skip();
  }
  return descriptor;
}

function readEntry(reader: Reader): Entry {
  const entry: Changeable<Entry> = { key: '', value: '' };
  while (reader.next()) {
    if (reader.field === 1) entry.key = reader.text();
    else if (reader.field === 2) entry.value = reader.text();
    else reader.skip();
  }
  return entry;
}

/** A message that comes twice is one message: what the second says comes on top. */
function readLimit(reader: Reader, before: LimitOverride | undefined): LimitOverride {
  const limit: Changeable<LimitOverride> = { requestsPerUnit: 0, unit: 'UNKNOWN', ...before };
  while (reader.next()) {
    if (reader.field === 1) limit.requestsPerUnit = reader.uint32();
    else if (reader.field === 2) limit.unit = UNITS[reader.uint64()] ?? 'UNKNOWN';
    else reader.skip();
  }
  return limit;
}

/** google.protobuf.UInt64Value. */
function readWrapped(reader: Reader, before = 0): number {
  let value = before;
  while (reader.next()) {
    if (reader.field === 1) value = reader.uint64();
    else reader.skip();
  }
  return value;
}

const CODES: Readonly<Record<Code, number>> = { OK: 1, OVER_LIMIT: 2 };
const writer = new Writer(FRAME_ROOM);

/** As it goes over the wire, with its prefix. */
export function writeResponse(response: RateLimitResponse): Buffer {
  writer.uint(1, CODES[response.overallCode]);
  for (const status of response.statuses) writer.message(2, writeStatus, status);
  for (const header of response.responseHeadersToAdd) writer.message(3, writeHeader, header);
  for (const header of response.requestHeadersToAdd) writer.message(4, writeHeader, header);
  if (response.dynamicMetadata !== undefined) writer.message(6, writeStruct, response.dynamicMetadata);
  return framed(writer.finish());
}

function writeStatus(to: Writer, { code, currentLimit, limitRemaining, durationUntilReset }: DescriptorStatus): void {
  to.uint(1, CODES[code]);
  if (currentLimit !== undefined) to.message(2, writeLimit, currentLimit);
  to.uint(3, limitRemaining >>> 0);
  if (durationUntilReset !== undefined) to.message(4, writeSeconds, durationUntilReset);
}

function writeLimit(to: Writer, { requestsPerUnit, unit, name }: CurrentLimit): void {
  to.uint(1, requestsPerUnit >>> 0);
  to.uint(2, UNITS.indexOf(unit));
  to.text(3, name);
}

function writeSeconds(to: Writer, seconds: number): void {
  to.uint(1, seconds);
}

function writeHeader(to: Writer, { key, value }: HeaderValue): void {
  to.text(1, key);
  to.text(2, value);
}

/** google.protobuf.Struct, and its values below. */
function writeStruct(to: Writer, map: Readonly<Record<string, unknown>>): void {
  for (const entry of Object.entries(map)) to.message(1, writeField, entry);
}

function writeField(to: Writer, [key, value]: readonly [string, unknown]): void {
  to.text(1, key);
  to.message(2, writeValue, value);
}

/** One of a kind: written even where it is zero or empty. */
function writeValue(to: Writer, value: unknown): void {
  if (value === null || value === undefined) to.uint(1, 0, true);
  else if (typeof value === 'number') to.double(2, value);
  else if (typeof value === 'string') to.text(3, value, true);
  else if (typeof value === 'boolean') to.bool(4, value, true);
  else if (Array.isArray(value)) to.message(6, writeList, value);
  else to.message(5, writeStruct, value as Readonly<Record<string, unknown>>);
}

function writeList(to: Writer, values: readonly unknown[]): void {
  for (const value of values) to.message(1, writeValue, value);
}
