/** The messages of the quota service as bytes. Field numbers are those of proto/envoy/service/rate_limit_quota/v3/rlqs.proto. */
import { FRAME_ROOM, framed } from '../grpc/messages-in.ts';
import { Reader, Writer } from '../grpc/protobuf.ts';
import { GrpcError, STATUS } from '../grpc/status.ts';
import type { Labels } from './quota.ts';

export interface UsageReports {
  readonly domain: string;
  readonly usages: readonly Usage[];
}

/** What a proxy has let through and denied of one bucket since it told last. */
export interface Usage {
  readonly labels: Labels;
  /** 0 where it was not said. */
  readonly elapsedMs: number;
  readonly allowed: number;
  readonly denied: number;
}

/** What a proxy is told to do with a bucket. */
export type Action =
  | { readonly kind: 'abandon' }
  | { readonly kind: 'allow_all'; readonly ttlMs: number }
  | { readonly kind: 'deny_all'; readonly ttlMs: number }
  /** So many tokens, and none that come back while they are of use. `serial` tells it from the one before: the same again would be no new tokens. */
  | { readonly kind: 'token_bucket'; readonly units: number; readonly ttlMs: number; readonly serial: number }
  /** So many in each second. */
  | { readonly kind: 'requests_per_time_unit'; readonly units: number; readonly ttlMs: number };

/** Of one report, and of one bucket. */
export const MOST_BUCKETS = 1000;
const MOST_LABELS = 32;
const MOST_LABEL_BYTES = 1024;

function invalid(message: string): GrpcError {
  return new GrpcError(STATUS.INVALID_ARGUMENT, message);
}

export function readReports(message: Buffer): UsageReports {
  const reader = new Reader(message);
  const usages: Usage[] = [];
  let domain = '';
  while (reader.next()) {
    if (reader.field === 1) domain = reader.text();
    else if (reader.field === 2) usages.push(readEntry(reader.message()));
    else reader.skip();
    if (usages.length > MOST_BUCKETS)
      throw invalid(`bucket_quota_usages must not have more than ${MOST_BUCKETS} entries`);
  }
  return { domain, usages };
}

/** A list of usages in the protos that Envoy has shipped; in others a map, whose entries have a number and then the usage. Both are read. */
function readEntry(reader: Reader): Usage {
  const entry: Parts = { ...NO_PARTS };
  while (reader.next()) {
    if (reader.field === 1 && !reader.isBytes) reader.skip();
    else readPart(reader, entry);
  }
  if (entry.labels === undefined && entry.second !== undefined) return readUsage(entry.second);
  return usageOf(entry);
}

function readUsage(reader: Reader): Usage {
  const usage: Parts = { ...NO_PARTS };
  while (reader.next()) readPart(reader, usage);
  return usageOf(usage);
}

interface Parts {
  labels: Labels | undefined;
  /** Of a usage the time, of an entry the usage. */
  second: Reader | undefined;
  allowed: number;
  denied: number;
}

const NO_PARTS: Readonly<Parts> = { labels: undefined, second: undefined, allowed: 0, denied: 0 };

function readPart(reader: Reader, parts: Parts): void {
  if (reader.field === 1) {
    if (!reader.isBytes) throw invalid('bucket_id must not be empty');
    parts.labels = readLabels(reader.message());
  } else if (reader.field === 2) parts.second = reader.message();
  else if (reader.field === 3) parts.allowed = Math.min(reader.uint64(), 2 ** 53);
  else if (reader.field === 4) parts.denied = Math.min(reader.uint64(), 2 ** 53);
  else reader.skip();
}

function usageOf({ labels, second, allowed, denied }: Parts): Usage {
  if (labels === undefined) throw invalid('bucket_id must not be empty');
  return { labels, elapsedMs: second === undefined ? 0 : readDuration(second), allowed, denied };
}

function readLabels(reader: Reader): Labels {
  const labels: [string, string][] = [];
  while (reader.next()) {
    if (reader.field === 1) labels.push(readPair(reader.message()));
    else reader.skip();
    if (labels.length > MOST_LABELS) throw invalid(`bucket_id must not have more than ${MOST_LABELS} labels`);
  }
  if (labels.length === 0) throw invalid('bucket_id must not be empty');
  return Object.fromEntries(labels);
}

function readPair(reader: Reader): [string, string] {
  let [key, value] = ['', ''];
  while (reader.next()) {
    if (reader.field === 1) key = reader.text();
    else if (reader.field === 2) value = reader.text();
    else reader.skip();
  }
  if (key === '' || value === '') throw invalid('bucket_id must have neither empty labels nor empty values');
  if (key.length + value.length > MOST_LABEL_BYTES) {
    throw invalid(`a label of bucket_id must not be longer than ${MOST_LABEL_BYTES} characters`);
  }
  return [key, value];
}

/** Negative times are written as very large numbers, and mean nothing here. */
function readDuration(reader: Reader): number {
  let [seconds, nanos] = [0, 0];
  while (reader.next()) {
    if (reader.field === 1) seconds = reader.uint64();
    else if (reader.field === 2) nanos = reader.uint64();
    else reader.skip();
  }
  const ms = seconds * 1e3 + nanos / 1e6;
  return ms > 0 && ms < 2 ** 40 ? ms : 0;
}

const writer = new Writer(FRAME_ROOM);

/** As it goes over the wire, with its prefix. At least one action. */
export function writeActions(actions: readonly (readonly [labels: Labels, action: Action])[]): Buffer {
  for (const pair of actions) writer.message(1, writeAction, pair);
  return framed(writer.finish());
}

function writeAction(to: Writer, [labels, action]: readonly [Labels, Action]): void {
  to.message(1, writeLabels, labels);
  if (action.kind === 'abandon') to.message(3, () => {}, undefined);
  else to.message(2, writeAssignment, action);
}

function writeLabels(to: Writer, labels: Labels): void {
  for (const pair of Object.entries(labels)) to.message(1, writePair, pair);
}

function writePair(to: Writer, [key, value]: readonly [string, string]): void {
  to.text(1, key);
  to.text(2, value);
}

type Assignment = Exclude<Action, { readonly kind: 'abandon' }>;

function writeAssignment(to: Writer, action: Assignment): void {
  to.message(2, writeDuration, action.ttlMs);
  to.message(3, writeStrategy, action);
}

function writeDuration(to: Writer, ms: number): void {
  to.uint(1, Math.floor(ms / 1e3));
  to.uint(2, Math.floor(ms % 1e3) * 1e6);
}

const DENY_ALL = 1;
/** Of RateLimitUnit. */
const SECOND = 1;

/** One of a kind: written even where it is zero. */
function writeStrategy(to: Writer, action: Assignment): void {
  if (action.kind === 'allow_all') to.uint(1, 0, true);
  else if (action.kind === 'deny_all') to.uint(1, DENY_ALL, true);
  else if (action.kind === 'token_bucket') to.message(3, writeBucket, action);
  else to.message(2, writePerSecond, action.units);
}

function writePerSecond(to: Writer, units: number): void {
  to.uint(1, units);
  to.uint(2, SECOND);
}

/** Long after the assignment has ended, or an hour would bring one more. */
const NEVER_MS = 86_400_000;

function writeBucket(to: Writer, { units, serial }: Extract<Action, { kind: 'token_bucket' }>): void {
  to.uint(1, units);
  to.message(2, (wrapped, one) => wrapped.uint(1, one), 1);
  to.message(3, writeDuration, NEVER_MS + (serial % 1000));
}
