/**
 * What Redis holds, for people and tools: names and values back into words. Nothing that decides uses it. The layouts are those that the Lua
 * twins write; each algorithm has readers for its own. Times are seconds.
 */
import { MICROS_PER_SECOND } from '../model/duration.ts';
import { type SluiceError, wrong } from '../model/errors.ts';
import type { Policy } from '../model/policy.ts';
import type { StateReader } from '../model/state-reader.ts';
import { DEFAULT_PREFIX, FORMAT, type KeyOptions, keyNamer, keyStart } from './keys.ts';
import { STATE_READERS } from './states.generated.ts';

/** Where the state of a key under a policy is. */
export function stateName(key: string, policy: Policy, options: KeyOptions = {}): string {
  return keyNamer(options)(key, policy);
}

/** For `SCAN ... MATCH`: all states of a key, under whatever policies. */
export function statePattern(key: string, options: KeyOptions = {}): string {
  return `${keyStart(options)(key).replace(/[\\*?[\]^-]/g, '\\$&')}*`;
}

/** The name of a key in Redis, taken apart. */
export interface StateName {
  /** The hash of it where keys are hashed. */
  readonly key: string;
  /** The algorithm, and the mode where it has several: `leaky-bucket shaping`. */
  readonly kind: string;
  /** The policy's name; undefined for a policy that is known by its numbers. */
  readonly policy: string | undefined;
  /** The numbers of a policy without a name, as text. */
  readonly numbers: string | undefined;
}

/** Undefined for a name that is none of ours, and for one of another format. */
export function parseStateName(name: string, { prefix = DEFAULT_PREFIX }: KeyOptions = {}): StateName | undefined {
  const start = prefix === '' ? '{' : `${prefix}:{`;
  const end = name.indexOf('}', start.length);
  if (!name.startsWith(start) || end < 0 || !name.startsWith(FORMAT, end + 1)) return undefined;
  const found = /^(\([^)]+\)|.)(:(.+)|.*)$/s.exec(name.slice(end + 1 + FORMAT.length));
  const reader = STATE_READERS.find(({ code }) => code === found?.[1]);
  if (found === null || reader === undefined) return undefined;
  const isNamed = found[2]!.startsWith(':');
  if (isNamed && found[3] === undefined) return undefined;
  return {
    key: unescaped(name.slice(start.length, end)),
    kind: reader.kind,
    policy: isNamed ? found[3] : undefined,
    numbers: isNamed ? undefined : found[2],
  };
}

function unescaped(written: string): string {
  if (written === '%') return '';
  return written.replace(/%([\da-f]+);/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** A value in Redis, in words. */
export interface InspectedState {
  readonly kind: string;
  /** Unix time; null when the key is not blocked. It may be over. */
  readonly blockedUntil: number | null;
  /** What was written, in words. It may be old: whether any of it still counts, the policy and the time decide. Null when there is nothing but a block. */
  readonly state: Readonly<Record<string, unknown>> | null;
  /** Those fields of the state that are Unix times. */
  readonly times: readonly string[];
}

/** A blocked state stands behind so many bytes; no other is that long, but for those that keep the block inside. */
const BLOCK_BYTES = 64;

/** What a value says. Throws SLUICE_UNEXPECTED_REPLY for one that is none of ours. */
export function inspectState(kind: string, value: Uint8Array): InspectedState {
  const reader = STATE_READERS.find((known) => known.kind === kind);
  if (reader === undefined) throw unknownKind(kind);
  if (reader.blockedUntil !== undefined) return inspectWhole(reader, value);
  const isBlocked = value.length >= BLOCK_BYTES;
  const inner = isBlocked ? value.subarray(BLOCK_BYTES) : value;
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength);
  return {
    kind,
    blockedUntil: isBlocked ? view.getFloat64(1, true) / MICROS_PER_SECOND : null,
    state: isBlocked && inner.length === 0 ? null : reader.describe(reader.decode(inner)),
    times: reader.times,
  };
}

function inspectWhole(reader: StateReader, value: Uint8Array): InspectedState {
  const state = reader.decode(value);
  const blockedUntil = reader.blockedUntil!(value);
  const described = reader.describe(state);
  const isEmpty = Object.values(described).every((part) => Array.isArray(part) && part.length === 0);
  return {
    kind: reader.kind,
    blockedUntil: blockedUntil > 0 ? blockedUntil / MICROS_PER_SECOND : null,
    state: isEmpty ? null : described,
    times: reader.times,
  };
}

function unknownKind(kind: string): SluiceError {
  return wrong(
    'SLUICE_UNKNOWN_ALGORITHM',
    'inspectState(kind, value)',
    `one of ${STATE_READERS.map((reader) => reader.kind).join(', ')}`,
    kind,
  );
}
